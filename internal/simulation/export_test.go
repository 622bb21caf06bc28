package simulation

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/scheduler"
)

// OnBegin has a runner tell each of its worlds before it is played.
func (r *Runner) OnBegin(tell func(*World)) { r.begun = tell }

// Wait waits until the simulation that runs has ended.
func (r *Runner) Wait() { r.plays.Wait() }

var fullSQL = engine.SQL(`PRAGMA max_page_count = 1`)

// FillDisk plays a full disk: the file of a world's data has no page more than it has.
func (w *World) FillDisk(ctx context.Context) error {
	return w.Store.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
		return t.Query(fullSQL, func(*engine.Row) error { return nil })
	})
}

// Tick fires the jobs that are due, whose lists are read, and says when the next one is due.
func (w *World) Tick(ctx context.Context) (time.Time, error) {
	next, err := w.lists.jobs.Tick(ctx, w.now)
	if err == nil {
		err = w.lists.claim(ctx, w)
	}
	return next, err
}

// FireByHand runs a job whose list is read.
func (w *World) FireByHand(ctx context.Context, job string) error {
	if _, err := w.lists.jobs.Fire(ctx, job, scheduler.HandOrder{}); err != nil {
		return err
	}
	return w.lists.claim(ctx, w)
}
