package scheduler

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// windowsOf is how long rows wait for the windows of a rate in all, about; 0 where one is enough, and without a rate.
func windowsOf(r duerules.Rate, rows int64) time.Duration {
	if r.IsZero() || rows <= r.Most {
		return 0
	}
	per := r.Per
	switch r.Calendar {
	case units.Day:
		per = 24 * time.Hour
	case units.Week:
		per = 7 * 24 * time.Hour
	case units.Month:
		per = 30 * 24 * time.Hour
	}
	return time.Duration((rows-1)/r.Most) * per
}

// window is what the job's rate lets go now; nil for a job without one.
func (w *working) window(ctx context.Context) (*messaging.RateWindow, error) {
	job := w.brakes()
	if job.Rate.IsZero() {
		return nil, nil //nolint:nilnil // no rate is no error
	}
	waiting, err := w.Store.Backlog(ctx, w.run.ID)
	now := w.Now().UTC()
	return &messaging.RateWindow{Job: w.run.Job, Most: job.Rate.Most, From: job.Rate.From(now, job.zone), Now: now, Waiting: waiting}, err
}

// nextWindow waits until the window that began then has ended, and says so in the run's row. Another rate is heeded at once: the
// store knows how much of its window is used.
func (w *working) nextWindow(ctx context.Context, since time.Time) error {
	job := w.brakes()
	until := job.Rate.Next(since, job.zone)
	if err := w.waits(ctx, messaging.WaitRate, until, ""); err != nil {
		return err
	}
	for now := job; now.Rate == job.Rate && now.zone.String() == job.zone.String() && w.Now().Before(until); now = w.brakes() {
		if err := w.await(ctx, w.Now().Add(min(w.Heed, until.Sub(w.Now())))); err != nil {
			return err
		}
	}
	return w.waits(ctx, "", time.Time{}, "")
}
