package scheduler

import (
	"archive/zip"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func schedule(t testing.TB, text string, z *time.Location) *Schedule {
	t.Helper()
	s, err := ParseSchedule(text, z)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// firings are those after from and up to to.
func firings(s *Schedule, from, to time.Time) (all []Firing) {
	for {
		f, ok := s.Next(from)
		if !ok || f.At.After(to) {
			return all
		}
		all = append(all, f)
		from = f.At
	}
}

func TestTheClockOverTheChangesOfTheYear(t *testing.T) {
	utc := func(month time.Month, day, hour, minute int) time.Time {
		return time.Date(2026, month, day, hour, minute, 0, 0, time.UTC)
	}
	tests := map[string]struct {
		cron, zone string
		from, to   time.Time
		want       []Firing
	}{
		"the hour that autumn repeats fires once": {
			"30 1 * * *", "America/New_York", utc(11, 1, 0, 0), utc(11, 2, 12, 0),
			[]Firing{{"2026-11-01 01:30", utc(11, 1, 5, 30), ""}, {"2026-11-02 01:30", utc(11, 2, 6, 30), ""}},
		},
		"the hour that spring leaves out runs at the first valid minute": {
			"30 2 * * *", "America/New_York", utc(3, 8, 0, 0), utc(3, 9, 12, 0),
			[]Firing{{"2026-03-08 03:00", utc(3, 8, 7, 0), "2026-03-08 02:30"}, {"2026-03-09 02:30", utc(3, 9, 6, 30), ""}},
		},
		"all times of a gap share its end": {
			"*/20 2 * * *", "America/New_York", utc(3, 8, 0, 0), utc(3, 8, 12, 0),
			[]Firing{{"2026-03-08 03:00", utc(3, 8, 7, 0), "2026-03-08 02:00"}},
		},
		"a job at the end of the gap fires once there": {
			"0 2,3 * * *", "America/New_York", utc(3, 8, 0, 0), utc(3, 8, 12, 0),
			[]Firing{{"2026-03-08 03:00", utc(3, 8, 7, 0), "2026-03-08 02:00"}},
		},
		"half an hour of change": {
			"45 1 * * *", "Australia/Lord_Howe", utc(4, 4, 12, 0), utc(4, 4, 18, 0),
			[]Firing{{"2026-04-05 01:45", utc(4, 4, 14, 45), ""}},
		},
		"London in spring": {
			"0 1 * * *", "Europe/London", utc(3, 28, 12, 0), utc(3, 29, 12, 0),
			[]Firing{{"2026-03-29 02:00", utc(3, 29, 1, 0), "2026-03-29 01:00"}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := firings(schedule(t, tt.cron, zone(t, tt.zone)), tt.from, tt.to)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("firings (-want +got):\n%s", diff)
			}
		})
	}
}

// zones are the names that the Go distribution knows.
func zones(t testing.TB) []string {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("no go command here")
	}
	z, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Skip("no list of zones here:", err)
	}
	defer z.Close()
	var names []string
	for _, f := range z.File {
		if !strings.HasSuffix(f.Name, "/") && f.Name != "Factory" {
			names = append(names, f.Name)
		}
	}
	return names
}

func TestEveryWallTimeFiresOnceInEveryZone(t *testing.T) {
	names := zones(t)
	if len(names) < 400 {
		t.Fatalf("only %d zones", len(names))
	}
	changes := 0
	type change struct {
		at            int64
		before, after int
	}
	met := map[change]bool{}
	for _, name := range names {
		z := zone(t, name)
		for _, edge := range edges(z) {
			changes++
			// Zones whose clocks change at the same moment from and to the same time show the same minutes around it.
			c := change{edge.Unix(), offsetOf(edge.Add(-time.Second).In(z)), offsetOf(edge.In(z))}
			if !met[c] {
				aroundAChange(t, name, z, edge)
			}
			met[c] = true
		}
	}
	if changes < 200 {
		t.Errorf("only %d changes of clocks were met", changes)
	}
}

// edges are the instants of 2026 at which the zone's clocks change.
func edges(z *time.Location) (all []time.Time) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for {
		_, end := at.In(z).ZoneBounds()
		if end.IsZero() || end.UTC().Year() > 2026 {
			return all
		}
		if offsetOf(end.In(z)) != offsetOf(end.Add(-time.Second).In(z)) {
			all = append(all, end)
		}
		at = end
	}
}

// aroundAChange walks the minutes around a change on the real line, which says what the wall
// shows and when first, and holds the schedule of every minute and of some single times
// against that.
func aroundAChange(t *testing.T, name string, z *time.Location, edge time.Time) {
	t.Helper()
	const around = 4 * time.Hour
	from, to := edge.Add(-around).Truncate(time.Minute), edge.Add(around).Truncate(time.Minute)
	first := map[string]time.Time{} // by wall time
	var want []Firing
	for at := from.Add(time.Minute); !at.After(to); at = at.Add(time.Minute) {
		slot := at.In(z).Format(slotLayout)
		if _, again := first[slot]; !again {
			// A wall time shown before the window is none of ours.
			if earlier, ok := place(wallOf(at.In(z)), z); !ok || earlier.Before(from) {
				continue
			}
			first[slot] = at.UTC()
			want = append(want, Firing{Slot: slot, At: at.UTC()})
		}
	}
	got := firings(schedule(t, "* * * * *", z), from, to)
	for i := range got {
		got[i].Named = "" // the first minute after a gap stands for one in it
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s around %s (-want +got):\n%s", name, edge, diff)
	}
	before, after := wallOf(edge.Add(-time.Nanosecond).In(z)).Add(time.Nanosecond), wallOf(edge.In(z))
	for wall := before; wall.Before(after); wall = wall.Add(7 * time.Minute) { // in the gap
		got := firings(schedule(t, wall.Format("4 15 2 1 *"), z), from, to)
		if len(got) != 1 || !got[0].At.Equal(edge) || got[0].Named != wall.Format(slotLayout) {
			t.Errorf("%s: %s in the gap fires %+v, want once at %s", name, wall.Format(slotLayout), got, edge)
		}
	}
	for wall := after; wall.Before(before); wall = wall.Add(7 * time.Minute) { // shown twice
		got := firings(schedule(t, wall.Format("4 15 2 1 *"), z), from, to)
		if len(got) != 1 || !got[0].At.Before(edge) {
			t.Errorf("%s: %s is shown twice and fires %+v, want once before %s", name, wall.Format(slotLayout), got, edge)
		}
	}
}

