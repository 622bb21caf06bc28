package triggers

import (
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// An amount that nobody can read is the reason why a condition saw nothing, so the decision names it.
func TestADecisionNamesWhatCannotBeRead(t *testing.T) {
	const unread = `amount is "12,50", which is no amount`
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	event := messaging.Event{Connector: "shopify", Kind: "order.created", ReceivedAt: now, Unread: []string{unread}}
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

// What uses a field whose value is there and cannot be read is not sent: no condition over it holds, whichever way it is
// put, and no default takes its place in a text, a key or a wait. What uses other fields goes.
func TestNothingIsSentByWhatCannotBeRead(t *testing.T) {
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	in := func(text string) Rule { return Rule{If: []string{text}, Send: Send{Template: "t"}} }
	with := func(text string) Rule { return Rule{Send: Send{Template: "t", Variables: []string{text}}} }
	for field, rules := range map[string][]Rule{
		"contact.country":   {in(`customer.country != "US"`), in(`contact.country not in ["US"]`), with(`{{ customer.country | default: "GB" }}`)},
		"contact.tags":      {in(`not (customer.tags contains "wholesale")`), in(`len(customer.tags) == 0`), in(`customer.tags contains "x" or true`)},
		"order.total":       {in("not (order.total > 100)"), in("order.total == nil or order.total < 100"), with(`{{ order.total | default: "a lot" }}`), with(`{{ money(order.total, "EUR") | default: "a lot" }}`)},
		"order.currency":    {with(`{{ order.currency | default: "EUR" }}`)},
		"order.items.price": {in("not any(order.items, .price > 100)"), with(`{{ order.items[0].price | default: "1" }}`)},
		"order.number":      {in("order.number < 2")},
		"deal.amount":       {in("not (deal.amount > 100)")},
		"cart.expires_at":   {{Wait: Wait{Until: "cart.expires_at - 2h"}, Send: Send{Template: "t"}}, with(`{{ cart.expires_at | default: "soon" }}`)},
		"event.occurred_at": {{MaxAge: Lifetime{Set: true, For: time.Hour}, Send: Send{Template: "t"}}, in("event.occurred_at < now")},
		"contact.accepts_marketing": {
			{Keys: duerules.Keys{Consent: duerules.ConsentRequired}, Category: messaging.Marketing, Send: Send{Template: "t"}},
			in("not customer.accepts_marketing"), in("customer.consent_known == false"), in("not contact.consent_known"),
		},
		"contact.accepts_email": {in("not contact.accepts_email"), in("customer.email_consent_known == false")},
	} {
		for i, rule := range append(rules, in("order.id == \"o1\"")) {
			rule.Name, rule.On = "a", []string{"shopify.order.created"}
			e := messaging.Event{Connector: "shopify", Kind: "order.created", ReceivedAt: now, Unreadable: []string{field}}
			e.Contact.Phone, e.Order.ID, e.Order.Items = "447700900123", "o1", []messaging.Item{{Title: "Mug"}}
			got := compiled(t, shops, rule).Match(&e, now).Proposals[0].Decision
			uses := i < len(rules)
			if uses != (got.Outcome == messaging.Skipped) || uses && !strings.Contains(got.Reason, "cannot be read") {
				t.Errorf("%s, rule %d: %s, %q", field, i, got.Outcome, got.Reason)
			}
		}
	}
}
