package suite

import (
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/store"
)

func (s suite) settle(t *testing.T) {
	t.Run("refused and shadowed proposals are not settled", s.refusedProposalsAreNotSettled)
	t.Run("what was only shadowed is listed, and counted by its template", s.whatWasShadowedIsListed)
	t.Run("the settlement's words become the decision's", s.theSettlementsWordsBecomeTheDecisions)
	s.facts(t)
	t.Run("an order that follows its cart ends it", s.anOrderThatFollowsItsCartEndsIt)
	t.Run("an order that comes before its cart is remembered until told to forget", s.anOrderThatComesBeforeItsCartIsRemembered)
	t.Run("of two cancelling events the later fact is remembered, whichever comes first", s.ofTwoCancellingEventsTheLaterIsRemembered)
	t.Run("a restart renews the waiting message in place", s.aRestartRenewsTheWaitingMessageInPlace)
	t.Run("a settlement about a message that does not wait stores nothing", s.aSettlementAboutWhatDoesNotWaitStoresNothing)
	t.Run("a panic in Settle is an error of its own event", s.aPanicIsAnErrorOfItsOwnEvent)
}

func (s suite) refusedProposalsAreNotSettled(t *testing.T) {
	l := s.open(t)
	l.settleBy(func(messaging.Proposal, messaging.Facts) messaging.Settlement { panic("asked") })
	for _, o := range []messaging.Outcome{messaging.Skipped, messaging.Shadowed} {
		p := cart(string(o))
		p.Proposals[0].Decision.Outcome = o
		if d := l.mustAccept(p).Decisions[0]; d.Outcome != o || d.MessageID != 0 {
			t.Errorf("%+v", d)
		}
	}
	l.totals(map[string]int64{"messages": 0, "decisions_skipped": 1, "decisions_shadowed": 1})
}

func (s suite) whatWasShadowedIsListed(t *testing.T) {
	l := s.open(t)
	shadowed := func(p *messaging.Plan) {
		p.Proposals[0].Decision.Outcome, p.Proposals[0].Decision.Reason = messaging.Shadowed, "mode: shadow; it would send"
	}
	l.mustAccept(cart("live"))
	first := l.mustAccept(cart("1", shadowed)).EventID
	second := l.mustAccept(cart("2", shadowed, phone("447700900999"))).EventID
	for name, one := range map[string]struct {
		filter store.MessageFilter
		want   []messaging.EventID
	}{
		"all":                {store.MessageFilter{}, []messaging.EventID{second, first}},
		"a page":             {store.MessageFilter{Limit: 1}, []messaging.EventID{second}},
		"the next page":      {store.MessageFilter{Before: messaging.MessageID(second)}, []messaging.EventID{first}},
		"of a phone":         {store.MessageFilter{Phone: "447700900999"}, []messaging.EventID{second}},
		"of an event":        {store.MessageFilter{EventID: first}, []messaging.EventID{first}},
		"of a trigger":       {store.MessageFilter{Trigger: "remind"}, []messaging.EventID{second, first}},
		"of another trigger": {store.MessageFilter{Trigger: "other"}, nil},
		"before":             {store.MessageFilter{Until: noon.Add(-day)}, nil},
	} {
		found, err := l.Shadows(l.ctx, one.filter)
		l.must(err)
		var got []messaging.EventID
		for _, d := range found {
			if got = append(got, d.EventID); d.Outcome != messaging.Shadowed || d.Reason != "mode: shadow; it would send" || d.Phone == "" {
				t.Errorf("%s: %+v", name, d)
			}
		}
		same(t, name, one.want, got)
	}
	counts := []string{"trigger shadowed remind/reminder// 2"}
	same(t, "counts", counts, l.counted(report.HourQuery{What: []string{"shadowed"}, Names: true, Details: true}))

	// Of a contact who is forgotten it stays that a trigger would have sent something, and not to whom or why.
	l.must(l.Forget(l.ctx, []messaging.Phone{"447700900999"}, "by hand"))
	orders, err := l.privacy().Erasures(l.ctx)
	l.must(err)
	if waits, err := l.privacy().Erase(l.ctx, orders); err != nil || waits != "" {
		t.Fatalf("it waits for %q, %v", waits, err)
	}
	left, err := l.Shadows(l.ctx, store.MessageFilter{})
	l.must(err)
	if len(left) != 2 || left[0].EventID != second || left[0].Phone != "" || left[0].Reason != messaging.ForgottenWords || left[0].Key != "" || left[1].Phone == "" || left[1].Key != "1" {
		t.Errorf("after one contact was forgotten: %+v", left)
	}
	found, err := l.Shadows(l.ctx, store.MessageFilter{Phone: "447700900999"})
	l.must(err)
	same(t, "of the forgotten", 0, len(found))
	same(t, "counts after it", counts, l.counted(report.HourQuery{What: []string{"shadowed"}, Names: true, Details: true}))
}

func (s suite) theSettlementsWordsBecomeTheDecisions(t *testing.T) {
	l := s.open(t)
	l.settleBy(func(messaging.Proposal, messaging.Facts) messaging.Settlement {
		return messaging.Settlement{Outcome: messaging.Skipped, Reason: "once only"}
	})
	d := l.mustAccept(cart("1")).Decisions[0]
	if d.Outcome != messaging.Skipped || d.Reason != "once only" || d.MessageID != 0 {
		t.Errorf("%+v", d)
	}
}

