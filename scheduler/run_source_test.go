package scheduler

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/lists"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A turnSource fails as the errors say, a reading each, and then gives its rows.
type turnSource struct {
	listSource
	name   string
	errs   []error
	inRows bool // they come behind the rows
	read   *int // how often it was opened
}

func (s turnSource) String() string { return s.name }

func (s turnSource) Open(ctx context.Context) (lists.Rows, error) {
	*s.read++
	var err error
	if *s.read <= len(s.errs) {
		err = s.errs[*s.read-1]
	}
	if err != nil && !s.inRows {
		return nil, err
	}
	list := s.listSource
	list.fail = err
	return list.Open(ctx)
}

func inTurns(n int, errs ...error) turnSource {
	return turnSource{listSource: people(n), name: "turns", errs: errs, read: new(int)}
}

var (
	errNotThere = fmt.Errorf("CSV list.csv: %w", fs.ErrNotExist)
	errChanging = fmt.Errorf("list.csv: %w", lists.ErrChanged)
	errUnusable = errors.New("is no list")
)

func TestASourceThatIsAwayIsReadOnceMore(t *testing.T) {
	for name, tt := range map[string]struct {
		errs   []error
		inRows bool
		state  messaging.RunState
		reason string
		read   int
		after  time.Duration
	}{
		"not there yet":                 {[]error{errNotThere}, false, messaging.RunDone, "", 2, 10 * time.Minute},
		"written to while it is read":   {[]error{errChanging}, true, messaging.RunDone, "", 2, 10 * time.Minute},
		"not there, twice":              {[]error{errNotThere, errNotThere}, false, messaging.RunFailed, "CSV list.csv: file does not exist; it was read twice, 10m apart", 2, 10 * time.Minute},
		"not there, then written to":    {[]error{errNotThere, errChanging}, true, messaging.RunFailed, "list.csv: changed while it was read; it was read twice, 10m apart", 2, 10 * time.Minute},
		"what cannot be read by itself": {[]error{errUnusable}, false, messaging.RunFailed, "is no list", 1, 0},
		"away, and then unusable":       {[]error{errNotThere, errUnusable}, true, messaging.RunFailed, "is no list; it was read twice, 10m apart", 2, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			source := inTurns(300, tt.errs...)
			source.inRows = tt.inRows
			d := begin(t, jobOf(t, source, Job{Cron: "0 10 * * *", MaxSize: 2000}))
			began := d.now()
			fireDue(t, d)
			r := d.the(t)
			if r.State != tt.state || r.Reason != tt.reason || *source.read != tt.read || r.EndedAt.Sub(began) < tt.after || r.Waits != "" {
				t.Errorf("%s %q, read %d times, ended %s later, waits %q", r.State, r.Reason, *source.read, r.EndedAt.Sub(began), r.Waits)
			}
			phones := map[string]bool{}
			for _, phone := range d.service.phones(t) {
				if phones[phone] {
					t.Errorf("%s was sent to twice", phone)
				}
				phones[phone] = true
			}
			if tt.state == messaging.RunDone && len(phones) != 300 {
				t.Errorf("%d phones", len(phones))
			}
			if tt.state == messaging.RunFailed {
				if n := len(d.rows[r.ID]); n > 0 {
					t.Errorf("%d rows were left behind", n)
				}
			}
		})
	}
}

