package privacy

import (
	"errors"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// A look-up may end long after its event came, when the daemon stood still in between: the event stays with the message that
// comes of it, however late that was.
func TestAnEventStaysWithAMessageOfALateLookup(t *testing.T) {
	a := openAging(t)
	lookup := func() messaging.EventID {
		return a.event(otherPhone, "x", func(p *messaging.Plan) { p.Later, p.Proposals = true, nil }).EventID
	}
	late, empty := lookup(), lookup()
	other := a.event("447700900116", "x", func(p *messaging.Plan) { p.Proposals = nil }).EventID
	a.now = a.now.Add(390 * day) // nobody was there
	found, err := a.ClaimLookups(t.Context(), a.now, time.Minute, 9)
	a.must(err)
	if len(found) != 2 {
		t.Fatalf("%d look-ups", len(found))
	}
	for _, l := range found {
		plan := messaging.Plan{Event: l.Event}
		if l.EventID == late {
			plan.Proposals = []messaging.Proposal{{
				Decision:    messaging.Decision{Trigger: "cart", Outcome: messaging.Planned, At: a.now},
				Correlation: messaging.Correlation{Trigger: "cart", Key: "late", Phone: otherPhone},
				Message: messaging.Message{
					Phone: otherPhone, Category: messaging.Marketing, DueAt: a.now, CreatedAt: a.now, Send: messaging.Send{Template: "t"},
				},
			}}
		}
		_, err := a.Complete(t.Context(), l, plan)
		a.must(err)
	}
	for _, d := range a.claim(9) {
		a.finish(&d, messaging.StateRejected)
	}
	kept := func(id messaging.EventID) bool {
		t.Helper()
		_, err := a.Event(t.Context(), id)
		if err != nil && !errors.Is(err, messaging.ErrNotFound) {
			t.Fatal(err)
		}
		return err == nil
	}
	a.now = a.now.Add(100 * day) // the events are 490 days old, the message 100
	a.retain(keepUsual)
	if !kept(late) || kept(empty) || kept(other) {
		t.Errorf("kept: with a message %v, without one %v, without a look-up %v", kept(late), kept(empty), kept(other))
	}
	list, err := a.Messages(t.Context(), store.MessageFilter{Phone: otherPhone})
	a.must(err)
	if len(list) != 1 {
		t.Errorf("%d messages are found by the phone", len(list))
	}
	a.now = a.now.Add(301 * day)
	a.retain(keepUsual)
	if kept(late) {
		t.Error("the event stays without its message")
	}
}

// Decisions that are not kept any more stay so when their contact is forgotten: none at all would say that nobody listened.
func TestForgettingLeavesDecisionsThatAreNotKept(t *testing.T) {
	a := openAging(t)
	var plans []messaging.Plan
	for i, due := range []time.Time{a.now, a.now.Add(3000 * day)} {
		p := a.plan([]string{forgottenPhone, otherPhone}[i], "x")
		p.Proposals[0].Message.DueAt = due
		plans = append(plans, p)
	}
	_, err := a.Accept(t.Context(), plans)
	a.must(err)
	for _, d := range a.claim(1) {
		a.finish(&d, messaging.StateRejected)
	}
	a.now = a.now.Add(100 * day)
	a.retain(keepUsual)
	a.must(a.Forget(t.Context(), []messaging.Phone{forgottenPhone}, "by hand"))
	if waits := a.erase(); waits != "" {
		t.Fatal(waits)
	}
	s, err := history.Records{Store: a.erasing.Records.Store}.EventStory(t.Context(), 1)
	a.must(err)
	if !s.Unsaid || len(s.Decisions) != 1 {
		t.Errorf("unsaid %v, %+v", s.Unsaid, s.Decisions)
	}
}
