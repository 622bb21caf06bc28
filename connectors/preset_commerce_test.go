package connectors_test

import (
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

func TestShopifysConsentEditsAndMerges(t *testing.T) {
	for _, tt := range []struct{ topic, body, kind, phone, id, order string }{
		{"customers_marketing_consent/update", `{"id":7,"phone":"+447700900123","sms_marketing_consent":{"state":"subscribed"}}`, "contact.subscribed", "447700900123", "7", ""},
		{"customers_marketing_consent/update", `{"id":7,"phone":"+447700900123","sms_marketing_consent":{"state":"unsubscribed"}}`, "contact.unsubscribed", "447700900123", "7", ""},
		{"customers_marketing_consent/update", `{"id":7,"phone":"+447700900123","sms_marketing_consent":{"state":"pending"}}`, "contact.updated", "447700900123", "7", ""},
		{"customers_email_marketing_consent/update", `{"customer_id":7,"email_address":"a@example.com","email_marketing_consent":{"state":"unsubscribed"}}`, "contact.email_unsubscribed", "", "7", ""},
		{"customers_email_marketing_consent/update", `{"customer_id":7,"email_marketing_consent":{"state":"subscribed"}}`, "contact.email_subscribed", "", "7", ""},
		{"customers/merge", `{"admin_graphql_api_customer_kept_id":"gid://shopify/Customer/7","admin_graphql_api_customer_deleted_id":"gid://shopify/Customer/8","status":"completed"}`, "contact.updated", "", "7", ""},
		{"orders/edited", `{"order_edit":{"id":78912328793,"order_id":45678901234,"committed_at":"2026-11-20T08:00:00Z"}}`, "order.updated", "", "", "45678901234"},
	} {
		e := mapped(t, "shopify", tt.body, "X-Shopify-Topic", tt.topic)
		if e.Kind != tt.kind || string(e.Contact.Phone) != tt.phone || e.Contact.ID != tt.id || e.Order.ID != tt.order {
			t.Errorf("%s %s: %s, phone %q (%s), contact %q, order %q", tt.topic, tt.body, e.Kind, e.Contact.Phone, e.Contact.PhoneProblem, e.Contact.ID, e.Order.ID)
		}
		if c := e.Contact; (tt.kind == "contact.subscribed") != c.AcceptsMarketing {
			t.Errorf("%s: accepts %v", tt.kind, c.AcceptsMarketing)
		}
	}
}

func TestShopifysShipmentsReturnsDraftsAndTags(t *testing.T) {
	shipped := func(status string) string {
		return `{"id":1,"order_id":9,"status":"` + status + `","tracking_number":"T1","tracking_url":"https://parcel.example.com/T1","name":"#1001.1","destination":{"first_name":"Ada","phone":"07700 900123","country_code":"GB"}}`
	}
	for _, tt := range []struct{ topic, body, kind, phone, order string }{
		{"fulfillments/create", shipped("success"), "shipment.created", "447700900123", "9"},
		{"fulfillments/create", shipped("pending"), "shipment.updated", "447700900123", "9"},
		{"fulfillments/update", shipped("success"), "shipment.updated", "447700900123", "9"},
		{"fulfillment_events/create", `{"id":3,"fulfillment_id":1,"order_id":9,"shop_id":5,"status":"delivered"}`, "shipment.updated", "", "9"},
		{"returns/request", `{"id":4,"order":{"id":9},"status":"requested"}`, "returns.request", "", "9"},
		{"draft_orders/create", `{"id":6,"invoice_url":"https://shop.example.com/i","status":"open","order_id":null,"customer":{"id":7,"phone":"+447700900123"}}`, "draft.orders.create", "447700900123", ""},
		{"customer.tags_added", `{"customerId":"gid://shopify/Customer/7","tags":["vip"],"occurredAt":"2026-11-20T09:30:00Z"}`, "contact.updated", "", ""},
	} {
		e := mapped(t, "shopify", tt.body, "X-Shopify-Topic", tt.topic, "X-Shopify-Webhook-Id", "w")
		if e.Kind != tt.kind || string(e.Contact.Phone) != tt.phone || e.Order.ID != tt.order {
			t.Errorf("%s: %s of %q (%s), order %q", tt.topic, e.Kind, e.Contact.Phone, e.Contact.PhoneProblem, e.Order.ID)
		}
	}
	e := mapped(t, "shopify", shipped("success"), "X-Shopify-Topic", "fulfillments/create", "X-Shopify-Webhook-Id", "w")
	if e.Order.Name != "#1001" || e.Order.URL != "https://parcel.example.com/T1" {
		t.Errorf("order %q at %q", e.Order.Name, e.Order.URL)
	}
}

func TestShopifysBuyerIsNamedBeforeWhoeverGetsTheParcel(t *testing.T) {
	const parcel = `"shipping_address":{"name":"Grandma Rose","first_name":"Grandma"}`
	for body, want := range map[string]string{
		`{"token":"c","customer":{"first_name":"Ada","last_name":"River"},` + parcel + `}`: "Ada River",
		`{"token":"c","customer":{"first_name":"Ada"},` + parcel + `}`:                     "Ada",
		`{"token":"c",` + parcel + `}`:                                                     "Grandma Rose",
	} {
		if e := mapped(t, "shopify", body, "X-Shopify-Topic", "checkouts/create"); e.Contact.Name != want {
			t.Errorf("%s: %q, want %q", body, e.Contact.Name, want)
		}
	}
}

func TestDynamicsStepsWithoutASystemJob(t *testing.T) {
	step := func(operation, entity, message, at string) string {
		return mapped(t, "dynamics365", `{"MessageName":"`+message+`","PrimaryEntityName":"contact","PrimaryEntityId":"`+entity+`","CorrelationId":"c1","OperationId":"`+operation+`","OperationCreatedOn":"`+at+`"}`).DedupeKey
	}
	const zeros, at = "00000000-0000-0000-0000-000000000000", "/Date(1795163400000+0000)/"
	if got := step("4b70c0de", "e1", "Update", at); got != "4b70c0de" {
		t.Errorf("a system job's key is %q", got)
	}
	first := step(zeros, "e1", "Update", at)
	if first != step(zeros, "e1", "Update", at) {
		t.Error("a repeat is another event")
	}
	for name, other := range map[string]string{
		"another contact": step(zeros, "e2", "Update", at), "another message": step(zeros, "e1", "Create", at), "a later change": step(zeros, "e1", "Update", "/Date(1795163401000+0000)/"),
	} {
		if other == first {
			t.Errorf("%s has the same key %q", name, first)
		}
	}
}

func TestCalendlyBookingsThatMove(t *testing.T) {
	for body, want := range map[string]string{
		`{"event":"invitee.canceled","payload":{"uri":"u","rescheduled":true,"new_invitee":"n"}}`: "booking.rescheduled",
		`{"event":"invitee.canceled","payload":{"uri":"u","rescheduled":false}}`:                  "booking.cancelled",
		`{"event":"invitee.canceled","payload":{"uri":"u"}}`:                                      "booking.cancelled",
		`{"event":"invitee.created","payload":{"uri":"n","rescheduled":false,"old_invitee":"u"}}`: "booking.created",
	} {
		if e := mapped(t, "calendly", body); e.Kind != want {
			t.Errorf("%s is %s, want %s", body, e.Kind, want)
		}
	}
}

func TestCalendlysPhoneIsFoundInAnyLanguageAndPlace(t *testing.T) {
	for _, question := range []string{
		"Your phone number", "WhatsApp?", "Mobile", "Ihre Telefonnummer", "Handynummer", "Votre numéro de téléphone", "Teléfono", "Tu móvil",
		"Telefone", "Celular", "Telefono cellulare", "Telefoonnummer", "Numer telefonu", "Puhelinnumero", "Номер телефона", "מספר טלפון", "رقم الهاتف", "رقم الجوال", "電話番号", "전화번호",
	} {
		e := mapped(t, "calendly", `{"event":"invitee.created","payload":{"uri":"u","text_reminder_number":null,"questions_and_answers":[{"question":"Wo?","answer":"hier","position":0},{"question":"`+question+`","answer":"+4915123456789","position":1}]}}`)
		if e.Contact.Phone != "4915123456789" {
			t.Errorf("%s: %q", question, e.Contact.PhoneProblem)
		}
	}
	for place, want := range map[string]string{
		`{"type":"outbound_call","location":"+4915123456789"}`:        "4915123456789",
		`{"type":"inbound_call","location":"+4930123456"}`:            "", // the host's own number
		`{"type":"zoom_conference","join_url":"https://example.com"}`: "",
	} {
		e := mapped(t, "calendly", `{"event":"invitee.created","payload":{"uri":"u","scheduled_event":{"location":`+place+`}}}`)
		if string(e.Contact.Phone) != want {
			t.Errorf("%s: %q", place, e.Contact.Phone)
		}
	}
}

func TestRazorpaysLinksAndAuthorizations(t *testing.T) {
	e := mapped(t, "razorpay", `{"event":"payment_link.paid","payload":{"payment_link":{"entity":{"id":"plink_1","order_id":"order_1","amount":129900,"amount_paid":129900,"currency":"INR","customer":{"contact":"+919876543210"}}}}}`)
	if e.Kind != "order.paid" || e.Order.ID != "order_1" || e.Order.Total.String() != "1299.00" || e.Order.Currency != "INR" || e.Contact.Phone != "919876543210" {
		t.Errorf("%+v", e)
	}
	if e := mapped(t, "razorpay", `{"event":"payment.authorized","payload":{"payment":{"entity":{"id":"pay_1"}}}}`); e.Kind != "payment.authorized" {
		t.Errorf("an authorization is %s", e.Kind)
	}
	captured := mapped(t, "razorpay", `{"event":"payment.captured","payload":{"payment":{"entity":{"id":"pay_1","order_id":"order_1"}}}}`)
	paid := mapped(t, "razorpay", `{"event":"order.paid","payload":{"payment":{"entity":{"id":"pay_1","order_id":"order_1"}},"order":{"entity":{"id":"order_1"}}}}`)
	if captured.Order.ID != paid.Order.ID {
		t.Errorf("one order is %q and %q", captured.Order.ID, paid.Order.ID)
	}
}

func TestBigCommerceLooksUpCartsOnly(t *testing.T) {
	c := ownConfig(t, "bigcommerce", testSecret)
	con := mustCompile(t, "bigcommerce", c, connectors.Options{})
	event := func(scope, hash string) (string, error) {
		e := mapped(t, "bigcommerce", `{"scope":"`+scope+`","producer":"stores/abc","hash":"`+hash+`","created_at":1795163400,"data":{"type":"cart","id":"1c"}}`)
		_, asks, err := con.Lookup(e)
		if asks {
			t.Errorf("%s is looked up without a token", scope)
		}
		return e.DedupeKey, err
	}
	updated, err := event("store/cart/updated", "h")
	if err == nil {
		t.Error("a cart needs no look-up")
	}
	settings, err := event("store/channel/1/notifications/abandonedCart/updated", "h")
	if err != nil {
		t.Errorf("a change of settings: %v", err)
	}
	if updated == settings || updated != "store/cart/updated:h:1795163400" {
		t.Errorf("keys %q and %q", updated, settings)
	}
}

// The shapes are those of the vendor's pages on webhook events and on channels. An id names one thing: an address's or an article's
// number is no customer's and no cart's, also where the config calls the scope by a kind of its own.
func TestBigCommerceLooksUpByTheScopesOwnID(t *testing.T) {
	c := ownConfig(t, "bigcommerce", testSecret)
	c.Token = secret.New("tok")
	c.Event.Aliases = append(c.Event.Aliases, yamlpos.Entry[string]{Key: "store/customer/group/created", Value: "contact.updated"}, yamlpos.Entry[string]{Key: "store/product/updated", Value: "cart.updated"})
	con := mustCompile(t, "bigcommerce", c, connectors.Options{})
	for _, tt := range []struct{ scope, data, kind, url string }{
		{"store/cart/abandoned", `{"type":"cart","id":"c-1","token":"t"}`, "cart.abandoned", "v3/carts/c-1"},
		{"store/cart/couponApplied", `{"type":"cart","id":"c-1","couponId":1}`, "cart.updated", "v3/carts/c-1"},
		{"store/cart/lineItem/created", `{"type":"cart_line_item","id":"l-2","cartId":"c-1"}`, "cart.updated", "v3/carts/c-1"},
		{"store/cart/converted", `{"type":"cart","id":"c-1","orderId":252}`, "cart.converted", ""},
		{"store/channel/1/cart/created", `{"cart_id":"c-1"}`, "cart.created", "v3/carts/c-1"},
		{"store/channel/12/cart/lineItem/created", `{"cart_id":"c-1","cart_item_id":"l-2"}`, "cart.updated", "v3/carts/c-1"},
		{"store/channel/1/order/updated", `{"order_id":127}`, "order.updated", "v2/orders/127"},
		{"store/channel/1/order/archived", `{"order_id":127}`, "order.deleted", ""},
		{"store/order/refund/created", `{"type":"order","id":127,"refund":{"refund_id":3}}`, "order.refunded", "v2/orders/127"},
		{"store/shipment/created", `{"type":"shipment","id":12,"orderId":251}`, "shipment.created", "v2/orders/251"},
		{"store/customer/created", `{"type":"customer","id":32}`, "contact.created", "v3/customers?id:in=32"},
		{"store/customer/address/created", `{"type":"customer","id":60,"address":{"customer_id":32}}`, "contact.updated", "v3/customers?id:in=32"},
		{"store/customer/address/deleted", `{"type":"customer","id":60}`, "contact.updated", ""},
		{"store/customer/group/created", `{"type":"customer_group","id":7}`, "contact.updated", ""},
		{"store/product/updated", `{"type":"product","id":9}`, "cart.updated", ""},
	} {
		r := request(`{"scope":"`+tt.scope+`","producer":"stores/abc","hash":"h","created_at":1795163400,"data":`+tt.data+`}`, "Content-Type", "application/json")
		signed, err := con.Sign(r)
		if err != nil {
			t.Fatal(err)
		}
		received, err := con.Receive(signed)
		if err != nil || len(received.Events) != 1 {
			t.Fatalf("%s: %v", tt.scope, err)
		}
		e := received.Events[0]
		got, ok, err := con.Lookup(e)
		if e.Kind != tt.kind || ok != (tt.url != "") || err != nil || strings.TrimPrefix(got.URL, "https://api.bigcommerce.com/stores/abc/") != tt.url {
			t.Errorf("%s is %s and asks for %q (%v), want %s and %q", tt.scope, e.Kind, got.URL, err, tt.kind, tt.url)
		}
	}
}

func TestAWrongVerifyTokenIsSaidSo(t *testing.T) {
	con := mustCompile(t, "facebook_leads", ownConfig(t, "facebook_leads", testSecret), connectors.Options{})
	try := func(query string) (connectors.Received, *connectors.Rejected) {
		r := request("")
		r.Method, r.RawQuery = "GET", query
		got, err := con.Receive(r)
		return got, rejectedBy(t, err)
	}
	if got, rejected := try("hub.mode=subscribe&hub.verify_token=verify-" + testSecret + "&hub.challenge=42"); rejected != nil || string(got.Reply.Body) != "42" {
		t.Errorf("the right token: %+v, %v", got, rejected)
	}
	if _, rejected := try("hub.mode=subscribe&hub.verify_token=another&hub.challenge=42"); rejected == nil || rejected.Status != 403 || rejected.Stage != connectors.StageVerify ||
		rejected.Reason != "the verify token differs: it must be the same word at the sender and in verify_token" {
		t.Errorf("a wrong token: %+v", rejected)
	}
	for _, query := range []string{"hub.mode=subscribe&hub.challenge=42", "hub.verify_token=another", ""} {
		if _, rejected := try(query); rejected == nil || rejected.Status != 405 {
			t.Errorf("%s is no try of the URL: %+v", query, rejected)
		}
	}
}
