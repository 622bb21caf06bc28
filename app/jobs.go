package app

import (
	"path/filepath"
	"time"

	"github.com/nudgewire/nudgewire/config"
	"github.com/nudgewire/nudgewire/scheduler"
	"github.com/nudgewire/nudgewire/server"
	"github.com/nudgewire/nudgewire/store"
)

// JobsBeside is what can be asked of the jobs of cfg without a daemon: they are listed and
// forecast, and nothing is fired or changed.
func JobsBeside(cfg *config.Config, st *store.Store, now func() time.Time) server.Jobs {
	s := scheduler.New(scheduler.Options{
		Store: st, Excluder: scheduler.NewHistory(st), Folder: runsFolder(cfg), Owner: "nobody", Now: now,
		Prices: func() scheduler.Prices { return pricesOf(cfg) }, Rate: cfg.API.Rate.PerSecond,
	})
	s.Use(cfg.Jobs)
	return s
}

// newJobs is the scheduler of the daemon.
func (a *App) newJobs(cfg *config.Config, owner string) *scheduler.Scheduler {
	s := scheduler.New(scheduler.Options{
		Store: a.store, Uploader: a.api, Budget: a.budget, Excluder: a.history,
		Keep:   func() time.Duration { return a.config().Retention.Lists.D() },
		Folder: runsFolder(cfg), Owner: owner, Log: a.log.Named("scheduler"), Grace: grace, Now: a.opt.JobClock, Runs: cfg.Server.ListsAtOnce,
		Prices: func() scheduler.Prices { return pricesOf(a.config()) }, Rate: func() float64 { return a.config().API.Rate.PerSecond() },
		Halted: func(job string) bool {
			v := a.sender.Stats()
			return a.store.JobHalted(job) || v.Halted != "" && time.Now().Before(v.HaltedUntil)
		},
	})
	s.Use(cfg.Jobs)
	return s
}

// pricesOf is the price table of a config, nil where it has none.
func pricesOf(cfg *config.Config) scheduler.Prices {
	if cfg.API.Price == nil {
		return nil
	}
	return cfg.API.Price
}

// firstPoll spreads the first look at the messages of a run that uploads files: they are
// accepted all at once, and asked about no faster than half the rate, so that the other half
// is left for whoever else calls.
func (a *App) firstPoll(_ string, accepted time.Time, place int64) time.Time {
	first := a.tracker.First(accepted)
	if rate := a.config().API.Rate.PerSecond(); rate > 0 {
		first = first.Add(time.Duration(float64(place) / (rate / 2) * float64(time.Second)))
	}
	return first
}

// runsFolder is where runs keep their files: beside the database.
func runsFolder(cfg *config.Config) string {
	path := store.Path(cfg.Storage)
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return filepath.Join(filepath.Dir(path), "runs")
}
