package connectors_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// shape is a body in a sender's shape, and the topics that it may come under. Every other topic that leads to a known kind is
// a lie about it.
type shape struct {
	name, body string
	topics     []string
}

// shapes are bodies of the presets whose topics are not signed, beside their samples. Values are invented, fields are the senders'.
func shapes(preset string) []shape {
	const (
		law      = `"shop_id":954889,"shop_domain":"lantern-lane.myshopify.com"`
		customer = `"customer":{"id":191167,"email":"ada@example.com","phone":"+447700900123"}`
		order    = `{"id":2,"admin_graphql_api_id":"gid://shopify/Order/2","token":"own","order_number":1001,"name":"#1001","checkout_token":"t","financial_status":"paid","fulfillment_status":%s,"cancelled_at":%s,"line_items":[{"id":1}],"total_price":"9.00","email":"a@example.com","phone":"+447700900123","customer":{"id":3,"first_name":"Ana"},"created_at":"2026-11-20T08:59:00Z","updated_at":"2026-11-20T08:59:00Z"}`
	)
	switch preset {
	case "shopify":
		return []shape{
			{"an order", fmt.Sprintf(order, "null", "null"), []string{"orders/create", "orders/updated", "orders/paid", "orders/partially_fulfilled"}},
			{"a cancelled order that was sent", fmt.Sprintf(order, `"fulfilled"`, `"2026-11-20T08:59:00Z"`), []string{"orders/create", "orders/updated", "orders/paid", "orders/partially_fulfilled", "orders/cancelled", "orders/fulfilled"}},
			{"an edit", `{"order_edit":{"id":7,"order_id":2,"committed_at":"2026-11-20T08:00:00Z"}}`, []string{"orders/edited"}},
			{"a checkout", `{"id":1,"token":"t","cart_token":"c","abandoned_checkout_url":"https://s.example/r","completed_at":null,"total_price":"9.00","line_items":[{"id":1}],"email":"a@example.com","phone":"+447700900123","customer":{"id":3,"first_name":"Ana"}}`, []string{"checkouts/create", "checkouts/update"}},
			{"a cart", `{"id":"c","token":"c","line_items":[{"id":1}],"note":null,"created_at":"2026-11-20T08:59:00Z","updated_at":"2026-11-20T08:59:00Z"}`, []string{"carts/create", "carts/update", "checkouts/create", "checkouts/update"}},
			{"a draft", `{"id":8,"admin_graphql_api_id":"gid://shopify/DraftOrder/8","name":"#D1","status":"open","invoice_url":"https://s.example/i","order_id":null,"total_price":"9.00","line_items":[{"id":1}],"email":"a@example.com","customer":{"id":3,"phone":"+447700900123"}}`, nil},
			{"a refund", `{"id":4,"order_id":2,"refund_line_items":[],"transactions":[{"amount":"9.00"}]}`, []string{"refunds/create"}},
			{"a fulfilment", `{"id":5,"order_id":2,"status":"success","line_items":[{"id":1}],"email":"a@example.com","destination":{"phone":"+447700900123"}}`, []string{"fulfillments/create", "fulfillments/update"}},
			{"what happened to a fulfilment", `{"id":6,"fulfillment_id":5,"order_id":2,"status":"delivered","happened_at":"2026-11-20T08:59:00Z","shop_id":954889}`, []string{"fulfillment_events/create"}},
			{"tags", `{"customerId":"gid://shopify/Customer/3","tags":["vip"],"occurredAt":"2026-11-20T08:59:00Z"}`, []string{"customer.tags_added", "customer.tags_removed"}},
			{"a risk", `{"admin_graphql_api_order_id":"gid://shopify/Order/5","order_id":"5","provider_id":1,"risk_level":"LOW"}`, nil},
			{"a customer", `{"id":3,"admin_graphql_api_id":"gid://shopify/Customer/3","first_name":"Ana","state":"enabled","verified_email":true,"tags":"vip","addresses":[],"email":"a@example.com","phone":"+447700900123","sms_marketing_consent":{"state":"unsubscribed"},"email_marketing_consent":{"state":"subscribed"}}`, []string{"customers/create", "customers/update", "customers/enable", "customers/disable"}},
			{"a customer that is gone", `{"id":3,"admin_graphql_api_id":"gid://shopify/Customer/3","phone":null,"addresses":[],"tax_exemptions":[],"sms_marketing_consent":null,"email_marketing_consent":null}`, []string{"customers/delete"}},
			{"an id", `{"id":2}`, []string{"orders/delete", "checkouts/delete", "customers/delete"}},
			{"two that are one", `{"admin_graphql_api_customer_kept_id":"gid://shopify/Customer/7","admin_graphql_api_customer_deleted_id":"gid://shopify/Customer/8","status":"completed"}`, []string{"customers/merge"}},
			{"a consent", `{"id":3,"phone":"+447700900123","sms_marketing_consent":{"state":"subscribed","consent_updated_at":"2026-11-20T08:59:00Z"}}`, []string{"customers_marketing_consent/update"}},
			{"a consent to e-mail", `{"customer_id":3,"email_address":"a@example.com","email_marketing_consent":{"state":"unsubscribed"}}`, []string{"customers_email_marketing_consent/update"}},
			{"a shop", `{"id":954889,"name":"Lantern Lane","email":"owner@example.com","domain":"lantern.example","myshopify_domain":"lantern-lane.myshopify.com","phone":"+447700900199","customer_email":"owner@example.com","created_at":"2020-01-01T00:00:00Z"}`, nil},
			{"a product", `{"id":9,"admin_graphql_api_id":"gid://shopify/Product/9","title":"Lamp","handle":"lamp","tags":"oak","variants":[{"id":1,"price":"9.00"}]}`, nil},
			{"who asks to be forgotten", `{` + law + `,` + customer + `,"orders_to_redact":[299938]}`, []string{"customers/redact"}},
			{"who asks to be forgotten, and bought nothing", `{` + law + `,"customer":{"id":191167,"email":null,"phone":"+447700900123"},"orders_to_redact":[]}`, []string{"customers/redact"}},
			{"who asks for its data", `{` + law + `,` + customer + `,"orders_requested":[299938],"data_request":{"id":9999}}`, []string{"customers/data_request"}},
			{"a shop that left", `{` + law + `}`, []string{"shop/redact"}},
			{"a shop that left, with space around it", "\n {" + law + "}\n", []string{"shop/redact"}},
			{"nearly who asks to be forgotten", `{` + law + `,"customer":{"id":191167,"phone":"+447700900123","first_name":"Ana"},"orders_to_redact":[1]}`, nil},
			{"nearly a shop that left", `{` + law + `,"id":1}`, nil},
			{"a shop that left without a name", `{"shop_id":954889,"shop_domain":null}`, nil},
			{"nothing", `{}`, nil},
			{"a list", `[{` + law + `}]`, nil},
		}
	case "woocommerce":
		return []shape{
			{"an order", `{"id":5,"number":"5","order_key":"wc_order_1","status":"processing","total":"9.00","date_modified_gmt":"2026-11-20T09:00:00","customer_id":6,"billing":{"first_name":"Ana","phone":"+447700900123"},"line_items":[]}`, []string{"order.created", "order.updated", "order.restored"}},
			{"a customer", `{"id":6,"username":"ana","role":"customer","first_name":"Ana","email":"a@example.com","billing":{"phone":"+447700900123"}}`, []string{"customer.created", "customer.updated"}},
			{"a product", `{"id":7,"name":"Lamp","status":"publish","sku":"L","price":"9.00","permalink":"https://s.example/l","total_sales":3}`, nil},
			{"a subscription", `{"id":8,"number":"8","order_key":"wc_order_2","status":"active","billing_period":"month","total":"9.00","billing":{"phone":"+447700900123"},"line_items":[]}`, []string{"subscription.created", "subscription.updated", "subscription.switched"}},
			{"an id", `{"id":5}`, []string{"order.deleted", "customer.deleted"}},
			{"nothing", `{}`, nil},
		}
	case "recharge":
		return []shape{
			{"a charge that failed", `{"charge":{"id":1,"status":"error","billing_address":{"phone":"+447700900123"}}}`, []string{"charge/failed"}},
			{"a charge that was paid", `{"charge":{"id":1,"status":"success","billing_address":{"phone":"+447700900123"}}}`, []string{"charge/paid"}},
			{"a refund", `{"charge":{"id":1,"status":"partially_refunded","billing_address":{"phone":"+447700900123"}}}`, []string{"charge/refunded"}},
			{"a charge to come", `{"charge":{"id":1,"status":"queued","billing_address":{"phone":"+447700900123"}}}`, nil},
			{"an order", `{"order":{"id":2,"status":"success","billing_address":{"phone":"+447700900123"}}}`, []string{"order/created", "order/processed"}},
			{"a cancelled order", `{"order":{"id":2,"status":"cancelled","billing_address":{"phone":"+447700900123"}}}`, []string{"order/created", "order/processed", "order/cancelled"}},
			{"a cancelled subscription", `{"subscription":{"id":3,"customer_id":4,"status":"cancelled"}}`, []string{"subscription/created", "subscription/updated", "subscription/swapped", "subscription/skipped", "subscription/cancelled"}},
			{"a subscription", `{"subscription":{"id":3,"customer_id":4,"status":"active"}}`, []string{"subscription/created", "subscription/updated", "subscription/swapped", "subscription/skipped", "subscription/activated"}},
			{"a customer", `{"customer":{"id":4,"email":"a@example.com","phone":"+447700900123"}}`, []string{"customer/created", "customer/updated"}},
			{"an address", `{"address":{"id":5,"phone":"+447700900123"}}`, nil},
			{"nothing", `{}`, nil},
		}
	default:
		return nil
	}
}

