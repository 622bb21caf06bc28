package app

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

// What waits says by which config it was planned, and every config is kept. So what a config changes is worked out whenever it
// is asked: of each trigger the rule that planned what waits is held against the rule as it is now. Nothing has to be
// noted before the work begins, so a crash in the middle, a reload that comes before the last one
// was carried out, and one back to the old rule need no care of their own.

// lateChanges is how long after a change what came to wait late is looked for: what was being sent, and what was planned by the old rules
// and not stored yet.
const lateChanges = 15 * time.Minute

// editsLook is how often it is looked whether anything still waits by rules of earlier configs.
const editsLook = time.Hour

// A ruleChange is a RuleChange with the configs that planned what waits.
type ruleChange struct {
	preview.RuleChange
	configs []string
}

// ruleChanges are the triggers of which something waits that was planned by another rule than that of a config, or that
// the config does not send by. printed is the config as it is kept, version its name. A pinned one is among them
// only where its rule differs from that in before; nil for all.
func (a *App) ruleChanges(ctx context.Context, version, printed string, before map[string]triggers.Rule) (found []ruleChange, err error) {
	waits, err := a.store.WaitingByConfig(ctx)
	if err != nil || len(waits) == 0 {
		return nil, err
	}
	now, all := config.Rules(printed, a.opt.Env), a.renames(printed)
	for i := range waits {
		waits[i].Trigger = store.NameNow(all, store.RenamedTrigger, waits[i].Trigger, a.store.Now())
	}
	earlier, err := a.earlierRules(ctx, waits, version, all)
	if err != nil {
		return nil, err
	}
	for _, w := range waits {
		change := preview.RuleChange{Trigger: w.Trigger}
		rule := now[w.Trigger]
		if why := notSending(w.Trigger, modeOf(now, w.Trigger)); why != "" {
			change.Change = why
			change.Released = slices.ContainsFunc(a.ofMode(), func(h messaging.Hold) bool { return h.Kind == messaging.HoldReleased && h.Name == w.Trigger })
			change.Paused = !change.Released
		} else {
			planned, known := earlier[w.Config][w.Trigger]
			if !known || config.SameRule(planned, rule) {
				continue
			}
			change.Change, change.OnChange = "edited", string(rule.OnChange)
			if was, had := before[w.Trigger]; rule.OnChange == triggers.Pin && had && config.SameRule(was, rule) {
				continue // an edit of an earlier day
			}
		}
		i := slices.IndexFunc(found, func(c ruleChange) bool { return c.Trigger == w.Trigger })
		if i < 0 {
			i, found = len(found), append(found, ruleChange{RuleChange: change})
		}
		found[i].Waiting += w.N
		found[i].configs = append(found[i].configs, w.Config)
	}
	return found, nil
}

// rulesBefore are the rules of a config, where what another one renames stands under its new name, too.
func (a *App) rulesBefore(cfg *config.Config, printed string) map[string]triggers.Rule {
	return config.Rules(config.UnderNewNames(cfg.Redacted(), a.renames(printed)), a.opt.Env)
}

// modeOf is the mode of a trigger by its rule; "" where there is none.
func modeOf(rules map[string]triggers.Rule, name string) triggers.Mode {
	rule, has := rules[name]
	if has && rule.Mode == "" {
		return triggers.Live
	}
	return rule.Mode
}

// earlierRules are the rules of the configs that planned what waits, but for the present one.
func (a *App) earlierRules(ctx context.Context, waits []store.PlannedBy, present string, renames []store.Rename) (map[string]map[string]triggers.Rule, error) {
	left := map[string]bool{}
	for _, w := range waits {
		if w.Config != present && w.Trigger != messaging.ByHand {
			left[w.Config] = true
		}
	}
	found := map[string]map[string]triggers.Rule{}
	if len(left) == 0 {
		return found, nil
	}
	err := history.Records{Store: a.store}.Configs(ctx, func(version, text string) bool {
		if left[version] {
			found[version] = config.Rules(config.UnderNewNames(text, renames), a.opt.Env)
			delete(left, version)
		}
		return len(left) == 0
	})
	for version := range left {
		a.log.Warn("the config that planned some of what waits is not known any more; it stays as it is planned", zap.String("config", version))
	}
	return found, err
}

