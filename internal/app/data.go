package app

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/delivery/enricher"
	"github.com/nudgewire/nudgewire/internal/delivery/sender"
	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/scheduler"
)

// openStore opens the store, builds the rooms that work on it, and recovers what a dead owner left.
func (a *App) openStore(ctx context.Context, cfg *config.Config) (err error) {
	// The rooms are made after the store that wakes them, so the calls go through the app.
	a.store, err = store.Open(ctx, store.Options{
		DSN:       cfg.Storage,
		Settle:    a.settle,
		OnDue:     a.wake,
		OnPoll:    a.wakeLooks,
		OnPause:   a.lookAtPauses,
		OnLookup:  func(at time.Time) { a.enricher.Wake(at) },
		FirstPoll: a.firstPoll,
		Due:       a.dueRules,
		Sends:     func(trigger string) bool { return a.rules.Load().Triggers.ModeOf(trigger) == triggers.Live },
		Accounts:  a.has,
		OnDoubt:   a.onDoubt,

		OwnExpiry: a.ownExpiry,
		Points: func(account string, c messaging.Category, phone messaging.Phone) float64 {
			return costOf(a.config(), account, c, phone)
		},
		Observer: a.observer(),
		Version:  a.opt.Version,
		Config:   a.configInUse,
		Machine:  a.opt.Now,

		Tells:      func(about, word string) []string { return a.outgoing.Load().Tells(about, word) },
		OnOutgoing: a.wakeOutbox,
	})
	if err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	tokens := &enricher.Tokens{Store: a.store, Path: engine.Path(cfg.Storage) + ".tokens"}
	a.lookups = enricher.NewClient(enricher.ClientOptions{UserAgent: "nudgewire/" + a.opt.Version, Refreshed: tokens})
	a.build(cfg)
	if err := tokens.KeepNoted(ctx); err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	return a.recover(ctx, cfg, a.owner)
}

// observer passes on what is committed, and each message that the service took to those who follow it.
func (a *App) observer() store.Observer {
	o := a.opt.Observer
	finished := o.Finished
	o = a.seen(o)
	o.Finished = func(one messaging.Attempt) {
		if one.State == messaging.StateAccepted {
			if acc := a.of(one.Message.Account); acc != nil {
				acc.tracker.CheckEarly(one.Message)
			}
		}
		if finished != nil {
			finished(one)
		}
	}
	return o
}

// build makes the rooms that work on the store. They do nothing before Run.
func (a *App) build(cfg *config.Config) {
	a.built.Store(false) // by an earlier try
	for _, acc := range *a.accounts.Load() {
		acc.slots = 0 // of an earlier try
	}
	for _, acc := range *a.accounts.Load() {
		a.addAccountWorkers(acc, cfg)
	}
	a.built.Store(true)
	a.enricher = enricher.New(enricher.Options{
		Store: a.store, Fetcher: a.lookups, Log: a.log.Named("enricher"), Grace: grace, Now: a.store.Now,
		Rules: func() enricher.Rules {
			r := a.rules.Load()
			return enricher.Rules{Receivers: r.Receivers, Triggers: r.Triggers}
		},
	})
	a.alerts = a.newAlerts(cfg)
	a.dropReceivers() // of an earlier try
	a.useReceivers(cfg)
	a.jobs = a.newJobs(cfg)
}

// requestOf is the id of the request that a message goes back to, for the log; "" where that cannot be read: a line without
// it is better than none.
func (a *App) requestOf(id messaging.MessageID) string {
	request, err := a.store.RequestOf(context.Background(), id)
	if err != nil {
		return ""
	}
	return request
}

// dueRules are the rules of the due moment by the present config; nil for none.
func (a *App) dueRules() messaging.DueRules {
	if due := a.due.Load(); due.Any() {
		return due
	}
	return nil
}

// lastLook is what claims are asked just before their calls.
func (a *App) lastLook() *sender.LastLook {
	return &sender.LastLook{Store: a.store, Rules: a.dueRules, Step: func(d *messaging.Message, f *messaging.StepFacts, now time.Time) messaging.StepVerdict {
		return a.rules.Load().Triggers.Step(d, f, now)
	}}
}

// classify gives the service's words the class that the present config says.
func (a *App) classify(words string) messaging.ErrorClass { return a.config().Errors.Class(words) }

