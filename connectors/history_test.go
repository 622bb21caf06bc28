package connectors

import (
	"testing"
	"time"
)

func TestWhatIsHistory(t *testing.T) {
	now := time.Date(2026, 12, 1, 17, 30, 0, 0, time.UTC)
	for text, want := range map[string]bool{
		"true": true, "false": false, "off": false,
		"2026-12-02": true, "2026-12-01": false, "2026-12-01 18:00": false, "2026-12-01 19:00": true, // in Berlin it is 18:30
		"2026-12-01T18:00:00Z": true,
	} {
		var h History
		if err := h.UnmarshalText([]byte(text)); err != nil || h.holds(now, "Europe/Berlin") != want {
			t.Errorf("%s: %v (%v)", text, !want, err)
		}
	}
	var h History
	err := h.UnmarshalText([]byte("soon"))
	if err == nil || err.Error() != `"soon" is neither true nor a date` {
		t.Errorf("soon: %v", err)
	}
}
