package sender

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/claims"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
)

func TestAMessageIsSentWhenItFallsDueAndNotBefore(t *testing.T) {
	tests := map[string]struct {
		due  time.Duration // from the start
		wake bool          // the store tells of it
		want time.Duration
	}{
		"due already":              {-time.Hour, true, 0},
		"due in 45 minutes":        {45 * time.Minute, true, 45 * time.Minute},
		"due soon":                 {10 * time.Millisecond, true, 10 * time.Millisecond},
		"stored by somebody else":  {3 * time.Minute, false, 3 * time.Minute},
		"due now, but nobody told": {0, false, claims.LookAgain},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, began := start(t, newMemory(), &service{}, nil), time.Now()
				synctest.Wait() // it has looked, found nothing and sleeps
				d := queued(messaging.Marketing)
				d.DueAt = began.Add(tt.due)
				r.store.add(d)
				if tt.wake {
					r.Wake(d.DueAt)
				}
				pass(time.Hour)
				calls := r.service.made()
				if len(calls) != 1 {
					t.Fatalf("%d calls, want 1", len(calls))
				}
				if at := calls[0].at.Sub(began); at != tt.want {
					t.Errorf("called after %v, want %v", at, tt.want)
				}
			})
		})
	}
}

func TestManyDueTimesAreAllMet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, began := start(t, newMemory(), &service{}, nil), time.Now()
		synctest.Wait()
		for i := range 500 {
			d := queued(messaging.Utility)
			d.DueAt = began.Add(time.Duration(rand.IntN(3600)) * time.Second)
			d.Key = fmt.Sprint(i)
			r.store.add(d)
			r.Wake(d.DueAt)
		}
		pass(time.Hour)
		for id := range messaging.MessageID(500) {
			d := r.store.row(id + 1)
			if d.State != messaging.StateAccepted || !d.UpdatedAt.Equal(d.DueAt) {
				t.Fatalf("message %d due %v: %s %v", d.ID, d.DueAt, d.State, d.UpdatedAt)
			}
		}
		if r.store.asked > 1500 {
			t.Errorf("%d claims for 500 messages", r.store.asked)
		}
	})
}

func TestAnIdleSenderHardlyAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, newMemory(), &service{}, nil)
		pass(time.Hour)
		if most := int(time.Hour/claims.LookAgain) + 2; r.store.asked > most || r.store.dueAsked > most {
			t.Errorf("in an idle hour: %d claims and %d looks ahead, want %d at the most", r.store.asked, r.store.dueAsked, most)
		}
	})
}

func TestABacklogKeepsAllCallsBusyAndIsClaimedInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory(many(2000, messaging.Utility)...)
		store.commit = 2 * time.Millisecond
		began := time.Now()
		api := &service{answer: func(ctx context.Context, n int, m made) (apiclient.Answer, error) {
			return takes(time.Duration(5+n%11)*time.Millisecond)(ctx, n, m) // 10 ms on average
		}}
		r := start(t, store, api, func(o *Options) { o.Concurrency = 20 })
		for store.in(messaging.StateAccepted) < 2000 {
			pass(time.Millisecond)
			if n := r.Stats().UnderWay; n > 20 {
				t.Fatalf("%d calls under way, want at most 20", n)
			}
			if n := r.Stats().InHand; n > 80 {
				t.Fatalf("%d in hand, want at most four for each call", n)
			}
		}
		// 2,000 calls of 10 ms, 20 at a time: one second when no call waits for a commit.
		if d := time.Since(began); d > 1100*time.Millisecond {
			t.Errorf("took %v, want hardly more than 1s", d)
		}
		if n := len(store.claims); n > 2000/10 {
			t.Errorf("%d claims for 2,000 messages, want ten or more at a time", n)
		}
	})
}

func TestASlowStoreIsKeptBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory(many(1000, messaging.Marketing)...)
		store.slowFinish = 50 * time.Millisecond
		start(t, store, &service{}, nil)
		// 32 outcomes at a time, 50 ms each, are 640 a second.
		pass(2 * time.Second)
		if n := store.in(messaging.StateAccepted); n != 1000 {
			t.Errorf("%d of 1000 accepted within 2s of a store that takes 50ms for an outcome", n)
		}
	})
}

func TestMarketingCannotFillTheLaneOfUrgentOnes(t *testing.T) {
	tests := map[string]struct {
		rate float64
		wait time.Duration // a rate makes everybody wait for a request or two
	}{
		"without a rate": {0, 20 * time.Millisecond},
		"with a rate":    {8, 300 * time.Millisecond},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// Eight slots, and a service that hangs over every marketing message.
				slow, quick := takes(9*time.Second), takes(10*time.Millisecond)
				api := &service{answer: func(ctx context.Context, n int, m made) (apiclient.Answer, error) {
					if m.phone == string(phone) {
						return slow(ctx, n, m)
					}
					return quick(ctx, n, m)
				}}
				store := newMemory(many(1000, messaging.Marketing)...)
				r := start(t, store, api, func(o *Options) { o.Budget = pace.NewBudget(tt.rate) })
				for i := range 50 {
					pass(777 * time.Millisecond)
					code := queued(messaging.Authentication)
					code.Phone = messaging.Phone(fmt.Sprint("code ", i))
					store.add(code)
					r.Wake(code.DueAt)
					pass(tt.wait)
					if d := store.row(messaging.MessageID(1001 + i)); d.State != messaging.StateAccepted {
						t.Fatalf("code %d is %s %v after it fell due, behind a backlog of marketing", i, d.State, tt.wait)
					}
				}
			})
		})
	}
}

func TestUrgentOnesMayFillEverySlotWhenMarketingHasNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, newMemory(many(100, messaging.Authentication)...), &service{answer: takes(time.Second)}, nil)
		synctest.Wait()
		if n := r.Stats().UnderWay; n != 8 {
			t.Errorf("%d calls under way, want all 8", n)
		}
	})
}

func TestUrgentOnesDoNotStarveMarketing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory(append(many(2000, messaging.Utility), many(100, messaging.Marketing)...)...)
		start(t, store, &service{answer: takes(100 * time.Millisecond)}, nil)
		pass(10 * time.Second)
		store.mu.Lock()
		defer store.mu.Unlock()
		marketing := 0
		for id := messaging.MessageID(2001); id <= 2100; id++ {
			if store.rows[id].State == messaging.StateAccepted {
				marketing++
			}
		}
		if marketing < 20 {
			t.Errorf("%d marketing messages left beside an urgent backlog, want some", marketing)
		}
	})
}

func TestTheRateBoundsCallsAndClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory(many(200, messaging.Marketing)...)
		r := start(t, store, &service{}, func(o *Options) { o.Budget, o.Concurrency = pace.NewBudget(20), 64 })
		for range 500 {
			pass(10 * time.Millisecond)
			if n := store.in(messaging.StateSending); n > 6 {
				t.Fatalf("%d claimed at a rate of 20/s, want no more than may leave within 250ms", n)
			}
		}
		if n := len(r.service.made()); n < 99 || n > 101 {
			t.Errorf("%d calls in 5s at 20/s, want 100", n)
		}
		if n := r.Stats().GivenBack; n != 0 {
			t.Errorf("%d given back", n)
		}
	})
}

func TestRetryAfterHoldsTheWholeSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		api := &service{answer: fails(1, refusal(apiclient.NotAccepted, 429, 30*time.Second, ""))}
		r := start(t, newMemory(many(100, messaging.Marketing)...), api, func(o *Options) { o.Budget = pace.NewBudget(20) })
		pass(29 * time.Second)
		calls := len(api.made())
		if calls > 2 {
			t.Errorf("%d calls during the pause, want the one that met it", calls)
		}
		if n := r.store.in(messaging.StateSending); n != 0 {
			t.Errorf("%d messages held through the pause, want none: a crash would put them in doubt", n)
		}
		pass(10 * time.Second)
		calls = len(api.made())
		if calls < 80 || calls > 130 {
			t.Errorf("%d calls within 9s after the pause, want about 90 at half the rate and rising", calls)
		}
		for _, c := range api.made()[1:] {
			if c.at.Sub(began) < 30*time.Second {
				t.Errorf("a call after %v", c.at.Sub(began))
			}
		}
		pass(time.Minute)
		if n := r.store.in(messaging.StateAccepted); n != 100 {
			t.Errorf("%d accepted, want 100", n)
		}
	})
}

