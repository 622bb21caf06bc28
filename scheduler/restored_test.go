package scheduler

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	dataplace "github.com/nudgewire/nudgewire/internal/store/place"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

// Data that was restored: nothing is fired before the review, then the newest time that passed is built and waits for a person,
// and a time after the finding is sent as any other.
func TestATimeThatTheLostMachineMayHaveRun(t *testing.T) {
	at := func(text string) time.Time {
		one, err := time.Parse(slotLayout, text)
		if err != nil {
			t.Fatal(err)
		}
		return one
	}
	d := newDesk(t, at("2026-05-01 09:00"))
	var until time.Time
	review := false
	d.Restored = func() (time.Time, bool) { return until, review }
	job := jobOf(t, people(3), Job{Cron: "0 10 * * *", Timezone: "UTC", OnMissed: OnMissed{RunOnce: true}})
	tick := func() {
		t.Helper()
		if _, err := d.Tick(t.Context(), d.now()); err != nil {
			t.Fatal(err)
		}
		d.settle(t)
	}
	d.Use([]*Compiled{job})
	tick() // the job is known from now on
	until, review = at("2026-05-02 12:00"), true
	d.at = until
	tick()
	if n := len(d.runs); n != 0 {
		t.Fatalf("%d runs in review", n)
	}
	missed, err := d.Missed(t.Context(), d.now())
	if err != nil || len(missed) != 1 || missed[0].Slot != "2026-05-02 10:00" {
		t.Errorf("missed: %+v (%v)", missed, err)
	}
	review = false
	d.at = at("2026-05-02 12:30")
	tick()
	r := d.the(t)
	if r.State != messaging.RunAwaiting || r.Slot != "2026-05-02 10:00" || !strings.Contains(r.Reason, "may have sent the run of 2026-05-02 10:00") || len(d.service.uploads()) != 0 {
		t.Fatalf("%s %s: %s; %d uploads", r.Slot, r.State, r.Reason, len(d.service.uploads()))
	}
	if err := d.Approve(t.Context(), r.ID, by("Ann")); err != nil {
		t.Fatal(err)
	}
	d.settle(t)
	d.at = at("2026-05-03 10:00")
	tick()
	if r := d.the(t); r.Slot != "2026-05-03 10:00" || strings.Contains(r.Reason, "restored") || len(d.service.uploads()) == 0 {
		t.Errorf("the next time: %s %s: %s", r.Slot, r.State, r.Reason)
	}
}

// A restoredRun is a run whose data was copied while its first file was leaving, and then restored.
type restoredRun struct {
	*met
	*Scheduler
	id      messaging.RunID
	uploads *service // since it was restored
}

// restoreRun has a run of 8 rows send a file of 3 of them as its data is copied, which somebody has paused then or not, and starts over the copy.
func restoreRun(t *testing.T, paused bool) *restoredRun {
	t.Helper()
	m := meeting(t, nil)
	r := &restoredRun{met: m, uploads: &service{}}
	lost := &service{}
	job := jobOf(t, people(8), Job{MaxSize: 80})
	r.scheduler(job, lost)
	var err error
	r.id, err = r.RunNow(t.Context(), job, m.at, HandOrder{})
	m.must(err)
	copied := filepath.Join(t.TempDir(), "copy.db")
	lost.answer = func(n int) error {
		if n == 1 {
			return nil
		}
		if paused {
			m.must(r.Pause(t.Context(), r.id, "Ann"))
		}
		if n == 2 {
			m.must(store.CopyTo(t.Context(), m.dsn, copied))
		}
		return nil
	}
	r.work(t)
	m.must(m.store.Close())
	m.dsn = "sqlite:" + copied
	m.must(dataplace.WriteRestoredNote(m.dsn, dataplace.RestoredNote{From: copied, At: m.at}))
	r.start(t)
	r.scheduler(job, r.uploads)
	return r
}

// scheduler is one over the data that calls a service.
func (r *restoredRun) scheduler(job *Compiled, at *service) {
	r.Scheduler = New(Options{
		Store: r.store, Owner: "test", Facts: NewHistory(r.store), Now: func() time.Time { return r.at },
		Line:  func(string) Line { return Line{Uploader: at} },
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})
	r.Use([]*Compiled{job})
}

// start opens the data as a daemon does.
func (r *restoredRun) start(t *testing.T) {
	t.Helper()
	var err error
	r.store, err = store.Open(t.Context(), store.Options{DSN: r.dsn, Settle: triggers.Settle})
	r.must(err)
	r.must(r.store.PrepareReview(t.Context(), r.at, false))
}

func (r *restoredRun) work(t *testing.T) {
	t.Helper()
	var runs sync.WaitGroup
	r.must(r.Scheduler.start(t.Context(), &runs))
	runs.Wait()
}

// states are those of the parts, and what left since the data was restored.
func (r *restoredRun) states(t *testing.T) (states []messaging.PartState, sent int) {
	t.Helper()
	parts, err := r.store.Parts(t.Context(), r.id)
	r.must(err)
	for _, p := range parts {
		states = append(states, p.State)
	}
	return states, len(r.uploads.phones(t))
}

