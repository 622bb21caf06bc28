package scheduler

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/lists"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// world are contacts of six zones, in an order in which no two of a zone stand together.
var world = []struct{ phone, zone string }{
	{"447700900001", "Europe/London"},
	{"4930901820", "Europe/Berlin"},
	{"12125550100", "America/New_York"},
	{"81312345678", "Asia/Tokyo"},
	{"61291234567", "Australia/Sydney"},
	{"18085550100", "Pacific/Honolulu"},
	{"447700900002", "Europe/London"},
	{"4930901821", "Europe/Berlin"},
	{"12125550101", "America/New_York"},
	{"81312345679", "Asia/Tokyo"},
	{"61291234568", "Australia/Sydney"},
	{"18085550101", "Pacific/Honolulu"},
}

func zoneOf(phone string) string {
	i := slices.IndexFunc(world, func(one struct{ phone, zone string }) bool { return one.phone == phone })
	return world[i].zone
}

func overTheWorld() listSource {
	l := listSource{header: []string{"phone", "name"}}
	for _, one := range world {
		l.rows = append(l.rows, []string{"+" + one.phone, "Ada"})
	}
	return l
}

func clockOf(t testing.TB, text string) *hours.Clock {
	t.Helper()
	c, err := hours.ParseClock(text)
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

// turning is a desk with a job over the world that has fired at a time, and what it uploads: when, to which phones.
func turning(t *testing.T, j Job, fires time.Time) (*desk, map[string]time.Time) {
	t.Helper()
	if j.At == nil {
		j.At = clockOf(t, "10:00")
	}
	j.Cron = fmt.Sprintf("%d %d %d * *", fires.Minute(), fires.Hour(), fires.Day())
	d := newDesk(t, fires)
	d.Use([]*Compiled{jobOf(t, overTheWorld(), j)})
	if _, err := d.Tick(t.Context(), fires.Add(-time.Minute)); err != nil {
		t.Fatal(err)
	}
	return d, whenUploaded(t, d)
}

// whenUploaded fills in when each phone was uploaded.
func whenUploaded(t *testing.T, d *desk) map[string]time.Time {
	at := map[string]time.Time{}
	d.service.answer = func(n int) error {
		rows, err := csv.NewReader(strings.NewReader(d.service.uploads()[n-1].body)).ReadAll()
		if err != nil {
			t.Error(err)
		}
		for _, row := range rows[1:] {
			if !at[row[0]].IsZero() {
				t.Errorf("%s was uploaded twice", row[0])
			}
			at[row[0]] = d.now()
		}
		return nil
	}
	return at
}

// onTheWall is what the clock shows each contact when it was uploaded, by zone, with the day.
func onTheWall(t *testing.T, at map[string]time.Time) map[string]string {
	t.Helper()
	shown := map[string]string{}
	for phone, when := range at {
		zone, err := time.LoadLocation(zoneOf(phone))
		if err != nil {
			t.Fatal(err)
		}
		words := when.In(zone).Format("Jan 2 15:04")
		if before := shown[zone.String()]; before != "" && before != words {
			t.Errorf("%s: %s and %s", zone, before, words)
		}
		shown[zone.String()] = words
	}
	return shown
}

// The rows of a list over six zones go at ten o'clock there, on the days around each change of a clock.
func TestEachRowGoesAtItsTimeWhereItsContactIs(t *testing.T) {
	for _, change := range []string{"2026-10-03", "2026-10-24", "2026-10-31", "2027-03-13", "2027-03-27", "2027-04-03"} {
		day, err := time.Parse(time.DateOnly, change)
		if err != nil {
			t.Fatal(err)
		}
		for _, hour := range []int{0, 9, 14} {
			fires := day.Add(time.Duration(hour) * time.Hour)
			t.Run(fires.Format("2006-01-02 15:04"), func(t *testing.T) {
				d, at := turning(t, Job{}, fires)
				foretold, err := d.DryRun(t.Context(), d.all()[0], d.now(), nil)
				if err != nil {
					t.Fatal(err)
				}
				fireDue(t, d)
				if r := d.the(t); r.State != messaging.RunDone || len(at) != len(world) || len(d.service.uploads()) != 6 || r.Tally.Parts != 6 || foretold.Tally.Parts != 6 {
					t.Fatalf("%s %q: %d rows in %d files, %d of them foretold", r.State, r.Reason, len(at), len(d.service.uploads()), foretold.Tally.Parts)
				}
				for zone, shown := range onTheWall(t, at) {
					if !strings.HasSuffix(shown, " 10:00") {
						t.Errorf("in %s it was %s", zone, shown)
					}
				}
				for phone, when := range at {
					if when.Before(fires) || when.Sub(fires) > 25*time.Hour {
						t.Errorf("%s was uploaded %s after the run began", phone, when.Sub(fires))
					}
				}
				went := map[string]int64{}
				for _, when := range at {
					if when = when.Truncate(time.Minute); when.After(fires) {
						went[when.UTC().Format(time.DateTime)]++
					}
				}
				said := map[string]int64{}
				for _, one := range foretold.Later {
					said[one.Until.UTC().Format(time.DateTime)] += one.Rows
				}
				if diff := cmp.Diff(went, said); diff != "" {
					t.Errorf("the forecast is another: %s", diff)
				}
			})
		}
	}
}

// A time that the clock leaves out, and one that it shows twice, are those of wait.at.
func TestATurnThatTheClockLeavesOutOrShowsTwice(t *testing.T) {
	for name, tt := range map[string]struct{ at, fires, want string }{
		"left out":    {"02:30", "2027-03-14T00:00:00Z", "2027-03-14T07:00:00Z"}, // New York: 02:00 is 03:00
		"shown twice": {"01:30", "2026-11-01T00:00:00Z", "2026-11-01T05:30:00Z"}, // 02:00 is 01:00 once more
	} {
		t.Run(name, func(t *testing.T) {
			fires, err := time.Parse(time.RFC3339, tt.fires)
			if err != nil {
				t.Fatal(err)
			}
			d, at := turning(t, Job{At: clockOf(t, tt.at)}, fires)
			fireDue(t, d)
			if got := at["12125550100"].UTC().Truncate(time.Minute).Format(time.RFC3339); got != tt.want {
				t.Errorf("it went at %s, want %s", got, tt.want)
			}
		})
	}
}

var midnight = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC) // ten o'clock is at 10:00, 09:00, 15:00, 01:00, 23:00 of the day before and 20:00

