package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nudgewire/nudgewire"
)

// sendsContest measures a backlog of due dispatches being sent: claimed, called, and their
// outcome with the message on disk.
func sendsContest(need float64) *contest {
	const name = "sends from a backlog, 64 workers"
	due := &template{make: func(ctx context.Context, l *lab, folder string) error {
		if err := seed(ctx, l, folder, waiting); err != nil {
			return err
		}
		return multiply(ctx, data(folder), l.backlog, map[string]rows{"dispatches": dispatches})
	}}
	return &contest{
		name: name, figures: []figure{{name: name, unit: "sends/s", base: figO, need: need}},
		round: func(ctx context.Context, l *lab) (sample, error) {
			c := newCountdown(l.backlog)
			rate, err := drain(ctx, l, name, due, c, rigOptions{
				without: rooms{hooks: true, tracker: true},
				finished: func(a nudgewire.Attempt) {
					c.count(a.State == nudgewire.StateAccepted && a.Message.Tracked())
				},
			})
			return sample{name: rate}, err
		},
	}
}

// pollsContest measures messages that are due being asked about, each until its status is on
// disk.
func pollsContest(need float64) *contest {
	const name = "status polls, 64 workers"
	due := &template{make: func(ctx context.Context, l *lab, folder string) error {
		if err := seed(ctx, l, folder, accepted); err != nil {
			return err
		}
		return multiply(ctx, data(folder), l.backlog, map[string]rows{"dispatches": dispatches, "messages": messages})
	}}
	return &contest{
		name: name, figures: []figure{{name: name, unit: "polls/s", base: figP, need: need}},
		round: func(ctx context.Context, l *lab) (sample, error) {
			c := newCountdown(l.backlog)
			rate, err := drain(ctx, l, name, due, c, rigOptions{
				without: rooms{hooks: true, sender: true},
				polled:  func(p nudgewire.Poll) { c.count(p.Final && p.Status == nudgewire.StatusDelivered) },
			})
			return sample{name: rate}, err
		},
	}
}

// drain starts a daemon over a copy of the fixture and waits until c has come to its end.
func drain(ctx context.Context, l *lab, name string, due *template, c *countdown, o rigOptions) (rate reading, err error) {
	folder, remove, err := l.folder("backlog")
	if err != nil {
		return rate, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if err := due.copyTo(ctx, l, folder); err != nil {
		return rate, err
	}
	o.folder = folder
	w, err := l.open(name)
	if err != nil {
		return rate, err
	}
	r, err := startRig(ctx, l, o)
	if err != nil {
		_, closing := w.close(0)
		return rate, errors.Join(err, closing)
	}
	waiting := c.wait(ctx)
	rate, closing := w.close(l.backlog)
	return rate, errors.Join(waiting, closing, r.stop())
}

// A countdown waits for a number of good outcomes.
type countdown struct {
	all       int
	left, bad atomic.Int64
	done      chan struct{}
}

func newCountdown(n int) *countdown {
	c := &countdown{all: n, done: make(chan struct{})}
	c.left.Store(int64(n))
	return c
}

func (c *countdown) count(good bool) {
	if !good {
		c.bad.Add(1)
	}
	if c.left.Add(-1) == 0 {
		close(c.done)
	}
}

func (c *countdown) wait(ctx context.Context) error {
	select {
	case <-c.done:
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Minute):
		return fmt.Errorf("%d of %d are not done after a minute", c.left.Load(), c.all)
	}
	if n := c.bad.Load(); n > 0 {
		return fmt.Errorf("%d of %d did not end well", n, c.all)
	}
	return nil
}
