package units

import (
	"testing"
	"time"
)

func TestALengthIsSpelt(t *testing.T) {
	for d, want := range map[time.Duration]string{
		45 * time.Minute: "45 minutes", 24 * time.Hour: "1 day", 90 * time.Minute: "1 hour and 30 minutes",
		49*time.Hour + time.Minute + time.Second: "2 days, 1 hour, 1 minute and 1 second", 0: "0s", 1500 * time.Millisecond: "1s500ms",
	} {
		if got := Spell(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
