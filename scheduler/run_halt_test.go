package scheduler

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A halted job uploads nothing more, over a restart too, keeps its run in state uploading, and
// goes on at the next part once it is resumed: every part once, in order.
func TestAHaltHoldsARunOverARestart(t *testing.T) {
	job := jobOf(t, people(300), Job{Cron: "0 10 * * *", MaxSize: 2000})
	d := begin(t, job)
	d.crashAt = "FinishPart 2"
	fireDue(t, d) // two parts, and the process is gone
	if n := len(d.service.uploads()); n != 2 {
		t.Fatalf("%d uploads before the crash", n)
	}
	d.revive()
	d.open("two")
	asked, resumed := 0, false
	d.Held = heldWhile(func(r *messaging.Run) bool {
		if r.Job != "winback" {
			t.Errorf("asked about job %q", r.Job)
		}
		if asked++; asked == 100 {
			resumed = true
		}
		if !resumed && len(d.service.uploads()) != 2 {
			t.Error("a part left while the job was halted")
		}
		if r := d.the(t); !resumed && r.State != messaging.RunUploading {
			t.Errorf("a halted run is %s", r.State)
		}
		return !resumed
	})
	d.settle(t)
	r := d.the(t)
	ups := d.service.uploads()
	if !resumed || r.State != messaging.RunDone || len(ups) != r.Tally.Parts || len(ups) < 4 {
		t.Fatalf("%s (%s) with %d uploads of %d parts", r.State, r.Reason, len(ups), r.Tally.Parts)
	}
	if got := d.service.phones(t); len(got) != 300 || !slices.IsSorted(got) {
		t.Errorf("%d phones, in order: %v", len(got), slices.IsSorted(got))
	}
}

// A run that is paused or cancelled while its job is halted hears the person, not the halt.
func TestAHaltedRunHearsAPerson(t *testing.T) {
	d := begin(t, jobOf(t, people(300), Job{Cron: "0 10 * * *", MaxSize: 2000}))
	cancelled := false
	d.Held = heldWhile(func(*messaging.Run) bool {
		if len(d.service.uploads()) == 1 && !cancelled {
			cancelled = true
			if err := d.Cancel(context.WithoutCancel(t.Context()), 1, "Ann"); err != nil {
				t.Error(err)
			}
		}
		return len(d.service.uploads()) == 1
	})
	fireDue(t, d)
	if r := d.the(t); r.State != messaging.RunCancelled || len(d.service.uploads()) != 1 {
		t.Errorf("%s with %d uploads", r.State, len(d.service.uploads()))
	}
}

func canaryJob(t *testing.T) *Compiled {
	return jobOf(t, people(1000), Job{
		Cron: "0 10 * * *", Deliver: messaging.DeliverPerMessage, Send: &Message{Template: "winback"},
		Canary: &Canary{First: Share{Of: 0.01}, Wait: units.Duration(10 * time.Minute), StopIf: failedOver(0.1)},
	})
}

// While the job is halted its first rows are at home: the canary's wait begins anew when it is
// resumed, or it would look at nothing and call it good.
func TestACanaryDoesNotCountTheTimeOfAHalt(t *testing.T) {
	d := begin(t, canaryJob(t))
	d.ended = 10
	resumed := monday.Add(3 * time.Hour)
	d.Held = heldWhile(func(*messaging.Run) bool { return d.now().After(monday.Add(time.Minute)) && d.now().Before(resumed) })
	fireDue(t, d)
	r := d.the(t)
	if r.State != messaging.RunDone || len(d.queued[1]) != 1000 {
		t.Fatalf("%s %q, %d rows queued", r.State, r.Reason, len(d.queued[1]))
	}
	if looked := d.queued[1][11].DueAt; looked.Before(resumed.Add(10 * time.Minute)) {
		t.Errorf("the row behind the canary was queued at %s, and the halt ended at %s", looked, resumed)
	}
}

// A person who pauses a run before its canary looked, and resumes it, has not approved it.
func TestAResumeIsNoApprovalOfACanary(t *testing.T) {
	d := begin(t, canaryJob(t))
	d.ended, d.failed = 8, 2
	paused := false
	d.Held = heldWhile(func(*messaging.Run) bool {
		if len(d.queued[1]) == 10 && !paused {
			paused = true
			if err := d.Pause(context.WithoutCancel(t.Context()), 1, "Ann"); err != nil {
				t.Error(err)
			}
		}
		return false
	})
	fireDue(t, d)
	if r := d.the(t); r.State != messaging.RunPaused || r.Reason != "paused by Ann" {
		t.Fatalf("%s %q", r.State, r.Reason)
	}
	refused, ok := errors.AsType[*wordError](d.Approve(t.Context(), 1, by("Ann")))
	if !ok || refused.Error() != "run 1 is paused: there is nothing to approve" || refused.Hint() != "it goes on with: nudgewire jobs resume 1" {
		t.Errorf("approve: %v", refused)
	}
	if err := d.Resume(t.Context(), 1, "Ann"); err != nil {
		t.Fatal(err)
	}
	d.settle(t)
	if r := d.the(t); r.State != messaging.RunPaused || r.Approved != "" || len(d.queued[1]) != 10 ||
		r.Reason != "the canary stopped it: 8 of the first 10 messages have ended and 2 of these failed, which is more than 10%" {
		t.Errorf("resumed, it is %s by %q with %d rows: %s", r.State, r.Approved, len(d.queued[1]), r.Reason)
	}
}

