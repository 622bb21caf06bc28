package scheduler

import (
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
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
