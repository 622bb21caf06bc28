package scheduler

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// quietFrom are the rules of a job that is quiet in that window.
func quietFrom(t testing.TB, window string, edit func(*duerules.Keys)) *duerules.Rules {
	t.Helper()
	w, err := hours.ParseWindow(window, hours.Everyday)
	if err != nil {
		t.Fatal(err)
	}
	k := duerules.Keys{QuietHours: duerules.QuietHours{Set: true, Windows: []hours.Window{w}}}
	if edit != nil {
		edit(&k)
	}
	r := duerules.New(time.UTC, duerules.Account{})
	r.Job("winback", k, hours.Holidays{})
	return r
}

// Monday the desk's job fires at 10:00 UTC, which is 11:00 in London.
const (
	atNight = "10:00-14:00" // on that clock
	nightIs = 3 * time.Hour // from the firing to its end
)

func london(j Job) Job {
	j.Cron, j.Timezone = "0 11 * * *", "Europe/London"
	return j
}

func TestFilesWaitForTheEndOfTheQuietHours(t *testing.T) {
	tests := map[string]struct {
		job   Job
		rules *duerules.Rules
		after time.Duration // from the firing to the first upload
	}{
		"at night":              {Job{}, quietFrom(t, atNight, nil), nightIs},
		"by day":                {Job{}, quietFrom(t, "21:00-09:00", nil), 0},
		"at night, for utility": {Job{Category: "utility"}, quietFrom(t, atNight, nil), 0},
		"over midnight":         {Job{}, quietFrom(t, "10:30-09:00", nil), 22 * time.Hour},
		"long enough":           {Job{}, quietFrom(t, atNight, func(k *duerules.Keys) { k.QuietHours.MaxDefer = units.Duration(4 * time.Hour) }), nightIs},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := begin(t, jobOf(t, people(10), london(tt.job)))
			d.Rules = func() *duerules.Rules { return tt.rules }
			var at, waited time.Time
			d.service.answer = func(int) error {
				at = d.now()
				if r := d.the(t); r.Waits != "" {
					t.Errorf("it uploads while it waits for %q", r.Waits)
				}
				return nil
			}
			sleep := d.Sleep
			d.Sleep = func(ctx context.Context, by time.Duration) error {
				if r := d.the(t); r.Waits == messaging.WaitQuietHours {
					waited = r.WaitUntil
				}
				return sleep(ctx, by)
			}
			fireDue(t, d)
			if r := d.the(t); r.State != messaging.RunDone || len(d.service.uploads()) != 1 {
				t.Fatalf("%s %q", r.State, r.Reason)
			}
			if got := at.Sub(monday); got < tt.after || got > tt.after+2*time.Second {
				t.Errorf("it was uploaded %s after it fired, want %s", got, tt.after)
			}
			if tt.after > 0 && !waited.Equal(monday.Add(tt.after)) {
				t.Errorf("it said that it waits until %s", waited)
			}
		})
	}
}

func TestARunThatQuietHoursDropIsSkippedAndSaysWhy(t *testing.T) {
	for name, edit := range map[string]func(*duerules.Keys){
		"on_hit: drop": func(k *duerules.Keys) { k.QuietHours.OnHit = duerules.Drop },
		"max_defer":    func(k *duerules.Keys) { k.QuietHours.MaxDefer = units.Duration(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			d := begin(t, jobOf(t, people(10), london(Job{})))
			rules := quietFrom(t, atNight, edit)
			d.Rules = func() *duerules.Rules { return rules }
			fireDue(t, d)
			r := d.the(t)
			if r.State != messaging.RunSkipped || len(d.service.uploads()) != 0 || !strings.HasPrefix(r.Reason, "quiet hours are 10:00-14:00, and it is Mon 11:00 in Europe/London") {
				t.Errorf("%s %q", r.State, r.Reason)
			}
		})
	}
}

