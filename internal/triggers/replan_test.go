package triggers

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A rule as it was before an edit cancels what it planned, by its own key; where the rule as it is now cancels the same, once is enough.
func TestAnEarlierRuleCancelsWhatItPlanned(t *testing.T) {
	now := compiled(t, shops, reminder())
	before := reminder()
	before.Key = "customer.first_name"
	e := aCart(t)
	e.Kind = "order.created"
	e.Order.ID = "17"
	until := noon.Add(-time.Hour)
	proposals := now.Cancelling([]Earlier{{before, until}, {reminder(), until}}).Match(e, noon).Proposals
	var own, earlier []messaging.Proposal
	for _, p := range proposals {
		if p.Decision.Outcome != messaging.Cancelling {
			t.Errorf("%+v", p.Decision)
		}
		if p.Until.IsZero() {
			own = append(own, p)
		} else {
			earlier = append(earlier, p)
		}
	}
	if len(own) != 1 || len(earlier) != 1 || earlier[0].Correlation.Key != e.Contact.FirstName || !earlier[0].Until.Equal(until) || !earlier[0].Forget.IsZero() {
		t.Fatalf("own %+v, earlier %+v", own, earlier)
	}
	waits := messaging.Facts{Waiting: []messaging.Waiting{{ID: 1, CreatedAt: until}, {ID: 2, CreatedAt: until.Add(time.Second)}}, Open: []messaging.Open{
		{ID: 3, State: messaging.StateSending, EventAt: until}, {ID: 4, State: messaging.StateSending, EventAt: until.Add(time.Second)},
	}}
	if got := Settle(earlier[0], waits); len(got.Cancel) != 1 || got.Cancel[0] != 1 || len(got.CallOff) != 1 || got.CallOff[0] != 3 || got.RecordTombstone {
		t.Errorf("an earlier rule: %+v", got)
	}
	if got := Settle(own[0], waits); len(got.Cancel) != 2 || len(got.CallOff) != 2 {
		t.Errorf("the rule as it is: %+v", got)
	}
	// It plans nothing.
	if got := now.Cancelling([]Earlier{{before, until}}).Match(aCart(t), noon).Proposals; len(got) != 1 || got[0].Decision.Outcome != messaging.Planned {
		t.Errorf("a cart: %+v", got)
	}
}

func TestWhatIsReplannedIsJudgedAsOfItsEvent(t *testing.T) {
	r := reminder()
	r.MaxAge = Lifetime{Set: true, For: time.Hour}
	set := compiled(t, shops, r)
	e := aCart(t)
	e.ReceivedAt, e.OccurredAt = noon.AddDate(0, 0, -3), noon.AddDate(0, 0, -3)
	p := set.Replan(r.Name, e)
	if p.Decision.Outcome != messaging.Planned || !p.Message.DueAt.Equal(e.OccurredAt.Add(r.Wait.For)) {
		t.Errorf("%+v", p.Decision)
	}
	e.Kind = "cart.vanished"
	if p := set.Replan(r.Name, e); p.Decision.Outcome != messaging.Skipped || p.Decision.Reason != "it does not listen to shopify.cart.vanished any more" {
		t.Errorf("%+v", p.Decision)
	}
	if p := set.Replan("gone", e); p.Decision.Outcome != messaging.Skipped {
		t.Errorf("%+v", p.Decision)
	}
}
