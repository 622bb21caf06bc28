package suite

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// facts checks what Settle is told.
func (s suite) facts(t *testing.T) {
	t.Run("facts show what waits, oldest first, and no other correlation key's", s.factsShowWhatWaitsOldestFirst)
	t.Run("without a key the correlation key is the phone", s.withoutAKeyThePhoneIsTheKey)
	t.Run("a cancelling event without a key sees what waits for the phone, whatever its key", s.aCancellingEventWithoutAKeySeesThePhones)
	t.Run("and is remembered for the phone's carts that come later, and for no other's", s.itIsRememberedForThePhonesLaterCarts)
	t.Run("a cancelling event with a key sees what of the same phone has none", s.aCancellingEventWithAKeySeesWhatHasNone)
	t.Run("and is remembered for the phone's carts without a key, for no others", s.itIsRememberedForThePhonesCartsWithoutAKey)
	t.Run("a matter with several identifiers is found by any of them, also after a restart and in any order", s.aMatterIsFoundByAnyOfItsIdentifiers)
	t.Run("with a key the phone may differ", s.withAKeyThePhoneMayDiffer)
	t.Run("facts show the newest that may have reached the phone", s.factsShowTheNewestThatMayHaveReachedThePhone)
	t.Run("of several sent the one begun last counts, not the one queued last", s.ofSeveralSentTheOneBegunLastCounts)
	t.Run("facts show what an earlier proposal of the same event did", s.factsShowWhatAnEarlierProposalDid)
}

func (s suite) factsShowWhatWaitsOldestFirst(t *testing.T) {
	l := s.open(t)
	first := l.enqueue("1", due(noon.Add(2*time.Hour)))
	l.enqueue("2")
	second := l.enqueue("1", dedupe("b"), due(noon.Add(time.Hour)))
	l.enqueue("1", dedupe("c"), func(p *messaging.Plan) { p.Proposals[0].Correlation.Trigger = "other" })
	l.enqueue("1", dedupe("d"))
	same(t, "facts", messaging.Facts{Waiting: []messaging.Waiting{
		{ID: first, DueAt: noon.Add(2 * time.Hour), CreatedAt: noon, EventAt: noon}, {ID: second, DueAt: noon.Add(time.Hour), CreatedAt: noon, EventAt: noon},
	}}, l.lastFacts())
}

func (s suite) withoutAKeyThePhoneIsTheKey(t *testing.T) {
	l := s.open(t)
	l.enqueue("", dedupe("a"))
	l.enqueue("", dedupe("b"), phone("447700900999"))
	same(t, "facts of another phone", messaging.Facts{}, l.lastFacts())
	l.enqueue("", dedupe("c"))
	same(t, "waiting", []messaging.Waiting{{ID: 1, DueAt: noon.Add(time.Hour), CreatedAt: noon, EventAt: noon}}, l.lastFacts().Waiting)
}

func (s suite) aCancellingEventWithoutAKeySeesThePhones(t *testing.T) {
	l := s.open(t)
	first, second := l.enqueue("1"), l.enqueue("2")
	l.enqueue("3", phone("447700900999"))
	l.mustAccept(order("", dedupe("o")))
	if w := l.lastFacts().Waiting; len(w) != 2 || w[0].ID != first || w[1].ID != second || !w[0].EventAt.Equal(noon) {
		t.Errorf("waiting: %+v", w)
	}
}

func (s suite) itIsRememberedForThePhonesLaterCarts(t *testing.T) {
	l := s.open(t)
	l.mustAccept(order("", dedupe("o")))
	l.enqueue("1", dedupe("late"))
	if g := l.lastFacts().Tombstone; g == nil || !g.ByPhone || g.EventID != 1 {
		t.Errorf("tombstone: %+v", g)
	}
	l.enqueue("2", dedupe("other"), phone("447700900999"))
	if g := l.lastFacts().Tombstone; g != nil {
		t.Errorf("another phone's tombstone: %+v", g)
	}
}

func (s suite) aCancellingEventWithAKeySeesWhatHasNone(t *testing.T) {
	l := s.open(t)
	l.enqueue("", dedupe("a"))
	l.enqueue("2", dedupe("b"))
	l.enqueue("", dedupe("c"), phone("447700900999"))
	l.enqueue("", dedupe("d"), func(p *messaging.Plan) { p.Proposals[0].Correlation.Trigger = "other" })
	l.mustAccept(order("1", dedupe("o")))
	if w := l.lastFacts().Waiting; len(w) != 1 || w[0].ID != 1 || !w[0].ByPerson {
		t.Errorf("waiting: %+v", w)
	}
}

