package suite

import (
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
)

func (s suite) settle(t *testing.T) {
	t.Run("refused and shadowed proposals are not settled", func(t *testing.T) {
		l := s.open(t)
		l.settleBy(func(nudgewire.Proposal, nudgewire.Facts) nudgewire.Settlement { panic("asked") })
		for _, o := range []nudgewire.Outcome{nudgewire.Skipped, nudgewire.Shadowed} {
			p := cart(string(o))
			p.Proposals[0].Decision.Outcome = o
			if d := l.mustAccept(p).Decisions[0]; d.Outcome != o || d.MessageID != 0 {
				t.Errorf("%+v", d)
			}
		}
		l.totals(map[string]int64{"messages": 0, "decisions_skipped": 1, "decisions_shadowed": 1})
	})
	t.Run("the settlement's words become the decision's", func(t *testing.T) {
		l := s.open(t)
		l.settleBy(func(nudgewire.Proposal, nudgewire.Facts) nudgewire.Settlement {
			return nudgewire.Settlement{Outcome: nudgewire.Skipped, Reason: "once only"}
		})
		d := l.mustAccept(cart("1")).Decisions[0]
		if d.Outcome != nudgewire.Skipped || d.Reason != "once only" || d.MessageID != 0 {
			t.Errorf("%+v", d)
		}
	})
	s.facts(t)
	t.Run("an order that follows its cart ends it", func(t *testing.T) {
		l := s.open(t)
		id := l.enqueue("1")
		other := l.enqueue("2")
		r := l.mustAccept(order("1"))
		d := l.message(id)
		if d.State != nudgewire.StateCancelled || d.Reason != "cancelled by shop.order.created (event 3)" {
			t.Errorf("%s: %s", d.State, d.Reason)
		}
		if d := l.message(other); d.State != nudgewire.StateWaiting {
			t.Errorf("the other cart's is %s", d.State)
		}
		same(t, "decision", nudgewire.Cancelling, r.Decisions[0].Outcome)
		l.totals(map[string]int64{"messages_cancelled": 1, "decisions_cancelling": 1})
	})
	t.Run("an order that comes before its cart is remembered until told to forget", func(t *testing.T) {
		l := s.open(t)
		l.mustAccept(order("1"))
		l.mustAccept(cart("1"))
		want := &nudgewire.Tombstone{EventID: 1, Ref: "shop.order.created", EventAt: noon, ExpiresAt: noon.Add(24 * time.Hour)}
		same(t, "tombstone", want, l.lastFacts().Tombstone)
		l.mustAccept(cart("2"))
		same(t, "tombstone of another correlation key", (*nudgewire.Tombstone)(nil), l.lastFacts().Tombstone)
		l.at(noon.Add(24 * time.Hour))
		l.mustAccept(cart("1", dedupe("later")))
		same(t, "expired tombstone", (*nudgewire.Tombstone)(nil), l.lastFacts().Tombstone)
	})
	t.Run("of two cancelling events the later fact is remembered, whichever comes first", func(t *testing.T) {
		later := func(p *nudgewire.Plan) {
			p.Event.DedupeKey, p.Proposals[0].EventAt, p.Proposals[0].Forget = "later", noon.Add(time.Minute), noon.Add(time.Hour)
		}
		for _, swap := range []bool{false, true} {
			l := s.open(t)
			plans := []nudgewire.Plan{order("1"), order("1", later)}
			if swap {
				plans[0], plans[1] = plans[1], plans[0]
			}
			r, err := l.Accept(l.ctx, plans)
			if err != nil {
				t.Fatal(err)
			}
			id := r[1].EventID
			if swap {
				id = r[0].EventID
			}
			l.mustAccept(cart("1"))
			want := &nudgewire.Tombstone{EventID: id, Ref: "shop.order.created", EventAt: noon.Add(time.Minute), ExpiresAt: noon.Add(24 * time.Hour)}
			same(t, "tombstone", want, l.lastFacts().Tombstone)
		}
	})
	t.Run("a restart renews the waiting message in place", func(t *testing.T) {
		l := s.open(t)
		id := l.enqueue("1", expires(noon.Add(7*time.Hour)))
		l.settleBy(func(_ nudgewire.Proposal, f nudgewire.Facts) nudgewire.Settlement {
			return nudgewire.Settlement{Outcome: nudgewire.Restarted, Restart: f.Waiting[0].ID, DueAt: noon.Add(90 * time.Minute)}
		})
		p := cart("1", dedupe("again"), due(noon.Add(2*time.Hour)), expires(noon.Add(8*time.Hour)), phone("447700900999"))
		p.Proposals[0].Message.Config, p.Proposals[0].Message.Send.Variables = "v2", []string{"Ana", "two mugs"}
		l.at(noon.Add(time.Minute))
		r := l.mustAccept(p)
		if r.Decisions[0].Outcome != nudgewire.Restarted || r.Decisions[0].MessageID != id {
			t.Errorf("decision %+v", r.Decisions[0])
		}
		want := nudgewire.Message{
			ID: id, EventID: r.EventID, Trigger: "remind", Key: "1", Phone: "447700900999", Category: nudgewire.Marketing,
			Send: p.Proposals[0].Message.Send, State: nudgewire.StateWaiting, DueAt: noon.Add(90 * time.Minute), ExpiresAt: noon.Add(450 * time.Minute),
			CreatedAt: noon, UpdatedAt: noon.Add(time.Minute), Restarts: 1, Config: "v2",
		}
		same(t, "message", want, l.message(id))
		same(t, "OnDue", noon.Add(90*time.Minute), l.woken(noon.Add(90*time.Minute)))
		l.totals(map[string]int64{"messages": 1, "decisions_restarted": 1})
	})
	t.Run("a settlement about a message that does not wait stores nothing", func(t *testing.T) {
		l := s.open(t)
		id := l.enqueue("1")
		l.mustClaim(noon.Add(time.Hour), 1)
		for _, wrong := range []nudgewire.Settlement{
			{Outcome: nudgewire.Restarted, Restart: id, DueAt: noon},
			{Outcome: nudgewire.Cancelling, Cancel: []nudgewire.MessageID{id}},
		} {
			l.settleBy(func(nudgewire.Proposal, nudgewire.Facts) nudgewire.Settlement { return wrong })
			_, err := l.Accept(l.ctx, []nudgewire.Plan{cart("1", dedupe("x"))})
			if err == nil || !strings.HasSuffix(err.Error(), "settled, but message 1 does not wait") {
				t.Errorf("error %v", err)
			}
		}
		l.totals(map[string]int64{"events": 1})
	})
	t.Run("a panic in Settle is an error of its own event", func(t *testing.T) {
		l := s.open(t)
		l.settleBy(func(nudgewire.Proposal, nudgewire.Facts) nudgewire.Settlement { panic("a fault") })
		_, err := l.Accept(l.ctx, []nudgewire.Plan{cart("1")})
		wantErr(t, err, "panic: a fault")
		l.settleBy(insert)
		if l.mustAccept(cart("1")).Duplicate {
			t.Error("the event of the panic had been stored")
		}
	})
}