func TestAStop(t *testing.T) {
	tests := map[string]struct {
		call     time.Duration // what each takes
		want     time.Duration // until Run returns
		accepted int
		inDoubt  int
	}{
		"waits for calls under way":            {5 * time.Second, 3 * time.Second, 7, 0}, // the eighth is for codes
		"cuts what is left after the grace":    {time.Hour, 20 * time.Second, 0, 7},
		"takes no time when nothing is called": {0, 0, 100, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newMemory(many(100, messaging.Utility)...)
				api := &service{}
				if tt.call > 0 {
					api.answer = takes(tt.call)
				}
				r := start(t, store, api, nil)
				pass(2 * time.Second)
				if took := r.stop(); took != tt.want {
					t.Errorf("Run returned after %v, want %v", took, tt.want)
				}
				if a, d := store.in(messaging.StateAccepted), store.in(messaging.StateInDoubt); a != tt.accepted || d != tt.inDoubt {
					t.Errorf("%d accepted and %d in doubt, want %d and %d", a, d, tt.accepted, tt.inDoubt)
				}
				if n := store.in(messaging.StateWaiting); n != 100-tt.accepted-tt.inDoubt {
					t.Errorf("%d waiting, want all that were not called", n)
				}
				if n := r.Budget.State().Cuts; n != 0 {
					t.Errorf("the calls that were cut slowed the budget %d times: that was us, not the service", n)
				}
				if n := len(api.made()); n != tt.accepted+tt.inDoubt {
					t.Errorf("%d calls, want %d: none after the stop", n, tt.accepted+tt.inDoubt)
				}
			})
		})
	}
}

func TestAStopGivesBackAtOnceWhatWasNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory(many(100, messaging.Utility)...)
		r := start(t, store, &service{answer: takes(time.Hour)}, nil)
		synctest.Wait()
		if n := store.in(messaging.StateSending); n != 14 {
			t.Fatalf("%d claimed, want 14", n)
		}
		go r.stop()
		synctest.Wait()
		if n := store.in(messaging.StateSending); n != 7 {
			t.Errorf("%d still claimed right after the stop, want the 7 under way", n)
		}
		pass(time.Minute)
	})
}

func TestAStopDuringAClaimGivesItsRowsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory(many(10, messaging.Utility)...)
		store.commit = time.Second
		r := start(t, store, &service{}, nil)
		pass(500 * time.Millisecond) // the claim is being committed
		r.stop()
		if w, calls := store.in(messaging.StateWaiting), len(r.service.made()); w != 10 || calls != 0 {
			t.Errorf("%d waiting after %d calls, want 10 and none", w, calls)
		}
	})
}

func TestAStopDuringAPauseOfTheRateDoesNotWaitForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := pace.NewBudget(0.2)
		r := start(t, newMemory(many(10, messaging.Utility)...), &service{}, func(o *Options) { o.Budget = budget })
		pass(8 * time.Second)
		budget.Slow(pace.Send, time.Now(), time.Hour)
		if took := r.stop(); took != 0 {
			t.Errorf("the stop took %v", took)
		}
		if n := r.store.in(messaging.StateSending); n != 0 {
			t.Errorf("%d still claimed", n)
		}
	})
}

