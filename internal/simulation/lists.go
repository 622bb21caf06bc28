package simulation

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/scheduler"
)

// A run of a list is worked on by the scheduler as the daemon works on it: in one go, with pauses in which it sleeps. Here it is a coroutine, which
// gives way wherever it sleeps, until the clock of the world is there. So nothing runs beside it.

// lists are the runs of a world.
type lists struct {
	jobs  *scheduler.Scheduler
	going []*coroutine
	past  map[messaging.RunID]*scheduler.PastList
}

// A coroutine is a run that is worked on, and when it goes on.
type coroutine struct {
	run   messaging.RunID
	until time.Time
	next  func() (time.Time, bool)
	stop  func()
	sleep func(until time.Time) bool
	err   error
}

const (
	never  = 100 * 366 * 24 * time.Hour // Lease and Heed: nobody else could take a claim, and words of people come between two turns of a run
	atOnce = 1 << 10                    // lists that are read at a time
)

func (l *lists) begin(w *World) {
	l.past = map[messaging.RunID]*scheduler.PastList{}
	l.jobs = scheduler.New(scheduler.Options{
		Store: w.Store, Facts: scheduler.NewHistory(w.Store), Owner: owner, Runs: atOnce, Lease: never, Heed: never,
		Line:   func(string) scheduler.Line { return scheduler.Line{Uploader: uploads{w}} },
		Prices: w.rules.Prices, Rules: func() *duerules.Rules { return w.rules.Due }, Errors: func() *messaging.ErrorRules { return w.rules.Errors },
		Past: func(id messaging.RunID) *scheduler.PastList { return l.past[id] },
		Now:  w.Now, Sleep: w.sleep, Jitter: noJitter,
	})
	l.jobs.Use(w.rules.Jobs)
}

// end stops what is worked on.
func (w *World) end() {
	if w == nil {
		return
	}
	for _, g := range w.lists.going {
		g.stop()
	}
	w.lists.going = nil
}

// job is one of the config; nil for one that is not there.
func (r *Rules) job(name string) *scheduler.Compiled {
	if i := slices.IndexFunc(r.Jobs, func(j *scheduler.Compiled) bool { return j.Name == name }); i >= 0 {
		return r.Jobs[i]
	}
	return nil
}

type coroutineKey struct{}

// sleep gives way until the time is there.
func (w *World) sleep(ctx context.Context, d time.Duration) error {
	g, is := ctx.Value(coroutineKey{}).(*coroutine)
	if !is || !g.sleep(w.now.Add(d)) {
		return context.Canceled
	}
	return ctx.Err()
}

// FirePast fires the run of a list of the past now, with the list that it had.
func (w *World) FirePast(ctx context.Context, run *messaging.Run, f scheduler.Firing, list *scheduler.PastList) (messaging.RunID, error) {
	id, err := w.lists.jobs.StartPast(ctx, run, f)
	if err != nil {
		return 0, err
	}
	w.lists.past[id] = list
	return id, w.lists.claim(ctx, w)
}

// ApproveRun and CancelRun say a person's word about a run; it is nothing where there is no use for it.
func (w *World) ApproveRun(ctx context.Context, id messaging.RunID, by messaging.Approval) error {
	if err := scheduler.IgnoreLateWord(w.lists.jobs.Approve(ctx, id, by)); err != nil {
		return err
	}
	return w.lists.claim(ctx, w)
}

// CancelRun is ApproveRun for a cancellation.
func (w *World) CancelRun(ctx context.Context, id messaging.RunID, who string) error {
	if err := scheduler.IgnoreLateWord(w.lists.jobs.Cancel(ctx, id, who)); err != nil {
		return err
	}
	return w.lists.claim(ctx, w)
}

// claim begins to work on runs that may be worked on.
func (l *lists) claim(ctx context.Context, w *World) error {
	mine, err := l.jobs.Claim(ctx)
	if err != nil {
		return err
	}
	for i := range mine {
		run := mine[i]
		if slices.ContainsFunc(l.going, func(g *coroutine) bool { return g.run == run.ID }) {
			continue
		}
		g := &coroutine{run: run.ID, until: w.now}
		ctx := context.WithValue(ctx, coroutineKey{}, g)
		g.next, g.stop = iter.Pull(func(sleep func(time.Time) bool) {
			g.sleep = sleep
			g.err = cmp.Or(l.jobs.Work(ctx, run), g.err)
		})
		l.going = append(l.going, g)
	}
	return nil
}

// next is when a run goes on next; zero is never.
func (l *lists) next() (at time.Time) {
	for _, g := range l.going {
		if at.IsZero() || g.until.Before(at) {
			at = g.until
		}
	}
	return at
}

// listsTurn takes the runs that are due as far as they can go.
func (w *World) listsTurn(ctx context.Context) error {
	ended := false
	for _, g := range slices.Clone(w.lists.going) {
		if g.until.After(w.now) {
			continue
		}
		var more bool
		if g.until, more = g.next(); g.err != nil {
			return g.err
		}
		if more {
			continue
		}
		ended = true
		w.lists.going = slices.DeleteFunc(w.lists.going, func(o *coroutine) bool { return o == g })
	}
	if !ended {
		return nil
	}
	return w.lists.claim(ctx, w) // a queued run may go on
}

// uploads is the service as lists are uploaded to it: it takes every file, and names no messages.
type uploads struct{ *World }

// CreateCampaign implements scheduler.Uploader.
func (u uploads) CreateCampaign(ctx context.Context, _ string, _ int64, _ string, _ io.Reader, _ int64) (apiclient.Answer, error) {
	g, is := ctx.Value(coroutineKey{}).(*coroutine)
	if !is {
		return apiclient.Answer{}, errors.New("an upload of no run")
	}
	if u.Uploaded != nil {
		if err := u.tell(ctx, g.run); err != nil {
			g.err = err // and not what the service says
			return apiclient.Answer{}, err
		}
	}
	return apiclient.Answer{HTTPStatus: http.StatusOK}, nil
}

// tell tells of the file that leaves.
func (u uploads) tell(ctx context.Context, id messaging.RunID) error {
	run, err := u.Store.Run(ctx, id)
	if err != nil {
		return err
	}
	parts, err := u.Store.Parts(ctx, id)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(parts, func(p messaging.Part) bool { return p.State == messaging.PartUploading })
	if i < 0 {
		return errors.New("no file is on its way")
	}
	return u.Uploaded(ctx, &run, &parts[i], u.now)
}
