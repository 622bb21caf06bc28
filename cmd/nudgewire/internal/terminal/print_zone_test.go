package terminal

import (
	"testing"
	"time"
)

// A date without a zone is read in the zone in which lists are shown, wherever the machine stands.
func TestDatesAreReadInTheZoneOfTheConfig(t *testing.T) {
	kolkata := ZoneOf("Asia/Kolkata")
	now := time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC).In(kolkata)
	for text, want := range map[string]time.Time{
		"2026-11-20":                now.Add(-59*time.Hour - 30*time.Minute),
		"2026-11-20 12:00":          now.Add(-47*time.Hour - 30*time.Minute),
		"2026-11-20T12:00:00+01:00": now.Add(-43 * time.Hour),
		"2h":                        now.Add(-2 * time.Hour),
	} {
		if got, err := ParseSince(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s is %s (%v), want %s", text, got, err, want)
		}
	}
	if zone := ZoneOf("Nowhere/Land"); zone != time.UTC {
		t.Errorf("a zone that is none is %s", zone)
	}
}

func TestFitted(t *testing.T) {
	for _, tt := range []struct {
		width int
		want  string
	}{{NoColumns, "Zoë's proof"}, {11, "Zoë's proof"}, {10, "Zoë's pro…"}, {4, "Zoë…"}} {
		if got := Truncated("Zoë's proof", tt.width); got != tt.want {
			t.Errorf("%d: %q, want %q", tt.width, got, tt.want)
		}
	}
}
