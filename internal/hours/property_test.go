package hours

import (
	"archive/zip"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
)

// everyZone lists the zones that Go knows.
func everyZone(t *testing.T) []*time.Location {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatalf("go env: %v", err)
	}
	z, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatalf("the zones of Go: %v", err)
	}
	defer func() { _ = z.Close() }()
	var all []*time.Location
	for _, f := range z.File {
		if loc, err := time.LoadLocation(f.Name); err == nil && !strings.HasSuffix(f.Name, "/") {
			all = append(all, loc)
		}
	}
	if len(all) < 550 {
		t.Fatalf("only %d zones", len(all))
	}
	return all
}

// changes are the clock changes of a zone in 2026 and 2027, and one moment without any.
func changes(loc *time.Location) []time.Time {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	moments := []time.Time{time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)}
	for {
		_, next := at.In(loc).ZoneBounds()
		if next.IsZero() || next.Year() > 2027 {
			return moments
		}
		moments = append(moments, next)
		at = next
	}
}

// clockOf is what a zone's clock does in these years: the offset at the beginning, and each change.
func clockOf(loc *time.Location) string {
	clock := ""
	for _, at := range append([]time.Time{time.Date(2025, 12, 30, 0, 0, 0, 0, time.UTC)}, changes(loc)...) {
		_, offset := at.In(loc).Zone()
		clock += fmt.Sprintf("%d %d;", at.Unix(), offset)
	}
	return clock
}

// A wallMinute is one minute of real time and what the clock on the wall shows then.
type wallMinute struct {
	unix    int64
	weekday time.Weekday
	minute  int
	wall    int64 // minutes, to compare
	date    string
}

func wallMinutes(from, to time.Time, loc *time.Location) []wallMinute {
	var all []wallMinute
	for t := from; t.Before(to); t = t.Add(time.Minute) {
		local := t.In(loc)
		y, mo, d := local.Date()
		h, m, _ := local.Clock()
		all = append(all, wallMinute{
			t.Unix(), local.Weekday(), h*60 + m, time.Date(y, mo, d, h, m, 0, 0, time.UTC).Unix() / 60, local.Format("01-02"),
		})
	}
	return all
}

// expected says minute by minute what is quiet, in words of its own: the wall is in a window; or the
// clock went back inside one, and shows what it showed before.
func expected(wall []wallMinute, in func(wallMinute) bool) []bool {
	quiet := make([]bool, len(wall))
	held, until := false, int64(0)
	for i, m := range wall {
		if i > 0 && m.wall < wall[i-1].wall {
			held, until = in(wall[i-1]), wall[i-1].wall
		}
		if m.wall > until {
			held = false
		}
		quiet[i] = in(m) || held
	}
	return quiet
}

func inWindow(w Window) func(wallMinute) bool {
	return func(m wallMinute) bool {
		yesterday := (m.weekday + 6) % 7
		if w.From < w.To {
			return w.Days.Has(m.weekday) && w.From <= m.minute && m.minute < w.To
		}
		return w.Days.Has(m.weekday) && m.minute >= w.From || w.Days.Has(yesterday) && m.minute < w.To
	}
}

// Over every zone and both clock changes of two years: Free never names a quiet moment, and
// never one later than the first that is not quiet.
func TestEveryZoneAndClockChange(t *testing.T) {
	windows := []string{
		"21:00-09:00", "23:30-00:30", "22:00-02:30", "02:30-09:00", "02:15-02:45", "01:00-03:00", "00:00-24:00",
		"sun 00:00-24:00", "sat,sun 20:00-11:00",
	}
	asked := 0
	walked := map[string]bool{} // zones whose clocks show the same in these years are one
	for _, loc := range everyZone(t) {
		zone := In(loc)
		clock := clockOf(loc)
		if walked[clock] {
			continue
		}
		walked[clock] = true
		for _, moment := range changes(loc) {
			from := moment.Add(-16 * time.Hour).Truncate(time.Minute)
			wall := wallMinutes(from, moment.Add(30*time.Hour), loc)
			for _, text := range windows {
				w, err := ParseWindow(text, Everyday)
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				rule := &Rule{Windows: []Window{w}}
				quiet := expected(wall, inWindow(w))
				free := int64(-1) // the first later minute that is not quiet, if it is among these
				for i := len(wall) - 1; i >= 0; i-- {
					if !quiet[i] {
						free = wall[i].unix
					}
					at := time.Unix(wall[i].unix, 0)
					if got := rule.Quiet(at, zone); got != quiet[i] {
						t.Fatalf("%s in %s at %s: quiet %v, want %v", text, loc, at.In(loc), got, quiet[i])
					}
					if free < 0 || i%3 != 0 {
						continue
					}
					asked++
					got, ok := rule.Free(at, []*Zone{zone})
					if !ok || got.Unix() != free {
						t.Fatalf("%s in %s from %s: free at %s (%v), want %s", text, loc, at.In(loc), got.In(loc), ok, time.Unix(free, 0).In(loc))
					}
				}
			}
		}
	}
	if asked < 1_000_000 || len(walked) < 60 {
		t.Errorf("only %d moments in %d zones were asked about", asked, len(walked))
	}
}

// The named moments of the design: the end of a window inside the gap of spring and inside the hour
// that autumn repeats.
func TestTheEndOfAWindowAtAClockChange(t *testing.T) {
	london, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	beirut, err := time.LoadLocation("Asia/Beirut")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		zone             *time.Location
		window, from, at string
	}{
		"spring leaves out 01:30: the first valid minute":  {london, "21:00-01:30", "2026-03-28T23:00:00Z", "2026-03-29T01:00:00Z"},
		"autumn has 01:30 twice: the first of both":        {london, "21:00-01:30", "2026-10-24T23:00:00Z", "2026-10-25T00:30:00Z"},
		"and what is inside the window again is quiet":     {london, "21:00-01:30", "2026-10-25T01:10:00Z", "2026-10-25T01:30:00Z"},
		"a window that began the first time goes on":       {london, "01:30-09:00", "2026-10-25T01:10:00Z", "2026-10-25T09:00:00Z"},
		"a spring night is an hour shorter":                {london, "21:00-09:00", "2026-03-28T22:00:00Z", "2026-03-29T08:00:00Z"},
		"an autumn night is an hour longer":                {london, "21:00-09:00", "2026-10-24T22:00:00Z", "2026-10-25T09:00:00Z"},
		"a clock that goes back over midnight":             {beirut, "21:00-00:00", "2026-10-24T19:30:00Z", "2026-10-24T22:00:00Z"},
		"a clock that goes forward over midnight":          {beirut, "00:00-00:30", "2026-03-28T22:00:00Z", "2026-03-28T22:00:00Z"},
		"what is not quiet stays where it is, to the nano": {london, "21:00-09:00", "2026-06-01T12:00:00.000000001Z", "2026-06-01T12:00:00.000000001Z"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w, err := ParseWindow(tt.window, Everyday)
			if err != nil {
				t.Fatal(err)
			}
			from, _ := time.Parse(time.RFC3339Nano, tt.from)
			got, ok := (&Rule{Windows: []Window{w}}).Free(from, []*Zone{In(tt.zone)})
			if !ok || got.Format(time.RFC3339Nano) != tt.at {
				t.Errorf("free at %s (%v), want %s", got.Format(time.RFC3339Nano), ok, tt.at)
			}
		})
	}
}