func TestQuietHoursMeetApprovalsCanariesAndPeople(t *testing.T) {
	rules := quietFrom(t, atNight, nil)
	end := monday.Add(nightIs)
	with := func(t *testing.T, j Job) (*desk, *[]time.Time) {
		d := begin(t, jobOf(t, people(100), london(j)))
		d.Rules = func() *duerules.Rules { return rules }
		at := &[]time.Time{}
		d.service.answer = func(int) error { *at = append(*at, d.now()); return nil }
		return d, at
	}
	// once calls f the first time that the run waits so.
	once := func(d *desk, what messaging.RunWait, f func()) {
		sleep, said := d.Sleep, false
		d.Sleep = func(ctx context.Context, by time.Duration) error {
			if !said && d.the(d.t).Waits == what {
				said = true
				f()
			}
			return sleep(ctx, by)
		}
	}
	t.Run("approved at night", func(t *testing.T) {
		d, at := with(t, Job{Guard: Guard{ApproveOver: 10}})
		fireDue(t, d)
		if r := d.the(t); r.State != messaging.RunAwaiting {
			t.Fatalf("%s %q", r.State, r.Reason)
		}
		d.advance(time.Hour)
		if err := d.Approve(t.Context(), 1, by("Ann")); err != nil {
			t.Fatal(err)
		}
		d.settle(t)
		if r := d.the(t); r.State != messaging.RunDone || len(*at) != 1 || (*at)[0].Before(end) {
			t.Errorf("%s %q, uploads at %v", r.State, r.Reason, *at)
		}
	})
	t.Run("the canary ends at night", func(t *testing.T) {
		d, at := with(t, Job{Canary: &Canary{First: Share{Rows: 20}, Wait: units.Duration(time.Hour)}})
		rules := quietFrom(t, "11:30-14:00", nil)
		d.Rules = func() *duerules.Rules { return rules }
		fireDue(t, d)
		if r := d.the(t); r.State != messaging.RunDone || len(*at) != 2 || (*at)[0].After(monday.Add(time.Minute)) || (*at)[1].Before(end) || (*at)[1].After(end.Add(time.Minute)) {
			t.Errorf("%s %q, uploads at %v", r.State, r.Reason, *at)
		}
	})
	t.Run("a restart", func(t *testing.T) {
		d, at := with(t, Job{})
		once(d, messaging.WaitQuietHours, func() {
			d.book.mu.Lock()
			d.crashed = true
			d.book.mu.Unlock()
		})
		fireDue(t, d)
		d.revive()
		d.open("two")
		d.Rules = func() *duerules.Rules { return rules }
		d.settle(t)
		if r := d.the(t); r.State != messaging.RunDone || len(*at) != 1 || (*at)[0].Before(end) {
			t.Errorf("%s %q, uploads at %v", r.State, r.Reason, *at)
		}
	})
	t.Run("a reload without them", func(t *testing.T) {
		d, at := with(t, Job{})
		none := duerules.New(time.UTC, duerules.Account{})
		now := rules
		d.Rules = func() *duerules.Rules { return now }
		once(d, messaging.WaitQuietHours, func() { now = none })
		fireDue(t, d)
		if r := d.the(t); r.State != messaging.RunDone || r.Waits != "" || len(*at) != 1 || (*at)[0].After(monday.Add(time.Minute)) {
			t.Errorf("%s %q, uploads at %v", r.State, r.Reason, *at)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		d, at := with(t, Job{})
		once(d, messaging.WaitQuietHours, func() {
			if err := d.Cancel(context.WithoutCancel(t.Context()), 1, "Ann"); err != nil {
				t.Error(err)
			}
		})
		fireDue(t, d)
		if r := d.the(t); r.State != messaging.RunCancelled || r.Waits != "" || len(*at) != 0 || d.now().After(monday.Add(time.Minute)) {
			t.Errorf("%s %q at %s, uploads at %v", r.State, r.Reason, d.now(), *at)
		}
	})
	t.Run("paused until the next night", func(t *testing.T) {
		d, at := with(t, Job{})
		once(d, messaging.WaitQuietHours, func() {
			if err := d.Pause(context.WithoutCancel(t.Context()), 1, "Ann"); err != nil {
				t.Error(err)
			}
		})
		fireDue(t, d)
		d.advance(24 * time.Hour)
		if err := d.Resume(t.Context(), 1, "Ann"); err != nil {
			t.Fatal(err)
		}
		d.settle(t)
		if r := d.the(t); r.State != messaging.RunDone || len(*at) != 1 || (*at)[0].Before(end.Add(24*time.Hour)) {
			t.Errorf("%s %q, uploads at %v", r.State, r.Reason, *at)
		}
	})
	t.Run("a second firing meanwhile", func(t *testing.T) {
		d := begin(t, jobOf(t, people(100), Job{Cron: "0,30 11 * * *", Timezone: "Europe/London"}))
		d.Rules = func() *duerules.Rules { return rules }
		once(d, messaging.WaitQuietHours, func() {
			d.advance(31 * time.Minute)
			if _, err := d.Tick(t.Context(), d.now()); err != nil {
				t.Error(err)
			}
		})
		fireDue(t, d)
		if first, second := d.runs[0], d.the(t); first.State != messaging.RunDone || second.State != messaging.RunSkipped || !strings.Contains(second.Reason, "run 1 of") {
			t.Errorf("%s, then %s %q", first.State, second.State, second.Reason)
		}
	})
	t.Run("single rows are decided one by one", func(t *testing.T) {
		d, _ := with(t, Job{Deliver: messaging.DeliverPerMessage, Send: &Message{Campaign: "417"}, Columns: columns("phone", "phone")})
		fireDue(t, d)
		if r := d.the(t); r.State != messaging.RunDone || len(d.queued[1]) != 100 || d.now().After(monday.Add(time.Minute)) {
			t.Errorf("%s %q, %d rows at %s", r.State, r.Reason, len(d.queued[1]), d.now())
		}
	})
}

// limits has a job with one limit.
func limited(t testing.TB, text string, edit func(*duerules.Limit)) *duerules.Rules {
	t.Helper()
	var one duerules.Limit
	if err := one.Count.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		edit(&one)
	}
	r := duerules.New(time.UTC, duerules.Account{})
	r.Job("winback", duerules.Keys{Limit: duerules.Limits{Set: true, All: []duerules.Limit{one}}}, hours.Holidays{})
	return r
}

