package app

import (
	"time"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/contacts"
	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/scheduler"
)

// JobsBeside is what can be asked of the jobs of cfg without a daemon: they are listed and
// forecast, and nothing is fired or changed. data is whether st has what happened, and does not only stand in for it: else nobody is known.
func JobsBeside(cfg *config.Config, st *store.Store, now func() time.Time, data bool) server.Jobs {
	s := scheduler.New(scheduler.Options{
		Store: st, Facts: scheduler.NewHistory(st), Owner: "nobody", Now: now,
		Prices: func(account string) scheduler.Prices { return pricesOf(cfg, account) }, Rate: func(account string) float64 { return rateOf(cfg, account) },
		Rules: func() *duerules.Rules { return cfg.Due }, Errors: func() *messaging.ErrorRules { return cfg.Errors },
	})
	if data {
		s.Contacts = contacts.Records{Store: st}.Audience
	}
	s.Use(cfg.Jobs)
	return s
}

// newJobs is the scheduler of the daemon.
func (a *App) newJobs(cfg *config.Config) *scheduler.Scheduler {
	now := a.store.Now
	if a.opt.JobClock != nil {
		now = a.opt.JobClock
	}
	s := scheduler.New(scheduler.Options{
		Store: a.store, Contacts: contacts.Records{Store: a.store}.Audience, Line: a.line, Facts: scheduler.NewHistory(a.store),
		Owner: a.owner, Log: a.log.Named("scheduler"), Grace: grace, Now: now, Runs: cfg.Server.ListsAtOnce,
		Prices: func(account string) scheduler.Prices { return pricesOf(a.config(), account) }, Rate: func(account string) float64 { return rateOf(a.config(), account) },
		Restored: func() (time.Time, bool) {
			_, review := a.store.InReview()
			return a.store.MaybeGone(), review
		},
		Rules: a.due.Load, Errors: func() *messaging.ErrorRules { return a.config().Errors },
		Kept: func(version, job string) *scheduler.Compiled {
			if k := a.kept.Load().of(version); k != nil {
				return k.Jobs[job]
			}
			return nil
		},
		Held: a.holdsRun,
	})
	s.Use(cfg.Jobs)
	return s
}

// holdsRun is what keeps a run back at present.
func (a *App) holdsRun(r *messaging.Run) (f messaging.DueFacts) {
	acc := a.of(r.Account)
	hold, held := a.store.Held(&messaging.Message{Trigger: r.Job})
	switch {
	case acc == nil:
		f.Held = "its account is not in the config"
	case held:
		f.Held = hold.Why()
	case !r.Category.Urgent() && a.disk.short():
		f.Held = "the disk is nearly full"
	default:
		for _, h := range acc.sender.Stats().Halts {
			if now := a.store.Now(); (h.Lane == "" || h.Lane == r.Category) && now.Before(h.NextProbe) {
				f.Service = h.Words(now)
			}
		}
	}
	return f
}

// line is how uploads of an account leave.
func (a *App) line(name string) scheduler.Line {
	acc := a.of(name)
	if acc == nil {
		return scheduler.Line{}
	}
	return scheduler.Line{Uploader: acc.api.Load(), Budget: acc.budget}
}

// pricesOf is the price table of an account, nil where it has none.
func pricesOf(cfg *config.Config, account string) scheduler.Prices {
	api, _ := cfg.Account(account)
	if api.Price == nil {
		return nil
	}
	return api.Price
}

// rateOf is how many requests a second an account makes.
func rateOf(cfg *config.Config, account string) float64 {
	api, _ := cfg.Account(account)
	return api.Rate.PerSecond()
}

// firstPoll spreads the first look at the messages of a run that uploads files: they are
// accepted all at once, and asked about no faster than half the rate, so that the other half
// is left for whoever else calls.
func (a *App) firstPoll(account string, accepted time.Time, place int64) time.Time {
	acc := a.of(account)
	if acc == nil { // gone meanwhile: whenever it comes back
		acc = a.of("")
	}
	first := acc.tracker.First(accepted)
	if rate := rateOf(a.config(), account); rate > 0 {
		first = first.Add(time.Duration(float64(place) / (rate / 2) * float64(time.Second)))
	}
	return first
}
