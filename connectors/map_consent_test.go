package connectors_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// said is a contact's consent in one of the three words.
func said(c messaging.Contact) string {
	switch {
	case !c.Consent:
		return "not said"
	case c.AcceptsMarketing:
		return "given"
	default:
		return "withdrawn"
	}
}

// What the bodies of each preset say of consent: a box that is left empty and a flag that is unset say nothing, and what states
// a subscription says both.
func TestConsentHasThreeWords(t *testing.T) {
	const highLevel = `"locationId":"l","webhookId":"w","phone":"+447700900123"`
	tests := []struct{ preset, topic, body, want, kind string }{
		{"shopify", "checkouts/update", `{"token":"c","buyer_accepts_sms_marketing":true}`, "given", "cart.updated"},
		{"shopify", "checkouts/update", `{"token":"c","buyer_accepts_sms_marketing":false}`, "not said", "cart.updated"},
		{"shopify", "checkouts/update", `{"token":"c","buyer_accepts_sms_marketing":null}`, "not said", "cart.updated"},
		{"shopify", "checkouts/update", `{"token":"c"}`, "not said", "cart.updated"},
		{"shopify", "checkouts/update", `{"token":"c","buyer_accepts_sms_marketing":false,"customer":{"sms_marketing_consent":{"state":"subscribed"}}}`, "given", "cart.updated"},
		{"shopify", "checkouts/update", `{"token":"c","buyer_accepts_sms_marketing":false,"customer":{"sms_marketing_consent":{"state":"unsubscribed"}}}`, "withdrawn", "cart.updated"},
		{"shopify", "checkouts/update", `{"token":"c","buyer_accepts_sms_marketing":true,"customer":{"sms_marketing_consent":{"state":"unsubscribed"}}}`, "given", "cart.updated"},
		{"shopify", "orders/create", `{"id":1,"order_number":1,"checkout_token":"t","buyer_accepts_sms_marketing":false}`, "not said", "order.created"},
		{"shopify", "customers/update", `{"id":1,"first_name":"Ana","sms_marketing_consent":{"state":"not_subscribed"}}`, "not said", "contact.updated"},
		{"shopify", "customers/update", `{"id":1,"first_name":"Ana","sms_marketing_consent":{"state":"pending"}}`, "not said", "contact.updated"},
		{"shopify", "customers/update", `{"id":1,"first_name":"Ana","sms_marketing_consent":{"state":"unsubscribed"}}`, "withdrawn", "contact.updated"},
		{"shopify", "customers/update", `{"id":1,"first_name":"Ana","sms_marketing_consent":{"state":"redacted"}}`, "withdrawn", "contact.updated"},
		{"shopify", "customers/update", `{"id":1,"first_name":"Ana","sms_marketing_consent":null}`, "not said", "contact.updated"},
		{"shopify", "customers/update", `{"id":1,"first_name":"Ana","sms_marketing_consent":{"state":"mystery"}}`, "not said", "contact.updated"},

		{"generic", "", `{"event":"cart.abandoned","accepts_marketing":false}`, "not said", "cart.abandoned"},
		{"generic", "", `{"event":"form.submitted","accepts_marketing":"off"}`, "not said", "form.submitted"},
		{"generic", "", `{"event":"form.submitted","accepts_marketing":"on"}`, "given", "form.submitted"},
		{"generic", "", `{"event":"order.created","data":{"customer":{"accepts_marketing":true}}}`, "given", "order.created"},
		{"generic", "", `{"event":"contact.updated","accepts_marketing":false}`, "withdrawn", "contact.updated"},
		{"generic", "", `{"event":"contact.updated","accepts_marketing":"Opted out"}`, "withdrawn", "contact.updated"},
		{"generic", "", `{"event":"contact.updated","accepts_marketing":"ja"}`, "not said", "contact.updated"},
		{"generic", "", `{"event":"contact.updated","accepts_marketing":{"sms":false}}`, "not said", "contact.updated"},
		{"generic", "", `{"event":"contact.updated"}`, "not said", "contact.updated"},
		{"klaviyo_flow", "", `{"event":"cart.abandoned","consent":"UNSUBSCRIBED"}`, "withdrawn", "cart.abandoned"},
		{"klaviyo_flow", "", `{"event":"cart.abandoned","consent":"NEVER_SUBSCRIBED"}`, "not said", "cart.abandoned"},
		{"salesforce_flow", "", `{"event":"contact.updated","id":"1","consent":"No"}`, "withdrawn", "contact.updated"},

		{"gohighlevel", "", `{"type":"ContactCreate",` + highLevel + `,"dnd":false}`, "not said", "contact.created"},
		{"gohighlevel", "", `{"type":"ContactUpdate",` + highLevel + `}`, "not said", "contact.updated"},
		{"gohighlevel", "", `{"type":"ContactUpdate",` + highLevel + `,"dnd":true}`, "withdrawn", "contact.updated"},
		{"gohighlevel", "", `{"type":"ContactDndUpdate",` + highLevel + `,"dnd":true}`, "withdrawn", "contact.unsubscribed"},
		{"gohighlevel", "", `{"type":"ContactDndUpdate",` + highLevel + `,"dnd":false}`, "not said", "contact.updated"},
		{"gohighlevel", "", `{"type":"ContactDndUpdate",` + highLevel + `,"dnd":false,"dndSettings":{"WhatsApp":{"status":"active"}}}`, "withdrawn", "contact.unsubscribed"},
		{"gohighlevel", "", `{"type":"ContactDndUpdate",` + highLevel + `,"dnd":false,"dndSettings":{"SMS":{"status":"permanent"}}}`, "withdrawn", "contact.unsubscribed"},
		{"gohighlevel", "", `{"type":"ContactDndUpdate",` + highLevel + `,"dnd":false,"dndSettings":{"SMS":{"status":"inactive"},"WhatsApp":{"status":"inactive"}}}`, "not said", "contact.updated"},
		{"gohighlevel", "", `{"type":"ContactDndUpdate",` + highLevel + `,"dnd":false,"dndSettings":{"Email":{"status":"active"},"Call":{"status":"active"}}}`, "not said", "contact.updated"},
		{"gohighlevel", "", `{"type":"OrderCreate",` + highLevel + `,"contactSnapshot":{"dnd":true}}`, "withdrawn", "order.created"},
		{"gohighlevel", "", `{"type":"OrderCreate",` + highLevel + `,"contactSnapshot":{"dnd":false}}`, "not said", "order.created"},
	}
	for _, tt := range tests {
		t.Run(tt.preset+" "+tt.topic+" "+tt.body, func(t *testing.T) {
			e := mapped(t, tt.preset, tt.body, "X-Shopify-Topic", tt.topic, "X-Shopify-Webhook-Id", "w")
			if got := said(e.Contact); got != tt.want || e.Kind != tt.kind {
				t.Errorf("consent is %s of %s, want %s of %s", got, e.Kind, tt.want, tt.kind)
			}
		})
	}
}