// That no message failed is no good sign while nobody knows how they did: the run stops, says so,
// and a person decides.
func TestACanaryStopsWhenItCannotTell(t *testing.T) {
	const stopped = "the canary stopped it: "
	for name, c := range map[string]struct {
		ended, failed int64
		reason        string // "" goes on
	}{
		"none has ended":              {0, 0, stopped + "none of the first 10 messages ended within 10m, so nobody knows how they did"},
		"one has, well":               {1, 0, stopped + "only 1 of the first 10 messages ended within 10m, too few to know how they did"},
		"fewer than half have":        {4, 0, stopped + "only 4 of the first 10 messages ended within 10m, too few to know how they did"},
		"few have, and badly":         {4, 2, stopped + "4 of the first 10 messages have ended and 2 of these failed, which is more than 10%"},
		"half have, and well":         {5, 0, ""},
		"all have, one of ten failed": {10, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := begin(t, canaryJob(t))
			d.ended, d.failed = c.ended, c.failed
			fireDue(t, d)
			r := d.the(t)
			if c.reason == "" {
				if r.State != messaging.RunDone || r.Approved != "" || len(d.queued[1]) != 1000 {
					t.Fatalf("%s %q, %d rows queued", r.State, r.Reason, len(d.queued[1]))
				}
				return
			}
			if r.State != messaging.RunPaused || r.Reason != c.reason || len(d.queued[1]) != 10 {
				t.Fatalf("%s %q, %d rows queued", r.State, r.Reason, len(d.queued[1]))
			}
			if err := d.Resume(t.Context(), 1, "Ann"); err != nil {
				t.Fatal(err)
			}
			d.settle(t)
			if r = d.the(t); r.State != messaging.RunDone || r.Overruled != "Ann" || r.Approved != "" || len(d.queued[1]) != 1000 {
				t.Errorf("resumed, it is %s by %q with %d rows", r.State, r.Overruled, len(d.queued[1]))
			}
		})
	}
}

// A run of single messages is done once they are handed over. It can be paused while they wait,
// and resumed it is done again, with nothing queued twice.
func TestARunThatHandedAllOverCanBePausedAndResumed(t *testing.T) {
	d := begin(t, jobOf(t, people(1000), Job{Cron: "0 10 * * *", Deliver: messaging.DeliverPerMessage, Send: &Message{Template: "winback"}}))
	fireDue(t, d)
	refuse := func(words, hint string) {
		t.Helper()
		refused, ok := errors.AsType[*wordError](d.Pause(t.Context(), 1, "Ann"))
		if !ok || refused.Error() != words || refused.Hint() != hint {
			t.Errorf("pause: %v", refused)
		}
	}
	refuse("run 1 is done: there is nothing to pause", "look at jobs show 1")
	d.wait = 700
	if err := d.Pause(t.Context(), 1, "Ann"); err != nil {
		t.Fatal(err)
	}
	refuse("run 1 is paused: there is nothing to pause", "it goes on with: nudgewire jobs resume 1")
	d.settle(t)
	if r := d.the(t); r.State != messaging.RunPaused || r.Reason != "paused by Ann" {
		t.Fatalf("%s %q", r.State, r.Reason)
	}
	before := len(d.queued[1])
	if err := d.Resume(t.Context(), 1, "Ann"); err != nil {
		t.Fatal(err)
	}
	d.settle(t)
	if r := d.the(t); r.State != messaging.RunDone || r.Reason != "" || r.EndedAt.IsZero() || before != 1000 || len(d.queued[1]) != 1000 {
		t.Errorf("resumed, it is %s %q since %s with %d rows", r.State, r.Reason, r.EndedAt, len(d.queued[1]))
	}
	// What uploads files has nothing to hold once it is done.
	d = begin(t, jobOf(t, people(10), Job{Cron: "0 10 * * *"}))
	d.wait = 700
	fireDue(t, d)
	refuse("run 1 is done: there is nothing to pause", "look at jobs show 1")
}

// What came back of a cancelled run is looked for with each look at the clock, and soon again while
// some of it is in a sender's hands.
func TestEachTickEndsWhatCameBackOfCancelledRuns(t *testing.T) {
	d := begin(t, jobOf(t, people(10), Job{Cron: "0 10 * * *"}))
	tick := func(want time.Time) {
		t.Helper()
		if next, err := d.Tick(t.Context(), monday.Add(time.Minute)); err != nil || !next.Equal(want) {
			t.Errorf("the next look is at %s, want %s (%v)", next, want, err)
		}
	}
	before := d.looked
	tick(monday.AddDate(0, 0, 1))
	d.wait = 1
	tick(monday.Add(time.Minute + time.Second))
	if d.looked != before+2 {
		t.Errorf("looked %d times in 2 ticks", d.looked-before)
	}
}

// heldWhile holds runs by a person's word.
func heldWhile(held func(*messaging.Run) bool) func(*messaging.Run) messaging.DueFacts {
	return func(r *messaging.Run) (f messaging.DueFacts) {
		if held(r) {
			f.Held = "halted"
		}
		return f
	}
}
