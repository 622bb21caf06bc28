package terminal

import (
	"testing"
	"time"
)

func TestADeadlineIsADurationATimeOrADate(t *testing.T) {
	zone, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	// The night in which the clock goes back: 18:00 of the next day is 25 hours after 18:00 of this one.
	now := time.Date(2026, 10, 24, 18, 30, 0, 0, zone)
	for text, want := range map[string]time.Duration{
		"":                     0,
		"6h":                   6 * time.Hour,
		"19:00":                30 * time.Minute,
		"18:30":                25 * time.Hour,
		"18:00":                24*time.Hour + 30*time.Minute,
		"2026-10-25":           5*time.Hour + 30*time.Minute,
		"2026-10-25 09:00":     15*time.Hour + 30*time.Minute,
		"2026-10-24T18:00:00Z": 30 * time.Minute,
	} {
		if got, err := ParseDeadline(text, now); err != nil || got != want {
			t.Errorf("--deadline %q is in %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"soon", "25:00", "-1h", "0h", "2026-10-24", "2026-10-24 18:30"} {
		if got, err := ParseDeadline(text, now); err == nil {
			t.Errorf("--deadline %q is in %s", text, got)
		}
	}
}
