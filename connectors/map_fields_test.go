package connectors_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// amounts are equal when they are written alike: 75.9 and 75.90 are not the same text.
var amounts = cmp.Options{
	cmp.Transformer("amount", func(a messaging.Amount) string { return a.String() }),
	cmp.Transformer("decimal", func(d decimal.Decimal) string { return d.String() }),
}

func price(t testing.TB, text string) messaging.Amount {
	t.Helper()
	a, err := messaging.ParseAmount(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// mapped is the only event of a body under a preset, verified.
func mapped(t testing.TB, preset, body string, headers ...string) messaging.Event {
	t.Helper()
	c := ownConfig(t, preset, testSecret)
	con := mustCompile(t, preset, c, connectors.Options{})
	r := request(body, headers...)
	if r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	signed, err := con.Sign(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := con.Receive(signed)
	if err != nil || len(got.Events) != 1 {
		t.Fatalf("Receive = %+v, %v", got, err)
	}
	return got.Events[0]
}

func TestAShopifyCheckoutIsMappedWhole(t *testing.T) {
	con, r := signedSample(t, "shopify", "checkout")
	got, err := con.Receive(r)
	if err != nil {
		t.Fatal(err)
	}
	want := messaging.Event{
		Connector: "shopify", Kind: "cart.updated", Topic: "checkouts/update", DedupeKey: "a7d1c0de-0000-4000-8000-000000001001",
		ContentKey: got.Events[0].ContentKey,
		OccurredAt: mutationNow, ReceivedAt: mutationNow,
		Contact: messaging.Contact{
			Phone: "447700900123", ID: "55001122334455661001", Name: "Ada River", FirstName: "Ada", LastName: "River",
			Email: "ada.river@example.com", Language: "en-GB", Country: "GB",
			AcceptsMarketing: true, Consent: true, AcceptsEmail: true, EmailConsent: true,
		},
		Cart: messaging.Cart{
			OtherIDs: []string{"chk-1001", "99001122334455661001", "crt-1001"},
			ID:       "chk-1001", URL: "https://lantern-lane.example.com/checkouts/chk-1001/recover?key=try", Total: price(t, "75.90"), Currency: "GBP",
			Items: []messaging.Item{
				{ID: "8800112233441", SKU: "LAMP-OAK", Title: "Oak table lamp", Quantity: 2, Price: price(t, "34.50")},
				{ID: "8800112233442", SKU: "BULB-W", Title: "Warm bulb", Quantity: 1, Price: price(t, "6.90")},
			},
		},
		Payload: r.Body, ContentType: "application/json",
	}
	if diff := cmp.Diff(want, got.Events[0], amounts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestShopify(t *testing.T) {
	topic := func(name string) []string { return []string{"X-Shopify-Topic", name} }
	t.Run("an order knows the checkout it came from and its place in the customer's life", func(t *testing.T) {
		e := mapped(t, "shopify", `{"id":820982911946154508,"token":"own","checkout_token":"chk-1","name":"#1001","financial_status":"paid","total_price":"10.00","currency":"GBP","order_status_url":"https://o","customer":{"id":1,"orders_count":2}}`, topic("orders/create")...)
		if e.Kind != "order.created" || e.Cart.ID != "chk-1" || e.Order.ID != "820982911946154508" || e.Order.Number != 2 || e.Order.Name != "#1001" || e.Order.Total.String() != "10.00" || e.Order.URL != "https://o" || e.Order.Status != "paid" {
			t.Errorf("%+v", e)
		}
	})
	t.Run("an order without a checkout joins none", func(t *testing.T) {
		if e := mapped(t, "shopify", `{"id":1,"token":"own","checkout_token":null}`, topic("orders/create")...); e.Cart.ID != "" {
			t.Errorf("cart %q", e.Cart.ID)
		}
	})
	t.Run("a cart is named by its token", func(t *testing.T) {
		if e := mapped(t, "shopify", `{"id":"c1","token":"c1","line_items":[]}`, topic("carts/update")...); e.Cart.ID != "c1" || e.Kind != "cart.updated" || e.Contact.PhoneProblem != "the connector reads no phone number from cart.updated" {
			t.Errorf("%+v", e)
		}
	})
	t.Run("a paid checkout is a converted cart", func(t *testing.T) {
		if e := mapped(t, "shopify", `{"token":"c1","completed_at":"2026-11-20T09:00:00Z"}`, topic("checkouts/update")...); e.Kind != "cart.converted" {
			t.Errorf("kind %s", e.Kind)
		}
	})
	t.Run("the shop's own phone is nobody's", func(t *testing.T) {
		e := mapped(t, "shopify", `{"id":5,"phone":"3213213210","country":"US","customer_email":"shop@example.com"}`, topic("app/uninstalled")...)
		if e.Kind != "app.uninstalled" || e.Contact.Phone != "" || e.Contact.Email != "" {
			t.Errorf("%+v", e.Contact)
		}
	})
	t.Run("who asks to be forgotten, or for its data, is known by its phone", func(t *testing.T) {
		const customer = `{"shop_id":1,"shop_domain":"s.example","customer":{"id":2,"email":"a@example.com","phone":"+442079460958"}`
		for name, want := range map[string][3]string{
			"customers/redact":       {customer + `,"orders_to_redact":[]}`, "contact.redacted", "442079460958"},
			"customers/data_request": {customer + `,"orders_requested":[7],"data_request":{"id":9}}`, "contact.data_requested", "442079460958"},
			"shop/redact":            {`{"shop_id":1,"shop_domain":"s.example"}`, "shop.redacted", ""},
		} {
			e := mapped(t, "shopify", want[0], topic(name)...)
			if e.Kind != want[1] || string(e.Contact.Phone) != want[2] {
				t.Errorf("%s: %s, %+v", name, e.Kind, e.Contact)
			}
		}
	})
	t.Run("a phone that is none gives way to nobody's", func(t *testing.T) {
		e := mapped(t, "shopify", `{"token":"c","phone":"555-555-SHIP","shipping_address":{"phone":"020 7946 0958","country_code":"GB"}}`, topic("checkouts/create")...)
		if e.Contact.Phone != "" || e.Contact.PhoneProblem != "phone has letters" {
			t.Errorf("phone %q, problem %q", e.Contact.Phone, e.Contact.PhoneProblem)
		}
		e = mapped(t, "shopify", `{"token":"c","phone":null,"customer":{"phone":""},"shipping_address":{"phone":"020 7946 0958","country_code":"GB"}}`, topic("checkouts/create")...)
		if e.Contact.Phone != "442079460958" || e.Contact.PhoneProblem != "" {
			t.Errorf("phone %q, problem %q", e.Contact.Phone, e.Contact.PhoneProblem)
		}
	})
	t.Run("each number is read in its own address's country", func(t *testing.T) {
		e := mapped(t, "shopify", `{"token":"c","shipping_address":{"phone":null,"country_code":"US"},"billing_address":{"phone":"030 901820","country_code":"DE"}}`, topic("checkouts/create")...)
		if e.Contact.Phone != "4930901820" || e.Contact.Country != "US" {
			t.Errorf("phone %q, country %q", e.Contact.Phone, e.Contact.Country)
		}
	})
	t.Run("no phone at all is said with the places looked at", func(t *testing.T) {
		e := mapped(t, "shopify", `{"token":"c"}`, topic("checkouts/create")...)
		const want = "no phone number in phone, sms_marketing_phone, customer.phone, shipping_address.phone, billing_address.phone, customer.default_address.phone"
		if e.Contact.PhoneProblem != want {
			t.Errorf("problem %q", e.Contact.PhoneProblem)
		}
	})
	t.Run("consent is known only when it is told", func(t *testing.T) {
		for body, want := range map[string][2]bool{
			`{"token":"c"}`: {false, false},
			`{"token":"c","buyer_accepts_sms_marketing":false}`:                                               {false, false},
			`{"token":"c","buyer_accepts_sms_marketing":true}`:                                                {true, true},
			`{"token":"c","buyer_accepts_sms_marketing":false,"buyer_accepts_marketing":true}`:                {false, false},
			`{"token":"c","customer":{"sms_marketing_consent":{"state":"subscribed"}}}`:                       {true, true},
			`{"token":"c","customer":{"sms_marketing_consent":{"state":"not_subscribed"}}}`:                   {false, false},
			`{"token":"c","customer":{"sms_marketing_consent":{"state":"unsubscribed"}}}`:                     {false, true},
			`{"token":"c","customer":{"sms_marketing_consent":{"state":"mystery"},"accepts_marketing":true}}`: {false, false},
		} {
			c := mapped(t, "shopify", body, topic("checkouts/create")...).Contact
			if got := [2]bool{c.AcceptsMarketing, c.Consent}; got != want {
				t.Errorf("%s: accepts, known = %v, want %v", body, got, want)
			}
		}
	})
	t.Run("permission to be sent e-mail is no consent to messages", func(t *testing.T) {
		for _, one := range []struct {
			preset, body string
			headers      []string
		}{
			{"shopify", `{"token":"c","buyer_accepts_marketing":true}`, topic("checkouts/create")},
			{"shopify", `{"id":1,"first_name":"Ana","email_marketing_consent":{"state":"subscribed"}}`, topic("customers/update")},
			{"prestashop", `{"event":"customer.created","id":"1","customer":{"id":1,"newsletter":true}}`, nil},
			{"pipedrive", `{"meta":{"action":"create","entity":"person","id":"1"},"data":{"id":1,"marketing_status":"subscribed"}}`, nil},
		} {
			c := mapped(t, one.preset, one.body, one.headers...).Contact
			if c.AcceptsMarketing || c.Consent || !c.AcceptsEmail || !c.EmailConsent {
				t.Errorf("%s: messages %v (known: %v), e-mail %v (known: %v)", one.preset, c.AcceptsMarketing, c.Consent, c.AcceptsEmail, c.EmailConsent)
			}
		}
		for _, name := range []string{"hubspot", "salesforce", "stripe"} {
			if info, _ := connectors.PresetInfo(name); len(info.Consent) != 0 || len(info.EmailConsent) == 0 {
				t.Errorf("%s: consent from %q, of e-mail from %q", name, info.Consent, info.EmailConsent)
			}
		}
	})
	t.Run("the spelling of headers without X-", func(t *testing.T) {
		e := mapped(t, "shopify", `{"token":"c"}`, "Shopify-Topic", "checkouts/create", "Shopify-Webhook-Id", "w1")
		if e.Topic != "checkouts/create" || e.DedupeKey != "w1" {
			t.Errorf("topic %q, key %q", e.Topic, e.DedupeKey)
		}
	})
}

func TestWooCommerce(t *testing.T) {
	const order = `{"id":727,"number":"727","status":"%","total":"29.35","currency":"USD","date_modified_gmt":"2026-11-20T08:00:00","billing":{"first_name":"John","last_name":"Doe","country":"US","phone":"(212) 555-0142"},"payment_url":"https://pay","line_items":[{"product_id":93,"variation_id":0,"name":"Woo","quantity":2,"price":3}]}`
	kind := func(topic, status string) string {
		body := ""
		for _, c := range order {
			if c == '%' {
				body += status
				continue
			}
			body += string(c)
		}
		return mapped(t, "woocommerce", body, "X-WC-Webhook-Topic", topic).Kind
	}
	for _, tt := range []struct{ topic, status, want string }{
		{"order.created", "pending", "order.created"},
		{"order.created", "processing", "order.created"},
		{"order.updated", "processing", "order.paid"},
		{"order.updated", "completed", "order.fulfilled"},
		{"order.updated", "refunded", "order.refunded"},
		{"order.updated", "cancelled", "order.cancelled"},
		{"order.updated", "failed", "payment.failed"},
		{"order.updated", "on-hold", "order.updated"},
	} {
		if got := kind(tt.topic, tt.status); got != tt.want {
			t.Errorf("%s of an order that is %s: %s, want %s", tt.topic, tt.status, got, tt.want)
		}
	}
	e := mapped(t, "woocommerce", order, "X-WC-Webhook-Topic", "order.created")
	if e.Contact.Phone != "12125550142" || e.Order.Total.String() != "29.35" || e.Cart.ID != "727" || e.Cart.URL != "https://pay" || !strings.HasPrefix(e.DedupeKey, "order.created:727:2026-11-20T08:00:00:%:") ||
		!e.OccurredAt.Equal(time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)) || len(e.Order.Items) != 1 || e.Order.Items[0].Title != "Woo" {
		t.Errorf("%+v", e)
	}
	if e := mapped(t, "woocommerce", `{"id":5}`, "X-WC-Webhook-Topic", "order.deleted"); e.Kind != "order.deleted" || e.Order.ID != "5" {
		t.Errorf("a deletion: %+v", e)
	}
}

func TestMoneyInTheSmallestUnit(t *testing.T) {
	session := func(total, currency string) messaging.Event {
		return mapped(t, "stripe", `{"id":"e","type":"checkout.session.completed","data":{"object":{"id":"cs","amount_total":`+total+`,"currency":"`+currency+`"}}}`)
	}
	for _, tt := range []struct{ total, currency, want string }{
		{"5390", "eur", "53.90"}, {"5000", "jpy", "5000"}, {"1234", "kwd", "1.234"}, {"0", "usd", "0.00"}, {"1", "usd", "0.01"},
	} {
		e := session(tt.total, tt.currency)
		if got := e.Order.Total.String(); got != tt.want {
			t.Errorf("%s of %s: %q, want %q", tt.total, tt.currency, got, tt.want)
		}
	}
	if e := session("5390", "eur"); e.Order.Currency != "EUR" || e.Cart.ID != "cs" {
		t.Errorf("%+v", e)
	}
}

func TestCartFlowsSendsMoneyForPeople(t *testing.T) {
	for written, want := range map[string]string{
		"%C2%A320": "20", "%C2%A31%2C234.50": "1234.50", "1.234%2C50+%E2%82%AC": "1234.50", "1%2C234": "1234", "12%2C5": "12.5", "%26pound%3B20.00": "20.00",
		"%3Cspan%3E%24%3C%2Fspan%3E9.99": "9.99", "CHF+1%27234.50": "1234.50", "-5": "-5", "free": "", "1.234.567": "1234567",
	} {
		e := mapped(t, "cartflows", "order_status=abandoned&email=a%40example.com&cart_total="+written, "Content-Type", "application/x-www-form-urlencoded")
		if got := e.Cart.Total.String(); got != want {
			t.Errorf("%s is read as %q, want %q", written, got, want)
		}
	}
}

func TestHubSpot(t *testing.T) {
	t.Run("a changed phone is the contact's", func(t *testing.T) {
		e := mapped(t, "hubspot", `[{"portalId":1,"subscriptionId":2,"objectId":3,"occurredAt":1795163400000,"subscriptionType":"contact.propertyChange","propertyName":"phone","propertyValue":"+442079460958"}]`)
		if e.Contact.Phone != "442079460958" || e.Contact.ID != "3" || e.Kind != "contact.updated" || e.DedupeKey != "1:2:3:1795163400000:phone" {
			t.Errorf("%+v", e)
		}
	})
	t.Run("another property is not taken for a phone", func(t *testing.T) {
		e := mapped(t, "hubspot", `[{"portalId":1,"subscriptionId":2,"objectId":3,"occurredAt":1795163400000,"subscriptionType":"contact.propertyChange","propertyName":"fax","propertyValue":"+442079460958"}]`)
		if e.Contact.Phone != "" {
			t.Errorf("phone %q", e.Contact.Phone)
		}
	})
	t.Run("two runs of a workflow on one deal are two events", func(t *testing.T) {
		const deal = `{"portalId":1,"objectType":"DEAL","objectId":7,"properties":{"dealname":{"value":"Big"},"amount":{"value":"500.5"},"dealstage":{"value":"`
		a := mapped(t, "hubspot", deal+`one"}}}`)
		b := mapped(t, "hubspot", deal+`two"}}}`)
		if a.DedupeKey == b.DedupeKey || a.Kind != "deal.updated" || a.Deal.Name != "Big" || a.Deal.Stage != "one" || a.Deal.Amount.String() != "500.5" {
			t.Errorf("%+v\n%+v", a, b)
		}
	})
}

func TestNamesAndLanguagesAndCountries(t *testing.T) {
	contact := func(body string) messaging.Contact {
		t.Helper()
		con := connector(t, openVerify+"map: {phone: phone, name: name, first_name: first, last_name: last, country: [country, {default: FR}], language: lang, timezone: tz, tags: tags}\ndefaults: {country: DE, language: de, timezone: Europe/Berlin}")
		got, err := con.Receive(request(body))
		if err != nil {
			t.Fatal(err)
		}
		return got.Events[0].Contact
	}
	c := contact(`{"name":"  Ana  María\tde la Cruz\n","tags":["a"," b ",1,null]}`)
	if c.Name != "Ana María de la Cruz" || c.FirstName != "Ana" || c.LastName != "María de la Cruz" || len(c.Tags) != 3 || c.Tags[1] != "b" || c.Country != "FR" || c.Language != "de" || c.Timezone != "Europe/Berlin" {
		t.Errorf("%+v", c)
	}
	c = contact(`{"first":"Zoë","last":"Ng","country":"us","lang":"fr","tz":"America/New_York","phone":"(212) 555-0142","tags":"x, y,,z"}`)
	if c.Name != "Zoë Ng" || c.Country != "US" || c.Language != "fr" || c.Timezone != "America/New_York" || c.Phone != "12125550142" || len(c.Tags) != 3 {
		t.Errorf("%+v", c)
	}
	c = contact(`{"country":"Narnia","tz":"(GMT-05:00) Eastern"}`)
	if c.Country != "" || c.Timezone != "Europe/Berlin" {
		t.Errorf("%+v", c)
	}
}

func TestAnswersGoThroughFunctions(t *testing.T) {
	con := connector(t, openVerify+`map: {form.answers: ". | plain"}`)
	got, err := con.Receive(request(`{"product":"Salt &amp; Pepper &#8211; <b>big</b>","n":2}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"product": "Salt & Pepper – big", "n": "2"}, got.Events[0].Form.Answers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFormsKeepTheirAnswers(t *testing.T) {
	con, r := signedSample(t, "typeform", "response")
	got, err := con.Receive(r)
	if err != nil {
		t.Fatal(err)
	}
	want := messaging.Form{ID: "tok1001", Name: "Call me back", Answers: map[string]string{"What is your first name?": "Bela", "Where can we reach you?": "+36201234567", "And your last name?": "Nagy"}}
	if diff := cmp.Diff(want, got.Events[0].Form); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c := got.Events[0].Contact; c.Phone != "36201234567" || c.FirstName != "Bela" || c.Country != "HU" {
		t.Errorf("%+v", c)
	}
}

func TestADeletedPersonIsNotWrittenTo(t *testing.T) {
	e := mapped(t, "pipedrive", `{"meta":{"action":"deleted","object":"person","id":2,"timestamp_micro":1},"current":null,"previous":{"id":2,"phone":[{"value":"+442079460958","primary":true}]},"event":"deleted.person"}`)
	if e.Kind != "contact.deleted" || e.Contact.Phone != "" || e.Contact.ID != "2" {
		t.Errorf("%+v", e)
	}
}

// A number belongs to the country that its event names, however it is named. Where it names one that nobody knows, the
// number is nobody's: it is not read by the default.
func TestANumberIsOfTheCountryThatItsEventNames(t *testing.T) {
	con := connector(t, openVerify+"map: {phone: [{path: phone, country: land}, {path: other}], country: country}\ndefaults: {country: DE}")
	for body, want := range map[string][2]string{
		`{"phone":"40612340","country":"Norway"}`:                  {"4740612340", "NO"},
		`{"phone":"40612340","country":"Norge"}`:                   {"4740612340", "NO"},
		`{"phone":"40612340","country":"NOR"}`:                     {"4740612340", "NO"},
		`{"phone":"40612340","country":47}`:                        {"4740612340", "NO"},
		`{"phone":"07911 123456","country":"UK"}`:                  {"447911123456", "GB"},
		`{"phone":"40612340"}`:                                     {"4940612340", "DE"},
		`{"phone":"40612340","country":""}`:                        {"4940612340", "DE"},
		`{"phone":"40612340","country":null}`:                      {"4940612340", "DE"},
		`{"phone":"40612340","country":false}`:                     {"4940612340", "DE"},
		`{"phone":"40612340","country":"DE","land":"Norway"}`:      {"4740612340", "DE"},
		`{"phone":"40612340","country":"XX"}`:                      {"", ""},
		`{"phone":"40612340","country":{"code":"NO"}}`:             {"", ""},
		`{"phone":"40612340","country":["NO","SE"]}`:               {"", ""},
		`{"phone":"40612340","country":["NO"]}`:                    {"4740612340", "NO"},
		`{"phone":"40612340","country":"DE","land":"Norwey"}`:      {"", "DE"},
		`{"phone":"40612340","country":"Norwey","land":"Norway"}`:  {"4740612340", ""},
		`{"phone":"+47 40 61 23 40","country":"Norwey"}`:           {"4740612340", ""},
		`{"phone":"4740612340","country":"GB"}`:                    {"", "GB"},
		`{"phone":{"number":"+4740612340"},"other":"+4740612341"}`: {"", "DE"},
		`{"phone":false,"other":"+4740612341"}`:                    {"4740612341", "NO"},
		`{"phone":4.47700900176E11,"country":"GB"}`:                {"447700900176", "GB"},
		`{"phone":4.477E11,"country":"GB"}`:                        {"", "GB"},
	} {
		got, err := con.Receive(request(body))
		if err != nil {
			t.Fatal(err)
		}
		c := got.Events[0].Contact
		if string(c.Phone) != want[0] || c.Country != want[1] || (c.Phone == "") == (c.PhoneProblem == "") {
			t.Errorf("%s: %q of %q (%s), want %q", body, c.Phone, c.Country, c.PhoneProblem, want)
		}
	}
}

// A preset that reads a phone at a place reads the country that stands beside it there.
func TestACountryIsReadBesideThePhone(t *testing.T) {
	for name, tc := range map[string]struct{ preset, body string }{
		"segment, of a track":        {"segment", `{"messageId":"s1","type":"track","event":"Order Completed","userId":"u","context":{"traits":{"phone":"90612342","address":{"country":"LAND"}}},"properties":{"order_id":"1"}}`},
		"segment, of an identify":    {"segment", `{"messageId":"s1","type":"identify","userId":"u","traits":{"phone":"90612342","country":"LAND"}}`},
		"rudderstack, of the traits": {"rudderstack", `{"messageId":"s1","type":"identify","userId":"u","context":{"traits":{"phone":"90612342","country":"LAND"}}}`},
		"pipedrive, of a person":     {"pipedrive", `{"meta":{"action":"create","entity":"person","id":"1","version":"2.0"},"data":{"id":1,"phones":[{"value":"90612342","primary":true}],"postal_address":{"country":"LAND"}}}`},
		"typeform, hidden":           {"typeform", `{"event_id":"1","event_type":"form_response","form_response":{"token":"t","hidden":{"phone":"90612342","country":"LAND"},"answers":[]}}`},
	} {
		for land, want := range map[string]string{"NO": "4790612342", "Norway": "4790612342", "Norwayy": ""} {
			e := mapped(t, tc.preset, strings.ReplaceAll(tc.body, "LAND", land))
			if string(e.Contact.Phone) != want {
				t.Errorf("%s, country %q: the phone is %q (%s), want %q", name, land, e.Contact.Phone, e.Contact.PhoneProblem, want)
			}
		}
	}
}

func TestAConnectorSaysHowItsNumbersAreWritten(t *testing.T) {
	for phones, want := range map[string]string{"": "", "phones: national": "14978290000", "phones: international": "4978290000"} {
		con := connector(t, openVerify+"map: {phone: phone}\ndefaults: {country: US}\n"+phones)
		got, err := con.Receive(request(`{"phone":"497-829-0000"}`))
		if err != nil {
			t.Fatal(err)
		}
		if c := got.Events[0].Contact; string(c.Phone) != want {
			t.Errorf("%s: %q, %s", phones, c.Phone, c.PhoneProblem)
		}
	}
	con := connector(t, openVerify+"map: {phone: phone}\ndefaults: {country: GB}")
	got, err := con.Receive(request(`{"phone":"33612345678"}`))
	if err != nil {
		t.Fatal(err)
	}
	const told = "phone is read as a number of FR: it has no + in front, and GB has none like it"
	if e := got.Events[0]; e.Contact.Phone != "33612345678" || len(e.Unread) != 1 || e.Unread[0] != told {
		t.Errorf("%q, %q", e.Contact.Phone, e.Unread)
	}
}

// A message comes from an account of a network, whose number has its country code, also where a number of the
// default's country could look like it.
func TestWhoWritesIsReadAsANetworkWritesNumbers(t *testing.T) {
	for kind, want := range map[string]string{"message.received": "4978290000", "form.submitted": ""} {
		unknown := "" // to every plan
		if want != "" {
			unknown = "5572992275941"
		}
		con := connector(t, openVerify+"event: {kind: "+kind+"}\nmap: {phone: from}\ndefaults: {country: US}")
		for from, phone := range map[string]string{"4978290000": want, "2125550142": "12125550142", "447911123456@c.us": "447911123456", "557292275941": unknown} {
			got, err := con.Receive(request(`{"from":"` + from + `"}`))
			if err != nil {
				t.Fatal(err)
			}
			if c := got.Events[0].Contact; string(c.Phone) != phone {
				t.Errorf("%s from %s: %q, %s", kind, from, c.Phone, c.PhoneProblem)
			}
		}
	}
}