// lies posts every sample and shape of a preset under each topic that its config knows, with a good signature, and says what is taken
// as something that it is not, and what is not taken as what it is. Where the topic is signed there is nothing to relabel.
func lies(t testing.TB, preset string, c connectors.Config) (found []string) {
	t.Helper()
	base, _ := connectors.Preset(preset)
	con := mustCompile(t, preset, c, connectors.Options{Country: "GB"})
	header := con.TopicHeader()
	if header == "" || con.Believes() == "" && len(base.Requires) == 0 {
		return nil
	}
	var topics []string
	for _, a := range base.Event.Aliases {
		topics = append(topics, a.Key)
	}
	all := shapes(preset)
	for _, s := range con.SamplesAt(mutationNow, 3) {
		// A sample has the topics of the shape that it is one of.
		at := slices.IndexFunc(all, func(one shape) bool { return slices.Contains(one.topics, s.Topic) })
		if at < 0 {
			t.Fatalf("%s: no shape has the topic of sample %s", preset, s.Name)
		}
		all = append(all, shape{"sample " + s.Name, string(s.Body), all[at].topics})
	}
	for _, s := range all {
		for _, topic := range append(slices.Clone(topics), "shop.redacted", "contact.redacted", "Contact/Redacted", "contact_unsubscribed", "message.received", "order.cancelled", "orders/risk_assessment_changed", "") {
			r := request(s.body, header, topic, "Content-Type", "application/json")
			r.Now = mutationNow
			signed, err := con.Sign(r)
			if err != nil {
				t.Fatal(err)
			}
			r = signed
			got, err := con.Receive(r)
			taken := err == nil && slices.ContainsFunc(got.Events, func(e messaging.Event) bool { return known(con, e.Kind) })
			switch right := slices.Contains(s.topics, topic); {
			case taken && !right:
				found = append(found, fmt.Sprintf("%s: %s is taken as %s, a %s", preset, s.name, topic, got.Events[0].Kind))
			case right && !taken:
				found = append(found, fmt.Sprintf("%s: %s is not taken as %s: %v", preset, s.name, topic, err))
			case !slices.Contains(topics, topic) && err != nil:
				found = append(found, fmt.Sprintf("%s: %s is refused for good under %q, which is no topic with a rule: %v", preset, s.name, topic, err))
			}
		}
	}
	return found
}