// A counter is Facts that know what was sent to each.
type counter map[messaging.Phone][]messaging.PastSend

func (c counter) About(_ context.Context, phones []messaging.Phone, q Question) ([]Known, error) {
	out := make([]Known, len(phones))
	for i, p := range phones {
		if q.Of != 0 && q.Needs.Sends > 0 { // the list is read before they are sent
			out[i].Sends = c[p]
		}
	}
	return out, nil
}

func TestWhoIsOverTheLimitIsTakenOffTheFile(t *testing.T) {
	sent := func(ago time.Duration, c messaging.Category) messaging.PastSend {
		return messaging.PastSend{At: monday.Add(-ago), Category: c, Trigger: "cart"}
	}
	d := begin(t, jobOf(t, people(4), Job{Cron: "0 10 * * *"}))
	rules := limited(t, "2 per 24h", func(l *duerules.Limit) { l.OnHit = duerules.Drop })
	d.Rules = func() *duerules.Rules { return rules }
	d.Facts = counter{
		"447911100000": {sent(time.Hour, messaging.Marketing), sent(2*time.Hour, messaging.Marketing)},
		"447911100001": {sent(time.Hour, messaging.Marketing), sent(25*time.Hour, messaging.Marketing)},
		"447911100002": {sent(time.Hour, messaging.Marketing), sent(2*time.Hour, messaging.Utility)},
	}
	fireDue(t, d)
	r := d.the(t)
	if got := d.service.phones(t); r.State != messaging.RunDone || !slices.Equal(got, []string{"447911100001", "447911100002", "447911100003"}) {
		t.Fatalf("%s %q: uploaded %v", r.State, r.Reason, got)
	}
	if len(r.Tally.Excluded) != 1 || r.Tally.Excluded[0] != (messaging.Excluded{Kind: KindContact, Reason: "the contact is over its limit", Count: 1, First: 2, Late: true}) {
		t.Errorf("excluded: %+v", r.Tally.Excluded)
	}
	why := d.reasons(r.ID)
	if want := []string{"2 of 2 per 24h were sent to this contact: at 2026-05-04 10:00 by cart, at 2026-05-04 09:00 by cart"}; !slices.Equal(why, want) {
		t.Errorf("listed: %q", why)
	}
}

