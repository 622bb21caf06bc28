package tracker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/pace"
)

// Messages end by the clock whatever the service says, and one that was delivered stays so.
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
				store.rows[7].Status = nudgewire.StatusDelivered
				r := start(t, store, &service{answer: func(context.Context, int, string) (apiclient.Status, error) { return apiclient.Status{}, err }}, func(o *Options) {
					o.Plan, o.Budget = Plan{GiveUp: 15 * time.Second, FinalStatus: nudgewire.StatusRead}, pace.NewBudget(20)
				})
				pass(14 * time.Second)
				if n := r.Stats().Expired; n != 0 {
					t.Errorf("%d expired before their time", n)
				}
				// One that is in hand at the time is free when its lease ends.
				pass(2*time.Second + r.Lease)
				for id, m := range store.rows {
					want := nudgewire.StatusExpired
					if id == 7 {
						want = nudgewire.StatusDelivered
					}
					if !m.Final || m.Status != want {
						t.Fatalf("message %d is %s", id, m.Status)
					}
				}
			})
		})
	}
}

// Of several trackers over the same data one ends what ran out of time, whoever it belongs to.
func TestOneOfSeveralTrackersEndsMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := func(ctx context.Context, _ int, _ string) (apiclient.Status, error) {
			<-ctx.Done()
			return apiclient.Status{}, ctx.Err()
		}
		for _, asksOnly := range []bool{false, true} {
			store := newMemory(1)
			start(t, store, &service{answer: hangs}, func(o *Options) {
				o.Plan, o.AsksOnly = Plan{GiveUp: 15 * time.Second}, asksOnly
			})
			pass(2 * time.Hour) // it is in hand now and then, and cannot be ended meanwhile
			if store.rows[1].Final == asksOnly {
				t.Errorf("asks only: %v, and the message is %s", asksOnly, store.rows[1].Status)
			}
		}
	})
}
