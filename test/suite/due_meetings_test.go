package suite

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/store"
)

// deferred is a message that was due an hour after noon, and that a rule puts off until nine hours after it.
func (s suite) deferred(t *testing.T) (*ledger, messaging.MessageID) {
	t.Helper()
	at := noon.Add(time.Hour)
	l := s.open(t)
	l.ruleBy(atMost{quiet: nightUntil(noon.Add(9 * time.Hour))})
	id := l.enqueue("1", expires(at.Add(4*time.Hour)))
	same(t, "claimed in quiet hours", 0, len(l.ids(at)))
	return l, id
}

// mustBe holds the state of a message, and that all counts agree.
func (l *ledger) mustBe(id messaging.MessageID, want messaging.State) {
	l.t.Helper()
	if d := l.message(id); d.State != want {
		l.t.Errorf("message %d is %s (%s), want %s", id, d.State, d.Reason, want)
	}
	l.recount()
}

// dueMeetings is a message that a rule put off, and what a rule counts, beside everything else that may happen.
func (s suite) dueMeetings(t *testing.T) {
	at := noon.Add(time.Hour)
	morning := noon.Add(9 * time.Hour)
	ends := map[string]struct {
		end  func(*ledger, messaging.MessageID)
		want messaging.State
	}{
		"a cancelling event": {func(l *ledger, _ messaging.MessageID) { l.mustAccept(order("1")) }, messaging.StateCancelled},
		"a person": {func(l *ledger, id messaging.MessageID) {
			if err := l.CancelMessage(l.ctx, id, ""); err != nil {
				l.t.Error(err)
			}
		}, messaging.StateCancelled},
		"a person, in bulk": {func(l *ledger, _ messaging.MessageID) {
			if n, err := l.CancelAll(l.ctx, store.MessageFilter{DueBefore: morning.Add(time.Second)}, "by hand"); n != 1 || err != nil {
				l.t.Errorf("%d cancelled, %v", n, err)
			}
		}, messaging.StateCancelled},
		"a block": {func(l *ledger, _ messaging.MessageID) { l.person("447700900123") }, messaging.StateDropped},
	}
	for name, one := range ends {
		t.Run("deferred, then ended by "+name, func(t *testing.T) {
			l, id := s.deferred(t)
			one.end(l, id)
			same(t, "claimed in the morning", 0, len(l.ids(morning)))
			l.mustBe(id, one.want)
			same(t, "asked about again", int64(0), first(l.ReviewDeferred(l.ctx)))
		})
	}
	holds := map[string]struct{ hold, free func(*ledger) error }{
		"a halt": {
			func(l *ledger) error {
				return l.Hold(l.ctx, messaging.Hold{Scope: messaging.ScopeTrigger, Kind: messaging.HoldHalt, Name: "remind", At: at})
			},
			func(l *ledger) error {
				return l.EndHold(l.ctx, messaging.Hold{Scope: messaging.ScopeTrigger, Name: "remind", Kind: messaging.HoldHalt})
			},
		},
		"a pause of its trigger": {
			func(l *ledger) error { return l.PauseTriggers(l.ctx, map[string]string{"remind": "is off"}, at) },
			func(l *ledger) error { return l.PauseTriggers(l.ctx, nil, at) },
		},
	}
	for name, one := range holds {
		t.Run("deferred, and held by "+name, func(t *testing.T) {
			l, id := s.deferred(t)
			if err := one.hold(l); err != nil {
				t.Fatal(err)
			}
			same(t, "claimed while held", 0, len(l.ids(morning)))
			later := morning.Add(time.Hour)
			l.ruleBy(atMost{quiet: nightUntil(later)}) // the rules of then are asked
			if err := one.free(l); err != nil {
				t.Fatal(err)
			}
			same(t, "claimed when let go", 0, len(l.ids(morning)))
			same(t, "put off until", later, l.message(id).DueAt)
			same(t, "claimed later", []messaging.MessageID{id}, l.ids(later))
		})
	}
	t.Run("deferred over a restart", s.deferredOverARestart)
	t.Run("a rule that is gone lets go at once, another one holds at once, and neither shortens a life", s.aRuleThatIsGoneLetsGoAtOnce)
	t.Run("what waits for another reason is not asked about again", s.whatWaitsForAnotherReasonIsNotAskedAboutAgain)
	t.Run("the daemon slept past its new expiry", s.whatIsDeferredExpiresWhileTheDaemonSleeps)
	t.Run("a later event takes its place, and is asked about anew", s.aLaterEventTakesThePlaceOfWhatIsDeferred)
	t.Run("a late answer of an earlier attempt settles it", s.aLateAnswerSettlesWhatIsDeferred)
	t.Run("a retry does not shorten for how long it may be put off", s.aRetryDoesNotShortenForHowLongARuleMayDefer)
	t.Run("put off, then in doubt for days: sent again, it may be put off anew", s.whatWasDeferredAndInDoubtMayBeDeferredAnew)
	t.Run("what a limit counts", func(t *testing.T) { s.counted(t, at) })
	t.Run("two stores' worth of claims", s.interleaved)
}