func TestWhatCountsAgainstALimitIsCountedOnce(t *testing.T) {
	at := func(ago time.Duration) time.Time { return monday.Add(-ago) }
	const phone = "447911100000"
	found := []messaging.Contacted{
		{Phone: phone, Run: 3, Trigger: "blast", Category: messaging.Marketing, At: at(time.Hour)},                // a file
		{ID: 7, Phone: phone, Run: 3, Trigger: "blast", Category: messaging.Marketing, At: at(time.Hour)},         // which its answer named
		{ID: 8, Phone: phone, Run: 4, Trigger: "single", Category: messaging.Marketing, At: at(2 * time.Hour)},    // a row
		{ID: 8, Phone: phone, Run: 4, Trigger: "single", Category: messaging.Marketing, At: at(2 * time.Hour)},    // that was met twice
		{ID: 9, Phone: phone, Trigger: "cart", Category: messaging.Marketing, At: at(30 * time.Minute)},           // an event
		{ID: 10, Phone: phone, Trigger: "cart", Category: messaging.Marketing, At: at(48 * time.Hour)},            // too long ago
		{Phone: phone, Run: 5, Trigger: "winback", Category: messaging.Marketing, At: at(10 * time.Minute)},       // its own
		{ID: 11, Phone: "447911100001", Trigger: "cart", Category: messaging.Marketing, At: at(30 * time.Minute)}, // somebody else's
		{ID: 12, Phone: phone, Trigger: "code", Category: messaging.Authentication, At: at(3 * time.Hour)},        // another category
	}
	got := sendsOf(found, []messaging.RunID{5}, at(24*time.Hour))[phone]
	var by []string
	for _, s := range got {
		by = append(by, s.Trigger)
	}
	if !slices.Equal(by, []string{"cart", "blast", "single", "code"}) {
		t.Errorf("counted: %v", got)
	}
}

// A run that was missed begins in quiet hours, sends its canary after them, and a restart goes on with the look at it; the
// rest leaves once, and not in the next night.
func TestAMissedRunWithACanaryInQuietHoursSurvivesARestart(t *testing.T) {
	rules := quietFrom(t, "10:00-14:00", nil)
	d := begin(t, jobOf(t, people(100), london(Job{OnMissed: OnMissed{RunOnce: true}, Canary: &Canary{First: Share{Rows: 20}, Wait: units.Duration(21 * time.Hour)}})))
	d.Rules = func() *duerules.Rules { return rules }
	var at []time.Duration
	d.service.answer = func(int) error { at = append(at, d.now().Sub(monday).Truncate(time.Minute)); return nil }
	for _, what := range []messaging.RunWait{messaging.WaitQuietHours, messaging.WaitCanary} {
		sleep, crashed := d.Sleep, false
		d.Sleep = func(ctx context.Context, by time.Duration) error {
			if !crashed && d.the(t).Waits == what {
				crashed = true
				d.book.mu.Lock()
				d.crashed = true
				d.book.mu.Unlock()
			}
			return sleep(ctx, by)
		}
		if what == messaging.WaitQuietHours {
			d.advance(2 * time.Hour) // nothing ran when its time came
			fireDue(t, d)
		} else {
			d.settle(t)
		}
		if !crashed {
			t.Fatalf("it never waited for %q", what)
		}
		d.revive()
		d.open("after " + string(what))
		d.Rules = func() *duerules.Rules { return rules }
	}
	d.settle(t)
	// The first night ends three hours after the firing; the look at the canary ends in the next one, whose end the rest waits for.
	if r := d.the(t); r.State != messaging.RunDone || r.Cause != messaging.CauseMissed || !slices.Equal(at, []time.Duration{nightIs, 24*time.Hour + nightIs}) {
		t.Errorf("%s, %s %q: uploads after %v", r.State, r.Cause, r.Reason, at)
	}
	eachOnce(t, d, 100)
}
