package triggers

import (
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
)

// An amount that nobody can read is the reason why a condition saw nothing, so the decision names it.
func TestADecisionNamesWhatCannotBeRead(t *testing.T) {
	const unread = `amount is "12,50", which is no amount`
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	event := nudgewire.Event{Connector: "shopify", Kind: "order.created", ReceivedAt: now, Unread: []string{unread}}
	event.Contact.Phone, event.Order.ID = "447700900123", "o1"
	for name, tt := range map[string]struct {
		rule Rule
		want string
	}{
		"refused": {Rule{Name: "a", On: []string{"shopify.order.created"}, If: []string{"order.total >= 10"}, Send: Send{Template: "t"}}, "cannot tell whether order.total >= 10: order.total is missing; " + unread},
		"planned": {Rule{Name: "a", On: []string{"shopify.order.created"}, Send: Send{Template: "t"}}, unread},
	} {
		plan := compiled(t, shops, tt.rule).Match(&event, now)
		if len(plan.Proposals) != 1 || plan.Proposals[0].Decision.Reason != tt.want {
			t.Errorf("%s: %+v, want the reason %q", name, plan.Proposals, tt.want)
		}
	}
	event.Unread = nil
	if plan := compiled(t, shops, Rule{Name: "a", On: []string{"shopify.order.created"}, Send: Send{Template: "t"}}).Match(&event, now); strings.Contains(plan.Proposals[0].Decision.Reason, "amount") {
		t.Errorf("%+v", plan.Proposals)
	}
}