// facts checks what Settle is told.
func (s suite) facts(t *testing.T) {
	t.Run("facts show what waits, oldest first, and no other correlation key's", func(t *testing.T) {
		l := s.open(t)
		l.enqueue("1", due(noon.Add(2*time.Hour)))
		l.enqueue("2")
		l.enqueue("1", dedupe("b"), due(noon.Add(time.Hour)))
		l.enqueue("1", dedupe("c"), func(p *nudgewire.Plan) { p.Proposals[0].Correlation.Trigger = "other" })
		l.enqueue("1", dedupe("d"))
		same(t, "facts", nudgewire.Facts{Waiting: []nudgewire.Waiting{
			{ID: 1, DueAt: noon.Add(2 * time.Hour), CreatedAt: noon, EventAt: noon}, {ID: 3, DueAt: noon.Add(time.Hour), CreatedAt: noon, EventAt: noon},
		}}, l.lastFacts())
	})
	t.Run("without a key the correlation key is the phone", func(t *testing.T) {
		l := s.open(t)
		l.enqueue("", dedupe("a"))
		l.enqueue("", dedupe("b"), phone("447700900999"))
		same(t, "facts of another phone", nudgewire.Facts{}, l.lastFacts())
		l.enqueue("", dedupe("c"))
		same(t, "waiting", []nudgewire.Waiting{{ID: 1, DueAt: noon.Add(time.Hour), CreatedAt: noon, EventAt: noon}}, l.lastFacts().Waiting)
	})
	t.Run("a cancelling event without a key sees what waits for the phone, whatever its key", func(t *testing.T) {
		l := s.open(t)
		l.enqueue("1")
		l.enqueue("2")
		l.enqueue("3", phone("447700900999"))
		l.mustAccept(order("", dedupe("o")))
		if w := l.lastFacts().Waiting; len(w) != 2 || w[0].ID != 1 || w[1].ID != 2 || !w[0].EventAt.Equal(noon) {
			t.Errorf("waiting: %+v", w)
		}
	})
	t.Run("and is remembered for the phone's carts that come later, and for no other's", func(t *testing.T) {
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
	})
	t.Run("a cancelling event with a key sees what of the same phone has none", func(t *testing.T) {
		l := s.open(t)
		l.enqueue("", dedupe("a"))
		l.enqueue("2", dedupe("b"))
		l.enqueue("", dedupe("c"), phone("447700900999"))
		l.enqueue("", dedupe("d"), func(p *nudgewire.Plan) { p.Proposals[0].Correlation.Trigger = "other" })
		l.mustAccept(order("1", dedupe("o")))
		if w := l.lastFacts().Waiting; len(w) != 1 || w[0].ID != 1 || !w[0].ByPerson {
			t.Errorf("waiting: %+v", w)
		}
	})
	t.Run("and is remembered for the phone's carts without a key, for no others", func(t *testing.T) {
		l := s.open(t)
		l.mustAccept(order("1", dedupe("o")))
		for _, c := range []struct {
			key, phone string
			want       bool
		}{{"", "", true}, {"1", "447700900999", true}, {"2", "", false}, {"", "447700900999", false}} {
			changes := []change{dedupe("late" + c.key + c.phone)}
			if c.phone != "" {
				changes = append(changes, phone(nudgewire.Phone(c.phone)))
			}
			l.enqueue(c.key, changes...)
			if g := l.lastFacts().Tombstone; (g != nil) != c.want || g != nil && (g.ByPhone || g.EventID != 1) {
				t.Errorf("key %q of phone %q: tombstone %+v", c.key, c.phone, g)
			}
		}
	})
	t.Run("a matter with several identifiers is found by any of them, also after a restart and in any order", func(t *testing.T) {
		others := func(keys ...string) change { return func(p *nudgewire.Plan) { p.Proposals[0].Others = keys } }
		dsn := s.fresh(t)
		l := reopen(t, dsn)
		l.enqueue("token", dedupe("a"), others("id", "cart"))
		l.enqueue("token 2", dedupe("b"), others("id 2", "cart 2"), phone("447700900999"))
		l.close()
		l = reopen(t, dsn)
		l.mustAccept(order("id", dedupe("o"), phone("447700900888")))
		l.mustAccept(order("number", dedupe("p"), others("cart 2", "token"), phone("447700900888")))
		for i, f := range l.facts {
			if len(f.Waiting) != 1 || f.Waiting[0].ID != nudgewire.MessageID(i+1) || f.Waiting[0].ByPerson {
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
	})
	t.Run("with a key the phone may differ", func(t *testing.T) {
		l := s.open(t)
		l.enqueue("1")
		l.enqueue("1", dedupe("b"), phone("447700900999"))
		if n := len(l.lastFacts().Waiting); n != 1 {
			t.Errorf("%d waiting", n)
		}
	})
	t.Run("facts show the newest that may have reached the phone", func(t *testing.T) {
		at := noon.Add(2 * time.Hour)
		tests := map[string]struct {
			end  func(l *ledger, d nudgewire.Message)
			want nudgewire.State // "" for none
		}{
			"being sent": {func(*ledger, nudgewire.Message) {}, nudgewire.StateSending},
			"accepted":   {func(l *ledger, d nudgewire.Message) { l.mustFinish(d, nudgewire.StateAccepted) }, nudgewire.StateAccepted},
			"in doubt":   {func(l *ledger, d nudgewire.Message) { l.mustFinish(d, nudgewire.StateInDoubt) }, nudgewire.StateInDoubt},
			"rejected":   {func(l *ledger, d nudgewire.Message) { l.mustFinish(d, nudgewire.StateRejected) }, ""},
			"dropped":    {func(l *ledger, d nudgewire.Message) { l.mustFinish(d, nudgewire.StateDropped) }, ""},
			"put off":    {func(l *ledger, d nudgewire.Message) { l.mustFinish(d, nudgewire.StateWaiting) }, ""},
		}
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				l := s.open(t)
				id := l.enqueue("1")
				tt.end(l, l.mustClaim(at, 1)[0])
				l.mustAccept(cart("1", dedupe("b")))
				var want *nudgewire.Sent
				if tt.want != "" {
					want = &nudgewire.Sent{ID: id, State: tt.want, At: at}
				}
				same(t, "last", want, l.lastFacts().Last)
			})
		}
	})
	t.Run("of several sent the one begun last counts, not the one queued last", func(t *testing.T) {
		l := s.open(t)
		l.enqueue("1", due(noon.Add(3*time.Hour)))
		l.enqueue("1", dedupe("b"), due(noon.Add(time.Hour)))
		l.mustClaim(noon.Add(time.Hour), 5)
		l.mustClaim(noon.Add(3*time.Hour), 5)
		l.mustAccept(cart("1", dedupe("c")))
		same(t, "last", &nudgewire.Sent{ID: 1, State: nudgewire.StateSending, At: noon.Add(3 * time.Hour)}, l.lastFacts().Last)
	})
	t.Run("facts show what an earlier proposal of the same event did", func(t *testing.T) {
		l := s.open(t)
		p := cart("1")
		p.Proposals = append(p.Proposals, p.Proposals[0])
		var seen []int
		l.settleBy(func(w nudgewire.Proposal, f nudgewire.Facts) nudgewire.Settlement {
			seen = append(seen, len(f.Waiting))
			return insert(w, f)
		})
		l.mustAccept(p)
		same(t, "waiting at each", []int{0, 1}, seen)
	})
}