// Words of consent, as a path says them: what nobody can read is told, and never a no.
func TestWordsOfConsent(t *testing.T) {
	for _, tt := range []struct{ path, value, want, unread string }{
		{`{path: x, says: both}`, `"yes"`, "given", ""},
		{`{path: x, says: both}`, `"Opt-In"`, "given", ""},
		{`{path: x, says: both}`, `1`, "given", ""},
		{`{path: x, says: both}`, `false`, "withdrawn", ""},
		{`x`, `false`, "withdrawn", ""},
		{`x`, `"not subscribed"`, "not said", ""},
		{`x`, `""`, "not said", ""},
		{`x`, `null`, "not said", ""},
		{`x`, `[]`, "not said", ""},
		{`x`, `{}`, "not said", ""},
		{`x`, `"perhaps"`, "not said", `x is "perhaps", which is no word of consent`},
		{`x`, `["sms","email"]`, "not said", `x is "[\"sms\",\"email\"]", which is no word of consent`},
		{`x`, `{"sms":true}`, "not said", `x is "{\"sms\":true}", which is no word of consent`},
		{`{path: x, says: given}`, `true`, "given", ""},
		{`{path: x, says: given}`, `false`, "not said", ""},
		{`{path: x, says: withdrawn}`, `true`, "withdrawn", ""},
		{`{path: x, says: withdrawn}`, `false`, "not said", ""},
		{`x | map 2=yes 3=no`, `2`, "given", ""},
		{`x | map 2=yes 3=no`, `3`, "withdrawn", ""},
		{`x | map 2=yes 3=no`, `0`, "not said", `x | map 2=yes 3=no is "0", which is no word of consent`},
		{`x | map true=no`, `false`, "not said", `x | map true=no is "false", which is no word of consent`},
	} {
		t.Run(tt.path+" "+tt.value, func(t *testing.T) {
			con := connector(t, openVerify+"map: {consent: "+tt.path+"}")
			got, err := con.Receive(request(fmt.Sprintf(`{"x":%s}`, tt.value)))
			if err != nil {
				t.Fatal(err)
			}
			e := got.Events[0]
			if w := said(e.Contact); w != tt.want || strings.Join(e.Unread, "; ") != tt.unread {
				t.Errorf("%s, unread %q; want %s, unread %q", w, e.Unread, tt.want, tt.unread)
			}
		})
	}
}

// Each preset says which of its fields is a box, which a flag that withdraws and which states a subscription.
func TestEveryPresetSaysWhichFieldOfConsentIsWhich(t *testing.T) {
	for _, name := range connectors.PresetNames() {
		c, _ := connectors.Preset(name)
		check := func(m mapping.Mapping) {
			for _, entry := range m {
				if !strings.HasSuffix(entry.Key, "consent") && !strings.Contains(entry.Key, "accepts") {
					continue
				}
				for _, p := range entry.Value.Paths {
					if p.Says == "" {
						t.Errorf("%s: %s: %q does not say which word it may say", name, entry.Key, p.Path)
					}
				}
			}
		}
		check(c.Map)
		for _, layer := range c.MapFor {
			check(layer.Value)
		}
	}
}