// What everybody else does to a run that waits to read its source once more.
func TestWhatMeetsARunThatWaitsForItsSource(t *testing.T) {
	for name, tt := range map[string]struct {
		errs  []error
		meets func(t *testing.T, d *desk, source turnSource) // five minutes later
		state messaging.RunState
		words string
		read  int
		after time.Duration // how long after the run's time the last reading is
	}{
		"pause": {[]error{errNotThere}, func(t *testing.T, d *desk, _ turnSource) {
			if err := d.Pause(t.Context(), 1, "Ann"); err != nil {
				t.Error(err)
			}
		}, messaging.RunPaused, "", 1, 0},
		"cancel": {[]error{errNotThere}, func(t *testing.T, d *desk, _ turnSource) {
			if err := d.Cancel(t.Context(), 1, "Ann"); err != nil {
				t.Error(err)
			}
		}, messaging.RunCancelled, "", 1, 0},
		"a reload that names another source": {[]error{errNotThere, errNotThere}, func(t *testing.T, d *desk, _ turnSource) {
			other := people(3)
			job := jobOf(t, other, Job{Cron: "0 10 * * *"})
			d.Use([]*Compiled{job})
		}, messaging.RunDone, "", 1, 5 * time.Minute},
		"a reload with the same source": {[]error{errNotThere}, func(t *testing.T, d *desk, source turnSource) {
			d.Use([]*Compiled{jobOf(t, source, Job{Cron: "0 10 * * *"})})
		}, messaging.RunDone, "", 2, 10 * time.Minute},
		"a crash": {[]error{errNotThere}, func(_ *testing.T, d *desk, _ turnSource) {
			d.book.mu.Lock()
			d.crashed = true
			d.book.mu.Unlock()
		}, messaging.RunDone, "", 2, 10 * time.Minute},
		"a crash, and it is not there the second time either": {[]error{errNotThere, errNotThere}, func(_ *testing.T, d *desk, _ turnSource) {
			d.book.mu.Lock()
			d.crashed = true
			d.book.mu.Unlock()
		}, messaging.RunFailed, "it was read twice", 2, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			source := inTurns(3, tt.errs...)
			d := begin(t, jobOf(t, source, Job{Cron: "0 10 * * *"}))
			began, met := d.now(), false
			sleep := d.Sleep
			d.Sleep = func(ctx context.Context, by time.Duration) error {
				if r := d.runs[0]; !met && d.now().Sub(began) >= 5*time.Minute {
					met = true
					if r.State != messaging.RunBuilding || r.Waits != messaging.WaitSource || r.WaitUntil.Sub(began) != 10*time.Minute || !strings.Contains(r.Reason, "does not exist") {
						t.Errorf("before: %s %q, waits %q until %s", r.State, r.Reason, r.Waits, r.WaitUntil)
					}
					if n := len(d.slots); n != 0 {
						t.Errorf("it keeps %d of the places in which lists are read", n)
					}
					tt.meets(t, d, source)
				}
				return sleep(ctx, by)
			}
			fireDue(t, d)
			if d.crashed {
				d.revive()
				d.open("two")
				d.settle(t)
			}
			r := d.the(t)
			at := r.EndedAt
			if at.IsZero() {
				at = began
			}
			if !met || r.State != tt.state || !strings.Contains(r.Reason, tt.words) || *source.read != tt.read || at.Sub(began) < tt.after || tt.after > 0 && at.Sub(began) > tt.after+time.Minute {
				t.Errorf("%s %q, read %d times, %s later", r.State, r.Reason, *source.read, at.Sub(began))
			}
		})
	}
}

// A run that was paused while it waited begins with two readings again: whoever lets it go on has looked.
func TestARunThatWaitedForItsSourceGoesOn(t *testing.T) {
	source := inTurns(3, errNotThere, errNotThere)
	d := begin(t, jobOf(t, source, Job{Cron: "0 10 * * *"}))
	sleep, paused := d.Sleep, false
	d.Sleep = func(ctx context.Context, by time.Duration) error {
		if !paused {
			paused = true
			if err := d.Pause(t.Context(), 1, "Ann"); err != nil {
				t.Error(err)
			}
		}
		return sleep(ctx, by)
	}
	fireDue(t, d)
	if err := d.Resume(t.Context(), 1, "Ann"); err != nil {
		t.Fatal(err)
	}
	d.settle(t)
	if r := d.the(t); r.State != messaging.RunDone || *source.read != 3 || len(d.service.phones(t)) != 3 {
		t.Errorf("%s %q, read %d times", r.State, r.Reason, *source.read)
	}
}