func (s suite) deferredOverARestart(t *testing.T) {
	morning := noon.Add(9 * time.Hour)
	at := noon.Add(time.Hour)
	l, id := s.deferred(t)
	l = reopenAfter(t, l)
	next, ok, err := l.NextDue(l.ctx)
	if err != nil || !ok || !next.Equal(morning) {
		t.Errorf("next due %s, %v, %v", next, ok, err)
	}
	same(t, "first due", at, l.firstDue(id))
}

func (s suite) aRuleThatIsGoneLetsGoAtOnce(t *testing.T) {
	at := noon.Add(time.Hour)
	morning := noon.Add(9 * time.Hour)
	l, id := s.deferred(t)
	l.at(at.Add(time.Minute))
	l.ruleBy(nil)
	l.review(1)
	d := l.message(id)
	same(t, "due", at.Add(time.Minute), d.DueAt)
	same(t, "lives", 4*time.Hour, d.ExpiresAt.Sub(d.DueAt))
	l.ruleBy(atMost{quiet: nightUntil(morning.Add(time.Hour))})
	same(t, "claimed", 0, len(l.ids(at.Add(time.Minute))))
	d = l.message(id)
	same(t, "due by the other rule", morning.Add(time.Hour), d.DueAt)
	same(t, "lives", 4*time.Hour, d.ExpiresAt.Sub(d.DueAt))
}

func (s suite) whatWaitsForAnotherReasonIsNotAskedAboutAgain(t *testing.T) {
	morning := noon.Add(9 * time.Hour)
	l, id := s.deferred(t)
	got := l.mustClaim(morning, 9)
	l.mustFinish(got[0], messaging.StateWaiting) // the service said: later
	l.review(0)
	if d := l.message(id); !d.DueAt.After(morning) {
		t.Errorf("due %s", d.DueAt)
	}
}

func (s suite) whatIsDeferredExpiresWhileTheDaemonSleeps(t *testing.T) {
	morning := noon.Add(9 * time.Hour)
	l, id := s.deferred(t)
	same(t, "claimed", 0, len(l.ids(morning.Add(4*time.Hour))))
	l.mustBe(id, messaging.StateDropped)
}

func (s suite) aLaterEventTakesThePlaceOfWhatIsDeferred(t *testing.T) {
	at := noon.Add(time.Hour)
	l, id := s.deferred(t)
	l.settleBy(modelSettle)
	l.mustAccept(cart("1", dedupe("again"), due(at.Add(time.Hour))))
	same(t, "due", at.Add(time.Hour), l.message(id).DueAt)
	l.review(0)
	same(t, "claimed in quiet hours", 0, len(l.ids(at.Add(time.Hour))))
	same(t, "first due", at.Add(time.Hour), l.firstDue(id))
}

func (s suite) aLateAnswerSettlesWhatIsDeferred(t *testing.T) {
	morning := noon.Add(9 * time.Hour)
	at := noon.Add(time.Hour)
	l := s.open(t)
	d := l.claimed("1", category(messaging.Marketing))
	l.mustFinish(d, messaging.StateInDoubt)
	l.must(l.Resolve(l.ctx, d.ID, messaging.ResolveResend, ""))
	l.ruleBy(atMost{quiet: nightUntil(morning)})
	same(t, "claimed", 0, len(l.ids(at.Add(time.Hour))))
	l.mustFinish(d, messaging.StateAccepted)
	l.mustBe(d.ID, messaging.StateAccepted)
	same(t, "claimed in the morning", 0, len(l.ids(morning)))
}

