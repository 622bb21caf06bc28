package app_test

import (
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/server"
)

// What a trigger in mode shadow would have sent is listed as a state, and counted by its template; nothing is sent.
func TestWhatATriggerInShadowWouldHaveSent(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: `
defaults: {country: GB, language: en}
connectors:
  shopify: {secret: "${SHOP_SECRET}", defaults: {country: GB}}
triggers:
  remind: {on: shopify.cart.created, mode: shadow, send: {template: cart_reminder}}
`})
	h.mustTake(h.shopify("checkouts/create", "", cart("c1", phone(1), "90.00")))
	rows, err := server.ListMessages.Call(t.Context(), h.ask, server.ListQuery{State: "shadowed"})
	if err != nil || len(rows) != 1 {
		t.Fatalf("%+v, %v", rows, err)
	}
	if m := rows[0]; m.ID != 0 || m.EventID != 1 || m.Trigger != "remind" || m.State != "shadowed" || !strings.Contains(m.Reason, "it would send template \"cart_reminder\"") || m.DueAt.IsZero() {
		t.Errorf("%+v", m)
	}
	if got := h.messages(); len(got) != 0 {
		t.Errorf("%d messages are stored", len(got))
	}
	v, err := server.ShowReport.Call(t.Context(), h.ask, report.Query{Group: "template", Trigger: "remind"})
	if err != nil || v.Total.Shadowed != 1 || v.Total.Queued != 0 || len(v.Rows) != 1 || v.Rows[0].Group != "cart_reminder" || v.Rows[0].Shadowed != 1 {
		t.Errorf("the report says %+v, %+v, %v", v.Total, v.Rows, err)
	}
	if rows, err := server.ListMessages.Call(t.Context(), h.ask, server.ListQuery{State: "shadowed", Phone: "+447700900999"}); err != nil || len(rows) != 0 {
		t.Errorf("of another phone %+v, %v", rows, err)
	}
	_, err = server.ListMessages.Call(t.Context(), h.ask, server.ListQuery{State: string(messaging.Planned)})
	if err == nil || !strings.Contains(err.Error(), `unknown state "planned"`) {
		t.Errorf("another outcome: %v", err)
	}
}
