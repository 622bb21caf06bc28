package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Whoever shapes the requests chooses the words; elsewhere a word that nobody translated may
// come all the same.
func TestTriggersMayNameKindsThatAPresetDoesNotList(t *testing.T) {
	known := `shopify is not known to send products.update; if it does, add kinds: [products.update] to connectors.shopify, or event: {aliases: {…}} to give its word another name`
	for ref, want := range map[string]string{
		"zapier.order.paid": "", "n8n.login.code": "", "generic.cart.updated": "", "segment.checkout.started": "",
		"make.order.create": "", "rudderstack.user.left": "", "magento.order.paid": "", "prestashop.order.paid": "", "svix.user.created": "", "zapier.order.*": "",
		"shopify.products.update":          known,
		"stripe.invoice.payment_succeeded": "stripe is not known to send invoice.payment_succeeded; if it does, add kinds: [invoice.payment_succeeded] to connectors.stripe, or event: {aliases: {…}} to give its word another name",
		"woocommerce.order.completed":      `woocommerce is not known to send order.completed; did you mean "woocommerce.order.fulfilled"?`,
		"shopify.checkouts.update":         `shopify is not known to send checkouts.update; did you mean "shopify.cart.updated"?`,
		"shopify.order.create":             `shopify is not known to send order.create; did you mean "shopify.order.created"?`,
		"listed.products.update":           "listed.products.update never carries a phone here, and nothing is sent without one; say where it is, if it is in the body after all: connectors.listed.map: {phone: …}; or listen to an event that has one",
		"shopify.checkouts/update":         `shopify calls it checkouts/update, and an event of it is called cart.updated here; write "shopify.cart.updated"`,
		"listed.orders/create":             `listed calls it orders/create, and an event of it is called order.created here; write "listed.order.created"`,
	} {
		connector, _, _ := strings.Cut(ref, ".")
		entry := connector + ": {secret: \"${SHOP_SECRET}\"}"
		switch connector {
		case "listed":
			entry = "listed: {preset: shopify, secret: \"${SHOP_SECRET}\", kinds: [products.update, orders/create]}"
		case "svix":
			entry = "svix: {secret: whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}"
		}
		c, problems := Parse("config.yaml", []byte("api: {base_url: https://api.example.com/api/v1, key: \"${KEY}\"}\ndefaults: {country: GB, language: en}\nconnectors:\n  "+entry+
			"\ntriggers:\n  one: {on: \""+ref+"\", wait: 5m, send: {template: t}}\n"), environ)
		var got string
		for _, line := range said(problems) {
			if _, rest, ok := strings.Cut(line, "triggers.one.on: "); ok {
				got = rest
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || (c.Triggers == nil) != strings.Contains(want, " calls it ") {
			t.Errorf("%s: (-want +got)\n%s", ref, diff)
		}
	}
}