// known reports whether a kind may have a consequence: it is of the words that all senders share, or that the connector names.
func known(con *connectors.Connector, kind string) bool {
	return slices.Contains(con.Kinds(), kind) || slices.ContainsFunc(connectors.CanonicalKinds(), func(k connectors.KindInfo) bool { return k.Kind == kind })
}

// Whatever a copied request is relabelled to: it forgets, blocks, sends and cancels only as what its body is.
func TestEachBodyPassesOnlyAsWhatItIs(t *testing.T) {
	for _, preset := range connectors.PresetNames() {
		for _, lie := range lies(t, preset, ownConfig(t, preset, testSecret)) {
			t.Error(lie)
		}
	}
}

// Each rule of a preset about what bodies must have is needed: without it something is taken as what it is not.
func TestEachRequirementIsNeeded(t *testing.T) {
	for _, preset := range connectors.PresetNames() {
		base, _ := connectors.Preset(preset)
		for i, rule := range base.Requires {
			c := ownConfig(t, preset, testSecret)
			c.Requires = slices.Delete(slices.Clone(base.Requires), i, i+1)
			if len(lies(t, preset, c)) == 0 {
				t.Errorf("%s: nothing changes without requires[%d], %s", preset, i, rule.Is)
			}
		}
	}
}

// A preset whose topics are not signed has a rule for every topic that has a kind of its own.
func TestEachUnsignedTopicHasARequirement(t *testing.T) {
	for _, preset := range connectors.PresetNames() {
		c := ownConfig(t, preset, testSecret)
		if unsigned := strings.Join(mustCompile(t, preset, c, connectors.Options{}).Warnings(), "\n"); strings.Contains(unsigned, "not signed") {
			t.Errorf("%s: %s", preset, unsigned)
		}
		c.Requires = []connectors.RequireRule{}
		bare := mustCompile(t, preset, c, connectors.Options{})
		base, _ := connectors.Preset(preset)
		if unsigned := strings.Contains(strings.Join(bare.Warnings(), "\n"), "which is not signed"); unsigned != (len(base.Requires) > 0) {
			t.Errorf("%s: with requires lifted, warnings %q", preset, bare.Warnings())
		}
		if len(base.Requires) == 0 {
			continue
		}
		for _, a := range base.Event.Aliases {
			r := request(`{"nothing":"that any topic has"}`, bare.TopicHeader(), a.Key, "Content-Type", "application/json")
			con := mustCompile(t, preset, ownConfig(t, preset, testSecret), connectors.Options{})
			r, _ = con.Sign(r)
			if got := outcome(t, con, r); !strings.HasPrefix(got, "map: requires: the topic "+a.Key) {
				t.Errorf("%s: an empty body under %s: %q", preset, a.Key, got)
			}
		}
	}
}

