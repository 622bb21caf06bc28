package suite

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// saysOf takes an event by which a person opts out, or in again, and gives the decision's words.
func (l *ledger) saysOf(who messaging.Phone, what messaging.Outcome, at time.Time) string {
	l.t.Helper()
	p := cart("", phone(who), dedupe(nextKey("w")))
	p.Event.Kind = "contact.unsubscribed"
	p.Proposals[0] = messaging.Proposal{
		Decision:    messaging.Decision{Trigger: messaging.OptOut, Outcome: what, At: noon},
		Correlation: messaging.Correlation{Trigger: messaging.OptOut, Phone: who}, EventAt: at,
	}
	return l.mustAccept(p).Decisions[0].Reason
}

// blocks says whether somebody is blocked.
func (l *ledger) blocks(who messaging.Phone) bool {
	l.t.Helper()
	found, err := l.Blocked(l.ctx, []messaging.Phone{who})
	l.must(err)
	return found[who] != ""
}

// optOuts is what events say of whether a contact wants messages.
func (s suite) optOuts(t *testing.T) {
	const out, in = messaging.Blocked, messaging.Allowed
	early, late := noon, noon.Add(time.Minute)
	for _, c := range []struct {
		name string
		do   func(l *ledger)
		want bool
	}{
		{"out", func(l *ledger) { l.saysOf(ana, out, early) }, true},
		{"out, then in", func(l *ledger) { l.saysOf(ana, out, early); l.saysOf(ana, in, late) }, false},
		{"in arrives before the earlier out", func(l *ledger) { l.saysOf(ana, in, late); l.saysOf(ana, out, early) }, false},
		{"out arrives before the earlier in", func(l *ledger) { l.saysOf(ana, out, late); l.saysOf(ana, in, early) }, true},
		{"both at one time", func(l *ledger) { l.saysOf(ana, out, early); l.saysOf(ana, in, early) }, true},
		{"both at one time, the other way", func(l *ledger) { l.saysOf(ana, in, early); l.saysOf(ana, out, early) }, true},
		{"a person's block, then in", func(l *ledger) { l.person(ana); l.saysOf(ana, in, late) }, true},
		{"out, a person's block, then in", func(l *ledger) { l.saysOf(ana, out, early); l.person(ana); l.saysOf(ana, in, late) }, true},
		{"out, a person allows, the same out from elsewhere", func(l *ledger) {
			l.saysOf(ana, out, early)
			l.at(late)
			if err := l.Allow(l.ctx, ana); err != nil {
				t.Fatal(err)
			}
			l.saysOf(ana, out, early)
		}, false},
		{"out, a person allows, a later out", func(l *ledger) {
			l.saysOf(ana, out, early)
			if err := l.Allow(l.ctx, ana); err != nil {
				t.Fatal(err)
			}
			l.saysOf(ana, out, late.Add(time.Hour))
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := s.open(t)
			l.at(noon)
			c.do(l)
			same(t, "blocked", c.want, l.blocks(ana))
		})
	}
	t.Run("what waits is dropped, a code is not, over a restart", s.anOptOutDropsWhatWaits)
}

func (s suite) anOptOutDropsWhatWaits(t *testing.T) {
	dsn := s.fresh(t)
	l := reopen(t, dsn)
	l.at(noon)
	claimed := l.claimedAt(noon, "c", due(noon.Add(-time.Minute)), phone(ana), category(messaging.Utility))
	waits := l.enqueue("a", due(noon), phone(ana))
	code := l.enqueue("b", due(noon), phone(ana), category(messaging.Authentication))
	same(t, "reason", "the contact is blocked: it gets nothing but codes", l.saysOf(ana, messaging.Blocked, noon))
	same(t, "the last look at a claim", "the contact is blocked: opted out (event 4)", l.factsOf(&claimed).Blocked)
	l.close()
	l = reopen(t, dsn)
	got := l.mustClaim(noon.Add(time.Minute), 9)
	if len(got) != 1 || got[0].ID != code {
		t.Errorf("claimed %+v", got)
	}
	same(t, "what waited", messaging.StateDropped, l.message(waits).State)
	list, err := l.Blocks(l.ctx, 0)
	l.must(err)
	same(t, "blocks", []store.Block{{Phone: ana, Reason: "opted out (event 4)", Source: "shop.contact.unsubscribed", At: noon, Event: 4}}, list)
}
