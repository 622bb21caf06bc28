package demo

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/hours"
)

// At any time of the year it is night where one customer lives, and not where the others do, for as long as anybody watches.
func TestItIsNightSomewhereInTheDemo(t *testing.T) {
	t.Parallel()
	london, err := time.LoadLocation(home)
	if err != nil {
		t.Fatal(err)
	}
	zones := hours.NewZones(london)
	for now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); now.Year() == 2026; now = now.Add(97 * time.Minute) { // each time of day to a quarter of an hour, every week
		far, text, err := night(now)
		if err != nil {
			t.Fatal(err)
		}
		w, err := hours.ParseWindow(text, hours.Everyday)
		if err != nil {
			t.Fatalf("%s: %q: %v", now, text, err)
		}
		quiet := hours.Rule{Windows: []hours.Window{w}}
		there, guessed := zones.Of(far.phone[1:], "")
		here, _ := zones.Of("447700900101", "")
		for _, later := range []time.Duration{0, 10 * time.Minute, 30 * time.Minute} {
			if guessed || quiet.In(now.Add(later), there) == nil {
				t.Fatalf("%s: %s is not within %s at %s", now, far.name, text, far.clock(now.Add(later)))
			}
			if z := quiet.In(now.Add(later), here); z != nil {
				t.Fatalf("%s: it is quiet at home, too: %s in %s", now, text, z)
			}
		}
	}
}
