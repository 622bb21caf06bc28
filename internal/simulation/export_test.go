package simulation

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/scheduler"
)

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
