package tracker

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
)

// Messages that were asked about end by the clock whatever the service says, and one that was delivered stays so. Those that nobody asked
// about do not: what became of them is known once the service answers.
func TestMessagesExpireByTheClock(t *testing.T) {
	for name, err := range map[string]error{
		"while questions fail":              refusal(500, 0, nil),
		"while the key is refused":          refusal(401, 0, nil),
		"while the service asks to wait":    refusal(429, time.Hour, nil),
		"while nothing is known of it":      refusal(404, 0, nil),
		"while nobody is there to be asked": &apiclient.CallError{Call: "message-status", Outcome: apiclient.NotAccepted},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newMemory(1000)
				store.rows[7].Status = messaging.StatusDelivered
				var well atomic.Bool
				r := start(t, store, &service{answer: func(context.Context, int, string) (apiclient.Status, error) {
					if well.Load() {
						return apiclient.Status{Status: "read"}, nil
					}
					return apiclient.Status{}, err
				}}, func(o *Options) {
					o.Plan, o.Budget = Plan{GiveUp: 15 * time.Second, FinalStatus: messaging.StatusRead}, pace.NewBudget(20)
				})
				pass(14 * time.Second)
				if n := r.Stats().Expired; n != 0 {
					t.Errorf("%d expired before their time", n)
				}
				// One that is in hand at the time is free when its lease ends.
				pass(2*time.Second + r.Lease)
				unasked := map[messaging.MessageID]bool{}
				for id, m := range store.rows {
					want := messaging.StatusExpired
					if id == 7 {
						want = messaging.StatusDelivered
					}
					switch {
					case m.Polls == 0 && m.Final:
						t.Fatalf("nobody asked about message %d, and it is %s", id, m.Status)
					case m.Polls == 0:
						unasked[id] = true
					case !m.Final || m.Status != want:
						t.Fatalf("message %d is %s after %d looks", id, m.Status, m.Polls)
					}
				}
				well.Store(true)
				pass(3 * time.Hour)
				for id, m := range store.rows {
					if unasked[id] && m.Status != messaging.StatusRead || !m.Final {
						t.Fatalf("message %d is %s though the service answers", id, m.Status)
					}
				}
			})
		})
	}
}

// What nobody can ask about, because its account is in the config no more, ends by the clock and is not called expired.
func TestWhatNobodyCanAskAboutIsUntracked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory(1)
		store.gone, store.fails = true, func() error { return errors.New("of no account here") }
		start(t, store, &service{}, func(o *Options) { o.Plan = Plan{GiveUp: 15 * time.Second} })
		pass(time.Minute)
		if m := store.rows[1]; m.Status != messaging.StatusUntracked || !m.Final || m.Error == "" {
			t.Errorf("it is %s: %q", m.Status, m.Error)
		}
	})
}

// Of several trackers over the same data one ends what ran out of time, whoever it belongs to.
func TestOneOfSeveralTrackersEndsMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, asksOnly := range []bool{false, true} {
			store := newMemory(1)
			store.rows[1].Polls, store.fails = 1, func() error { return errors.New("it is another's to ask") }
			start(t, store, &service{}, func(o *Options) {
				o.Plan, o.AsksOnly = Plan{GiveUp: 15 * time.Second}, asksOnly
			})
			pass(2 * time.Hour)
			if store.rows[1].Final == asksOnly {
				t.Errorf("asks only: %v, and the message is %s", asksOnly, store.rows[1].Status)
			}
		}
	})
}