func (s suite) aRetryDoesNotShortenForHowLongARuleMayDefer(t *testing.T) {
	morning := noon.Add(9 * time.Hour)
	l, id := s.deferred(t)
	until := func() time.Time { d := l.message(id); return l.firstDue(id).Add(d.ExpiresAt.Sub(d.DueAt)) }
	before := until()
	l, id = s.deferred(t)
	for range 3 {
		got := l.mustClaim(l.message(id).DueAt, 1)
		if len(got) != 1 {
			t.Fatalf("claimed %+v", got)
		}
		l.mustFinish(got[0], messaging.StateWaiting)
	}
	if d := l.message(id); !d.DueAt.After(morning) || !d.ExpiresAt.Equal(morning.Add(4*time.Hour)) {
		t.Errorf("due %s, expires %s", d.DueAt, d.ExpiresAt)
	}
	same(t, "it may be put off until", before, until())
}

func (s suite) whatWasDeferredAndInDoubtMayBeDeferredAnew(t *testing.T) {
	morning := noon.Add(9 * time.Hour)
	l, id := s.deferred(t)
	got := l.mustClaim(morning, 1)
	if len(got) != 1 {
		t.Fatalf("claimed %+v", got)
	}
	l.mustFinish(got[0], messaging.StateInDoubt)
	resolved := morning.AddDate(0, 0, 3)
	l.at(resolved)
	l.must(l.Resolve(l.ctx, id, messaging.ResolveResend, ""))
	same(t, "due", resolved, l.message(id).DueAt)
	same(t, "put off before", time.Time{}, l.firstDue(id))
}

func first(n int64, _ error) int64 { return n }

// counted holds a limit of one against what became of the message before.
func (s suite) counted(t *testing.T, at time.Time) {
	befores := map[string]struct {
		before func(*ledger, messaging.Message)
		goes   bool
	}{
		"is being sent":     {func(*ledger, messaging.Message) {}, false},
		"accepted":          {func(l *ledger, d messaging.Message) { l.mustFinish(d, messaging.StateAccepted) }, false},
		"in doubt":          {func(l *ledger, d messaging.Message) { l.mustFinish(d, messaging.StateInDoubt) }, false},
		"rejected":          {func(l *ledger, d messaging.Message) { l.mustFinish(d, messaging.StateRejected) }, true},
		"to be tried again": {func(l *ledger, d messaging.Message) { l.mustFinish(d, messaging.StateWaiting) }, true},
		"failed on the way": {func(l *ledger, d messaging.Message) {
			l.mustFinish(d, messaging.StateAccepted)
			l.failed(d.ID, at, messaging.ErrorPermanent)
		}, true},
		"failed, and goes again": {func(l *ledger, d messaging.Message) {
			l.mustFinish(d, messaging.StateAccepted)
			l.failed(d.ID, at, messaging.ErrorNoPoints)
			if got := l.ids(at.Add(time.Second)); len(got) != 1 {
				l.t.Errorf("claimed %v", got)
			}
		}, false},
		"in doubt, and a person says it arrived": {func(l *ledger, d messaging.Message) {
			l.mustFinish(d, messaging.StateInDoubt)
			if err := l.Resolve(l.ctx, d.ID, messaging.ResolveAccepted, ""); err != nil {
				l.t.Error(err)
			}
		}, false},
		"in doubt, and a person lets it be": {func(l *ledger, d messaging.Message) {
			l.mustFinish(d, messaging.StateInDoubt)
			if err := l.Resolve(l.ctx, d.ID, messaging.ResolveDrop, ""); err != nil {
				l.t.Error(err)
			}
		}, false}, // it may have arrived all the same
		"a shadow": {func(l *ledger, d messaging.Message) {
			l.mustFinish(d, messaging.StateRejected)
			l.settleBy(func(messaging.Proposal, messaging.Facts) messaging.Settlement {
				return messaging.Settlement{Outcome: messaging.Shadowed}
			})
			l.mustAccept(cart("shadow"))
			l.settleBy(insert)
		}, true},
	}
	for name, one := range befores {
		t.Run(name, func(t *testing.T) {
			l := s.open(t)
			l.ruleBy(atMost{n: 1, within: 24 * time.Hour})
			one.before(l, l.claimed("1"))
			r := l.handedOver("1", 0)
			row := rowsOf(r.ID, 1, 1)
			row[0].Phone, row[0].ExpiresAt = "447700900123", time.Time{}
			l.must(l.Enqueue(l.ctx, r.ID, 1, row))
			got := l.mustClaim(at.Add(10*time.Second), 9)
			if goes := len(got) == 1 && got[0].Trigger == "winback"; goes != one.goes {
				t.Errorf("the row of a run goes: %v (%+v)", goes, got)
			}
		})
	}
	t.Run("a row of a run, by an event", func(t *testing.T) {
		l := s.open(t)
		l.ruleBy(atMost{n: 1, within: 24 * time.Hour})
		l.handedOver("1", 1)
		same(t, "the row", 1, len(l.ids(noon)))
		l.enqueue("1", phone("447911100001"), trigger("another"))
		same(t, "the event's", 0, len(l.ids(at)))
	})
}