// Without rules, of one's own or of a preset, a header that is not signed still does nothing that cannot be undone.
func TestAnUnsignedTopicAloneForgetsNobody(t *testing.T) {
	const own = "verify: {kind: signed, algorithm: hmac-sha256, signature: {header: X-Signature, encoding: hex}, parts: %s}\nsecret: " + testSecret + "\nmap: {phone: phone}\nevent: {type: %s, aliases: {wipe: shop.redacted}}\n"
	const word = "map: requires: only header:X-Event, which is not signed, says that this is shop.redacted, and that cannot be undone: requires must say what the body of the topic wipe has"
	for name, tt := range map[string]struct{ config, header, topic, want string }{
		"a preset's rules lifted":     {"preset: shopify\nrequires: []\nsecret: " + testSecret, "X-Shopify-Topic", "shop/redact", "map: requires: only header:X-Shopify-Topic"},
		"a cleaned word":              {"preset: shopify\nrequires: []\nsecret: " + testSecret, "X-Shopify-Topic", "contact.redacted", "map: requires: only header:X-Shopify-Topic"},
		"a reversible kind is taken":  {"preset: shopify\nrequires: []\nsecret: " + testSecret, "X-Shopify-Topic", "orders/create", ""},
		"one's own, unsigned":         {fmt.Sprintf(own, "[body]", "'header:X-Event'"), "X-Event", "wipe", word},
		"one's own, signed":           {fmt.Sprintf(own, "['header:x-event', body]", "'header:X-Event'"), "X-Event", "wipe", ""},
		"one's own, with a rule":      {fmt.Sprintf(own, "[body]", "'header:X-Event'") + "requires: [{topics: [wipe], is: that all goes, when: [all == true]}]", "X-Event", "wipe", ""},
		"and a body that has it not":  {fmt.Sprintf(own, "[body]", "'header:X-Event'") + "requires: [{topics: [wipe], is: that all goes, when: [all == false]}]", "X-Event", "wipe", "map: requires: the topic wipe says that all goes, and all == false does not hold"},
		"the body's own word is sure": {fmt.Sprintf(own, "[body]", "type"), "X-Event", "other", ""},
	} {
		t.Run(name, func(t *testing.T) {
			con := connector(t, tt.config)
			r := request(`{"type":"wipe","all":true,"phone":"+447700900123"}`, tt.header, tt.topic, "Content-Type", "application/json")
			r, _ = con.Sign(r)
			if got := outcome(t, con, r); got != tt.want && (tt.want == "" || !strings.HasPrefix(got, tt.want)) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestARequirementThatAsksNothingIsAMistake(t *testing.T) {
	const own = "verify: {kind: none}\nrequires: [{topics: [a], is: a thing, %s}]"
	for rest, want := range map[string]string{
		"has: []":                   `requires[0]: asks nothing of the body; write has, any, without, only or when`,
		"has: ['header:X-A']":       `requires[0].has[0]: is no path into the body; write the path of a field, such as customer.id`,
		"when: [event.kind == a.b]": `requires[0].when[0]: asks what is not in the body; compare a field of the body`,
	} {
		if got := problemsOf(t, "x", fmt.Sprintf(own, rest)); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", rest, got, want)
		}
	}
}
