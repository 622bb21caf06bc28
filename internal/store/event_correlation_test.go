package store

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A fresher cart may bring another phone. A cancellation of that phone must find its reminder
// among those of the phone, whatever the numbers, wherever their keys are, and after a crash.
func TestACancellationByPhoneFindsWhatWasRestartedForIt(t *testing.T) {
	const first, second = messaging.Phone("447700900101"), messaging.Phone("447700900102")
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	var s *Store
	var found []messaging.MessageID
	open := func() {
		s = openAt(t, path)
		filled(t, s)
		s.settle = func(w messaging.Proposal, f messaging.Facts) messaging.Settlement {
			switch {
			case w.Decision.Outcome == messaging.Cancelling:
				found = nil
				for _, one := range f.Waiting {
					found = append(found, one.ID)
				}
				return messaging.Settlement{Outcome: messaging.Cancelling}
			case len(f.Waiting) > 0:
				return messaging.Settlement{Outcome: messaging.Restarted, Restart: f.Waiting[0].ID}
			default:
				return planAll(w, f)
			}
		}
	}
	send := func(dedupe, cart string, phone messaging.Phone, outcome messaging.Outcome) {
		t.Helper()
		p := testPlan(cart)
		p.Event.DedupeKey, p.Event.Contact.Phone = dedupe, phone
		p.Proposals[0].Decision.Outcome, p.Proposals[0].Correlation.Phone, p.Proposals[0].Message.Phone = outcome, phone, phone
		if _, err := s.Accept(t.Context(), []messaging.Plan{p}); err != nil {
			t.Fatal(err)
		}
	}
	finds := func(when, dedupe string, want ...messaging.MessageID) {
		t.Helper()
		send(dedupe, "", second, messaging.Cancelling)
		if !slices.Equal(found, want) {
			t.Errorf("%s: found %v, want %v", when, found, want)
		}
	}
	open()
	send("a", "cart-a", first, messaging.Planned)
	send("b", "cart-b", first, messaging.Planned)
	if err := s.Close(); err != nil { // both keys are in the table, and the mark behind them
		t.Fatal(err)
	}
	open()
	send("a again", "cart-a", second, messaging.Planned)
	finds("a phone that no other has", "0", 1)
	send("c", "cart-c", second, messaging.Planned)
	send("b again", "cart-b", second, messaging.Planned)
	finds("in memory", "1", 1, 2, 3)
	crashed := s
	path = copyData(t, path)
	open()
	finds("after a crash", "2", 1, 2, 3)
	if err := crashed.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open()
	finds("after a clean end", "3", 1, 2, 3)
}