// interleaved claims, ends, restarts and changes the limit at random, by several owners at the same time: no phone
// ever gets more than the limit, and nothing is lost.
func (s suite) interleaved(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := &check{TB: t}
		defer c.end()
		l := s.open(c)
		limit := atMost{n: rapid.IntRange(1, 3).Draw(rt, "limit"), within: time.Hour}
		l.ruleBy(limit)
		total := rapid.IntRange(1, 40).Draw(rt, "messages")
		var plans []messaging.Plan
		for i := range total {
			plans = append(plans, cart(fmt.Sprint(i), trigger(fmt.Sprint("t", rapid.IntRange(0, 2).Draw(rt, "trigger"))), due(noon),
				phone(messaging.Phone(fmt.Sprint("44770090010", rapid.IntRange(0, 2).Draw(rt, "phone"))))))
		}
		if _, err := l.Accept(l.ctx, plans); err != nil {
			rt.Fatal(err)
		}
		var mu sync.Mutex
		sent := map[messaging.Phone][]time.Time{}
		now := noon
		for range rapid.IntRange(1, 12).Draw(rt, "rounds") {
			if rapid.IntRange(0, 9).Draw(rt, "restart") == 0 {
				l = reopenAfter(c, l)
				l.ruleBy(limit)
			}
			drop := rapid.IntRange(0, 4).Draw(rt, "rejected of five")
			together(4, func(owner int) {
				got, err := l.Claim(l.ctx, messaging.ClaimRequest{Owner: fmt.Sprint(owner), Now: now, Lease: time.Minute, Marketing: 3 + owner})
				if err != nil {
					t.Error(err)
				}
				for i, d := range got {
					state := messaging.StateAccepted
					if i%5 < drop-1 {
						state = messaging.StateWaiting
					}
					if state == messaging.StateAccepted {
						mu.Lock()
						sent[d.Phone] = append(sent[d.Phone], now)
						mu.Unlock()
					}
					if err := l.Finish(l.ctx, attempt(d, state)); err != nil {
						t.Error(err)
					}
				}
			})
			now = now.Add(time.Duration(rapid.IntRange(1, 90).Draw(rt, "minutes")) * time.Minute)
			l.at(now)
			if rapid.Bool().Draw(rt, "reload") {
				if _, err := l.ReviewDeferred(l.ctx); err != nil {
					rt.Fatal(err)
				}
			}
		}
		accepted := 0
		for phone, times := range sent {
			accepted += len(times)
			for i := range times {
				if j := i + limit.n; j < len(times) && times[j].Sub(times[i]) <= limit.within {
					rt.Fatalf("%s got more than %d within %s: %v", phone, limit.n, limit.within, times)
				}
			}
		}
		n, err := report.Records{Store: l.Store}.Counts(l.ctx)
		if err != nil || int(n.Waiting)+accepted != total {
			rt.Fatalf("%d wait and %d were sent of %d (%v)", n.Waiting, accepted, total, err)
		}
	})
}
