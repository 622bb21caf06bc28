package suite

import (
	"fmt"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// unusedOnes are the counts of what came to nothing, a line each.
func (l *ledger) unusedOnes() (out []string) {
	l.t.Helper()
	l.mu.Lock()
	now := l.now
	l.mu.Unlock()
	all, err := l.Unused(l.ctx, now)
	l.must(err)
	for _, u := range all {
		out = append(out, fmt.Sprintf("%s %s %s %d since %s, event %d", u.Connector, u.Why, u.Kind, u.Count, u.First.Format("02 15:04"), u.Event))
	}
	return out
}

// nothing takes events that came to nothing, in one commit.
func (l *ledger) nothing(why messaging.Unused, kind string, n int) (last messaging.EventID) {
	l.t.Helper()
	plans := make([]messaging.Plan, n)
	for i := range plans {
		plans[i] = cart(nextKey("u"), func(p *messaging.Plan) {
			p.Proposals, p.Unused, p.Event.Kind = nil, why, kind
			if p.Event.ReceivedAt = l.now; why != "" {
				p.Event.Contact.Phone = ""
			}
		})
	}
	got, err := l.Accept(l.ctx, plans)
	l.must(err)
	return got[n-1].EventID
}

func (s suite) unused(t *testing.T) {
	t.Run("what came to nothing is counted until it is over", s.whatCameToNothingIsCountedUntilItIsOver)
	t.Run("a repetition is counted once", s.aRepetitionIsCountedOnce)
	t.Run("of one group the later counts", s.ofOneGroupTheLaterCounts)
	t.Run("whatever senders make up, the rows are few", s.whateverSendersMakeUpTheRowsAreFew)
	t.Run("a look-up that found no phone", s.aLookUpThatFoundNoPhoneIsCounted)
}

func (s suite) whatCameToNothingIsCountedUntilItIsOver(t *testing.T) {
	l := s.open(t)
	none := []string(nil)
	same(t, "at first", l.unusedOnes(), none)
	stop := l.nothing(messaging.UnusedOptOut, "message.received", 1)
	l.at(noon.Add(time.Hour))
	l.nothing(messaging.UnusedPhone, "order.created", 3)
	phone := l.nothing(messaging.UnusedPhone, "order.created", 2)
	kind := l.nothing(messaging.UnusedKind, "unknown", 2)
	of := func(why messaging.Unused, kind string, n int, at string, id messaging.EventID) string {
		return fmt.Sprintf("shop %s %s %d since %s, event %d", why, kind, n, at, id)
	}
	same(t, "counted", l.unusedOnes(), []string{
		of(messaging.UnusedPhone, "order.created", 5, "02 13:00", phone), of(messaging.UnusedOptOut, "message.received", 1, "02 12:00", stop),
		of(messaging.UnusedKind, "unknown", 2, "02 13:00", kind),
	})
	l.close()
	again := reopen(t, l.dsn)
	l.Store = again.Store // so that its own end closes what is open
	again.at(noon.Add(2 * time.Hour))
	l = again
	l.nothing("", "order.updated", 1)
	l.nothing("", "cart.updated", 1)
	phone = l.nothing(messaging.UnusedPhone, "order.created", 1)
	same(t, "after a restart, and others of use", l.unusedOnes(), []string{
		of(messaging.UnusedPhone, "order.created", 6, "02 13:00", phone), of(messaging.UnusedOptOut, "message.received", 1, "02 12:00", stop),
		of(messaging.UnusedKind, "unknown", 2, "02 13:00", kind),
	})
	l.at(noon.Add(2*time.Hour + time.Minute)) // of several writers at one moment none is the later
	l.nothing("", "order.created", 1)
	same(t, "one of use ends those without a phone", l.unusedOnes(), []string{
		of(messaging.UnusedOptOut, "message.received", 1, "02 12:00", stop), of(messaging.UnusedKind, "unknown", 2, "02 13:00", kind),
	})
	phone = l.nothing(messaging.UnusedPhone, "order.created", 2)
	same(t, "and they begin anew", l.unusedOnes()[0], of(messaging.UnusedPhone, "order.created", 2, "02 14:01", phone))
	l.at(noon.Add(27 * time.Hour))
	same(t, "a day later only what a person ends is left", l.unusedOnes(), []string{of(messaging.UnusedOptOut, "message.received", 1, "02 12:00", stop)})
	kind = l.nothing(messaging.UnusedKind, "unknown", 1)
	stop = l.nothing(messaging.UnusedOptOut, "message.received", 1)
	same(t, "after a day it begins anew", l.unusedOnes(), []string{
		of(messaging.UnusedOptOut, "message.received", 2, "02 12:00", stop), of(messaging.UnusedKind, "unknown", 1, "03 15:00", kind),
	})
	for _, connector := range []string{"another", "shop"} {
		before := len(l.unusedOnes())
		l.must(l.EndUnused(l.ctx, connector))
		if after := len(l.unusedOnes()); (after == before) != (connector == "another") {
			t.Errorf("a person's word on %s leaves %d of %d", connector, after, before)
		}
	}
	same(t, "a person's word ends all", l.unusedOnes(), none)
	l.must(l.CountUnused(l.ctx, messaging.UnusedRepeated, messaging.Event{ID: stop, Connector: "shop", Kind: "order.created"}))
	same(t, "told without an event of its own", l.unusedOnes(), []string{of(messaging.UnusedRepeated, "order.created", 1, "03 15:00", stop)})
}

func (s suite) aRepetitionIsCountedOnce(t *testing.T) {
	l := s.open(t)
	p := cart("twice", func(p *messaging.Plan) { p.Proposals, p.Unused = nil, messaging.UnusedKind })
	for range 3 {
		if _, err := l.Accept(l.ctx, []messaging.Plan{p, p}); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "counted", l.unusedOnes(), []string{"shop unknown_kind cart.updated 1 since 02 12:00, event 1"})
}

func (s suite) ofOneGroupTheLaterCounts(t *testing.T) {
	l := s.open(t)
	one := func(key string, phone messaging.Phone) messaging.Plan {
		return cart(key, func(p *messaging.Plan) {
			if p.Proposals, p.Event.Contact.Phone = nil, phone; phone == "" {
				p.Unused = messaging.UnusedPhone
			}
		})
	}
	for i, want := range [][]string{{"shop no_phone cart.updated 1 since 02 12:00, event 1"}, nil, {"shop no_phone cart.updated 1 since 02 14:00, event 5"}} {
		l.at(noon.Add(time.Duration(i) * time.Hour))
		plans := [][]messaging.Plan{{one("1", "")}, {one("2", ""), one("3", "447700900123")}, {one("4", "447700900123"), one("5", "")}}[i]
		if _, err := l.Accept(l.ctx, plans); err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprint("group ", i), l.unusedOnes(), want)
	}
}