// applyRules does to what waits what the triggers of cfg say about their edits, and says what it did. set is cfg's.
func (a *App) applyRules(ctx context.Context, cfg *config.Config, before map[string]triggers.Rule) (changes []preview.RuleChange, err error) {
	found, err := a.ruleChanges(ctx, cfg.Version, cfg.Redacted(), before)
	for i := range found {
		c := &found[i]
		if err == nil && c.OnChange != "" && c.OnChange != string(triggers.Pin) {
			for _, version := range c.configs {
				var n store.Replans
				n, err = a.store.Replan(ctx, c.Trigger, version, a.deciding(cfg, triggers.OnChange(c.OnChange)))
				c.Anew, c.Cancelled, c.Pinned = c.Anew+n.Anew, c.Cancelled+n.Cancelled, c.Pinned+n.Kept
				if err != nil {
					break
				}
			}
			c.Done = err == nil
		}
		changes = append(changes, c.RuleChange)
		if !c.Paused {
			a.log.Info("a trigger of which messages wait was edited", zap.String("change", c.Words()))
		}
	}
	return changes, err
}

// edit carries out what an edit does to what waits. Only then it lets go on what was paused, since that would have left by the
// old rules, and takes up what cancels by what waits now.
func (a *App) edit(ctx context.Context, cfg *config.Config, before map[string]triggers.Rule) (changes []preview.RuleChange, err error) {
	if err = a.renameAgain(ctx, cfg); err != nil {
		return nil, err
	}
	changes, err = a.applyRules(ctx, cfg, before)
	if err == nil {
		err = a.goOn(ctx, cfg)
	}
	if err == nil {
		err = a.listenAnew(ctx, cfg)
	}
	return changes, err
}

// deciding is what becomes of a message by on_change.
func (a *App) deciding(cfg *config.Config, how triggers.OnChange) func(*messaging.Message, func() (messaging.Event, error)) (store.Replanned, error) {
	if how == triggers.Cancel {
		return func(*messaging.Message, func() (messaging.Event, error)) (store.Replanned, error) {
			return store.Replanned{Cancel: "the rule changed, and its on_change is cancel (config " + cfg.Version + ")"}, nil
		}
	}
	now := a.store.Now()
	return func(d *messaging.Message, event func() (messaging.Event, error)) (store.Replanned, error) {
		e, err := event()
		if err != nil {
			return store.Replanned{}, err
		}
		return planAnew(cfg.Triggers, d, &e, now), nil
	}
}

// planAnew is what becomes of a message whose rule was edited with on_change: migrate. It stays as it is where that
// cannot be told: its event is not kept whole, it is a step of a trigger that has none now or the other way round, or it would have another
// key, by which nothing could find it.
func planAnew(set *triggers.Set, d *messaging.Message, e *messaging.Event, now time.Time) store.Replanned {
	if e.Forgotten || len(e.Payload) == 0 {
		return store.Replanned{}
	}
	p := set.Replan(d.Trigger, e)
	if p.Decision.Outcome == messaging.Planned && (d.Step > 0 || len(p.Steps) > 0) {
		if gone := onlyStep(&p, d); gone != "" {
			return store.Replanned{Cancel: "the rule changed: " + gone}
		} else if len(p.Steps) != 1 {
			return store.Replanned{}
		}
	}
	to := &p.Message
	switch {
	case p.Decision.Outcome != messaging.Planned:
		return store.Replanned{Cancel: "the rule changed: " + p.Decision.Reason}
	case to.Key != d.Key || to.Phone != d.Phone:
		return store.Replanned{}
	case !to.ExpiresAt.IsZero() && !to.ExpiresAt.After(now):
		return store.Replanned{Cancel: "the rule changed: its message was due at " + to.DueAt.Format(time.DateTime) + " UTC and expired"}
	}
	if d.Attempt > 0 && d.DueAt.After(to.DueAt) {
		to.DueAt = d.DueAt // it was tried, and waits to be tried again
	}
	to.Reason = "planned anew: the rule changed (config " + to.Config + ")"
	return store.Replanned{Anew: &p}
}

