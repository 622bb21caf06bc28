package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
)

// A flow is a cart as its vendor sends it, and what ends it. P stands for a phone, # for a number of the flow's own, T for
// when it happened: the cart before the order.
type flow struct {
	preset, name      string
	cartTopic, cart   string
	orderTopic, order string
}

// The bodies follow the vendors' pages: Segment's and RudderStack's e-commerce specification, Shopify's and Adobe's references.
var flows = []flow{
	{
		"shopify", "an order", "checkouts/update", `{"id":10#,"token":"tok#","cart_token":"crt#","phone":"P","total_price":"60.00","currency":"GBP"}`,
		"orders/create", `{"id":90#,"order_number":1,"checkout_id":10#,"checkout_token":"tok#","cart_token":"crt#","phone":"P","current_total_price":"60.00","currency":"GBP","line_items":[]}`,
	},
	{
		"shopify", "an order that knows the cart alone", "checkouts/update", `{"id":10#,"token":"tok#","cart_token":"crt#","phone":"P"}`,
		"orders/create", `{"id":90#,"order_number":1,"checkout_token":null,"cart_token":"crt#","phone":null,"line_items":[]}`,
	},
	{
		"shopify", "a deleted checkout", "checkouts/update", `{"id":10#,"token":"tok#","cart_token":"crt#","phone":"P"}`,
		"checkouts/delete", `{"id":10#,"presentment_currency":"GBP","buyer_accepts_sms_marketing":false,"cart_token":"crt#"}`,
	},
}

func init() {
	for _, preset := range []string{"segment", "rudderstack"} {
		event := func(name, properties string) string {
			return `{"messageId":"` + name + `#","timestamp":"T","type":"track","event":"` + name + `","userId":"u#","context":{"traits":{"phone":"P"}},"properties":{` + properties + `}}`
		}
		order := event("Order Completed", `"checkout_id":"c#","order_id":"o#","total":27.50,"revenue":25,"currency":"USD"`)
		for name, cart := range map[string]string{
			"a checkout":           event("Checkout Started", `"order_id":"o#","affiliation":"Store","value":30,"currency":"USD"`),
			"a checkout's own id":  event("Checkout Started", `"checkout_id":"c#","value":30`),
			"a checkout of no id":  event("Checkout Started", `"value":30`),
			"a product added":      event("Product Added", `"cart_id":"k#","product_id":"p1","price":18.99`),
			"a product taken away": event("Product Removed", `"cart_id":"k#","product_id":"p1"`),
			"a cart viewed":        event("Cart Viewed", `"cart_id":"k#","products":[]`),
		} {
			flows = append(flows, flow{preset, name, "", cart, "", order})
		}
	}
	for _, preset := range []string{"generic", "zapier", "make", "n8n", "standardwebhooks", "svix"} {
		flows = append(flows,
			flow{preset, "an order that names its cart", "", `{"event":"cart.abandoned","event_id":"a#","occurred_at":"T","timestamp":"T","phone":"P","cart_id":"c#"}`, "", `{"event":"order.created","event_id":"b#","occurred_at":"T","timestamp":"T","phone":"P","cart_id":"c#","order_id":"o#"}`},
			flow{preset, "a cart without an id", "", `{"event":"cart.abandoned","event_id":"a#","occurred_at":"T","timestamp":"T","phone":"P"}`, "", `{"event":"order.created","event_id":"b#","occurred_at":"T","timestamp":"T","phone":"P","cart_id":"c#","order_id":"o#"}`},
			flow{preset, "an order without a cart", "", `{"event":"cart.abandoned","event_id":"a#","occurred_at":"T","timestamp":"T","phone":"P","cart_id":"c#"}`, "", `{"event":"order.created","event_id":"b#","occurred_at":"T","timestamp":"T","phone":"P","order_id":"o#"}`})
	}
	flows = append(flows,
		flow{
			"adobe_commerce", "a quote", "", `{"eventName":"sales_quote_save_after","event_id":"a#","data":{"quote":{"entity_id":"q#","billing_address":{"telephone":"P"}}}}`,
			"", `{"eventName":"sales_order_place_after","event_id":"b#","data":{"order":{"entity_id":"9#","quote_id":"q#","billing_address":{"telephone":"P"}}}}`,
		},
		flow{"braze", "a cart", "", `{"event":"cart.abandoned","event_id":"a#","occurred_at":"T","timestamp":"T","phone":"P","cart_id":"c#"}`, "", `{"event":"order.created","event_id":"b#","occurred_at":"T","timestamp":"T","phone":"P","order_id":"o#"}`})
}

// Who bought is not reminded: with cancel_on alone, by each preset that has carts, and whichever of the two arrives first.
func TestACartEndsByItsOrder(t *testing.T) {
	t.Parallel()
	presets := map[string]bool{}
	config := strings.Builder{}
	config.WriteString("defaults: {country: GB, language: en}\nconnectors:\n")
	for _, f := range flows {
		if !presets[f.preset] {
			presets[f.preset] = true
			fmt.Fprintf(&config, "  %s: {verify: {kind: token, from: header, field: X-Token, secret: \"${SHOP_SECRET}\"}}\n", f.preset)
		}
	}
	config.WriteString("triggers:\n")
	for name := range presets {
		fmt.Fprintf(&config, "  of-%s: {on: [%[1]s.cart.created, %[1]s.cart.updated, %[1]s.cart.abandoned], wait: 1h, cancel_on: [%[1]s.order.created", name)
		if name == "shopify" {
			config.WriteString(", shopify.cart.deleted")
		}
		config.WriteString("], send: {template: cart_reminder}}\n")
	}
	h := open(t, options{config: config.String()})
	now := time.Now()
	post := func(preset, topic, body, phone string, n int) {
		t.Helper()
		at := now.Add(-time.Minute)
		if strings.Contains(body, "rder") && !strings.Contains(body, "Started") {
			at = now
		}
		body = strings.NewReplacer(`"P"`, `"`+phone+`"`, "#", fmt.Sprint(1000+n), `"T"`, `"`+at.UTC().Format(time.RFC3339)+`"`).Replace(body)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/hooks/"+preset, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "X-Token": {shopSecret}, "X-Shopify-Topic": {topic}, "X-Shopify-Webhook-Id": {fmt.Sprint(topic, n)}}
		h.mustTake(req)
	}
	for i, f := range flows {
		first, second, stranger := 3*i, 3*i+1, 3*i+2
		t.Run(f.preset+": "+f.name, func(t *testing.T) {
			post(f.preset, f.cartTopic, f.cart, phone(first), first)
			post(f.preset, f.cartTopic, f.cart, phone(stranger), stranger)
			if m := h.of("of-"+f.preset, phone(first)); m == nil || m.State != nudgewire.StateWaiting {
				t.Fatalf("the cart does not wait: %+v", m)
			}
			post(f.preset, f.orderTopic, f.order, phone(first), first)
			if m := h.of("of-"+f.preset, phone(first)); m.State != nudgewire.StateCancelled {
				t.Errorf("cart, then order: %s", m.State)
			}
			if m := h.of("of-"+f.preset, phone(stranger)); m.State != nudgewire.StateWaiting {
				t.Errorf("somebody else's cart: %s", m.State)
			}
			post(f.preset, f.orderTopic, f.order, phone(second), second)
			post(f.preset, f.cartTopic, f.cart, phone(second), second)
			if m := h.of("of-"+f.preset, phone(second)); m != nil {
				t.Errorf("order, then cart: %s", m.State)
			}
		})
	}
}