func (s suite) whateverSendersMakeUpTheRowsAreFew(t *testing.T) {
	l := s.open(t)
	for i := range 50 {
		l.nothing(messaging.UnusedTopic, fmt.Sprint("made.up.", i), 1)
	}
	got := l.unusedOnes()
	if len(got) != 21 {
		t.Errorf("%d rows: %q", len(got), got)
	}
}

func (s suite) aLookUpThatFoundNoPhoneIsCounted(t *testing.T) {
	l := s.open(t)
	p := cart("later", func(p *messaging.Plan) { p.Later, p.Event.Contact.Phone, p.Proposals = true, "", nil })
	got, err := l.Accept(l.ctx, []messaging.Plan{p})
	l.must(err)
	same(t, "before it", l.unusedOnes(), []string(nil))
	lookups, err := l.ClaimLookups(l.ctx, noon, time.Minute, 1)
	if err != nil || len(lookups) != 1 {
		t.Fatalf("ClaimLookups = %v, %v", lookups, err)
	}
	p.Later, p.Unused = false, messaging.UnusedPhone
	if _, err := l.Complete(l.ctx, lookups[0], p); err != nil {
		t.Fatal(err)
	}
	same(t, "after it", l.unusedOnes(), []string{fmt.Sprintf("shop no_phone cart.updated 1 since 02 12:00, event %d", got[0].EventID)})
}
