package scheduler

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A run looks up by its job's name what holds it back: quiet hours, limits, consent, who was messaged lately, the rate, the
// canary. A name that today's config does not have, or has off, is no permission: its runs are paused, and a person who
// lets one go on all the same does so under the rules of the config that the run began with.

// heldBy says why the config does not send by a job, "" where it does.
func (s *Scheduler) heldBy(name string) string {
	switch j := s.job(name); {
	case j == nil:
		return "is gone from the config"
	case j.Mode == Off:
		return "is off"
	}
	return ""
}

// may reports whether a run may be worked on.
func (s *Scheduler) may(r *messaging.Run) bool { return r.Released != "" || s.heldBy(r.Job) == "" }

// brakesOf is the job whose rules hold a run back: as today's config has it, else as the config had it that the run began
// with; nil where nobody knows that any more.
func (s *Scheduler) brakesOf(r *messaging.Run) *Compiled {
	if j := s.job(r.Job); j != nil || s.Kept == nil {
		return j
	}
	return s.Kept(r.Config, r.Job)
}

// brakes are brakesOf at this moment. They hold at once when a reload changes them.
func (w *working) brakes() *Compiled {
	if j := w.brakesOf(&w.run); j != nil {
		return j
	}
	return w.job
}

// unknownRules says that nobody knows what holds a run back.
func unknownRules(r *messaging.Run) error {
	return &wordError{
		fmt.Sprintf("%s is gone from the config, and what config %s said of it is not known any more, so nobody can say when and to whom run %d may be sent", r.Job, r.Config, r.ID),
		"put the job back, or end the run: nudgewire jobs cancel",
	}
}

// pauseHeld pauses the run in hand because the config does not send by its job.
func (w *working) pauseHeld(ctx context.Context, held, reason string) error {
	before := w.run.State
	if before == messaging.RunBuilding {
		before = messaging.RunPlanned // what was read by half is read again
	}
	return w.change(ctx, messaging.RunPaused, reason, func(r *messaging.Run) {
		r.Stopped, r.Held, r.Before, r.Owner = messaging.StopConfig, held, before, ""
	})
}

// Hold pauses the runs of jobs that the config does not send by, those too that have handed all over while messages of them
// wait, and lets go on what it paused of the others. Without pausing it only lets go on: a node whose config is
// behind does not stop what another sends. Call it when the jobs have changed.
func (s *Scheduler) Hold(ctx context.Context, pausing bool) error {
	open, err := s.Store.OpenRuns(ctx, "")
	if err != nil {
		return err
	}
	var errs []error
	for i := range open {
		r := &open[i]
		held, paused := s.heldBy(r.Job), r.State == messaging.RunPaused
		switch {
		case held == "" && r.Stopped == messaging.StopConfig && paused:
			s.Log.Info("the config sends by its job again: the run goes on", zap.String("job", r.Job), zap.Int64("run", int64(r.ID)))
			err = s.edit(ctx, r.ID, "resume", goOn, messaging.RunPaused)
		case held == "" && r.Released != "":
			err = s.Store.ReleaseRun(ctx, r.ID, "")
		case held != "" && pausing && !paused && r.Released == "":
			s.Log.Warn("the config does not send by its job: the run is paused", zap.String("job", r.Job), zap.Int64("run", int64(r.ID)), zap.String("why", held))
			err = s.edit(ctx, r.ID, "pause", func(r *messaging.Run) { holdOpen(r, held) }, messaging.RunPlanned, messaging.RunBuilding, messaging.RunAwaiting, messaging.RunUploading)
		default:
			err = nil
		}
		errs = append(errs, err)
	}
	if pausing {
		errs = append(errs, s.holdSent(ctx))
	}
	return errors.Join(errs...)
}

// edit changes a run that may move on at that moment: it is tried again with what it is then. One that is in none of the
// states any more stays as it is.
func (s *Scheduler) edit(ctx context.Context, id messaging.RunID, what string, change func(*messaging.Run), from ...messaging.RunState) error {
	for {
		err := s.person(ctx, id, what, change, from...)
		if _, elsewhere := errors.AsType[*wordError](err); elsewhere {
			return nil
		}
		if !errors.Is(err, messaging.ErrMoved) || ctx.Err() != nil {
			return err
		}
	}
}

// holdOpen pauses a run that has not ended.
func holdOpen(r *messaging.Run, held string) {
	if r.Before = r.State; r.State == messaging.RunBuilding {
		r.Before = messaging.RunPlanned
	}
	if r.State != messaging.RunAwaiting { // why that has to be approved is known nowhere else
		r.Reason = "its job " + held
	}
	r.State, r.Stopped, r.StoppedBy, r.Held = messaging.RunPaused, messaging.StopConfig, "", held
}

// goOn has a paused run go on where it was.
func goOn(r *messaging.Run) {
	if r.State = r.Before; r.State != messaging.RunAwaiting {
		r.Reason = ""
	}
	r.Before, r.Stopped, r.StoppedBy, r.Held = "", "", "", ""
}

// holdSent pauses the runs that have ended while messages of them wait.
func (s *Scheduler) holdSent(ctx context.Context) error {
	runs, err := s.Store.RunsUnsent(ctx, func(job string) bool { return s.heldBy(job) != "" })
	errs := []error{err}
	for i := range runs {
		r := &runs[i]
		if held := s.heldBy(r.Job); r.State.Final() && r.State != messaging.RunCancelled && r.Released == "" {
			_, err := s.Store.PauseSent(ctx, r.ID, "", held, "its job "+held)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// letGo notes that a person lets a run go on although the config does not send by its job.
func (s *Scheduler) letGo(ctx context.Context, r *messaging.Run, who string) error {
	if s.heldBy(r.Job) == "" {
		return nil
	}
	if s.brakesOf(r) == nil {
		return unknownRules(r)
	}
	return s.Store.ReleaseRun(ctx, r.ID, who)
}