// onDoubt is what the trigger of d says is done in doubt: of one that left the config, what the config said that planned d. Where
// nobody knows that any more, a person decides. Rows of jobs go by their category.
func (a *App) onDoubt(d *messaging.Message) messaging.OnDoubt {
	if d.EventID == 0 {
		return ""
	}
	set := a.config().Triggers
	if set.ModeOf(d.Trigger) != "" || d.Trigger == messaging.ByHand {
		return set.OnDoubt(d.Trigger)
	}
	if kept := a.kept.Load().of(d.Config); kept != nil {
		if rule, known := kept.Rules[d.Trigger]; known {
			return rule.OnDoubt
		}
	}
	return messaging.DoubtHold
}

// ownExpiry reports whether the config names when d expires. What is not in it any more keeps what it has, and so does a test, which is not to
// come when nobody expects it any more.
func (a *App) ownExpiry(d *messaging.Message) bool {
	if d.Test != "" {
		return true
	}
	if d.EventID != 0 {
		return a.config().Triggers.OwnExpiry(d.Trigger)
	}
	jobs := a.config().Jobs
	i := slices.IndexFunc(jobs, func(j *scheduler.Compiled) bool { return j.Name == d.Trigger })
	return i < 0 || jobs[i].OwnExpiry()
}

// recover clears up what an earlier process left in the middle. The store's lock says that no other
// daemon lives, so whatever is claimed was claimed by a dead one.
func (a *App) recover(ctx context.Context, cfg *config.Config, owner string) error {
	a.takeDue(cfg) // what a dead process left in doubt asks earlier configs, too
	if h, damaged := a.store.Damaged(); damaged {
		a.log.Error("webhooks are taken and nothing is sent: "+h.Reason,
			zap.String("review", "nudgewire messages list --state waiting"), zap.String("then", "nudgewire resume --reviewed"))
	}
	// First of all, as long as nothing has another due time than in the copy.
	restored, review := a.store.InReview()
	if review {
		a.log.Error("webhooks are taken and nothing is sent: this data is a copy: "+restored.How,
			zap.Time("copied_at", restored.CopiedAt), zap.String("review", "nudgewire review"), zap.String("then", "nudgewire resume --reviewed"))
	}
	if _, err := a.store.MarkRestoredInDoubt(ctx, a.store.Now(), false); err != nil {
		return err
	}
	if err := a.store.FreeRuns(ctx, owner); err != nil {
		return err
	}
	if err := a.store.FollowRest(ctx); err != nil {
		return err
	}
	n, err := a.store.RescueClaims(ctx, a.store.Now(), owner)
	if err != nil {
		return fmt.Errorf("recover what was being sent: %w", err)
	}
	if n.Doubtful > 0 {
		a.log.Warn("an earlier run ended while sending; what nobody can know is in doubt", zap.Int("messages", n.Doubtful))
	}
	if n.Unsent > 0 {
		a.log.Info("an earlier run ended with messages in hand whose calls had not begun; they wait again", zap.Int("messages", n.Unsent))
	}
	// Now nothing is claimed: what a crash kept from being cancelled ends here.
	if _, _, err := a.store.EndCancelled(ctx); err != nil {
		return err
	}
	var before map[string]triggers.Rule
	if err := (history.Records{Store: a.store}).Configs(ctx, func(_, text string) bool {
		before = config.Rules(config.UnderNewNames(text, a.renames(cfg.Redacted())), a.opt.Env)
		return true
	}); err != nil {
		return err
	}
	if err := a.saveConfig(ctx, cfg); err != nil {
		return err
	}
	if err := a.rename(ctx, cfg); err != nil {
		return err
	}
	set, err := a.pause(ctx, cfg, nil)
	if err != nil {
		return err
	}
	a.rules.Store(rulesOf(cfg, set))
	if err := a.jobs.Hold(ctx, true); err != nil {
		return err
	}
	// The file may have changed while nothing ran, or the last process ended in the middle of a change.
	if _, err = a.edit(ctx, cfg, before); err != nil {
		return err
	}
	// Other rules than those of the copy may have let go what was put off there.
	if err := a.store.PrepareReview(ctx, a.store.Now(), review && restored.Config != cfg.Version); err != nil {
		return err
	}
	return a.reviewDeferred(ctx)
}
