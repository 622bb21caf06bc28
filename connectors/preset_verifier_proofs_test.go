package connectors_test

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

func init() {
	senderProofs["nuvemshop"] = senderProof{put: hexOfBody("X-Linkedstore-Hmac-Sha256"), signed: true}
	senderProofs["shopware"] = senderProof{put: hexOfBody("Shopware-Shop-Signature"), signed: true}
	// developers.squarespace.com: the key is the bytes that the secret writes in hexadecimal.
	senderProofs["squarespace"] = senderProof{signed: true, put: func(r *connectors.Request, secret string, _ time.Time) {
		key := bytes.Repeat([]byte{0x5c}, 16) // as ownConfig begins a secret in hexadecimal
		r.Header.Set("Squarespace-Signature", hex.EncodeToString(macOf(string(key)+secret, string(r.Body))))
	}}
	// docs.ecwid.com: eventCreated, a dot and eventId, in base64; the rest of the body is not signed.
	senderProofs["ecwid"] = senderProof{put: func(r *connectors.Request, secret string, _ time.Time) {
		var body struct {
			EventID      string
			EventCreated json.Number
		}
		_ = json.Unmarshal(r.Body, &body)
		r.Header.Set("X-Ecwid-Webhook-Signature", base64.StdEncoding.EncodeToString(macOf(secret, body.EventCreated.String()+"."+body.EventID)))
	}}
}

// Ecwid's proof over two fields: neither can be changed, and an old pair is refused however new the rest says it is.
func TestEcwidsProof(t *testing.T) {
	con := mustCompile(t, "ecwid", ownConfig(t, "ecwid", testSecret), connectors.Options{})
	at := mutationNow.Unix()
	body := func(created int64, id, kind string) string {
		return fmt.Sprintf(`{"eventId":%q,"eventCreated":%d,"storeId":1003,"entityId":103878161,"eventType":%q,"data":{"orderId":"XJ12H"}}`, id, created, kind)
	}
	proof := func(created int64, id string) string {
		return base64.StdEncoding.EncodeToString(macOf(testSecret, fmt.Sprint(created)+"."+id))
	}
	for name, tt := range map[string]struct{ body, proof, want string }{
		"good":                          {body(at, "e1", "order.created"), proof(at, "e1"), ""},
		"a day old, as it is repeated":  {body(at-86400, "e1", "order.created"), proof(at-86400, "e1"), ""},
		"old":                           {body(at-90001, "e1", "order.created"), proof(at-90001, "e1"), "verify: the timestamp is 25h0m1s old, more than 25h0m0s"},
		"of tomorrow":                   {body(at+301, "e1", "order.created"), proof(at+301, "e1"), "verify: the timestamp is 5m1s in the future, more than 5m0s"},
		"another event":                 {body(at, "e2", "order.created"), proof(at, "e1"), "verify: the signature does not match"},
		"made newer":                    {body(at, "e1", "order.created"), proof(at-90001, "e1"), "verify: the signature does not match"},
		"a word that forgets":           {body(at, "e1", "contact.redacted"), proof(at, "e1"), "map: requires: what says that this is contact.redacted is not signed, and that cannot be undone"},
		"a word that blocks":            {body(at, "e1", "contact.unsubscribed"), proof(at, "e1"), "map: requires: what says who wants messages is not signed: contact.unsubscribed"},
		"an answer that nobody gave":    {strings.Replace(body(at, "e1", "order.created"), "{", `{"order":{"acceptMarketing":true,"billingPerson":{"phone":"+447700900199"}},`, 1), proof(at, "e1"), "map: requires: the body has order, which is where the answer of a look-up is to be"},
		"an answer of another look-up":  {strings.Replace(body(at, "e1", "order.created"), "{", `{"customer":{"billingPerson":{"phone":"+447700900199"}},`, 1), proof(at, "e1"), "map: requires: the body has customer, which is where the answer of a look-up is to be"},
		"a phone that nobody looks for": {strings.Replace(body(at, "e1", "order.created"), "{", `{"phone":"+447700900199",`, 1), proof(at, "e1"), ""},
	} {
		r := request(tt.body, "Content-Type", "application/json; charset=UTF-8", "X-Ecwid-Webhook-Signature", tt.proof)
		if got := outcome(t, con, r); got != tt.want && (tt.want == "" || !strings.HasPrefix(got, tt.want)) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if got, err := con.Receive(r); tt.want == "" && (err != nil || got.Events[0].Contact.Phone != "") {
			t.Errorf("%s: %+v, %v", name, got.Events, err)
		}
	}
}

