package tracker

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/claims"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
)

func refusal(status int, wait time.Duration, err error) error {
	return &apiclient.CallError{Call: "message-status", Outcome: apiclient.InDoubt, HTTPStatus: status, RetryAfter: wait, Err: err}
}

func TestAMessageIsFollowedAlongTheListToItsEnd(t *testing.T) {
	tests := map[string]struct {
		answers []string
		want    messaging.Status
		polls   []time.Duration // from acceptance
	}{
		"delivered at the first look": {
			[]string{"delivered"},
			messaging.StatusDelivered,
			[]time.Duration{5 * time.Second},
		},
		"queued, sent, delivered": {
			[]string{"queued", "sent", "delivered"},
			messaging.StatusDelivered,
			[]time.Duration{5 * time.Second, 15 * time.Second, time.Minute},
		},
		"failed on the way": {
			[]string{"queued", "failed"},
			messaging.StatusFailed,
			[]time.Duration{5 * time.Second, 15 * time.Second},
		},
		"sent for ever: expired": {
			[]string{"sent"},
			messaging.StatusExpired,
			[]time.Duration{5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 6 * time.Hour, 12 * time.Hour, 18 * time.Hour},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, newMemory(0), &service{answer: tells(tt.answers...)}, func(o *Options) { o.Plan.GiveUp = 24 * time.Hour })
				synctest.Wait()
				began := time.Now()
				first := r.First(began)
				r.store.add(messaging.Message{NextPollAt: first})
				r.Wake(first)
				pass(48 * time.Hour)
				var polls []time.Duration
				for _, c := range r.service.made() {
					// At the moment of giving up, a last look and the clock's own end come in any order.
					if at := c.at.Sub(began); at < r.Plan.GiveUp {
						polls = append(polls, at)
					}
				}
				if diff := cmp.Diff(tt.polls, polls); diff != "" {
					t.Errorf("polls (-want +got):\n%s", diff)
				}
				if m := r.store.row(1); m.Status != tt.want || !m.Final {
					t.Errorf("ended %s, final %v, want %s", m.Status, m.Final, tt.want)
				}
			})
		})
	}
}

func TestALookThatBringsNothingIsRepeatedAndFailsNothing(t *testing.T) {
	tests := map[string]error{
		"404":                       refusal(404, 0, nil),
		"junk":                      refusal(200, 0, apiclient.ErrUnreadable),
		"500":                       refusal(500, 0, nil),
		"no connection":             &apiclient.CallError{Call: "message-status", Outcome: apiclient.NotAccepted, Err: errors.New("connection refused")},
		"an error of unknown kind":  errors.New("odd"),
		"too many requests":         refusal(429, 3*time.Second, nil),
		"a key refused for a while": refusal(401, 0, nil),
	}
	for name, err := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := &service{answer: func(_ context.Context, n int, id string) (apiclient.Status, error) {
					if n <= 4 {
						return apiclient.Status{}, err
					}
					return apiclient.Status{MessageID: id, Status: "delivered"}, nil
				}}
				r := start(t, newMemory(1), api, nil)
				synctest.Wait()
				if m := r.store.row(1); m.Status != messaging.StatusAccepted || m.Final || m.Polls != 1 {
					t.Fatalf("after one: %s, final %v, %d polls", m.Status, m.Final, m.Polls)
				}
				pass(10 * time.Minute)
				if m := r.store.row(1); m.Status != messaging.StatusDelivered {
					t.Errorf("after ten minutes: %s and %d polls, want delivered", m.Status, m.Polls)
				}
				if n := r.Stats().Unreadable; n != 4 {
					t.Errorf("Unreadable = %d, want 4", n)
				}
			})
		})
	}
}

func TestALastingTroubleIsAskedRarelyAndExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &service{answer: func(context.Context, int, string) (apiclient.Status, error) {
			return apiclient.Status{}, refusal(404, 0, nil)
		}}
		r := start(t, newMemory(1), api, func(o *Options) { o.Plan.GiveUp = 5 * 24 * time.Hour })
		pass(6 * 24 * time.Hour)
		if m := r.store.row(1); m.Status != messaging.StatusExpired || m.Error != "the service told no status within 5d" {
			t.Errorf("%s: %q", m.Status, m.Error)
		}
		if n := len(api.made()); n > 60 || n < 30 {
			t.Errorf("%d looks in 5 days, want some 25 of the list and about as many more", n)
		}
	})
}