// After a restore a part that the copy does not know as accepted leaves only by a person's word on that part.
func TestPartsOfRestoredDataGoByAPersonsWordEach(t *testing.T) {
	const done, doubt = messaging.PartAccepted, messaging.PartInDoubt
	resolve := func(t *testing.T, r *restoredRun, part int, as messaging.Resolution) {
		t.Helper()
		r.must(r.ResolvePart(t.Context(), r.id, part, as, "Ann", ""))
	}
	resume := func(t *testing.T, r *restoredRun) {
		t.Helper()
		r.must(r.Resume(t.Context(), r.id, "Ann"))
		r.work(t)
	}
	for name, one := range map[string]struct {
		does func(t *testing.T, r *restoredRun)
		want []messaging.PartState
		sent int
		run  messaging.RunState
	}{
		"nothing is said":         {func(t *testing.T, r *restoredRun) { r.work(t) }, []messaging.PartState{done, doubt, doubt}, 0, messaging.RunPaused},
		"the run is resumed":      {resume, []messaging.PartState{done, doubt, doubt}, 0, messaging.RunPartial},
		"its part had left there": {func(t *testing.T, r *restoredRun) { resolve(t, r, 3, messaging.ResolveAccepted); resume(t, r) }, []messaging.PartState{done, doubt, done}, 0, messaging.RunPartial},
		"its part had not":        {func(t *testing.T, r *restoredRun) { resolve(t, r, 3, messaging.ResolveResend); resume(t, r) }, []messaging.PartState{done, doubt, done}, 2, messaging.RunPartial},
		"a word on each, once it was resumed": {func(t *testing.T, r *restoredRun) {
			resume(t, r)
			resolve(t, r, 2, messaging.ResolveAccepted)
			resolve(t, r, 3, messaging.ResolveResend)
			r.work(t)
		}, []messaging.PartState{done, done, done}, 2, messaging.RunDone},
		"somebody on it is forgotten meanwhile": {func(t *testing.T, r *restoredRun) {
			r.must(r.store.Forget(t.Context(), []messaging.Phone{contact(6)}, "by hand"))
			resolve(t, r, 3, messaging.ResolveResend)
			resume(t, r)
		}, []messaging.PartState{done, doubt, done}, 1, messaging.RunPartial},
		"the run is cancelled": {func(t *testing.T, r *restoredRun) {
			r.must(r.Cancel(t.Context(), r.id, "Ann"))
			if err := r.ResolvePart(t.Context(), r.id, 3, messaging.ResolveResend, "Ann", ""); err == nil {
				t.Error("a part of a cancelled run goes")
			}
		}, []messaging.PartState{done, doubt, doubt}, 0, messaging.RunCancelled},
		"a retry without what is in doubt": {func(t *testing.T, r *restoredRun) {
			resume(t, r)
			if _, err := r.Retry(t.Context(), r.id, "Ann", RetryOrder{}); err == nil {
				t.Error("it sends what is in doubt")
			}
		}, []messaging.PartState{done, doubt, doubt}, 0, messaging.RunPartial},
		"a retry of what is in doubt": {func(t *testing.T, r *restoredRun) {
			resume(t, r)
			_, err := r.Retry(t.Context(), r.id, "Ann", RetryOrder{InDoubt: true})
			r.must(err)
			r.work(t)
		}, []messaging.PartState{done, doubt, doubt}, 5, messaging.RunPartial},
		"it is killed in the middle of the review, and starts again": {func(t *testing.T, r *restoredRun) {
			r.must(r.store.Close())
			r.start(t)
			r.scheduler(r.all()[0], r.uploads)
			resume(t, r)
		}, []messaging.PartState{done, doubt, doubt}, 0, messaging.RunPartial},
	} {
		t.Run(name, func(t *testing.T) {
			r := restoreRun(t, false)
			_, err := r.store.EndReview(t.Context(), time.Time{})
			r.must(err)
			one.does(t, r)
			run, err := r.store.Run(t.Context(), r.id)
			r.must(err)
			if states, sent := r.states(t); !slices.Equal(states, one.want) || sent != one.sent || run.State != one.run {
				t.Errorf("%s %q: parts are %q, and %d were sent to", run.State, run.Reason, states, sent)
			}
			if found, err := r.store.FilesTo(t.Context(), []messaging.Phone{contact(7)}, r.at.Add(-time.Minute)); err != nil || len(found) == 0 {
				t.Errorf("limits do not count who may have got it: %v", err)
			}
		})
	}
	t.Run("a run that somebody had paused", func(t *testing.T) {
		r := restoreRun(t, true)
		run, err := r.store.Run(t.Context(), r.id)
		r.must(err)
		if states, _ := r.states(t); !slices.Equal(states, []messaging.PartState{done, doubt, doubt}) || run.Stopped != messaging.StopPerson {
			t.Errorf("stopped by %s, its parts are %q", run.Stopped, states)
		}
	})
}