// rs256 is a JWT as Wix makes it (RFC 7515, A.2).
func rs256(t testing.TB, claims string, key *rsa.PrivateKey) string {
	t.Helper()
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"kid":"k","alg":"RS256"}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims))
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func TestWixsProof(t *testing.T) {
	own, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&own.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	c := connectors.Config{Preset: "wix", Verify: &connectors.Verify{SignedKeys: connectors.SignedKeys{Key: &connectors.Key{
		PublicKeys: []string{string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))}, // as Wix shows it
	}}}}
	con := mustCompile(t, "wix", c, connectors.Options{})
	if _, err := con.Sign(request("{}")); err == nil {
		t.Error("a token of Wix was made without its private key")
	}
	for _, s := range con.SamplesAt(mutationNow, 7) {
		claims := func(iat, exp time.Duration) string {
			return strings.TrimSuffix(string(s.Body), "}") + fmt.Sprintf(`,"iat":%d,"exp":%d}`, mutationNow.Add(iat).Unix(), mutationNow.Add(exp).Unix())
		}
		good := rs256(t, claims(0, time.Hour), own)
		parts := strings.Split(good, ".")
		hs := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256"}`)) + "." + parts[1]
		for name, tt := range map[string]struct{ body, want string }{
			"good":                     {good, ""},
			"old":                      {rs256(t, claims(-2*time.Hour, -2*time.Minute), own), "verify: the JWT ended; it is 2m0s old"},
			"another key":              {rs256(t, claims(0, time.Hour), other), "verify: the JWT's signature does not match (1 key tried)"},
			"another event":            {parts[0] + "." + strings.Split(rs256(t, claims(0, 2*time.Hour), own), ".")[1] + "." + parts[2], "verify: the JWT's signature does not match (1 key tried)"},
			"no signature":             {parts[0] + "." + parts[1] + ".", "verify: the JWT's signature does not match (1 key tried)"},
			"the public key as secret": {hs + "." + base64.RawURLEncoding.EncodeToString(macOf(string(der), hs)), `verify: the JWT names the algorithm "HS256", and only RS256 is accepted`},
			"the claims alone":         {string(s.Body), "verify: the body is no JWT"},
			"nothing":                  {"", "verify: the body is no JWT"},
		} {
			if got := outcome(t, con, request(tt.body, "Content-Type", "text/plain")); got != tt.want {
				t.Errorf("%s, %s: %q, want %q", s.Name, name, got, tt.want)
			}
		}
		first, err := con.Receive(request(good, "Content-Type", "text/plain"))
		if err != nil {
			t.Fatal(err)
		}
		again, err := con.Receive(request(rs256(t, claims(time.Minute/2, 2*time.Hour), own)))
		if err != nil || first.Events[0].DedupeKey != again.Events[0].DedupeKey {
			t.Errorf("%s: a delivery whose token is made anew is another event: %v", s.Name, err)
		}
	}
}

