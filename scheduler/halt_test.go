package scheduler

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
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
	d.Halted = func(job string) bool {
		if job != "winback" {
			t.Errorf("asked about job %q", job)
		}
		if asked++; asked == 100 {
			resumed = true
		}
		if !resumed && len(d.service.uploads()) != 2 {
			t.Error("a part left while the job was halted")
		}
		if r := d.the(t); !resumed && r.State != nudgewire.RunUploading {
			t.Errorf("a halted run is %s", r.State)
		}
		return !resumed
	}
	d.settle(t)
	r := d.the(t)
	ups := d.service.uploads()
	if !resumed || r.State != nudgewire.RunDone || len(ups) != r.Tally.Parts || len(ups) < 4 {
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
	d.Halted = func(string) bool {
		if len(d.service.uploads()) == 1 && !cancelled {
			cancelled = true
			if err := d.Cancel(context.WithoutCancel(t.Context()), 1, "Ann"); err != nil {
				t.Error(err)
			}
		}
		return len(d.service.uploads()) == 1
	}
	fireDue(t, d)
	if r := d.the(t); r.State != nudgewire.RunCancelled || len(d.service.uploads()) != 1 {
		t.Errorf("%s with %d uploads", r.State, len(d.service.uploads()))
	}
}

func canaryJob(t *testing.T) *Compiled {
	return jobOf(t, people(1000), Job{
		Cron: "0 10 * * *", Deliver: nudgewire.DeliverPerMessage, Send: &Message{Template: "winback"},
		Canary: &Canary{First: Share{Of: 0.01}, Wait: units.Duration(10 * time.Minute), StopIf: StopIf{0.1}},
	})
}

// While the job is halted its first rows are at home: the canary's wait begins anew when it is
// resumed, or it would look at nothing and call it good.
func TestACanaryDoesNotCountTheTimeOfAHalt(t *testing.T) {
	d := begin(t, canaryJob(t))
	resumed := monday.Add(3 * time.Hour)
	d.Halted = func(string) bool { return d.now().After(monday.Add(time.Minute)) && d.now().Before(resumed) }
	fireDue(t, d)
	r := d.the(t)
	if r.State != nudgewire.RunDone || len(d.owed[1]) != 1000 {
		t.Fatalf("%s %q, %d rows owed", r.State, r.Reason, len(d.owed[1]))
	}
	if looked := d.owed[1][11].DueAt; looked.Before(resumed.Add(10 * time.Minute)) {
		t.Errorf("the row behind the canary was owed at %s, and the halt ended at %s", looked, resumed)
	}
}

// A person who pauses a run before its canary looked, and resumes it, has not approved it.
func TestAResumeIsNoApprovalOfACanary(t *testing.T) {
	d := begin(t, canaryJob(t))
	d.ended, d.failed = 8, 2
	paused := false
	d.Halted = func(string) bool {
		if len(d.owed[1]) == 10 && !paused {
			paused = true
			if err := d.Pause(context.WithoutCancel(t.Context()), 1, "Ann"); err != nil {
				t.Error(err)
			}
		}
		return false
	}
	fireDue(t, d)
	const words = `paused by Ann; rows that were handed over before still go out, and "nudgewire halt job winback" holds those, too`
	if r := d.the(t); r.State != nudgewire.RunPaused || r.Reason != words {
		t.Fatalf("%s %q", r.State, r.Reason)
	}
	refused, ok := errors.AsType[*wordError](d.Approve(t.Context(), 1, "Ann"))
	if !ok || refused.Error() != "run 1 is paused: there is nothing to approve" || refused.Hint() != "it goes on with: nudgewire jobs resume 1" {
		t.Errorf("approve: %v", refused)
	}
	if err := d.Resume(t.Context(), 1, "Ann"); err != nil {
		t.Fatal(err)
	}
	d.settle(t)
	if r := d.the(t); r.State != nudgewire.RunPaused || r.Approved != "" || len(d.owed[1]) != 10 ||
		r.Reason != "the canary stopped it: 8 of the first 10 messages have ended and 2 of these failed, which is more than 10%" {
		t.Errorf("resumed, it is %s by %q with %d rows: %s", r.State, r.Approved, len(d.owed[1]), r.Reason)
	}
}