func TestParseScheduleRefusesInWords(t *testing.T) {
	tests := map[string]struct{ cron, want, hint string }{
		"nothing":           {" ", "is empty, wants a cron line", cronHint},
		"six fields":        {"0 0 10 * * MON", `"0 0 10 * * MON" has 6 fields, a cron line has 5`, cronHint},
		"numbers too large": {"99 99 99 99 99", `"99 99 99 99 99" is no cron line: its minute is "99", and minutes go from 0 to 59`, cronHint},
		"a day that is not": {"0 0 30 2 *", `"0 0 30 2 *" names a day that no month has`, cronHint},
		"a zone inside":     {"TZ=UTC 0 10 * * *", "a time zone does not belong into the cron line", "set timezone beside it"},
		"every":             {"@every 1h", `"@every" counts from the start of the program and knows no hour`, `write the minutes it runs at, such as "*/15 * * * *"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ParseSchedule(tt.cron, time.UTC)
			if err == nil {
				t.Fatal("it was taken")
			}
			if msg, hint := clockErrorWords(err); msg != tt.want || hint != tt.hint {
				t.Errorf("ParseSchedule = %q, %q; want %q, %q", msg, hint, tt.want, tt.hint)
			}
		})
	}
}

func TestWhatIsDueAfterDowntime(t *testing.T) {
	at := func(text string) time.Time {
		one, err := time.Parse(slotLayout, text)
		if err != nil {
			t.Fatal(err)
		}
		return one
	}
	daily := schedule(t, "0 10 * * *", time.UTC)
	tests := map[string]struct {
		since, now string
		on         OnMissed
		run        string
		cause      messaging.RunCause
		missed     string
		reason     string
		next       string
	}{
		"nothing is due":             {"2026-05-01 10:00", "2026-05-02 09:59", OnMissed{}, "", "", "", "", "2026-05-02 10:00"},
		"on time":                    {"2026-05-01 10:00", "2026-05-02 10:00", OnMissed{}, "2026-05-02 10:00", messaging.CauseCron, "", "", "2026-05-03 10:00"},
		"a minute late is on time":   {"2026-05-01 10:00", "2026-05-02 10:01", OnMissed{}, "2026-05-02 10:00", messaging.CauseCron, "", "", "2026-05-03 10:00"},
		"missed and skipped":         {"2026-05-01 10:00", "2026-05-02 12:00", OnMissed{}, "", "", "2026-05-02 10:00", "missed: nudgewire was not running at 2026-05-02 10:00; on_missed is skip", "2026-05-03 10:00"},
		"missed and run once":        {"2026-05-01 10:00", "2026-05-04 12:00", OnMissed{RunOnce: true}, "2026-05-04 10:00", messaging.CauseMissed, "", "missed at 2026-05-04 10:00, and 2 earlier ones, run 2 hours late because of on_missed", "2026-05-05 10:00"},
		"young enough":               {"2026-05-01 10:00", "2026-05-02 15:00", OnMissed{Younger: 6 * time.Hour}, "2026-05-02 10:00", messaging.CauseMissed, "", "missed at 2026-05-02 10:00, run 5 hours late because of on_missed", "2026-05-03 10:00"},
		"too old":                    {"2026-05-01 10:00", "2026-05-02 16:00", OnMissed{Younger: 6 * time.Hour}, "", "", "2026-05-02 10:00", "missed: nudgewire was not running at 2026-05-02 10:00; on_missed is {if_younger_than: 6h}", "2026-05-03 10:00"},
		"on time after days of rest": {"2026-05-01 10:00", "2026-05-04 10:00", OnMissed{}, "2026-05-04 10:00", messaging.CauseCron, "", "2 earlier times passed while nudgewire was not running", "2026-05-05 10:00"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := daily.Look(at(tt.since), at(tt.now), tt.on)
			run, missed := "", ""
			if d.Now != nil {
				run = d.Now.Slot
			}
			if len(d.Missed) > 0 {
				missed = d.Missed[0].Slot
			}
			got := []string{run, string(d.Cause), missed, d.Reason, d.Next.Format(slotLayout)}
			want := []string{tt.run, string(tt.cause), tt.missed, tt.reason, tt.next}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Look (-want +got):\n%s", diff)
			}
		})
	}
	every := schedule(t, "* * * * *", time.UTC)
	d := every.Look(at("2026-01-01 00:00"), at("2026-05-01 00:00"), OnMissed{})
	if d.Now == nil || d.Now.Slot != "2026-05-01 00:00" || !strings.HasPrefix(d.Reason, "more than 9998 earlier times passed") {
		t.Errorf("after months of every minute: %+v %q", d.Now, d.Reason)
	}
}