// An app of monday sends the JWT as the whole header Authorization.
func TestMondaysAppsProof(t *testing.T) {
	c := ownConfig(t, "monday", testSecret)
	c.Verify = &connectors.Verify{CombinedKeys: connectors.CombinedKeys{Prefer: []string{"app"}}}
	con := mustCompile(t, "monday", c, connectors.Options{})
	body := `{"event":{"type":"create_pulse","pulseId":7,"pulseName":"Garden house","triggerUuid":"u"}}`
	token := func(exp time.Duration, key string) string {
		return hs256(fmt.Sprintf(`{"accountId":1825528,"userId":4012689,"aud":"https://hooks.example.com/hooks/monday","exp":%d,"shortLivedToken":"t","iat":%d}`, mutationNow.Add(exp).Unix(), mutationNow.Unix()), key)
	}
	for name, tt := range map[string]struct{ header, want string }{
		"good":        {token(5*time.Minute, testSecret), ""},
		"old":         {token(-2*time.Minute, testSecret), "verify: app: the JWT ended; it is 2m0s old"},
		"another key": {token(5*time.Minute, "another-secret-0123456789"), "verify: app: the JWT's signature does not match (1 key tried)"},
		"forged":      {forged(token(5*time.Minute, testSecret)), "verify: app: the JWT's signature does not match (1 key tried)"},
		"as bearer":   {"Bearer " + token(5*time.Minute, testSecret), "verify: app: the header Authorization holds no JWT"},
	} {
		if got := outcome(t, con, request(body, "Authorization", tt.header, "Content-Type", "application/json")); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	if got := outcome(t, con, request(body, "Content-Type", "application/json")); got != "verify: the request carries nothing that is accepted here: app" {
		t.Errorf("without: %q", got)
	}
}

// What the pages of these vendors show, by their main topics.
func TestBodiesOfVerifiersVendors(t *testing.T) {
	wix := func(kind, what string) string {
		inner, _ := json.Marshal(json.RawMessage(`{"id":"e1","entityFqdn":"f","slug":"s","entityId":"i1",` + what + `,"eventTime":"2026-11-20T08:59:00.5Z","triggeredByAnonymizeRequest":false}`))
		text, _ := json.Marshal(string(inner))
		outer, _ := json.Marshal(`{"data":` + string(text) + `,"instanceId":"x","eventType":"` + kind + `","identity":"{\"identityType\":\"MEMBER\"}"}`)
		return `{"data":` + string(outer) + `,"iat":1,"exp":2}`
	}
	const order = `{"id":"o1","number":"10002","checkoutId":"c1","buyerInfo":{"contactId":"p1","email":"a@example.com"},"buyerLanguage":"en","currency":"GBP","paymentStatus":"PAID","priceSummary":{"total":{"amount":"69.00"}},"billingInfo":{"address":{"country":"GB"},"contactDetails":{"firstName":"Ines","lastName":"Falk","phone":"07700900143"}},"lineItems":[{"id":"l","productName":{"original":"Lamp"},"quantity":1,"price":{"amount":"69.00"}}]}`
	const left = `{"id":"ab1","checkoutId":"c1","cartId":"k1","status":"ABANDONED","buyerInfo":{"contactId":"p1","email":"a@example.com"},"contactDetails":{"firstName":"Ines","phone":"+447700900143"},"currency":"GBP","totalPrice":{"amount":"69.00"},"checkoutUrl":"https://shop.example.com/c"}`
	isOrder := func(kind string) func(*messaging.Event) bool {
		return func(e *messaging.Event) bool {
			return e.Kind == kind && e.Contact.Phone == "447700900143" && e.Contact.ID == "p1" && e.Order.ID == "o1" && e.Cart.ID == "c1" && e.Order.Total.String() == "69.00" &&
				e.Order.Currency == "GBP" && e.Contact.FirstName == "Ines" && e.Contact.Email == "a@example.com" && len(e.Order.Items) == 1 && !e.OccurredAt.IsZero()
		}
	}
	isLeft := func(kind string) func(*messaging.Event) bool {
		return func(e *messaging.Event) bool {
			return e.Kind == kind && e.Contact.Phone == "447700900143" && e.Cart.ID == "c1" && e.Cart.URL != "" && e.Cart.Total.String() == "69.00"
		}
	}
	for name, tt := range map[string]struct {
		preset, body string
		want         func(*messaging.Event) bool
	}{
		"Wix, an order":          {"wix", wix("wix.ecom.v1.order_created", `"createdEvent":{"entity":`+order+`}`), isOrder("order.created")},
		"Wix, an order approved": {"wix", wix("wix.ecom.v1.order_approved", `"actionEvent":{"body":{"order":`+order+`}}`), isOrder("order.updated")},
		"Wix, an order updated":  {"wix", wix("wix.ecom.v1.order_updated", `"updatedEvent":{"currentEntity":`+order+`}`), isOrder("order.updated")},
		"Wix, an order paid":     {"wix", wix("wix.ecom.v1.order_payment_status_updated", `"actionEvent":{"body":{"order":`+order+`,"previousPaymentStatus":"NOT_PAID"}}`), isOrder("order.paid")},
		"Wix, an order refunded": {"wix", wix("wix.ecom.v1.order_transactions_refund_completed", `"actionEvent":{"body":{"orderId":"o1","refund":{"id":"r1","transactions":[{"paymentId":"y1","amount":{"amount":"9.00"},"refundStatus":"SUCCEEDED"}]},"sideEffects":{"sendOrderRefundedEmail":false}}}`), func(e *messaging.Event) bool {
			return e.Kind == "order.refunded" && e.Order.ID == "o1"
		}},
		"Wix, an order cancelled":    {"wix", wix("wix.ecom.v1.order_canceled", `"actionEvent":{"body":{"order":`+order+`}}`), isOrder("order.cancelled")},
		"Wix, a checkout left":       {"wix", wix("wix.ecom.v1.abandoned_checkout_created", `"createdEvent":{"entity":`+left+`}`), isLeft("cart.abandoned")},
		"Wix, one recovered":         {"wix", wix("wix.ecom.v1.abandoned_checkout_updated", `"updatedEvent":{"currentEntity":`+strings.Replace(left, "ABANDONED", "RECOVERED", 1)+`}`), isLeft("cart.converted")},
		"Wix, one recovered, action": {"wix", wix("wix.ecom.v1.abandoned_checkout_recovered", `"actionEvent":{"body":{"abandonedCheckout":`+left+`}}`), isLeft("cart.converted")},
		"Wix, one that is gone":      {"wix", wix("wix.ecom.v1.abandoned_checkout_deleted", `"deletedEvent":{}`), func(e *messaging.Event) bool { return e.Kind == "cart.deleted" && e.Cart.ID == "i1" }},
		"Wix, a contact": {"wix", wix("wix.contacts.v4.contact_updated", `"updatedEvent":{"currentEntity":{"id":"p1","primaryInfo":{"email":"a@example.com","phone":"07700 900143"},"info":{"name":{"first":"Ines","last":"Falk"},"phones":{"items":[{"countryCode":"GB","phone":"07700 900143","primary":true}]},"extendedFields":{"items":{"emailSubscriptions.subscriptionStatus":"UNSUBSCRIBED"}}}}}`), func(e *messaging.Event) bool {
			return e.Kind == "contact.updated" && e.Contact.Phone == "447700900143" && e.Contact.EmailConsent && !e.Contact.AcceptsEmail && !e.Contact.Consent
		}},
		"Wix, a contact that is gone": {"wix", wix("wix.contacts.v4.contact_deleted", `"deletedEvent":{}`), func(e *messaging.Event) bool { return e.Kind == "contact.deleted" && e.Contact.ID == "i1" }},
		"Wix, a booking moved": {"wix", wix("wix.bookings.v2.booking_rescheduled", `"actionEvent":{"body":{"booking":{"id":"b1","contactDetails":{"contactId":"p1","firstName":"Ines","phone":"+447700900143"},"bookedEntity":{"title":"First visit"}},"previousStartDate":"x"}}`), func(e *messaging.Event) bool {
			return e.Kind == "booking.rescheduled" && e.Form.ID == "b1" && e.Form.Name == "First visit" && e.Contact.Phone == "447700900143"
		}},
		"Wix, a form": {"wix", wix("wix.forms.v4.submission_created", `"createdEvent":{"entity":{"id":"s1","formId":"f1","namespace":"wix.form_app.form","status":"CONFIRMED","submissions":{"first_name":"Ines","last_name":"Falk","email_726e":"a@example.com","phone_9c1d":"+447700900143","form_field_ae91":"Delivery"},"contactId":"p1"}}`), func(e *messaging.Event) bool {
			return e.Kind == "form.submitted" && e.Contact.Phone == "447700900143" && e.Contact.Email == "a@example.com" && e.Contact.ID == "p1" && e.Contact.FirstName == "Ines" && len(e.Form.Answers) == 5
		}},
		"Wix, an older webhook": {"wix", `{"data":"{\"data\":\"{\\\"orderId\\\":\\\"o1\\\"}\",\"instanceId\":\"x\",\"eventType\":\"OrderPaid\"}"}`, func(e *messaging.Event) bool { return e.Topic == "OrderPaid" }},

		"Squarespace, as its page has it": {"squarespace", `{"id":"n1","websiteId":"w","subscriptionId":"s","topic":"order.update","createdOn":"2026-11-20T08:59+00:00","data":{"orderId":"o1","update":"FULFILLED"}}`, func(e *messaging.Event) bool {
			return e.Kind == "order.fulfilled" && e.Order.ID == "o1" && !e.OccurredAt.IsZero() && len(e.Unread) == 0
		}},
		"Squarespace, pending again": {"squarespace", `{"id":"n1","topic":"order.update","createdOn":"2026-11-20T08:59:00Z","data":{"orderId":"o1","update":"MARKED_PENDING"}}`, func(e *messaging.Event) bool { return e.Kind == "order.updated" }},
		"Nuvemshop, sent out":        {"nuvemshop", `{"store_id":123,"event":"order/fulfilled","id":9}`, func(e *messaging.Event) bool { return e.Kind == "order.fulfilled" && e.Order.ID == "9" }},
		"Nuvemshop, packed":          {"nuvemshop", `{"store_id":123,"event":"order/packed","id":9}`, func(e *messaging.Event) bool { return e.Kind == "order.updated" }},
		"Nuvemshop, an erasure": {"nuvemshop", `{"store_id":123,"customer":{"id":1,"email":"a@example.com","phone":"+5511999990000","identification":"0"},"orders_to_redact":[213]}`, func(e *messaging.Event) bool {
			return e.Kind == "contact.redacted" && e.Contact.Phone == "5511999990000" && e.Contact.ID == "1"
		}},
		"Nuvemshop, a shop's erasure": {"nuvemshop", `{"store_id":123}`, func(e *messaging.Event) bool { return e.Kind == "shop.redacted" }},
		"Nuvemshop, a request":        {"nuvemshop", `{"store_id":123,"customer":{"id":1,"email":"a@example.com","phone":"+5511999990000"},"orders_requested":[213],"checkouts_requested":[1],"drafts_orders_requested":[1],"data_request":{"id":456}}`, func(e *messaging.Event) bool { return e.Kind == "contact.data_requested" && e.Contact.ID == "1" }},
		"Nuvemshop, a theme":          {"nuvemshop", `{"store_id":123,"event":"theme/updated","old_theme":"a","new_theme":"b"}`, func(e *messaging.Event) bool { return e.Kind == "theme.updated" }},
		"Shopware, an order": {"shopware", `{"data":{"payload":{"order":{"id":"o1","orderNumber":"10001","amountTotal":75.9,"currency":{"isoCode":"EUR"},"orderCustomer":{"customerId":"p1","email":"a@example.com","firstName":"Jan","lastName":"Keller"},"addresses":[{"phoneNumber":"01512 3456789","country":{"iso":"DE"}}],"lineItems":[{"label":"Lampe","quantity":1,"unitPrice":75.9}]}},"event":"checkout.order.placed"},"source":{"url":"https://s.example.com","shopId":"s","eventId":"e1"},"timestamp":1795165140}`, func(e *messaging.Event) bool {
			return e.Kind == "order.created" && e.Contact.Phone == "4915123456789" && e.Order.Total.String() == "75.9" && e.Order.Currency == "EUR" && len(e.Order.Items) == 1
		}},
		"Shopware, ids alone": {"shopware", `{"data":{"payload":[{"entity":"order","operation":"update","primaryKey":"o1","updatedFields":["stateId"]}],"event":"order.written"},"source":{"shopId":"s","eventId":"e2"},"timestamp":1795165140}`, func(e *messaging.Event) bool { return e.Kind == "order.updated" && e.Order.ID == "o1" }},
		"Shopware, a newsletter": {"shopware", `{"data":{"payload":{"newsletterRecipient":{"email":"a@example.com","firstName":"Jan"}},"event":"newsletter.unsubscribe"},"source":{"shopId":"s","eventId":"e3"},"timestamp":1795165140}`, func(e *messaging.Event) bool {
			return e.Kind == "contact.email_unsubscribed" && e.Contact.Email == "a@example.com"
		}},
		"Ecwid, an older store": {"ecwid", fmt.Sprintf(`{"eventId":"e","eventCreated":%d,"storeId":1003,"entityId":103,"eventType":"order.created","data":{"newPaymentStatus":"PAID","newFulfillmentStatus":"SHIPPED"}}`, mutationNow.Unix()), func(e *messaging.Event) bool { return e.Kind == "order.created" && e.Order.ID == "103" }},
		"Ecwid, sent out":       {"ecwid", fmt.Sprintf(`{"eventId":"e","eventCreated":%d,"storeId":1003,"entityId":103,"eventType":"order.updated","data":{"orderId":"B8","oldPaymentStatus":"PAID","newPaymentStatus":"PAID","oldFulfillmentStatus":"PROCESSING","newFulfillmentStatus":"SHIPPED"}}`, mutationNow.Unix()), func(e *messaging.Event) bool { return e.Kind == "order.fulfilled" && e.Order.ID == "B8" }},
	} {
		e := mapped(t, tt.preset, tt.body, "Content-Type", "application/json")
		if !tt.want(&e) {
			t.Errorf("%s: %s of %q, %+v\n%+v\n%+v %+v, unread %q", name, e.Kind, e.Topic, e.Contact, e.Order, e.Cart, e.Form, e.Unread)
		}
	}
}

// Chargebee's invoices and the thinnest of its events name a customer and do not have it.
func TestChargebeesCustomersAreLookedUp(t *testing.T) {
	con := mustCompile(t, "chargebee", ownConfig(t, "chargebee", testSecret), connectors.Options{})
	of := func(content string) messaging.Event {
		body := `{"id":"ev","occurred_at":1795165140,"event_type":"invoice_generated","content":{` + content + `}}`
		return mapped(t, "chargebee", body, "Content-Type", "application/json")
	}
	for content, want := range map[string]string{
		`"invoice":{"id":"203","customer_id":"c1","total":2000,"currency_code":"USD"}`:            "/api/v2/customers/c1",
		`"subscription":{"id":"s1","customer_id":"c2","status":"active"}`:                         "/api/v2/customers/c2",
		`"invoice":{"id":"203","customer_id":"c1"},"customer":{"id":"c1","phone":"+12125550123"}`: "",
		`"invoice":{"id":"203","customer_id":"c1"},"customer":{"id":"c1"}`:                        "",
	} {
		e, asked := of(content), ""
		if a := con.Asks(&e); a != nil {
			asked = a.URL
		}
		if asked != want {
			t.Errorf("%s asks %q, want %q", content, asked, want)
		}
	}
	answer := `{"customer":{"id":"c1","first_name":"Jan","last_name":"Keller","email":"jan@example.com","phone":"0171 2345678","billing_address":{"country":"DE"}}}`
	e, err := con.Join(of(`"invoice":{"id":"203","customer_id":"c1"}`), "found", []byte(answer))
	if err != nil || e.Contact.Phone != "491712345678" || e.Contact.FirstName != "Jan" || e.Contact.Email != "jan@example.com" {
		t.Errorf("%+v, %v", e.Contact, err)
	}
}

// Of what was written Shopware tells the key alone: the thing is looked up by it, unless it is gone.
func TestShopwaresKeysAreLookedUp(t *testing.T) {
	con := mustCompile(t, "shopware", ownConfig(t, "shopware", testSecret), connectors.Options{})
	for _, tt := range []struct{ event, entity, operation, want string }{
		{"order.written", "order", "update", "/api/order/k1"},
		{"customer.written", "customer", "insert", "/api/customer/k1"},
		{"order.deleted", "order", "delete", ""},
		{"product.written", "product", "update", ""},
	} {
		e := mapped(t, "shopware", `{"data":{"payload":[{"entity":"`+tt.entity+`","operation":"`+tt.operation+`","primaryKey":"k1","updatedFields":["id"]}],"event":"`+tt.event+`"},"source":{"eventId":"e"},"timestamp":1795165140}`, "Content-Type", "application/json")
		got := ""
		if asked := con.Asks(&e); asked != nil {
			got, _, _ = strings.Cut(asked.URL, "?")
		}
		if got != tt.want {
			t.Errorf("%s of %s asks %q, want %q", tt.operation, tt.entity, got, tt.want)
		}
	}
}

// Where each look-up goes, for bodies of each shape.
func TestLookUpsOfVerifiersVendors(t *testing.T) {
	for name, tt := range map[string]struct{ preset, body, want string }{
		"Squarespace":              {"squarespace", `{"id":"n1","topic":"order.create","createdOn":"2026-11-20T08:59:00Z","data":{"orderId":"o1"}}`, "https://api.squarespace.com/1.0/commerce/orders/o1"},
		"Nuvemshop, an order":      {"nuvemshop", `{"store_id":123,"event":"order/created","id":9}`, "https://api.tiendanube.com/v1/123/orders/9"},
		"Nuvemshop, a customer":    {"nuvemshop", `{"store_id":123,"event":"customer/created","id":9}`, "https://api.tiendanube.com/v1/123/customers/9"},
		"Nuvemshop, a product":     {"nuvemshop", `{"store_id":123,"event":"product/created","id":9}`, ""},
		"Nuvemshop, the law":       {"nuvemshop", `{"store_id":123,"customer":{"id":1},"orders_to_redact":[213]}`, ""},
		"Ecwid, an order":          {"ecwid", `{"eventId":"e","eventCreated":1795165140,"storeId":1003,"entityId":7,"eventType":"order.created","data":{"orderId":"XJ"}}`, "https://app.ecwid.com/api/v3/1003/orders/XJ"},
		"Ecwid, an older store":    {"ecwid", `{"eventId":"e","eventCreated":1795165140,"storeId":1003,"entityId":7,"eventType":"order.updated","data":{"newPaymentStatus":"PAID"}}`, "https://app.ecwid.com/api/v3/1003/orders/7"},
		"Ecwid, a left cart":       {"ecwid", `{"eventId":"e","eventCreated":1795165140,"storeId":1003,"entityId":7,"eventType":"unfinished_order.created","data":{"orderId":"RA","cartId":"320A"}}`, "https://app.ecwid.com/api/v3/1003/carts/320A"},
		"Ecwid, one without an id": {"ecwid", `{"eventId":"e","eventCreated":1795165140,"storeId":1003,"entityId":-1,"eventType":"unfinished_order.created"}`, ""},
		"Ecwid, a deleted one":     {"ecwid", `{"eventId":"e","eventCreated":1795165140,"storeId":1003,"entityId":7,"eventType":"order.deleted"}`, ""},
		"Ecwid, a customer":        {"ecwid", `{"eventId":"e","eventCreated":1795165140,"storeId":1003,"entityId":7,"eventType":"customer.updated"}`, "https://app.ecwid.com/api/v3/1003/customers/7"},
		"Ecwid, a product":         {"ecwid", `{"eventId":"e","eventCreated":1795165140,"storeId":1003,"entityId":7,"eventType":"product.updated"}`, ""},
		"Shopware, with its phone": {"shopware", `{"data":{"payload":{"order":{"id":"o1","billingAddress":{"phoneNumber":"+4915123456789"}}},"event":"checkout.order.placed"},"source":{"eventId":"e"},"timestamp":1795165140}`, ""},
	} {
		c := ownConfig(t, tt.preset, testSecret)
		c.Token = c.Secret
		con := mustCompile(t, tt.preset, c, connectors.Options{Country: "GB"})
		r := request(tt.body, "Content-Type", "application/json")
		r.Proven = true
		got, err := con.Receive(r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		l, ok, err := con.Lookup(got.Events[0])
		if l.URL != tt.want || ok != (tt.want != "") || err != nil {
			t.Errorf("%s: asks %q (%v), want %q", name, l.URL, err, tt.want)
		}
		if tt.preset == "nuvemshop" && ok && (l.Auth.Header != "Authentication" || l.Auth.Prefix != "bearer " || l.Header.Get("User-Agent") == "") {
			t.Errorf("%s: asks as %+v, %v", name, l.Auth, l.Header)
		}
	}
	c := ownConfig(t, "nuvemshop", testSecret)
	c.Token, c.UserAgent = c.Secret, "My app (me@example.com)"
	con := mustCompile(t, "nuvemshop", c, connectors.Options{})
	r := request(`{"store_id":123,"event":"order/created","id":9}`, "Content-Type", "application/json")
	r.Proven = true
	got, err := con.Receive(r)
	if err != nil {
		t.Fatal(err)
	}
	if l, _, err := con.Lookup(got.Events[0]); err != nil || l.Header.Get("User-Agent") != "My app (me@example.com)" {
		t.Errorf("asks as %q, %v", l.Header.Get("User-Agent"), err)
	}
}