func TestRunTwiceAtATimeIsRefusedAndAfterAStopIsFine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, newMemory(many(5, messaging.Utility)...), &service{}, nil)
		synctest.Wait()
		if err := r.Run(t.Context()); !errors.Is(err, claims.ErrRunning) {
			t.Errorf("second Run = %v, want %v", err, claims.ErrRunning)
		}
		r.stop()
		r.store.add(queued(messaging.Utility))
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := r.Run(ctx); err != nil {
			t.Errorf("Run after a stop = %v", err)
		}
		if n := r.store.in(messaging.StateAccepted); n != 6 {
			t.Errorf("%d accepted, want 6", n)
		}
	})
}

func TestAnOutcomeThatCannotBeStored(t *testing.T) {
	trouble := errors.New("disk is full")
	tests := map[string]struct {
		finish func(n int) error // for the n-th try
		stop   time.Duration     // when the sender is stopped
		state  messaging.State
		tries  int // at least
		lost   uint64
	}{
		"is stored when the trouble ends": {func(n int) error {
			if n < 20 {
				return trouble
			}
			return nil
		}, time.Hour, messaging.StateAccepted, 20, 0},
		"is tried until the stop's end and then left to recovery": {func(int) error { return trouble }, 10 * time.Second, messaging.StateSending, 5, 1},
		"is not tried again when the claim is lost":               {func(int) error { return fmt.Errorf("message 1: %w", messaging.ErrClaimLost) }, time.Second, messaging.StateSending, 1, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newMemory(queued(messaging.Marketing))
				tries := 0
				store.finish = func(messaging.Attempt) error { tries++; return tt.finish(tries) }
				r := start(t, store, &service{}, func(o *Options) { o.Lease = 2 * time.Hour })
				pass(tt.stop)
				if took := r.stop(); took > DefaultGrace+claims.FlushTimeout {
					t.Errorf("the stop took %v", took)
				}
				if got := store.row(1).State; got != tt.state {
					t.Errorf("state %s, want %s", got, tt.state)
				}
				if tries < tt.tries || (tt.tries == 1 && tries > 1) {
					t.Errorf("tried %d times, want %d", tries, tt.tries)
				}
				if n := r.Stats().Lost; n != tt.lost {
					t.Errorf("Lost = %d, want %d", n, tt.lost)
				}
				if n := len(r.service.made()); n != 1 {
					t.Errorf("%d calls, want 1", n)
				}
				if tt.lost == 1 && r.logs.FilterFieldKey("message_id").Len() != 1 {
					t.Error("the log does not name the message id that only the sender knew")
				}
			})
		})
	}
}

func TestTroubleWithClaimsIsWaitedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory(queued(messaging.Marketing))
		began := time.Now()
		store.claimFails = func() error {
			if time.Since(began) < time.Minute {
				return errors.New("database is locked")
			}
			return nil
		}
		r := start(t, store, &service{}, nil)
		pass(2 * time.Minute)
		if d := store.row(1); d.State != messaging.StateAccepted {
			t.Errorf("state %s", d.State)
		}
		if n := r.logs.FilterMessage("claiming messages").Len(); n < 3 || n > 20 {
			t.Errorf("%d log lines within a minute of trouble, want a few", n)
		}
	})
}

func TestLapsedLeasesOfTheDeadArePutInDoubtNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dead := queued(messaging.Marketing)
		dead.State, dead.Owner, dead.Attempt, dead.LeaseEnds = messaging.StateSending, "node-0", 1, time.Now().Add(30*time.Second)
		r := start(t, newMemory(dead), &service{}, nil)
		synctest.Wait()
		if got := r.store.row(1).State; got != messaging.StateSending {
			t.Fatalf("%s before the lease ended", got)
		}
		pass(30*time.Second + DefaultLease/2)
		synctest.Wait()
		if got := r.store.row(1).State; got != messaging.StateInDoubt {
			t.Errorf("%s after the lease ended", got)
		}
		if r.Stats().Rescued != 1 || len(r.service.made()) != 0 {
			t.Errorf("Abandoned = %d after %d calls", r.Stats().Rescued, len(r.service.made()))
		}
	})
}

