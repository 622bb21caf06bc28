package scheduler

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

func rateOf(t testing.TB, text string) (r duerules.Rate) {
	t.Helper()
	if err := r.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return r
}

// inWindows counts the rows of a run by when they were handed over, since monday.
func inWindows(d *desk, run messaging.RunID) map[time.Duration]int {
	by := map[time.Duration]int{}
	for _, row := range d.queued[run] {
		by[row.DueAt.Sub(monday).Truncate(time.Minute)]++
	}
	return by
}

func TestRowsLeaveInTheWindowsOfTheRate(t *testing.T) {
	// It fires at 10:00 in UTC, which is 11:00 in London: midnight is 13 hours away.
	for text, want := range map[string]map[time.Duration]int{
		"500/h":        {0: 500, time.Hour: 500, 2 * time.Hour: 200},
		"700 per 30m":  {0: 700, 30 * time.Minute: 500},
		"500 per day":  {0: 500, 13 * time.Hour: 500, 37 * time.Hour: 200},
		"1200 per day": {0: 1200},
	} {
		t.Run(text, func(t *testing.T) {
			job := jobOf(t, people(1200), Job{
				Cron: "0 11 * * *", Timezone: "Europe/London", Deliver: messaging.DeliverPerMessage, Rate: rateOf(t, text),
				Send: &Message{Template: "winback", Expires: units.Duration(time.Hour)},
			})
			d := begin(t, job)
			fireDue(t, d)
			r := d.the(t)
			if r.State != messaging.RunDone || r.Waits != "" {
				t.Fatalf("%s %q, waits for %q", r.State, r.Reason, r.Waits)
			}
			if got := inWindows(d, 1); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("rows left %v, want %v", got, want)
			}
			for n, row := range d.queued[1] {
				if !row.ExpiresAt.Equal(row.DueAt.Add(time.Hour)) {
					t.Fatalf("row %d, due %s, expires %s", n, row.DueAt, row.ExpiresAt)
				}
			}
		})
	}
}

func TestARestartGivesARateNoSecondWindow(t *testing.T) {
	job := jobOf(t, people(1200), Job{Cron: "0 10 * * *", Deliver: messaging.DeliverPerMessage, Rate: rateOf(t, "500/h"), Send: &Message{Template: "winback"}})
	d := begin(t, job)
	sleep, crashed := d.Sleep, false
	d.Sleep = func(ctx context.Context, by time.Duration) error {
		if r := d.the(t); !crashed && r.Waits == messaging.WaitRate {
			if want := monday.Add(time.Hour); !r.WaitUntil.Equal(want) {
				t.Errorf("it says that it waits until %s", r.WaitUntil)
			}
			crashed = true
			d.book.mu.Lock()
			d.crashed = true
			d.book.mu.Unlock()
		}
		return sleep(ctx, by)
	}
	fireDue(t, d)
	d.revive()
	d.open("two")
	d.settle(t)
	if r, got := d.the(t), inWindows(d, 1); r.State != messaging.RunDone || fmt.Sprint(got) != fmt.Sprint(map[time.Duration]int{0: 500, time.Hour: 500, 2 * time.Hour: 200}) {
		t.Errorf("%s %q: %v", r.State, r.Reason, got)
	}
}

func TestARunThatWaitsForItsRateCanBeEnded(t *testing.T) {
	job := jobOf(t, people(1200), Job{Cron: "0 10 * * *", Deliver: messaging.DeliverPerMessage, Rate: rateOf(t, "500 per day"), Send: &Message{Template: "winback"}})
	d := begin(t, job)
	sleep, said := d.Sleep, false
	d.Sleep = func(ctx context.Context, by time.Duration) error {
		if !said && d.the(t).Waits == messaging.WaitRate {
			said = true
			if err := d.Cancel(context.WithoutCancel(t.Context()), 1, "Ann"); err != nil {
				t.Error(err)
			}
		}
		return sleep(ctx, by)
	}
	fireDue(t, d)
	if r := d.the(t); r.State != messaging.RunCancelled || len(d.queued[1]) != 500 || d.now().After(monday.Add(time.Minute)) {
		t.Errorf("%s %q, %d rows at %s", r.State, r.Reason, len(d.queued[1]), d.now())
	}
}

func TestAJobThatUploadsHasNoRate(t *testing.T) {
	_, problems := Compile([]Job{{Name: "j", Campaign: &Campaign{TemplateID: 1}, Source: job0(t).Source, Rate: rateOf(t, "5/h")}}, Env{})
	if len(problems) != 1 || problems[0].Error() != "j.rate: a file leaves whole, and the service sends it as fast as it can; remove it, or write deliver: per_message" {
		t.Error(problems)
	}
}

func job0(t testing.TB) Job { return compile(t, Job{Source: jobOf(t, people(1), Job{}).Source}).Job }
