package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// reaching are the rules of an account with that tier.
func reaching(t testing.TB, tier string, reserve units.Percent) *duerules.Rules {
	t.Helper()
	a := duerules.Account{Reserve: reserve}
	if err := a.UniqueContacts.UnmarshalText([]byte(tier)); err != nil {
		t.Fatal(err)
	}
	return duerules.New(time.UTC, a)
}

// roomy is a desk with a list of that many people, and the times of its uploads.
func roomy(t *testing.T, rows int, j Job, rules *duerules.Rules) (*desk, *[]time.Duration) {
	if j.Cron == "" {
		j.Cron = "0 10 * * *"
	}
	d := begin(t, jobOf(t, people(rows), j))
	d.Rules = func() *duerules.Rules { return rules }
	at := &[]time.Duration{}
	d.service.answer = func(int) error { *at = append(*at, d.now().Sub(monday).Truncate(time.Hour)); return nil }
	return d, at
}

func reachedEarlier(d *desk, people int, ago time.Duration) {
	d.reached = map[messaging.Phone]time.Time{}
	for i := range people {
		d.reached[messaging.Phone(fmt.Sprintf("4479222%05d", i))] = monday.Add(-ago)
	}
}

func TestAListLeavesAsTheAccountHasRoom(t *testing.T) {
	tests := map[string]struct {
		rows    int
		job     Job
		tier    string
		reserve units.Percent
		before  int           // contacts that the account reached
		ago     time.Duration // and when
		files   []int
		at      []time.Duration // after the firing, in whole hours
	}{
		"room for all":                       {rows: 100, tier: "100 per 24h", files: []int{100}, at: []time.Duration{0}},
		"larger than the limit":              {rows: 100, tier: "40 per 24h", files: []int{40, 40, 20}, at: []time.Duration{0, 24 * time.Hour, 48 * time.Hour}},
		"without the reserve":                {rows: 100, tier: "80 per 24h", reserve: 0.5, files: []int{40, 40, 20}, at: []time.Duration{0, 24 * time.Hour, 48 * time.Hour}},
		"what messages took has no room":     {rows: 100, tier: "120 per 24h", before: 60, ago: 22 * time.Hour, files: []int{60, 40}, at: []time.Duration{0, 2 * time.Hour}},
		"too little room to cut for":         {rows: 100, tier: "120 per 24h", before: 117, ago: 22 * time.Hour, files: []int{100}, at: []time.Duration{2 * time.Hour}},
		"no room":                            {rows: 10, tier: "100 per 24h", before: 100, ago: 20 * time.Hour, files: []int{10}, at: []time.Duration{4 * time.Hour}},
		"utility asks for none":              {rows: 100, job: Job{Category: "utility"}, tier: "40 per 24h", files: []int{100}, at: []time.Duration{0}},
		"files that were small have room":    {rows: 100, job: Job{MaxSize: 1000}, tier: "60 per 24h", files: []int{47, 13, 40}, at: []time.Duration{0, 0, 24 * time.Hour}},
		"a canary is a file of its own, too": {rows: 100, job: Job{Canary: &Canary{First: Share{Rows: 50}, Wait: units.Duration(time.Hour)}}, tier: "40 per 24h", files: []int{40, 10, 30, 10, 10}, at: []time.Duration{0, 24 * time.Hour, 25 * time.Hour, 48 * time.Hour, 49 * time.Hour}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d, at := roomy(t, tt.rows, tt.job, reaching(t, tt.tier, tt.reserve))
			reachedEarlier(d, tt.before, tt.ago)
			fireDue(t, d)
			r := d.the(t)
			if got := rowsOf(d); r.State != messaging.RunDone || !slices.Equal(got, tt.files) {
				t.Fatalf("%s %q: files of %v rows, want %v, at %v", r.State, r.Reason, got, tt.files, *at)
			}
			if !slices.Equal(*at, tt.at) {
				t.Errorf("they left after %v, want %v", *at, tt.at)
			}
			if r.Waits != "" || r.Reason != "" {
				t.Errorf("in the end it waits for %q: %q", r.Waits, r.Reason)
			}
			eachOnce(t, d, tt.rows)
		})
	}
}