func (s suite) anOrderThatFollowsItsCartEndsIt(t *testing.T) {
	l := s.open(t)
	id := l.enqueue("1")
	other := l.enqueue("2")
	r := l.mustAccept(order("1"))
	d := l.message(id)
	if d.State != messaging.StateCancelled || d.Reason != "cancelled by shop.order.created (event 3)" {
		t.Errorf("%s: %s", d.State, d.Reason)
	}
	if d := l.message(other); d.State != messaging.StateWaiting {
		t.Errorf("the other cart's is %s", d.State)
	}
	same(t, "decision", messaging.Cancelling, r.Decisions[0].Outcome)
	l.totals(map[string]int64{"messages_cancelled": 1, "decisions_cancelling": 1})
}

func (s suite) anOrderThatComesBeforeItsCartIsRemembered(t *testing.T) {
	l := s.open(t)
	l.mustAccept(order("1"))
	l.mustAccept(cart("1"))
	want := &messaging.Tombstone{EventID: 1, Ref: "shop.order.created", EventAt: noon, ExpiresAt: noon.Add(24 * time.Hour)}
	same(t, "tombstone", want, l.lastFacts().Tombstone)
	l.mustAccept(cart("2"))
	same(t, "tombstone of another correlation key", (*messaging.Tombstone)(nil), l.lastFacts().Tombstone)
	l.at(noon.Add(24 * time.Hour))
	l.mustAccept(cart("1", dedupe("later")))
	same(t, "expired tombstone", (*messaging.Tombstone)(nil), l.lastFacts().Tombstone)
}

func (s suite) ofTwoCancellingEventsTheLaterIsRemembered(t *testing.T) {
	later := func(p *messaging.Plan) {
		p.Event.DedupeKey, p.Proposals[0].EventAt, p.Proposals[0].Forget = "later", noon.Add(time.Minute), noon.Add(time.Hour)
	}
	for _, swap := range []bool{false, true} {
		l := s.open(t)
		plans := []messaging.Plan{order("1"), order("1", later)}
		if swap {
			plans[0], plans[1] = plans[1], plans[0]
		}
		r, err := l.Accept(l.ctx, plans)
		l.must(err)
		id := r[1].EventID
		if swap {
			id = r[0].EventID
		}
		l.mustAccept(cart("1"))
		want := &messaging.Tombstone{EventID: id, Ref: "shop.order.created", EventAt: noon.Add(time.Minute), ExpiresAt: noon.Add(24 * time.Hour)}
		same(t, "tombstone", want, l.lastFacts().Tombstone)
	}
}

func (s suite) aRestartRenewsTheWaitingMessageInPlace(t *testing.T) {
	l := s.open(t)
	id := l.enqueue("1", expires(noon.Add(7*time.Hour)))
	l.settleBy(func(_ messaging.Proposal, f messaging.Facts) messaging.Settlement {
		return messaging.Settlement{Outcome: messaging.Restarted, Restart: f.Waiting[0].ID, DueAt: noon.Add(90 * time.Minute)}
	})
	p := cart("1", dedupe("again"), due(noon.Add(2*time.Hour)), expires(noon.Add(8*time.Hour)), phone("447700900999"))
	p.Proposals[0].Message.Config, p.Proposals[0].Message.Send.Variables = "v2", []string{"Ana", "two mugs"}
	l.at(noon.Add(time.Minute))
	r := l.mustAccept(p)
	if r.Decisions[0].Outcome != messaging.Restarted || r.Decisions[0].MessageID != id {
		t.Errorf("decision %+v", r.Decisions[0])
	}
	want := messaging.Message{
		ID: id, EventID: r.EventID, Trigger: "remind", Key: "1", Phone: "447700900999", Category: messaging.Marketing,
		Send: p.Proposals[0].Message.Send, State: messaging.StateWaiting, DueAt: noon.Add(90 * time.Minute), ExpiresAt: noon.Add(450 * time.Minute),
		CreatedAt: noon, UpdatedAt: noon.Add(time.Minute), Restarts: 1, Config: "v2",
	}
	same(t, "message", want, l.message(id))
	same(t, "OnDue", noon.Add(90*time.Minute), l.woken(noon.Add(90*time.Minute)))
	l.totals(map[string]int64{"messages": 1, "decisions_restarted": 1})
}

func (s suite) aSettlementAboutWhatDoesNotWaitStoresNothing(t *testing.T) {
	l := s.open(t)
	id := l.enqueue("1")
	l.mustClaim(noon.Add(time.Hour), 1)
	for _, wrong := range []messaging.Settlement{
		{Outcome: messaging.Restarted, Restart: id, DueAt: noon},
		{Outcome: messaging.Cancelling, Cancel: []messaging.MessageID{id}},
	} {
		l.settleBy(func(messaging.Proposal, messaging.Facts) messaging.Settlement { return wrong })
		_, err := l.Accept(l.ctx, []messaging.Plan{cart("1", dedupe("x"))})
		if err == nil || !strings.HasSuffix(err.Error(), "settled, but message 1 does not wait") {
			t.Errorf("error %v", err)
		}
	}
	l.totals(map[string]int64{"events": 1})
}

func (s suite) aPanicIsAnErrorOfItsOwnEvent(t *testing.T) {
	l := s.open(t)
	l.settleBy(func(messaging.Proposal, messaging.Facts) messaging.Settlement { panic("a fault") })
	_, err := l.Accept(l.ctx, []messaging.Plan{cart("1")})
	wantErr(t, err, "panic: a fault")
	l.settleBy(insert)
	if l.mustAccept(cart("1")).Duplicate {
		t.Error("the event of the panic had been stored")
	}
}