// onlyStep leaves of a proposal the step that a message is, with the time that it was put off to; gone says that
// the trigger has no such step any more. Without steps left, the message stays as it is.
func onlyStep(p *messaging.Proposal, d *messaging.Message) (gone string) {
	of := 0
	if len(p.Steps) > 0 {
		of = p.Steps[0].Rule.Of
	}
	i := slices.IndexFunc(p.Steps, func(s messaging.PlannedStep) bool { return s.Message.Step == d.Step })
	if p.Steps = p.Steps[max(i, 0):max(i+1, 0)]; i < 0 {
		if d.Step > of && of > 0 {
			gone = fmt.Sprintf("the trigger has no step %d any more", d.Step)
		}
		return gone
	}
	to := &p.Steps[0].Message
	if later := d.DueAt.Sub(to.DueAt); d.Attempt > 0 && later > 0 {
		to.DueAt = d.DueAt
		if !to.ExpiresAt.IsZero() {
			to.ExpiresAt = to.ExpiresAt.Add(later)
		}
	}
	p.Message = *to
	return ""
}

// lateRules does the same for what came to wait since.
func (a *App) lateRules(ctx context.Context, now time.Time) error {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	cfg := a.config()
	if now.After(a.changedUntil) {
		if err := a.renewRenames(ctx, cfg); err != nil {
			return err
		}
		if !a.edits || now.Before(a.listenAt) {
			return nil
		}
		a.listenAt = now.Add(editsLook)
		return a.listenAnew(ctx, cfg)
	}
	_, err := a.edit(ctx, cfg, config.Rules(cfg.Redacted(), a.opt.Env))
	if err != nil {
		a.changedUntil = now.Add(lateChanges) // it is tried until it is done
	}
	return err
}

// waitingChanges are what taking up a config would do to what waits. printed is the config as it is kept, version its name, "" where it has none.
func (a *App) waitingChanges(ctx context.Context, version, printed string) ([]preview.RuleChange, error) {
	found, err := a.ruleChanges(ctx, version, printed, a.rulesBefore(a.config(), printed))
	changes := make([]preview.RuleChange, len(found))
	for i := range found {
		changes[i] = found[i].RuleChange
	}
	if err != nil {
		return changes, err
	}
	gone, err := a.goneAccounts(ctx, config.Accounts(printed, a.opt.Env))
	if changes = append(changes, gone...); err != nil {
		return changes, err
	}
	runs, err := a.runChanges(ctx, printed)
	return append(changes, runs...), err
}

// goneAccounts are the accounts that something waits for and that are not among those that a config has. Nobody claims for
// them, so what waits stays until the account is back or a person ends it.
func (a *App) goneAccounts(ctx context.Context, has []string) (gone []preview.RuleChange, err error) {
	left, err := a.store.LeftFor(ctx)
	for _, l := range left {
		if !slices.Contains(has, l.Account) {
			gone = append(gone, preview.RuleChange{Account: l.Account, Change: "is gone from the config", Waiting: l.Waiting, Runs: l.Runs, Paused: true})
		}
	}
	return gone, err
}

// Reload is App.Reload with what it did to what waits; see server.Daemon.
func (d daemon) Reload(ctx context.Context, version string) ([]preview.RuleChange, error) {
	d.reloading.Lock()
	defer d.reloading.Unlock()
	return d.reload(ctx, "reload", version)
}