func (s suite) itIsRememberedForThePhonesCartsWithoutAKey(t *testing.T) {
	l := s.open(t)
	l.mustAccept(order("1", dedupe("o")))
	for _, c := range []struct {
		key, phone string
		want       bool
	}{{"", "", true}, {"1", "447700900999", true}, {"2", "", false}, {"", "447700900999", false}} {
		changes := []change{dedupe("late" + c.key + c.phone)}
		if c.phone != "" {
			changes = append(changes, phone(messaging.Phone(c.phone)))
		}
		l.enqueue(c.key, changes...)
		if g := l.lastFacts().Tombstone; (g != nil) != c.want || g != nil && (g.ByPhone || g.EventID != 1) {
			t.Errorf("key %q of phone %q: tombstone %+v", c.key, c.phone, g)
		}
	}
}

func (s suite) aMatterIsFoundByAnyOfItsIdentifiers(t *testing.T) {
	others := func(keys ...string) change { return func(p *messaging.Plan) { p.Proposals[0].Others = keys } }
	dsn := s.fresh(t)
	l := reopen(t, dsn)
	queued := []messaging.MessageID{
		l.enqueue("token", dedupe("a"), others("id", "cart")),
		l.enqueue("token 2", dedupe("b"), others("id 2", "cart 2"), phone("447700900999")),
	}
	l.close()
	l = reopen(t, dsn)
	l.mustAccept(order("id", dedupe("o"), phone("447700900888")))
	l.mustAccept(order("number", dedupe("p"), others("cart 2", "token"), phone("447700900888")))
	for i, f := range l.facts {
		if len(f.Waiting) != 1 || f.Waiting[0].ID != queued[i] || f.Waiting[0].ByPerson {
			t.Errorf("order %d: waiting %+v", i+1, f.Waiting)
		}
	}
	l.enqueue("late", dedupe("c"), others("number"), phone("447700900777"))
	if l.lastFacts().Tombstone == nil {
		t.Error("what came late under another identifier is not known to be over")
	}
	l.enqueue("other", dedupe("d"), others("yet another"), phone("447700900777"))
	if g := l.lastFacts().Tombstone; g != nil {
		t.Errorf("tombstone of another matter: %+v", g)
	}
}

func (s suite) withAKeyThePhoneMayDiffer(t *testing.T) {
	l := s.open(t)
	l.enqueue("1")
	l.enqueue("1", dedupe("b"), phone("447700900999"))
	if n := len(l.lastFacts().Waiting); n != 1 {
		t.Errorf("%d waiting", n)
	}
}

func (s suite) factsShowTheNewestThatMayHaveReachedThePhone(t *testing.T) {
	at := noon.Add(2 * time.Hour)
	tests := map[string]struct {
		end  func(l *ledger, d messaging.Message)
		want messaging.State // "" for none
	}{
		"being sent": {func(*ledger, messaging.Message) {}, messaging.StateSending},
		"accepted":   {func(l *ledger, d messaging.Message) { l.mustFinish(d, messaging.StateAccepted) }, messaging.StateAccepted},
		"in doubt":   {func(l *ledger, d messaging.Message) { l.mustFinish(d, messaging.StateInDoubt) }, messaging.StateInDoubt},
		"rejected":   {func(l *ledger, d messaging.Message) { l.mustFinish(d, messaging.StateRejected) }, ""},
		"dropped":    {func(l *ledger, d messaging.Message) { l.mustFinish(d, messaging.StateDropped) }, ""},
		"put off":    {func(l *ledger, d messaging.Message) { l.mustFinish(d, messaging.StateWaiting) }, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := s.open(t)
			id := l.enqueue("1")
			tt.end(l, l.mustClaim(at, 1)[0])
			l.mustAccept(cart("1", dedupe("b")))
			var want *messaging.Sent
			if tt.want != "" {
				want = &messaging.Sent{ID: id, State: tt.want, At: at}
			}
			same(t, "last", want, l.lastFacts().Last)
		})
	}
}

func (s suite) ofSeveralSentTheOneBegunLastCounts(t *testing.T) {
	l := s.open(t)
	l.enqueue("1", due(noon.Add(3*time.Hour)))
	l.enqueue("1", dedupe("b"), due(noon.Add(time.Hour)))
	l.mustClaim(noon.Add(time.Hour), 5)
	l.mustClaim(noon.Add(3*time.Hour), 5)
	l.mustAccept(cart("1", dedupe("c")))
	same(t, "last", &messaging.Sent{ID: 1, State: messaging.StateSending, At: noon.Add(3 * time.Hour)}, l.lastFacts().Last)
}

func (s suite) factsShowWhatAnEarlierProposalDid(t *testing.T) {
	l := s.open(t)
	p := cart("1")
	p.Proposals = append(p.Proposals, p.Proposals[0])
	var seen []int
	l.settleBy(func(w messaging.Proposal, f messaging.Facts) messaging.Settlement {
		seen = append(seen, len(f.Waiting))
		return insert(w, f)
	})
	l.mustAccept(p)
	same(t, "waiting at each", []int{0, 1}, seen)
}