func TestAClaimThatCameLateIsGivenBackUnsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory(queued(messaging.Marketing))
		store.slowClaim = DefaultLease - 5*time.Second // leaves less than a call may take
		r := start(t, store, &service{}, nil)
		pass(DefaultLease - time.Second)
		first := store.attempts[1][0]
		if first.State != messaging.StateWaiting || first.Reason != "not sent: the claim would have ended before the call" {
			t.Errorf("%s: %q", first.State, first.Reason)
		}
		pass(time.Minute)
		calls := r.service.made()
		if len(calls) != 1 || store.row(1).State != messaging.StateAccepted {
			t.Fatalf("%d calls and %s, want it sent once under its second claim", len(calls), store.row(1).State)
		}
		if number := store.attempts[1][1].Number; number != 2 {
			t.Errorf("sent under claim %d, want 2", number)
		}
	})
}

func TestWhatExpiredInHandIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory(many(8, messaging.Utility)...)
		r := start(t, store, &service{answer: takes(5 * time.Second)}, nil)
		synctest.Wait() // every slot is taken
		late := queued(messaging.Utility)
		late.ExpiresAt = time.Now().Add(3 * time.Second)
		store.add(late)
		r.Wake(late.DueAt)
		pass(time.Minute)
		if d := store.row(9); d.State != messaging.StateDropped || d.Reason != "expired at 2000-01-01 00:00:03 UTC, before it could be sent" {
			t.Errorf("%s: %q", d.State, d.Reason)
		}
		if n := len(r.service.made()); n != 8 {
			t.Errorf("%d calls, want 8", n)
		}
	})
}

func TestARefusedKeyHaltsTheSenderInsteadOfRejectingEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		api := &service{answer: func(_ context.Context, n int, _ made) (apiclient.Answer, error) {
			if time.Since(began) < 10*time.Minute {
				time.Sleep(time.Second) // long enough for a second probe, were there one
				return apiclient.Answer{}, refusal(apiclient.Rejected, 401, 0, "invalid API key")
			}
			return accepts(n), nil
		}}
		r := start(t, newMemory(many(1000, messaging.Marketing)...), api, nil)
		pass(9 * time.Minute)
		if n := len(api.made()); n > 8+10 {
			t.Errorf("%d calls with a bad key in 9 minutes, want one wave and a few probes", n)
		}
		if n := r.store.in(messaging.StateWaiting); n != 1000 {
			t.Errorf("%d of 1000 wait", n)
		}
		s := haltOf(r)
		if s.Why != "the service refuses the API key: send-template: 401 Unauthorized: invalid API key" || !s.NextProbe.After(time.Now()) {
			t.Errorf("Stats: halted %q until %v", s.Why, s.NextProbe)
		}
		pass(6 * time.Minute)
		if n := r.store.in(messaging.StateAccepted); n < 990 {
			t.Errorf("%d accepted after the key was taken again, want nearly all", n)
		}
		if s := haltOf(r); s.Why != "" || !s.NextProbe.IsZero() {
			t.Errorf("Stats still say %q until %v", s.Why, s.NextProbe)
		}
		if n := r.logs.FilterMessageSnippet("sending is halted: the service refuses the API key").Len(); n != 1 {
			t.Errorf("%d errors logged about it, want 1", n)
		}
		if n := r.logs.FilterMessageSnippet("sending goes on: it was halted because the service refuses the API key").Len(); n != 1 {
			t.Errorf("%d lines about its end, want 1", n)
		}
	})
}

func TestReconfigureLiftsTheHaltAndUsesTheNewAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := &service{answer: fails(-1, refusal(apiclient.Rejected, 403, 0, ""))}
		r := start(t, newMemory(many(50, messaging.Utility)...), bad, nil)
		pass(time.Second)
		good := &service{}
		r.Reconfigure(good, Pauses{})
		synctest.Wait()
		if n := r.logs.FilterMessage("sending is tried again after a reload").Len(); n != 1 {
			t.Errorf("%d lines about it", n)
		}
		if n := len(good.made()); n < 34 {
			t.Errorf("%d calls with the new key at once, want all that were not tried with the old one", n)
		}
		pass(time.Minute)
		if n := r.store.in(messaging.StateAccepted); n != 50 {
			t.Errorf("%d accepted, want 50", n)
		}
	})
}

