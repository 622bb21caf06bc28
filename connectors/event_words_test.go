package connectors_test

import (
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/connectors"
)

// Whatever a sender calls an event, in whichever of the usual spellings, leads to the kind that it is here.
func TestASendersWordsLeadToKinds(t *testing.T) {
	n := 0
	for _, name := range connectors.PresetNames() {
		con := mustCompile(t, name, ownConfig(t, name, testSecret), connectors.Options{})
		kinds := map[string]bool{}
		for _, kind := range con.Kinds() {
			kinds[kind] = true
		}
		for word, kind := range con.Topics() {
			for _, written := range []string{word, strings.ToUpper(word), strings.ReplaceAll(word, "/", "."), strings.ReplaceAll(word, "_", "-")} {
				if kinds[written] {
					continue
				}
				if n++; con.Meant(written) != kind {
					t.Errorf("%s.%s is %q, want %q", name, written, con.Meant(written), kind)
				}
			}
		}
	}
	if n < 200 {
		t.Errorf("only %d words were tried", n)
	}
	for word, want := range map[string]string{
		"woocommerce.order.completed": "order.fulfilled", "woocommerce.order.processing": "order.paid", "woocommerce.order.failed": "payment.failed",
		"woocommerce.orders.completed": "order.fulfilled", "woocommerce.order.canceled": "order.cancelled", "woocommerce.lead.created": "contact.created",
		"shopify.orders.create": "order.created", "shopify.checkouts.update": "cart.updated", "shopify.checkout.created": "cart.created", "shopify.order.completed": "order.fulfilled",
		"shopify.orders.canceled": "order.cancelled", "shopify.order.delivered": "order.fulfilled", "shopify.customer.created": "contact.created",
		"stripe.checkout.session.completed": "order.created", "square.payment.completed": "order.paid", "hubspot.deal.closedwon": "deal.won", "pipedrive.deal.won": "deal.won",
		"gohighlevel.opportunity.won": "deal.won", "calendly.meeting.canceled": "booking.cancelled", "adobe_commerce.order.complete": "order.fulfilled",
		"shopify.products.update": "", "woocommerce.coupon.created": "", "shopify.order": "",
	} {
		preset, written, _ := strings.Cut(word, ".")
		con := mustCompile(t, preset, ownConfig(t, preset, testSecret), connectors.Options{})
		if got := con.Meant(written); got != want {
			t.Errorf("%s is %q, want %q", word, got, want)
		}
	}
}
