package outbox

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/receiver"
)

// A receiver is down for longer than give_up: how often it is asked, and when that ends.
func TestAReceiverThatIsDownIsAskedForDays(t *testing.T) {
	since := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	now := since
	var asked []time.Duration
	for attempt := 1; ; attempt++ {
		asked = append(asked, now.Sub(since))
		state, again := next(&messaging.Outgoing{Since: since, Attempt: attempt}, 48*time.Hour, errors.New("down"), now, 0)
		if state == messaging.OutgoingGivenUp {
			break
		}
		if !again.After(now) || attempt > 50 {
			t.Fatalf("attempt %d at %v, then at %v", attempt, now, again)
		}
		now = again
	}
	if want := []time.Duration{0, 5 * time.Second, 65 * time.Second, 665 * time.Second}; !slices.Equal(asked[:4], want) {
		t.Errorf("asked after %v", asked[:4])
	}
	if last := asked[len(asked)-1]; last != 48*time.Hour || len(asked) != 13 {
		t.Errorf("asked %d times, the last after %v", len(asked), last)
	}
}

func TestNextHeedsWhatTheReceiverSays(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	o := &messaging.Outgoing{Since: now, Attempt: 1}
	if state, _ := next(o, time.Hour, &receiver.RefusedError{Final: true}, now, 0); state != messaging.OutgoingGivenUp {
		t.Errorf("410: %s", state)
	}
	if _, at := next(o, time.Hour, &receiver.RefusedError{After: 10 * time.Minute}, now, 0); !at.Equal(now.Add(10 * time.Minute)) {
		t.Errorf("Retry-After: %v", at)
	}
	if _, at := next(o, time.Hour, &receiver.RefusedError{}, now, 0.999); at.Before(now.Add(3 * time.Second)) {
		t.Errorf("jitter: %v", at)
	}
}