// whileFull calls f the first time that the run waits for room, with the run as it stands.
func whileFull(d *desk, f func(messaging.Run)) {
	sleep, said := d.Sleep, false
	d.Sleep = func(ctx context.Context, by time.Duration) error {
		if r := d.the(d.t); !said && (r.Waits == messaging.WaitLimits || r.Waits == messaging.WaitBudget) {
			said = true
			f(r)
		}
		return sleep(ctx, by)
	}
}

func TestAnAccountWithoutRoomMeetsTheOthers(t *testing.T) {
	full := func(t *testing.T, j Job) (*desk, *[]time.Duration) {
		d, at := roomy(t, 10, j, reaching(t, "100 per 24h", 0))
		reachedEarlier(d, 100, 20*time.Hour)
		return d, at
	}
	done := func(t *testing.T, d *desk, at []time.Duration, want time.Duration) {
		t.Helper()
		if r := d.the(t); r.State != messaging.RunDone || r.Waits != "" || r.Reason != "" || !slices.Equal(at, []time.Duration{want}) {
			t.Errorf("%s %q, waits for %q, uploads after %v, want %s", r.State, r.Reason, r.Waits, at, want)
		}
	}
	t.Run("it says so with numbers", func(t *testing.T) {
		d, at := full(t, Job{})
		rules := reaching(t, "100 per 24h", 0.1)
		d.Rules = func() *duerules.Rules { return rules }
		whileFull(d, func(r messaging.Run) {
			if want := "100 contacts were messaged in the last 24h, and marketing may reach 90 of 100 (10 are kept for utility and authentication)"; r.Reason != want || !r.WaitUntil.Equal(monday.Add(time.Hour)) {
				t.Errorf("until %s: %q", r.WaitUntil, r.Reason)
			}
		})
		fireDue(t, d)
		done(t, d, *at, 4*time.Hour)
	})
	t.Run("restart", func(t *testing.T) {
		d, at := full(t, Job{})
		whileFull(d, func(messaging.Run) {
			d.book.mu.Lock()
			d.crashed = true
			d.book.mu.Unlock()
		})
		rules := d.Rules
		fireDue(t, d)
		d.revive()
		d.open("two")
		d.Rules = rules
		d.settle(t)
		done(t, d, *at, 4*time.Hour)
	})
	t.Run("a reload with a higher limit, or none", func(t *testing.T) {
		for _, next := range []*duerules.Rules{reaching(t, "200 per 24h", 0), duerules.New(time.UTC, duerules.Account{}), nil} {
			d, at := full(t, Job{})
			rules := d.Rules()
			d.Rules = func() *duerules.Rules { return rules }
			whileFull(d, func(messaging.Run) { rules = next })
			fireDue(t, d)
			done(t, d, *at, 0)
		}
	})
	t.Run("a reload without the job", func(t *testing.T) {
		d, at := roomy(t, 100, Job{}, reaching(t, "40 per 24h", 0))
		whileFull(d, func(messaging.Run) {
			d.Use(nil)
			d.book.mu.Lock()
			d.crashed = true
			d.book.mu.Unlock()
		})
		rules, job := d.Rules, d.all()[0]
		fireDue(t, d)
		d.revive()
		d.open("two")
		d.Rules, d.Kept = rules, func(string, string) *Compiled { return job }
		if err := d.Hold(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		d.settle(t)
		if r := d.the(t); r.State != messaging.RunPaused || r.Stopped != messaging.StopConfig || r.Held != "is gone from the config" {
			t.Fatalf("without its job it is %s, %q", r.State, r.Reason)
		}
		if err := d.Resume(t.Context(), 1, "Ann"); err != nil {
			t.Fatal(err)
		}
		d.settle(t)
		if r := d.the(t); r.State != messaging.RunDone || !slices.Equal(rowsOf(d), []int{40, 40, 20}) {
			t.Errorf("%s %q: files of %v rows after %v", r.State, r.Reason, rowsOf(d), *at)
		}
		eachOnce(t, d, 100)
	})
	t.Run("cancel", func(t *testing.T) {
		d, at := full(t, Job{})
		whileFull(d, func(messaging.Run) {
			if err := d.Cancel(context.WithoutCancel(t.Context()), 1, "Ann"); err != nil {
				t.Error(err)
			}
		})
		fireDue(t, d)
		if r := d.the(t); r.State != messaging.RunCancelled || len(*at) != 0 || d.parts[1][0].State != messaging.PartCancelled {
			t.Errorf("%s %q, part %s", r.State, r.Reason, d.parts[1][0].State)
		}
	})
	t.Run("pause and resume", func(t *testing.T) {
		d, at := full(t, Job{})
		whileFull(d, func(messaging.Run) {
			if err := d.Pause(context.WithoutCancel(t.Context()), 1, "Ann"); err != nil {
				t.Error(err)
			}
		})
		fireDue(t, d)
		if r := d.the(t); r.State != messaging.RunPaused || r.Reason != "paused by Ann" || len(*at) != 0 {
			t.Fatalf("%s %q", r.State, r.Reason)
		}
		d.advance(time.Hour)
		if err := d.Resume(t.Context(), 1, "Ann"); err != nil {
			t.Fatal(err)
		}
		d.settle(t)
		done(t, d, *at, 4*time.Hour)
	})
	t.Run("a halt", func(t *testing.T) {
		d, at := full(t, Job{})
		until := time.Time{}
		d.Held = heldWhile(func(*messaging.Run) bool { return d.now().Before(until) })
		whileFull(d, func(messaging.Run) { until = monday.Add(9 * time.Hour) })
		fireDue(t, d)
		done(t, d, *at, 9*time.Hour)
	})
	t.Run("quiet hours begin meanwhile", func(t *testing.T) {
		d, at := full(t, Job{})
		rules := reaching(t, "100 per 24h", 0)
		w, err := hours.ParseWindow("13:30-20:00", hours.Everyday)
		if err != nil {
			t.Fatal(err)
		}
		rules.Job("winback", duerules.Keys{QuietHours: duerules.QuietHours{Set: true, Windows: []hours.Window{w}}}, hours.Holidays{})
		d.Rules = func() *duerules.Rules { return rules }
		fireDue(t, d)
		done(t, d, *at, 10*time.Hour)
	})
	t.Run("a message takes the last place", func(t *testing.T) {
		d, at := roomy(t, 10, Job{}, reaching(t, "100 per 24h", 0))
		d.full = 1
		fireDue(t, d)
		if done(t, d, *at, 0); d.rooms != 2 {
			t.Errorf("it asked %d times", d.rooms)
		}
	})
	t.Run("who is blocked meanwhile", func(t *testing.T) {
		d, _ := full(t, Job{})
		who := withRegister(d)
		d.Facts = who
		whileFull(d, func(messaging.Run) { who.block("447911100003") })
		fireDue(t, d)
		if got := d.service.phones(t); len(got) != 9 || slices.Contains(got, "447911100003") {
			t.Errorf("uploaded: %v", got)
		}
	})
}

func TestACrashAnywhereWhileAListIsCutToRoom(t *testing.T) {
	for _, call := range []string{"SaveParts", "Point", "NoteRows", "FinishPart 1", "FinishPart 2", "FinishPart 3"} {
		t.Run(call, func(t *testing.T) {
			d, _ := roomy(t, 100, Job{}, reaching(t, "40 per 24h", 0))
			d.crashAt = call
			fireDue(t, d)
			if !d.crashed {
				t.Fatal("it never came there")
			}
			rules := d.Rules
			d.revive()
			d.open("two")
			d.Rules = rules
			d.settle(t)
			if r := d.the(t); r.State != messaging.RunDone || !slices.Equal(rowsOf(d), []int{40, 40, 20}) {
				t.Errorf("%s %q: files of %v rows", r.State, r.Reason, rowsOf(d))
			}
			eachOnce(t, d, 100)
		})
	}
}

func TestAForecastNamesTheAccountsLimit(t *testing.T) {
	d, _ := roomy(t, 100, Job{}, reaching(t, "50 per 24h", 0.2))
	f, err := d.DryRun(t.Context(), d.job("winback"), monday, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := "100 contacts at 40 per 24h (unique_contacts), if the account reached none of them before"; f.Takes != 48*time.Hour || f.Basis != want {
		t.Errorf("it takes %s: %q", f.Takes, f.Basis)
	}
	d.Rules = func() *duerules.Rules { return reaching(t, "125 per 24h", 0.2) }
	if f, err = d.DryRun(t.Context(), d.job("winback"), monday, nil); err != nil || strings.Contains(f.Basis, "unique_contacts") {
		t.Errorf("with room for all: %q, %v", f.Basis, err)
	}
}