// TestNothingIsSentTwiceAndNothingIsLost throws every kind of ending at two senders that share
// a store, for some hours of a service that answers one call in five with 429.
func TestNothingIsSentTwiceAndNothingIsLost(t *testing.T) {
	synctest.Test(t, nothingTwiceNothingLost)
}

func nothingTwiceNothingLost(t *testing.T) {
	const n = 800
	rows := many(n, messaging.Marketing)
	for i := range rows {
		rows[i].Phone = messaging.Phone(fmt.Sprint(i + 1))
		rows[i].Category = []messaging.Category{messaging.Marketing, messaging.Utility}[i%2]
	}
	store := newMemory(rows...)
	var finishes atomic.Int64
	store.finish = func(messaging.Attempt) error {
		if finishes.Add(1)%13 == 0 {
			return errors.New("disk is slow")
		}
		return nil
	}
	var mu sync.Mutex
	mayHaveArrived := make(map[string]int)
	api := &service{answer: func(_ context.Context, i int, m made) (apiclient.Answer, error) {
		surelyNot := i%5 == 1
		if !surelyNot {
			mu.Lock()
			mayHaveArrived[m.phone]++
			mu.Unlock()
		}
		switch {
		case surelyNot:
			return apiclient.Answer{}, refusal(apiclient.NotAccepted, 429, 0, "")
		case i%17 == 0:
			return apiclient.Answer{}, refusal(apiclient.InDoubt, 500, 0, "")
		case i%19 == 0:
			return apiclient.Answer{}, refusal(apiclient.Rejected, 400, 0, "no")
		case i%23 == 0:
			panic("broken")
		default:
			return accepts(i), nil
		}
	}}
	var senders sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	for _, owner := range []string{"a", "b"} {
		s := New(Options{Store: store, API: api, Budget: pace.NewBudget(0), Owner: owner, Concurrency: 16})
		senders.Go(func() {
			if err := s.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	pass(20 * time.Minute)
	stop()
	senders.Wait()
	states := make(map[messaging.State]int)
	for id := range messaging.MessageID(n) {
		d := store.row(id + 1)
		states[d.State]++
		arrived := mayHaveArrived[string(d.Phone)]
		switch {
		case arrived > 1:
			t.Fatalf("message %d may have arrived %d times", d.ID, arrived)
		case arrived == 1 && d.State == messaging.StateWaiting:
			t.Fatalf("message %d may have arrived and waits to be sent again", d.ID)
		case arrived == 0 && d.State != messaging.StateWaiting:
			t.Fatalf("message %d never left and is %s", d.ID, d.State)
		}
	}
	if states[messaging.StateSending] != 0 || states[messaging.StateAccepted] == 0 || states[messaging.StateInDoubt] == 0 {
		t.Errorf("states after the stop: %v", states)
	}
}

// Without the note of a call that begins, no call is made.
func TestACallThatCannotBeNotedIsNotMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory(many(5, messaging.Marketing)...)
		var full atomic.Bool
		full.Store(true)
		store.beginFails = func() error {
			if full.Load() {
				return errors.New("the disk is full")
			}
			return nil
		}
		r := start(t, store, &service{}, nil)
		pass(10 * time.Second)
		if n := len(r.service.made()); n != 0 {
			t.Errorf("%d calls", n)
		}
		if d := store.attempts[1][0]; d.State != messaging.StateWaiting || d.Reason != "not sent: the disk is full" {
			t.Errorf("%s: %s", d.State, d.Reason)
		}
		full.Store(false)
		pass(10 * time.Second)
		if n := store.in(messaging.StateAccepted); n != 5 {
			t.Errorf("%d accepted", n)
		}
	})
}