// untilWaits has f called once, when the run waits for a turn at or after a time.
func untilWaits(d *desk, until time.Time, f func()) {
	sleep, said := d.Sleep, false
	d.Sleep = func(ctx context.Context, by time.Duration) error {
		if r := d.the(d.t); !said && r.Waits == messaging.WaitAt && !r.WaitUntil.Before(until) {
			said = true
			f()
		}
		return sleep(ctx, by)
	}
}

func TestTurnsMeetWhatHappensMeanwhile(t *testing.T) {
	usual := map[string]string{
		"Europe/London": "Nov 23 10:00", "Europe/Berlin": "Nov 23 10:00", "America/New_York": "Nov 23 10:00", "Asia/Tokyo": "Nov 23 10:00",
		"Australia/Sydney": "Nov 24 10:00", "Pacific/Honolulu": "Nov 23 10:00",
	}
	with := func(changed ...string) map[string]string {
		out := maps.Clone(usual)
		for i := 0; i < len(changed); i += 2 {
			if out[changed[i]] = changed[i+1]; changed[i+1] == "" {
				delete(out, changed[i])
			}
		}
		return out
	}
	afterTokyo := midnight.Add(2 * time.Hour)
	quiet := func(edit func(*duerules.Keys)) func() *duerules.Rules {
		rules := quietFrom(t, "21:00-10:30", edit)
		return func() *duerules.Rules { return rules }
	}
	for name, tt := range map[string]struct {
		job  Job
		do   func(t *testing.T, d *desk)
		then func(t *testing.T, d *desk)
		want map[string]string
	}{
		"nothing": {want: usual},
		"a pause over a turn: its rows go when the run goes on": {
			do: func(t *testing.T, d *desk) {
				untilWaits(d, afterTokyo, func() { must(t, d.Pause(t.Context(), 1, "Ann")) })
			},
			then: func(t *testing.T, d *desk) {
				d.advance(midnight.Add(12*time.Hour + 30*time.Minute).Sub(d.now()))
				must(t, d.Resume(t.Context(), 1, "Ann"))
				d.settle(t)
			},
			want: with("Europe/London", "Nov 23 12:30", "Europe/Berlin", "Nov 23 13:30"),
		},
		"a cancellation ends what waits": {
			do: func(t *testing.T, d *desk) {
				untilWaits(d, afterTokyo, func() { must(t, d.Cancel(t.Context(), 1, "Ann")) })
			},
			want: map[string]string{"Asia/Tokyo": "Nov 23 10:00"},
		},
		"a halt over a turn": {
			do: func(t *testing.T, d *desk) {
				d.Held = func(*messaging.Run) (f messaging.DueFacts) {
					if now := d.now(); now.After(midnight.Add(8*time.Hour)) && now.Before(midnight.Add(9*time.Hour+30*time.Minute)) {
						f.Held = "halted"
					}
					return f
				}
			},
			want: with("Europe/Berlin", "Nov 23 10:30"),
		},
		"a reload with another time": {
			do: func(t *testing.T, d *desk) {
				untilWaits(d, afterTokyo, func() {
					rules := quietFrom(t, "02:00-03:00", nil)
					d.Rules = func() *duerules.Rules { return rules } // as each reload has new ones
					d.Use([]*Compiled{jobOf(t, overTheWorld(), Job{Cron: "0 0 23 * *", At: clockOf(t, "16:15")})})
				})
			},
			want: map[string]string{
				"Europe/London": "Nov 23 16:15", "Europe/Berlin": "Nov 23 16:15", "America/New_York": "Nov 23 16:15", "Asia/Tokyo": "Nov 23 10:00",
				"Australia/Sydney": "Nov 23 16:15", "Pacific/Honolulu": "Nov 22 16:15", // where it was 14:00 when the run began
			},
		},
		"a reload without it": {
			do: func(t *testing.T, d *desk) {
				untilWaits(d, afterTokyo, func() {
					rules := quietFrom(t, "21:00-22:00", nil)
					d.Rules = func() *duerules.Rules { return rules }
					d.Use([]*Compiled{jobOf(t, overTheWorld(), Job{Cron: "0 0 23 * *"})})
				})
			},
			want: map[string]string{
				"Europe/London": "Nov 23 01:00", "Europe/Berlin": "Nov 23 02:00", "America/New_York": "Nov 22 20:00", "Asia/Tokyo": "Nov 23 10:00",
				"Australia/Sydney": "Nov 23 12:00", "Pacific/Honolulu": "Nov 22 15:00",
			},
		},
		"an approval that comes late": {
			job: Job{Guard: Guard{ApproveOver: 1}},
			then: func(t *testing.T, d *desk) {
				d.advance(12 * time.Hour)
				word := by("Ann")
				word.At = d.now()
				f, err := d.ForecastRun(t.Context(), 1)
				if must(t, err); f.Tally.Parts != 6 || len(f.Later) != 6 || f.Later[0].Zone != "America/New_York" || !f.Later[0].Until.Equal(midnight.Add(15*time.Hour)) {
					t.Errorf("the forecast is %+v of %d parts", f.Later, f.Tally.Parts)
				}
				must(t, d.Approve(t.Context(), 1, word))
				d.settle(t)
			},
			want: with("Europe/London", "Nov 24 10:00", "Europe/Berlin", "Nov 24 10:00", "Asia/Tokyo", "Nov 24 10:00"),
		},
		"quiet hours of its own place": {
			do:   func(_ *testing.T, d *desk) { d.Rules = quiet(nil) },
			want: map[string]string{"Europe/London": "Nov 23 10:30", "Europe/Berlin": "Nov 23 10:30", "America/New_York": "Nov 23 10:30", "Asia/Tokyo": "Nov 23 10:30", "Australia/Sydney": "Nov 24 10:30", "Pacific/Honolulu": "Nov 23 10:30"},
		},
		"quiet hours that drop": {
			do: func(_ *testing.T, d *desk) {
				d.Rules = quiet(func(k *duerules.Keys) { k.QuietHours.OnHit = duerules.Drop })
			},
			want: map[string]string{},
		},
		"quiet hours of the job's clock keep nobody": {
			job: Job{Timezone: "Europe/London"},
			do: func(t *testing.T, d *desk) {
				rules := quietFrom(t, "21:00-09:00", nil)
				d.Rules = func() *duerules.Rules { return rules }
			},
			want: usual,
		},
		"a canary looks before the rest goes, whose turns may be past by then": {
			job:  Job{Canary: &Canary{First: Share{Rows: 2}, Wait: units.Duration(9 * time.Hour)}},
			want: with("Europe/Berlin", "Nov 23 11:00"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, at := turning(t, tt.job, midnight)
			if tt.do != nil {
				tt.do(t, d)
			}
			fireDue(t, d)
			if tt.then != nil {
				tt.then(t, d)
			}
			if diff := cmp.Diff(tt.want, onTheWall(t, at)); diff != "" {
				t.Errorf("%+v: %s", d.the(t), diff)
			}
			if r := d.the(t); !r.State.Final() {
				t.Errorf("it is %s %q", r.State, r.Reason)
			}
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What a run waits for is said, with all turns that are to come.
func TestARunSaysWhichTurnsAreToCome(t *testing.T) {
	d, _ := turning(t, Job{}, midnight)
	var said []string
	untilWaits(d, midnight, func() {
		r := d.the(t)
		said = append(said, r.Reason, r.Waits.Words(), d.RowTurn(&r, "12125550100").Format(time.RFC3339), d.RowTurn(&r, "81312345678").Format(time.RFC3339))
	})
	fireDue(t, d)
	if diff := cmp.Diff([]string{
		"10:00 where its contacts are: 2 rows at 2026-11-23 01:00:00 UTC (Asia/Tokyo), 2 rows at 2026-11-23 09:00:00 UTC (Europe/Berlin), " +
			"2 rows at 2026-11-23 10:00:00 UTC (Europe/Guernsey), 2 rows at 2026-11-23 15:00:00 UTC (America/New_York), 4 rows later",
		"for the time of its next rows", "2026-11-23T15:00:00Z", "2026-11-23T01:00:00Z",
	}, said); diff != "" {
		t.Error(diff)
	}
}

// Whoever is blocked before its turn is not on the file.
func TestWhoIsBlockedBeforeItsTurnGetsNothing(t *testing.T) {
	d, at := turning(t, Job{}, midnight)
	d.Facts = blockedFrom(func() bool { return d.now().After(midnight.Add(2 * time.Hour)) })
	fireDue(t, d)
	if _, went := at["12125550100"]; went || len(at) != len(world)-1 {
		t.Errorf("uploaded: %v", at)
	}
	if r := d.the(t); r.State != messaging.RunDone || r.Tally.Kept != int64(len(world)-1) {
		t.Errorf("%s, %d kept", r.State, r.Tally.Kept)
	}
}

type blockedFrom func() bool

func (b blockedFrom) About(_ context.Context, phones []messaging.Phone, _ Question) ([]Known, error) {
	known := make([]Known, len(phones))
	for i, p := range phones {
		if p == "12125550100" && b() {
			known[i].Blocked = "the contact is blocked"
		}
	}
	return known, nil
}

// A process that dies between two turns leaves nothing that the next one does not know: no row goes twice, none is lost, and each goes at its time.
func TestADeathBetweenTwoTurns(t *testing.T) {
	for name, down := range map[string]time.Duration{"before the next turn": time.Hour, "over two turns": 9 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			d, at := turning(t, Job{}, midnight)
			untilWaits(d, midnight.Add(2*time.Hour), func() {
				d.book.mu.Lock()
				defer d.book.mu.Unlock()
				d.crashed = true
			})
			fireDue(t, d)
			d.advance(down)
			d.revive()
			d.open("two")
			d.settle(t)
			want := map[string]string{
				"Europe/London": "Nov 23 10:00", "Europe/Berlin": "Nov 23 10:00", "America/New_York": "Nov 23 10:00", "Asia/Tokyo": "Nov 23 10:00",
				"Australia/Sydney": "Nov 24 10:00", "Pacific/Honolulu": "Nov 23 10:00",
			}
			if down > 8*time.Hour {
				want["Europe/London"], want["Europe/Berlin"] = "Nov 23 10:00", "Nov 23 11:00"
			}
			if diff := cmp.Diff(want, onTheWall(t, at)); diff != "" {
				t.Errorf("%+v: %s", d.the(t), diff)
			}
		})
	}
}

// What a retry sends again waits for the next time of day, too: also what its run had not come to.
func TestARetryKeepsToTheTimeOfDay(t *testing.T) {
	d, at := turning(t, Job{}, midnight)
	untilWaits(d, midnight.Add(2*time.Hour), func() { must(t, d.Cancel(t.Context(), 1, "Ann")) })
	fireDue(t, d)
	d.advance(10 * time.Hour) // to 11:00 and more in London
	id, err := d.Retry(t.Context(), 1, "Ann", RetryOrder{})
	must(t, err)
	d.settle(t)
	if r := d.the(t); r.ID != id || r.State != messaging.RunDone {
		t.Fatalf("run %d is %s %q", r.ID, r.State, r.Reason)
	}
	if diff := cmp.Diff(map[string]string{
		"Europe/London": "Nov 24 10:00", "Europe/Berlin": "Nov 24 10:00", "America/New_York": "Nov 23 10:00", "Asia/Tokyo": "Nov 23 10:00",
		"Australia/Sydney": "Nov 24 10:00", "Pacific/Honolulu": "Nov 23 10:00",
	}, onTheWall(t, at)); diff != "" {
		t.Error(diff)
	}
}

// A part that the service does not take in its turn is tried as long as any other, however long the run has waited before.
func TestAPartOfALateTurnIsTriedAsLongAsOthers(t *testing.T) {
	d, at := turning(t, Job{}, midnight.Add(30*time.Minute))
	taken := d.service.answer
	d.service.answer = func(n int) error {
		if d.now().Before(midnight.Add(30*time.Hour)) && d.now().After(midnight.Add(22*time.Hour)) {
			return &apiclient.CallError{Call: "create-with-csv", HTTPStatus: http.StatusTooManyRequests, Outcome: apiclient.NotAccepted, Err: errors.New("too many")}
		}
		return taken(n)
	}
	fireDue(t, d)
	if r := d.the(t); r.State != messaging.RunDone || len(at) != len(world) {
		t.Errorf("%s %q, %d rows", r.State, r.Reason, len(at))
	}
}

// Rows that are sent one by one are handed over at once, and fall due at their turns.
func TestMessagesFallDueAtTheirTurns(t *testing.T) {
	j := Job{Deliver: messaging.DeliverPerMessage, Send: &Message{Template: "news", Expires: units.Duration(6 * time.Hour)}, Columns: columns("phone", "phone", "var_1", "name")}
	d, _ := turning(t, j, midnight.Add(15*time.Hour)) // when it is ten in New York
	f, err := d.DryRun(t.Context(), d.all()[0], d.now(), nil)
	must(t, err)
	fireDue(t, d)
	if r := d.the(t); r.State != messaging.RunDone {
		t.Fatalf("%s %q", r.State, r.Reason)
	}
	at, later := map[string]time.Time{}, int64(0)
	for _, m := range d.queued[1] {
		at[string(m.Phone)] = m.DueAt
		if m.ExpiresAt.Sub(m.DueAt) != 6*time.Hour {
			t.Errorf("%s is due at %s and expires at %s", m.Phone, m.DueAt, m.ExpiresAt)
		}
	}
	if diff := cmp.Diff(map[string]string{
		"Europe/London": "Nov 24 10:00", "Europe/Berlin": "Nov 24 10:00", "America/New_York": "Nov 23 10:00", "Asia/Tokyo": "Nov 24 10:00",
		"Australia/Sydney": "Nov 24 10:00", "Pacific/Honolulu": "Nov 23 10:00",
	}, onTheWall(t, at)); diff != "" {
		t.Error(diff)
	}
	for _, one := range f.Later {
		later += one.Rows
	}
	if later != 10 || len(f.Later) != 5 {
		t.Errorf("the forecast is %+v", f.Later)
	}
}

func TestWhatATimeOfDayDoesNotGoWith(t *testing.T) {
	for name, tt := range map[string]struct {
		job  Job
		path string
	}{
		"a rate":                      {Job{Rate: duerules.Rate{Limit: units.Limit{Most: 5, Per: time.Hour}}}, "rate"},
		"a canary of single messages": {Job{Canary: &Canary{First: Share{Rows: 5}, StopIf: failedOver(0.1)}}, "canary"},
	} {
		j := tt.job
		j.Name, j.At, j.Deliver, j.Send, j.Source = "winback", clockOf(t, "10:00"), messaging.DeliverPerMessage, &Message{Template: "news"}, lists.Origin{CSV: "x.csv"}
		_, problems := Compile([]Job{j}, Env{Country: "GB", Language: "en"})
		if len(problems) != 1 || problems[0].Path != tt.path || problems[0].Hint == "" {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

// A run is under way until its last turn: when its job's time comes meanwhile, overlap decides.
func TestATimeThatComesBetweenTwoTurns(t *testing.T) {
	d := newDesk(t, midnight)
	d.Use([]*Compiled{jobOf(t, overTheWorld(), Job{At: clockOf(t, "10:00"), Cron: "0 0,2 23 * *"})})
	at := whenUploaded(t, d)
	_, err := d.Tick(t.Context(), midnight.Add(-time.Minute))
	must(t, err)
	untilWaits(d, midnight.Add(8*time.Hour), func() {
		d.advance(midnight.Add(2 * time.Hour).Sub(d.now()))
		_, err := d.Tick(t.Context(), d.now())
		must(t, err)
	})
	fireDue(t, d)
	r := d.the(t)
	if r.ID != 2 || r.State != messaging.RunSkipped || !strings.Contains(r.Reason, "is still uploading (overlap: skip)") {
		t.Errorf("run %d is %s %q", r.ID, r.State, r.Reason)
	}
	if len(at) != len(world) {
		t.Errorf("%d rows went", len(at))
	}
}