func TestABacklogKeepsAllCallsBusyAndIsClaimedInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory(2000)
		store.commit = 2 * time.Millisecond
		began := time.Now()
		api := &service{answer: func(ctx context.Context, n int, m string) (apiclient.Status, error) {
			return takes(time.Duration(5+n%11)*time.Millisecond)(ctx, n, m) // 10 ms on average
		}}
		r := start(t, store, api, func(o *Options) { o.Concurrency = 20 })
		for store.in(messaging.StatusDelivered) < 2000 {
			pass(time.Millisecond)
			if n := r.Stats().InHand; n > 80 {
				t.Fatalf("%d in hand, want at most four for each call", n)
			}
		}
		if d := time.Since(began); d > 1100*time.Millisecond {
			t.Errorf("took %v, want hardly more than 1s", d)
		}
		if n := len(store.claims); n > 2000/10 {
			t.Errorf("%d claims for 2,000 messages, want ten or more at a time", n)
		}
	})
}

func TestPollsAreFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory(0)
		for i := range 100 { // the last one stored has waited longest
			store.add(messaging.Message{NextPollAt: time.Now().Add(-time.Duration(i) * time.Second)})
		}
		r := start(t, store, &service{}, func(o *Options) { o.Budget, o.Concurrency = pace.NewBudget(10), 1 })
		pass(20 * time.Second)
		for i, c := range r.service.made() {
			id, err := strconv.Atoi(c.id)
			// Up to four are in hand at a time, in no order between them.
			if want := 100 - i; err != nil || id < want-ahead || id > want+ahead {
				t.Fatalf("look %d went to message %s, want %d or a near neighbour", i+1, c.id, want)
			}
		}
	})
}

func TestPollsShareTheRateWithSends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := pace.NewBudget(80)
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		sends := 0
		for range 20 {
			go func() {
				for budget.Wait(ctx, pace.Send, time.Time{}) == nil {
					sends++ // one at a time: the budget lets one go, and a rate of 80/s has no burst
				}
			}()
		}
		r := start(t, newMemory(5000), &service{}, func(o *Options) { o.Budget = budget })
		pass(10*time.Second - time.Millisecond)
		if polls := r.Stats().Polls; polls < 90 || polls > 110 {
			t.Errorf("%d polls in 10s beside a backlog of sends, want an eighth of 800", polls)
		}
		pass(time.Second)
		before := r.Stats().Polls
		pass(10 * time.Second)
		if polls := r.Stats().Polls - before; polls < 790 || polls > 810 {
			t.Errorf("%d polls in 10s without sends, want all 800", polls)
		}
	})
}

func TestRetryAfterHoldsTheTracker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &service{answer: func(_ context.Context, n int, id string) (apiclient.Status, error) {
			if n == 1 {
				return apiclient.Status{}, refusal(429, 2*time.Minute, nil)
			}
			return apiclient.Status{MessageID: id, Status: "delivered"}, nil
		}}
		start(t, newMemory(100), api, func(o *Options) { o.Budget = pace.NewBudget(10) })
		pass(119 * time.Second)
		if n := len(api.made()); n > 2 {
			t.Errorf("%d looks during the pause", n)
		}
		pass(2 * time.Minute)
		if n := len(api.made()); n < 100 {
			t.Errorf("%d looks after it, want all", n)
		}
	})
}

func TestAStop(t *testing.T) {
	tests := map[string]struct {
		call      time.Duration
		want      time.Duration
		delivered int
	}{
		"waits for looks under way":        {3 * time.Second, time.Second, 8},
		"cuts them after the grace":        {time.Hour, DefaultGrace, 0},
		"takes no time when none is asked": {time.Nanosecond, 0, 100},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, newMemory(100), &service{answer: takes(tt.call)}, nil)
				pass(2 * time.Second)
				if took := r.stop(); took != tt.want {
					t.Errorf("Run returned after %v, want %v", took, tt.want)
				}
				if n := r.store.in(messaging.StatusDelivered); n != tt.delivered {
					t.Errorf("%d delivered, want %d", n, tt.delivered)
				}
				if n := r.store.in(messaging.StatusAccepted); n != 100-tt.delivered {
					t.Errorf("%d untouched, want the others", n)
				}
				if s := r.Stats(); s.Unreadable != 0 || s.Lost != 0 || r.Budget.State().Cuts != 0 {
					t.Errorf("looks that we cut ourselves count as trouble: %+v", s)
				}
				for id := range messaging.MessageID(100) {
					if m := r.store.row(id + 1); !m.Final && m.NextPollAt.After(time.Now().Add(r.Lease)) {
						t.Fatalf("message %d is due again at %v", m.ID, m.NextPollAt)
					}
				}
			})
		})
	}
}

func TestRunTwiceAtATimeIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, newMemory(0), &service{}, nil)
		synctest.Wait()
		if err := r.Run(t.Context()); !errors.Is(err, claims.ErrRunning) {
			t.Errorf("second Run = %v, want %v", err, claims.ErrRunning)
		}
	})
}

func TestALookThatCannotBeStoredIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, tries := newMemory(1), 0
		store.finish = func(messaging.Poll) error {
			if tries++; tries <= recordTries+1 {
				return errors.New("disk is full")
			}
			return nil
		}
		r := start(t, store, &service{}, nil)
		pass(DefaultLease + 10*time.Second)
		if m := store.row(1); m.Status != messaging.StatusDelivered || len(r.service.made()) != 2 || r.Stats().Lost != 1 {
			t.Errorf("%s after %d looks, %d lost, want delivered by the second look", m.Status, len(r.service.made()), r.Stats().Lost)
		}
	})
}

func TestTroubleWithClaimsIsWaitedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, began := newMemory(1), time.Now()
		store.fails = func() error {
			if time.Since(began) < time.Minute {
				return errors.New("database is locked")
			}
			return nil
		}
		r := start(t, store, &service{}, nil)
		pass(2 * time.Minute)
		if m := store.row(1); m.Status != messaging.StatusDelivered {
			t.Errorf("status %s", m.Status)
		}
		if n := r.logs.FilterMessage("claiming messages to ask about").Len(); n < 3 || n > 20 {
			t.Errorf("%d log lines within a minute of trouble, want a few", n)
		}
	})
}

func TestAPanicIsContained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &service{answer: func(_ context.Context, n int, id string) (apiclient.Status, error) {
			if n == 3 {
				panic("odd answer")
			}
			return apiclient.Status{MessageID: id, Status: "delivered"}, nil
		}}
		r := start(t, newMemory(20), api, func(o *Options) { o.Concurrency = 1 })
		pass(time.Minute)
		if n := r.store.in(messaging.StatusDelivered); n != 20 {
			t.Errorf("%d delivered, want all 20, one of them by a second look", n)
		}
		if n := r.logs.FilterMessage("a panic while asking about a message").Len(); n != 1 {
			t.Errorf("%d log lines about it", n)
		}
	})
}

func TestARefusedKeyHaltsTheTracker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		api := &service{answer: func(_ context.Context, _ int, id string) (apiclient.Status, error) {
			if time.Since(began) < 10*time.Minute {
				time.Sleep(time.Second) // long enough for a second probe, were there one
				return apiclient.Status{}, refusal(403, 0, nil)
			}
			return apiclient.Status{MessageID: id, Status: "delivered"}, nil
		}}
		r := start(t, newMemory(1000), api, nil)
		pass(9 * time.Minute)
		if n := len(api.made()); n > 8+10 {
			t.Errorf("%d looks with a bad key in 9 minutes, want one wave and a few probes", n)
		}
		if s := r.Stats(); s.Halted == "" || s.HaltedUntil.IsZero() {
			t.Errorf("Stats do not say why nothing is asked: %+v", s)
		}
		pass(20 * time.Minute)
		if n := r.store.in(messaging.StatusDelivered); n != 1000 {
			t.Errorf("%d delivered after the key was taken again", n)
		}
		if s := r.Stats(); s.Halted != "" {
			t.Errorf("still halted: %s", s.Halted)
		}
	})
}

func TestReconfigureLiftsTheHaltAndChangesThePlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := &service{answer: func(context.Context, int, string) (apiclient.Status, error) {
			return apiclient.Status{}, refusal(401, 0, nil)
		}}
		r := start(t, newMemory(40), bad, nil)
		pass(time.Second)
		good := &service{}
		r.Reconfigure(good, Plan{Schedule: []time.Duration{time.Hour}}, nil)
		synctest.Wait()
		if n := len(good.made()); n == 0 {
			t.Error("nothing was asked with the new key")
		}
		if first := r.First(time.Now()); time.Until(first) != time.Hour {
			t.Errorf("First is in %v, want 1h", time.Until(first))
		}
	})
}

func TestAnIdleTrackerHardlyAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, newMemory(0), &service{}, nil)
		pass(time.Hour)
		if most := 2*int(time.Hour/claims.LookAgain) + 4; r.store.asked > most {
			t.Errorf("in an idle hour the store was asked %d times, want %d at the most", r.store.asked, most)
		}
	})
}
