package app_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A flow is a cart as its vendor sends it, and what ends it. "P" stands for a phone and +P for one in a form, # for a number of the flow's
// own, T and U for when it happened, in words and in seconds: the cart before the order.
type flow struct {
	preset, name      string
	cartTopic, cart   string
	orderTopic, order string
	by                string // the preset that the order comes from, where it is another
}

// The bodies follow the vendors' pages: Segment's and RudderStack's e-commerce specification, Shopify's and Adobe's references.
var flows = []flow{
	{
		"shopify", "an order", "checkouts/update", `{"id":10#,"token":"tok#","cart_token":"crt#","phone":"P","total_price":"60.00","currency":"GBP"}`,
		"orders/create", `{"id":90#,"order_number":1,"checkout_id":10#,"checkout_token":"tok#","cart_token":"crt#","phone":"P","current_total_price":"60.00","currency":"GBP","line_items":[]}`, "",
	},
	{
		"shopify", "an order that knows the cart alone", "checkouts/update", `{"id":10#,"token":"tok#","cart_token":"crt#","phone":"P"}`,
		"orders/create", `{"id":90#,"order_number":1,"checkout_token":null,"cart_token":"crt#","phone":null,"line_items":[]}`, "",
	},
	{
		"shopify", "a deleted checkout", "checkouts/update", `{"id":10#,"token":"tok#","cart_token":"crt#","phone":"P"}`,
		"checkouts/delete", `{"id":10#,"presentment_currency":"GBP","buyer_accepts_sms_marketing":false,"cart_token":"crt#"}`, "",
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
			flows = append(flows, flow{preset, name, "", cart, "", order, ""})
		}
	}
	for _, preset := range []string{"generic", "zapier", "make", "n8n", "standardwebhooks", "svix"} {
		flows = append(flows,
			flow{preset, "an order that names its cart", "", `{"event":"cart.abandoned","event_id":"a#","occurred_at":"T","timestamp":"T","phone":"P","cart_id":"c#"}`, "", `{"event":"order.created","event_id":"b#","occurred_at":"T","timestamp":"T","phone":"P","cart_id":"c#","order_id":"o#"}`, ""},
			flow{preset, "a cart without an id", "", `{"event":"cart.abandoned","event_id":"a#","occurred_at":"T","timestamp":"T","phone":"P"}`, "", `{"event":"order.created","event_id":"b#","occurred_at":"T","timestamp":"T","phone":"P","cart_id":"c#","order_id":"o#"}`, ""},
			flow{preset, "an order without a cart", "", `{"event":"cart.abandoned","event_id":"a#","occurred_at":"T","timestamp":"T","phone":"P","cart_id":"c#"}`, "", `{"event":"order.created","event_id":"b#","occurred_at":"T","timestamp":"T","phone":"P","order_id":"o#"}`, ""})
	}
	flows = append(flows,
		flow{
			"adobe_commerce", "a quote", "", `{"eventName":"sales_quote_save_after","event_id":"a#","data":{"quote":{"entity_id":"q#","billing_address":{"telephone":"P"}}}}`,
			"", `{"eventName":"sales_order_place_after","event_id":"b#","data":{"order":{"entity_id":"9#","quote_id":"q#","billing_address":{"telephone":"P"}}}}`, "",
		},
		flow{"braze", "a cart", "", `{"event":"cart.abandoned","event_id":"a#","occurred_at":"T","timestamp":"T","phone":"P","cart_id":"c#"}`, "", `{"event":"order.created","event_id":"b#","occurred_at":"T","timestamp":"T","phone":"P","order_id":"o#"}`, ""},
		flow{ // an order that waits for its money is the cart
			"woocommerce", "an unpaid order", "order.created", `{"id":10#,"number":"10#","order_key":"k","status":"pending","total":"41.20","date_modified_gmt":"T","billing":{"phone":"P"},"line_items":[]}`,
			"order.updated", `{"id":10#,"number":"10#","order_key":"k","status":"processing","total":"41.20","date_modified_gmt":"T","billing":{"phone":"P"},"line_items":[]}`, "",
		},
		flow{
			"cartflows", "a checkout", "", "phone_number=+P&email=m#%40example.com&order_status=abandoned&checkout_url=https%3A%2F%2Fshop.example.com%2Fcheckout%2F%3Fwcf_ac_token%3Dt#&cart_total=38.40",
			"", "phone_number=+P&email=m#%40example.com&order_status=completed&checkout_url=https%3A%2F%2Fshop.example.com%2Fcheckout%2F%3Fwcf_ac_token%3Dt#&cart_total=38.40", "",
		},
		flow{
			"prestashop", "a cart", "", `{"event":"cart.updated","event_id":"a#","id_cart":"6#","address":{"phone_mobile":"P"},"created_at":"T"}`,
			"", `{"event":"order.created","event_id":"b#","id_order":"7#","id_cart":"6#","address":{"phone_mobile":"P"},"created_at":"T"}`, "",
		},
		flow{
			"klaviyo_flow", "the shop's checkout", "", `{"event":"cart.abandoned","event_id":"a#","phone":"P","cart_id":"77#","cart_total":"$31.00"}`,
			"orders/create", `{"id":99#,"order_number":1,"checkout_id":77#,"phone":"P","line_items":[]}`, "shopify",
		},
		flow{
			"bigcommerce", "an order", "", `{"scope":"store/cart/abandoned","data":{"type":"cart","id":"c-#"},"hash":"a#","created_at":U,"producer":"stores/s"}`,
			"", `{"scope":"store/order/created","data":{"type":"order","id":8#},"hash":"b#","created_at":U,"producer":"stores/s"}`, "",
		},
		flow{
			"bigcommerce", "a converted cart", "", `{"scope":"store/cart/abandoned","data":{"type":"cart","id":"c-#"},"hash":"a#","created_at":U,"producer":"stores/s"}`,
			"", `{"scope":"store/cart/converted","data":{"type":"cart","id":"c-#","orderId":8#},"hash":"b#","created_at":U,"producer":"stores/s"}`, "",
		})
}

// Who bought is not reminded: with cancel_on alone, by each preset that has carts, and whichever of the two arrives first.
func TestACartEndsByItsOrder(t *testing.T) {
	t.Parallel()
	presets := map[string]bool{}
	// BigCommerce's webhooks carry ids; its API knows the rest. The numbers of carts, customers and orders are those of the flow.
	api := newCRM(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		_, id, _ := strings.Cut(r.URL.RequestURI(), "/v")
		n, _ := strconv.Atoi(id[strings.LastIndexAny(id, "/=-")+1:])
		switch {
		case strings.Contains(id, "/carts/"):
			fmt.Fprintf(w, `{"data":{"id":"c-%d","customer_id":%d,"cart_amount":60}}`, n, n)
		case strings.Contains(id, "/customers"):
			fmt.Fprintf(w, `{"data":[{"id":%d,"phone":%q}]}`, n, phone(n-1000))
		default:
			fmt.Fprintf(w, `{"id":%d,"cart_id":"c-%d","billing_address":{"phone":%q}}`, n, n-80000, phone(n-81000))
		}
	})
	more := map[string]string{"bigcommerce": `, api_url: "` + api.URL + `", token: "${API_KEY}", allow_private: true`}
	ends := map[string]string{
		"shopify": "shopify.order.created, shopify.cart.deleted", "woocommerce": "woocommerce.order.paid", "cartflows": "cartflows.cart.converted",
		"klaviyo_flow": "shopify.order.created", "bigcommerce": "bigcommerce.order.created, bigcommerce.cart.converted",
	}
	begins := map[string]string{"woocommerce": "woocommerce.order.created", "prestashop": "prestashop.cart.updated"}
	config := strings.Builder{}
	config.WriteString("defaults: {country: GB, language: en}\nconnectors:\n")
	for _, f := range flows {
		if !presets[f.preset] {
			presets[f.preset] = true
			fmt.Fprintf(&config, "  %s: {verify: {kind: token, from: header, field: X-Token, secret: \"${SHOP_SECRET}\"}%s}\n", f.preset, more[f.preset])
		}
	}
	config.WriteString("triggers:\n")
	for name := range presets {
		on := cmp.Or(begins[name], fmt.Sprintf("%[1]s.cart.created, %[1]s.cart.updated, %[1]s.cart.abandoned", name))
		fmt.Fprintf(&config, "  of-%s: {on: [%s], wait: 1h, cancel_on: [%s], send: {template: cart_reminder}}\n", name, on, cmp.Or(ends[name], name+".order.created"))
	}
	h := open(t, options{config: config.String()})
	now := time.Now()
	post := func(ends bool, preset, topic, body, phone string, n int) {
		t.Helper()
		at := now.Add(-time.Minute)
		if ends {
			at = now
		}
		body = strings.NewReplacer(`"P"`, `"`+phone+`"`, "+P", url.QueryEscape(phone), "#", fmt.Sprint(1000+n), `"T"`, `"`+at.UTC().Format(time.RFC3339)+`"`, `":U`, `":`+fmt.Sprint(at.Unix())).Replace(body)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/hooks/"+preset, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "X-Token": {shopSecret}, "X-Shopify-Topic": {topic}, "X-Wc-Webhook-Topic": {topic}, "X-Shopify-Webhook-Id": {fmt.Sprint(topic, n)}}
		if body[0] != '{' {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		h.mustTake(req)
		if preset == "bigcommerce" {
			h.eventually("nothing is looked up any more", func() bool { return h.status().Lookups == 0 })
		}
	}
	for i, f := range flows {
		first, second, stranger := 3*i, 3*i+1, 3*i+2
		t.Run(f.preset+": "+f.name, func(t *testing.T) {
			post(false, f.preset, f.cartTopic, f.cart, phone(first), first)
			post(false, f.preset, f.cartTopic, f.cart, phone(stranger), stranger)
			if m := h.of("of-"+f.preset, phone(first)); m == nil || m.State != messaging.StateWaiting {
				t.Fatalf("the cart does not wait: %+v", m)
			}
			post(true, cmp.Or(f.by, f.preset), f.orderTopic, f.order, phone(first), first)
			if m := h.of("of-"+f.preset, phone(first)); m.State != messaging.StateCancelled {
				t.Errorf("cart, then order: %s", m.State)
			}
			if m := h.of("of-"+f.preset, phone(stranger)); m.State != messaging.StateWaiting {
				t.Errorf("somebody else's cart: %s", m.State)
			}
			post(true, cmp.Or(f.by, f.preset), f.orderTopic, f.order, phone(second), second)
			post(false, f.preset, f.cartTopic, f.cart, phone(second), second)
			if m := h.of("of-"+f.preset, phone(second)); m != nil {
				t.Errorf("order, then cart: %s", m.State)
			}
		})
	}
}
