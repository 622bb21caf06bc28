package connectors_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/secret"
)

func TestMistakesInEnrichAreRefusedWithWords(t *testing.T) {
	const rest = "token: abc\n" + goodVerify
	tests := map[string]struct{ config, want string }{
		"a good one": {`enrich: [{get: "https://api.example.com/c/{id}", into: lead, auth: {kind: bearer}}]`, ""},
		"a host from the payload": {
			`enrich: [{get: "https://{account}.example.com/c", into: lead}]`,
			`enrich[0].get: takes its host from the payload, which could send the token anywhere; write the host in full; for another account or region set api_url`,
		},
		"a host that the payload goes on": {
			`enrich: [{get: "https://example.com{rest}", into: lead}]`,
			`enrich[0].get: takes its host from the payload, which could send the token anywhere; write the host in full; for another account or region set api_url`,
		},
		"a user in the address": {
			`enrich: [{get: "https://me:word@api.example.com/c", into: lead}]`,
			`enrich[0].get: is no address of an API; write it like https://api.example.com/contacts/{id}, or /contacts/{id} behind api_url`,
		},
		"plain HTTP": {
			`enrich: [{get: "http://api.example.com/c/{id}", into: lead}]`,
			`enrich[0].get: does not begin with https://, so that everybody on the way could read the token; write https://; http:// is for allow_private: true`,
		},
		"plain HTTP at home": {"allow_private: true\n" + `enrich: [{get: "http://crm.internal/c/{id}", into: lead}]`, ""},
		"another host than the allowed ones": {
			`enrich: [{get: "https://api.example.com/c/{id}", into: lead, allow_hosts: [api.example.org]}]`,
			`enrich[0].get: asks api.example.com, which allow_hosts does not name; add it to allow_hosts if it is the sender's`,
		},
		"a path without an API": {
			`enrich: [{get: "/c/{id}", into: lead}]`,
			`enrich[0].get: begins with /, but there is no api_url that it could follow; write the whole address, or api_url: https://api.example.com`,
		},
		"a brace that stays open": {
			`enrich: [{get: "https://api.example.com/c/{id", into: lead}]`,
			`enrich[0].get: a { that is never closed; write {path} for a value of the item`,
		},
		"a header, which is gone by then": {
			`enrich: [{get: "https://api.example.com/c/{header:X-Id}", into: lead}]`,
			`enrich[0].get: cannot use header:X-Id: the request's headers and parameters are not kept until the look-up; use a path in the item, event.type or event.kind`,
		},
		"what stands around a batch": {
			"items: list[*]\n" + `enrich: [{when: ["root:kind == x"], get: "https://api.example.com/c/{id}", into: lead}]`,
			`enrich[0].when[0]: cannot use root:kind: what is around the items of a batch is not kept until the look-up; use a path in the item, event.type or event.kind`,
		},
		"a name with a dot": {
			`enrich: [{get: "https://api.example.com/c/{id}", into: my.lead}]`,
			`enrich[0].into: "my.lead" is no name for an answer; use small letters, digits and _, such as lead`,
		},
		"two answers of one name": {
			`enrich: [{get: "https://api.example.com/a/{id}", into: lead}, {get: "https://api.example.com/c/{id}", into: other}, {get: "https://api.example.com/b/{id}", into: lead}]`,
			`enrich[2].into: "lead" is the name of an earlier answer; give each answer a name of its own; rules of one name stand together, and the first that is needed answers for all of them`,
		},
		"a comparison that makes no sense": {
			`enrich: [{when: [phone == 44], get: "https://api.example.com/c/{id}", into: lead}]`,
			`enrich[0].when[0]: compares the phone with something else than null; write phone == null; a field of the item that is called phone is written "phone"`,
		},
		"oauth2 without its address": {
			`enrich: [{get: "https://api.example.com/c/{id}", into: lead, auth: {kind: oauth2}}]`,
			`enrich[0].auth.token_url: is missing: who gives the access tokens?; write token_url: https://accounts.example.com/oauth/token`,
		},
		"oauth2 without a client": {
			`enrich: [{get: "https://api.example.com/c/{id}", into: lead, auth: {kind: oauth2, token_url: "https://a.example.com/t"}}]`,
			`enrich[0].auth: has no secret to authenticate with: oauth.client_id is not set; add it to the connector as oauth: {client_id: ${NAME}}`,
		},
		"a header that is not ours to set": {
			`enrich: [{get: "https://api.example.com/c/{id}", into: lead, headers: {authorization: x}}]`,
			`enrich[0].headers.authorization: is not written here; auth: says how the request authenticates`,
		},
		"a token of two lines": {
			"token: \"a\\nb\"\n" + `enrich: [{get: "https://api.example.com/c/{id}", into: lead, auth: {kind: bearer}}]`,
			`token: has a line end or another control character in it; copy it again, in one line`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			config := tt.config + "\n" + rest
			if strings.HasPrefix(tt.config, "token:") {
				config = tt.config + "\n" + goodVerify
			}
			if diff := cmp.Diff(tt.want, problemsOf(t, "x", config)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a rule of one's own without a token", func(t *testing.T) {
		want := `enrich[0].auth: has no secret to authenticate with: token is not set; add it to the connector as token: ${NAME}`
		got := problemsOf(t, "x", `enrich: [{get: "https://api.example.com/c/{id}", into: lead, auth: {kind: bearer}}]`+"\n"+goodVerify)
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// one is the event that a body becomes.
func one(t testing.TB, con *connectors.Connector, body string) messaging.Event {
	t.Helper()
	got, err := con.Receive(request(body, "Content-Type", "application/json"))
	if err != nil || len(got.Events) != 1 {
		t.Fatalf("Receive: %v, %d events", err, len(got.Events))
	}
	return got.Events[0]
}

const lookupConfig = openVerify + `
token: abc
event: {type: [type], id: [id]}
map: {phone: [phone, lead.phone], first_name: lead.name, cart.id: cart, email: [email, lead.email], consent: lead.consent}
`

func TestALookUpIsAddressedByTheEvent(t *testing.T) {
	rule := func(text string) string { return lookupConfig + "enrich: [{into: lead, " + text + "}]" }
	const plain = `get: "https://api.example.com/c/{id}"`
	tests := map[string]struct{ config, body, want string }{
		"a phone that is missing":         {rule(plain), `{"id":7}`, "https://api.example.com/c/7"},
		"a phone that is there":           {rule(plain), `{"id":7,"phone":"+447700900123"}`, "none"},
		"a phone that is none":            {rule(plain), `{"id":7,"phone":"call me"}`, "https://api.example.com/c/7"},
		"a condition in place of ours":    {rule(plain + `, when: [type == cart]`), `{"id":7,"phone":"+447700900123","type":"cart"}`, "https://api.example.com/c/7"},
		"a condition that does not hold":  {rule(plain + `, when: [type == cart]`), `{"id":7,"type":"order"}`, "none"},
		"the kind as a condition":         {rule(plain + `, when: [phone == null, event.kind contains cart.]`), `{"id":7,"type":"cart.updated"}`, "https://api.example.com/c/7"},
		"a field called phone":            {rule(plain + `, when: ['"phone" == x']`), `{"id":7,"phone":"x"}`, "https://api.example.com/c/7"},
		"what would be another path":      {rule(plain), `{"id":"../admin?x=1#y"}`, "https://api.example.com/c/..%2Fadmin%3Fx=1%23y"},
		"what would be another parameter": {rule(`get: "https://api.example.com/c?id={id}&x=1"`), `{"id":"7&admin=1 +"}`, "https://api.example.com/c?id=7%26admin%3D1+%2B&x=1"},
		"dots":                            {rule(plain), `{"id":".."}`, "error: was not looked up at api.example.com: id is dots, which would lead to another address"},
		"a value that is missing":         {rule(plain), `{"no":1}`, "error: was not looked up at api.example.com: the address needs id, which the event does not have"},
		"a value that is long":            {rule(plain), `{"id":"` + strings.Repeat("x", 513) + `"}`, "error: was not looked up at api.example.com: id is longer than 512 bytes"},
		"a value through a pipe":          {rule(`get: "https://api.example.com/{p | after /}/c"`), `{"p":"stores/abc"}`, "https://api.example.com/abc/c"},
		"braces in a value":               {rule(plain), `{"id":"{secret}"}`, "https://api.example.com/c/%7Bsecret%7D"},
		"a number beyond 2^53":            {rule(plain), `{"id":9007199254740993}`, "https://api.example.com/c/9007199254740993"},
		"a null where the answer goes":    {rule(plain), `{"id":7,"lead":null}`, "https://api.example.com/c/7"},
		"an answer that is there already": {rule(plain), `{"id":7,"lead":{"phone":""}}`, "none"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			con := connector(t, tt.config)
			next, ok, err := con.Lookup(one(t, con, tt.body))
			got := next.URL
			switch {
			case err != nil:
				got = "error: " + err.Error()
			case !ok:
				got = "none"
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestAnAnswerJoinsTheEventAndIsMapped(t *testing.T) {
	con := connector(t, lookupConfig+`enrich: [{into: lead, get: "https://api.example.com/c/{id}"}]`)
	before := one(t, con, `{"id":7,"type":"cart.updated","cart":"c-1","email":"own@example.com"}`)
	before.ID = 42
	got, err := con.Join(before, "lead", []byte(` {"phone":"07700 900123","name":"Ada","consent":"yes","email":"other@example.com"} `))
	if err != nil {
		t.Fatal(err)
	}
	if got.Contact.Phone != "447700900123" || got.Contact.FirstName != "Ada" || !got.Contact.AcceptsMarketing || got.Contact.PhoneProblem != "" ||
		got.Contact.Country != "GB" || got.Contact.Email != "own@example.com" {
		t.Errorf("contact %+v", got.Contact)
	}
	want := `{"id":7,"type":"cart.updated","cart":"c-1","email":"own@example.com","lead":{"phone":"07700 900123","name":"Ada","consent":"yes","email":"other@example.com"}}`
	if string(got.Payload) != want {
		t.Errorf("payload %s\nwant    %s", got.Payload, want)
	}
	if got.ID != 42 || got.Kind != before.Kind || got.DedupeKey != before.DedupeKey || got.Cart.ID != "c-1" || !got.ReceivedAt.Equal(before.ReceivedAt) {
		t.Errorf("what was known is not kept: %+v", got)
	}
	if string(before.Payload) == want || before.Contact.Phone != "" {
		t.Error("the event before was changed")
	}
	if _, ok, err := con.Lookup(got); ok || err != nil {
		t.Errorf("it is asked for again (%v)", err)
	}
}

func TestWhatTheRequestToldStaysThoughItIsGone(t *testing.T) {
	con := connector(t, openVerify+`
event: {type: ["header:X-Topic"], id: [id]}
map: {contact.id: "header:X-Contact", phone: lead.phone, country: "header:X-Country"}
enrich: [{into: lead, get: "https://api.example.com/c/{id}"}]
`)
	got, err := con.Receive(request(`{"id":7}`, "Content-Type", "application/json", "X-Topic", "cart.updated", "X-Contact", "k1", "X-Country", "DE"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := con.Join(got.Events[0], "lead", []byte(`{"phone":"0151 23456789"}`))
	if err != nil {
		t.Fatal(err)
	}
	if e.Contact.ID != "k1" || e.Contact.Phone != "4915123456789" || e.Contact.Country != "DE" || e.Topic != "cart.updated" {
		t.Errorf("%+v", e.Contact)
	}
}

func TestAnAnswerThatCannotJoinIsRefusedWithoutItsContent(t *testing.T) {
	con := connector(t, lookupConfig+`enrich: [{into: lead, get: "https://api.example.com/c/{id}"}]`)
	e := one(t, con, `{"id":7}`)
	for answer, want := range map[string]string{
		"":                    "the answer is empty",
		"null":                "the answer is empty",
		"<html>secret</html>": "the answer is not JSON: byte 1: a symbol where a value should be",
		`{"a":1`:              `the answer is not JSON: byte 7: the text ends before '}'`,
	} {
		if _, err := con.Join(e, "lead", []byte(answer)); fmt.Sprint(err) != want {
			t.Errorf("%q: %v, want %s", answer, err, want)
		}
	}
	deep := strings.Repeat("[", 99) + strings.Repeat("]", 99)
	if _, err := con.Join(e, "lead", []byte(deep)); err != nil {
		t.Errorf("a deep answer: %v", err)
	}
}

func TestAnItemThatIsNoObjectIsKeptUnderItem(t *testing.T) {
	con := connector(t, openVerify+`
items: "ids[*]"
event: {kind: contact.created, id: ["."]}
map: {contact.id: ".", phone: lead.phone}
enrich: [{into: lead, get: "https://api.example.com/c/{.}"}]
`)
	e := one(t, con, `{"ids":["a/7"]}`)
	next, ok, err := con.Lookup(e)
	if !ok || err != nil || next.URL != "https://api.example.com/c/a%2F7" {
		t.Fatalf("%v %v %v", next.URL, ok, err)
	}
	got, err := con.Join(e, "lead", []byte(`{"phone":"+447700900123"}`))
	if err != nil || string(got.Payload) != `{"item":"a/7","lead":{"phone":"+447700900123"}}` || got.Contact.ID != "a/7" || got.Contact.Phone != "447700900123" {
		t.Errorf("%s %+v %v", got.Payload, got.Contact, err)
	}
}

func TestWithoutATokenNothingIsLookedUpAndTheSettingIsNamed(t *testing.T) {
	con := mustCompile(t, "crm", connectors.Config{Preset: "hubspot", Secret: secret.New(testSecret)}, connectors.Options{})
	e := messaging.Event{Kind: "contact.created", Topic: "contact.creation", Payload: []byte(`{"objectId":7}`), ContentType: "application/json"}
	_, ok, err := con.Lookup(e)
	if ok || fmt.Sprint(err) != "was not looked up at api.hubapi.com: connectors.crm.token is not set" {
		t.Errorf("%v %v", ok, err)
	}
	zoho := mustCompile(t, "zoho_crm", connectors.Config{Secret: secret.New(testSecret), OAuth: &connectors.OAuth{ClientID: "c", ClientSecret: secret.New("s")}}, connectors.Options{})
	e = messaging.Event{Kind: "contact.created", Topic: "Leads.insert", Payload: []byte(`"7"`), ContentType: "application/json"}
	_, ok, err = zoho.Lookup(e)
	if ok || fmt.Sprint(err) != "was not looked up at www.zohoapis.com: connectors.zoho_crm.oauth.refresh_token is not set" {
		t.Errorf("%v %v", ok, err)
	}
}

// Each preset is led through its look-ups: what it asks for, in order, and what it finds.
func TestPresetsLookUpWhatTheirSendersLeaveOut(t *testing.T) {
	type step struct{ url, answer string }
	tests := map[string]struct {
		preset, kind, topic, payload string
		steps                        []step
		phone, first                 string
		auth                         string
	}{
		"a Zendesk user": {
			"zendesk", "contact.created", "zen:event-type:user.created", `{"subject":"zen:user:22","detail":{"id":"22","email":"ada@example.com"}}`,
			[]step{{"https://try.zendesk.com/api/v2/users/22", `{"user":{"id":22,"name":"Ada Byrne","phone":"+447700900123","locale":"en-GB","iana_time_zone":"Europe/London"}}`}},
			"447700900123", "Ada", "Authorization: tok",
		},
		"a Zendesk ticket, by who asks": {
			"zendesk", "ticket.created", "zen:event-type:ticket.created", `{"subject":"zen:ticket:7","detail":{"id":"7","requester_id":"22","submitter_id":"23"}}`,
			[]step{{"https://try.zendesk.com/api/v2/users/22", `{"user":{"id":22,"name":"Ada Byrne","phone":"+447700900123"}}`}},
			"447700900123", "Ada", "Authorization: tok",
		},
		"a Copper person": {
			"copper", "contact.created", "person.new", `70`,
			[]step{{"https://api.copper.com/developer_api/v1/people/70", `{"id":70,"name":"Ada Byrne","first_name":"Ada","phone_numbers":[{"number":"020 7946 0958","category":"work"},{"number":"07700 900123","category":"mobile"}],"address":{"country":"GB"}}`}},
			"447700900123", "Ada", "X-Pw-Accesstoken: tok",
		},
		"a Copper opportunity and its contact": {
			"copper", "deal.won", "opportunity.update", `80`,
			[]step{
				{"https://api.copper.com/developer_api/v1/opportunities/80", `{"id":80,"name":"Roof","primary_contact_id":70,"monetary_value":100}`},
				{"https://api.copper.com/developer_api/v1/people/70", `{"id":70,"first_name":"Ada","phone_numbers":[{"number":"+447700900123","category":"mobile"}]}`},
			},
			"447700900123", "Ada", "X-Pw-Accesstoken: tok",
		},
		"a thin event of Stripe": {
			"stripe", "order.created", "checkout.session.completed", `{"type":"v1.checkout.session.completed","related_object":{"id":"cs_1","type":"checkout.session","url":"/v1/anything/else"}}`,
			[]step{
				{"https://api.stripe.com/v1/checkout/sessions/cs_1", `{"id":"cs_1","customer":"cus_7","amount_total":1250,"currency":"gbp","customer_details":{"name":null,"phone":null}}`},
				{"https://api.stripe.com/v1/customers/cus_7", `{"id":"cus_7","name":"Ada Byrne","phone":"+447700900123"}`},
			},
			"447700900123", "Ada", "Authorization: Bearer tok",
		},
		"a Stripe customer that is named by id alone": {
			"stripe", "subscription.trial_ending", "customer.subscription.trial_will_end", `{"type":"customer.subscription.trial_will_end","data":{"object":{"id":"sub_1","customer":"cus_7"}}}`,
			[]step{{"https://api.stripe.com/v1/customers/cus_7", `{"id":"cus_7","name":"Ada Byrne","phone":"+447700900123"}`}},
			"447700900123", "Ada", "Authorization: Bearer tok",
		},
		"a Square booking": {
			"square", "booking.created", "booking.created", `{"type":"booking.created","data":{"object":{"booking":{"customer_id":"C1"}}}}`,
			[]step{{"https://connect.squareup.com/v2/customers/C1", `{"customer":{"given_name":"Ada","phone_number":"+447700900123"}}`}},
			"447700900123", "Ada", "Authorization: Bearer tok",
		},
		"a HighLevel appointment": {
			"gohighlevel", "booking.created", "AppointmentCreate", `{"type":"AppointmentCreate","appointment":{"contactId":"c1"}}`,
			[]step{{"https://services.leadconnectorhq.com/contacts/c1", `{"contact":{"firstName":"Ada","phone":"+447700900123"}}`}},
			"447700900123", "Ada", "Authorization: Bearer tok",
		},
		"a HubSpot contact": {
			"hubspot", "contact.created", "contact.creation", `{"objectId":7001,"portalId":1}`,
			[]step{{"https://api.hubapi.com/crm/v3/objects/contacts/7001?properties=phone,mobilephone,hs_calculated_phone_number,firstname,lastname,email,country,hs_country_region_code,hs_language,lifecyclestage,hs_marketable_status", `{"id":"7001","properties":{"phone":"+44 7700 900123","firstname":"Noor","mobilephone":null}}`}},
			"447700900123", "Noor", "Authorization: Bearer tok",
		},
		"a HubSpot deal and its contact": {
			"hubspot", "deal.won", "deal.propertyChange", `{"objectId":81}`,
			[]step{
				{"https://api.hubapi.com/crm/v3/objects/deals/81?properties=dealname,dealstage,amount,deal_currency_code,hubspot_owner_id&associations=contacts", `{"id":"81","properties":{"dealname":"Roof"},"associations":{"contacts":{"results":[{"id":"7001","type":"deal_to_contact"}]}}}`},
				{"https://api.hubapi.com/crm/v3/objects/contacts/7001?properties=phone,mobilephone,hs_calculated_phone_number,firstname,lastname,email,country,hs_country_region_code,hs_language,lifecyclestage,hs_marketable_status", `{"properties":{"mobilephone":"+447700900123","firstname":"Noor"}}`},
			},
			"447700900123", "Noor", "Authorization: Bearer tok",
		},
		"a BigCommerce cart and its customer": {
			"bigcommerce", "cart.abandoned", "store/cart/abandoned", `{"producer":"stores/abc","data":{"id":"1c-2"}}`,
			[]step{
				{"https://api.bigcommerce.com/stores/abc/v3/carts/1c-2", `{"data":{"id":"1c-2","customer_id":11,"cart_amount":59.5,"currency":{"code":"GBP"},"line_items":{"physical_items":[{"name":"Boots","quantity":1,"sale_price":59.5}]}}}`},
				{"https://api.bigcommerce.com/stores/abc/v3/customers?id:in=11", `{"data":[{"id":11,"first_name":"Ada","phone":"+447700900123"}]}`},
			},
			"447700900123", "Ada", "X-Auth-Token: tok",
		},
		"a BigCommerce order": {
			"bigcommerce", "order.created", "store/order/created", `{"producer":"stores/abc","data":{"id":250}}`,
			[]step{{"https://api.bigcommerce.com/stores/abc/v2/orders/250", `{"id":250,"total_inc_tax":"10.00","billing_address":{"first_name":"Ada","phone":"07700 900123","country_iso2":"GB"}}`}},
			"447700900123", "Ada", "X-Auth-Token: tok",
		},
		"a Facebook lead": {
			"facebook_leads", "form.submitted", "leadgen", `{"field":"leadgen","value":{"leadgen_id":"7000","form_id":"8"}}`,
			[]step{{"https://graph.facebook.com/v23.0/7000?fields=field_data", `{"id":"7000","field_data":[{"name":"first_name","values":["Ada"]},{"name":"phone_number","values":["+447700900123"]}]}`}},
			"447700900123", "Ada", "Authorization: Bearer tok",
		},
		"a Zoho lead": {
			"zoho_crm", "contact.created", "Leads.insert", `"6001"`,
			[]step{{"https://www.zohoapis.com/crm/v7/Leads/6001", `{"data":[{"id":"6001","First_Name":"Ada","Phone":"+447700900123"}]}`}},
			"447700900123", "Ada", "Authorization: Zoho-oauthtoken ",
		},
		"a Zoho deal and its contact": {
			"zoho_crm", "deal.created", "Deals.insert", `"9001"`,
			[]step{
				{"https://www.zohoapis.com/crm/v7/Deals/9001", `{"data":[{"Deal_Name":"Roof","Contact_Name":{"name":"Ada","id":"55"}}]}`},
				{"https://www.zohoapis.com/crm/v7/Contacts/55", `{"data":[{"First_Name":"Ada","Mobile":"+447700900123"}]}`},
			},
			"447700900123", "Ada", "Authorization: Zoho-oauthtoken ",
		},
		"a Pipedrive deal of version 2": {
			"pipedrive", "deal.updated", "change.deal", `{"data":{"id":1,"person_id":31}}`,
			[]step{{"https://api.pipedrive.com/api/v2/persons/31", `{"success":true,"data":{"first_name":"Piet","phones":[{"label":"work","value":"+31612345678","primary":true}]}}`}},
			"31612345678", "Piet", "X-Api-Token: tok",
		},
		"a Pipedrive deal of version 1": {
			"pipedrive", "deal.updated", "updated.deal", `{"current":{"id":1,"person_id":31}}`,
			[]step{{"https://api.pipedrive.com/api/v2/persons/31", `{"success":true,"data":{"first_name":"Piet","phones":[{"label":"work","value":"+31612345678","primary":true}]}}`}},
			"31612345678", "Piet", "X-Api-Token: tok",
		},
		"a Klaviyo profile": {
			"klaviyo", "contact.subscribed", "event:klaviyo.subscribed_to_sms_marketing", `{"payload":{"data":{"relationships":{"profile":{"data":{"id":"01P"}}}}}}`,
			[]step{{"https://a.klaviyo.com/api/profiles/01P?fields%5Bprofile%5D=phone_number,first_name,last_name,email,locale", `{"data":{"attributes":{"phone_number":"+447700900123","first_name":"Ada"}}}`}},
			"447700900123", "Ada", "Authorization: Klaviyo-API-Key tok",
		},
		"an Intercom contact": {
			"intercom", "contact.created", "contact.user.created", `{"data":{"item":{"type":"contact","id":"64a"}}}`,
			[]step{{"https://api.intercom.io/contacts/64a", `{"id":"64a","phone":"+447700900123","name":"Ada Byrne"}`}},
			"447700900123", "Ada", "Authorization: Bearer tok",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := ownConfig(t, tt.preset, testSecret)
			c.Token = secret.New("tok")
			switch tt.preset {
			case "copper": // its user is named beside the token
				c.Token = secret.New("ada@example.com:tok")
			case "zendesk": // each account has an address of its own
				c.Token, c.APIURL = secret.New("ada@example.com/token:tok"), "https://try.zendesk.com"
			}
			c.OAuth = &connectors.OAuth{ClientID: "c", ClientSecret: secret.New("s"), RefreshToken: secret.New("r")}
			con := mustCompile(t, "crm", c, connectors.Options{})
			e := messaging.Event{
				Connector: "crm", Kind: tt.kind, Topic: tt.topic, DedupeKey: "k", ReceivedAt: time.Unix(1, 0),
				Payload: []byte(tt.payload), ContentType: "application/json",
			}
			for _, s := range tt.steps {
				next, ok, err := con.Lookup(e)
				if !ok || err != nil || next.URL != s.url {
					t.Fatalf("look-up %v %v:\n got %s\nwant %s", ok, err, next.URL, s.url)
				}
				if got := next.Auth.Header + ": " + next.Auth.Prefix + next.Auth.Token.Reveal(); got != tt.auth {
					t.Errorf("authenticates by %s, want %s", got, tt.auth)
				}
				if e, err = con.Join(e, next.Into, []byte(s.answer)); err != nil {
					t.Fatal(err)
				}
			}
			if string(e.Contact.Phone) != tt.phone || e.Contact.FirstName != tt.first {
				t.Errorf("phone %s (%s), first name %q", e.Contact.Phone, e.Contact.PhoneProblem, e.Contact.FirstName)
			}
			if next, ok, err := con.Lookup(e); ok || err != nil {
				t.Errorf("it goes on with %s (%v)", next.URL, err)
			}
		})
	}
}

// A look-up that proves nothing is refused by every API.
func TestEachLookUpOfAPresetAuthenticates(t *testing.T) {
	for _, name := range connectors.PresetNames() {
		base, _ := connectors.Preset(name)
		for i, rule := range base.Enrich {
			if rule.Auth == nil {
				t.Errorf("%s: enrich[%d] (%s) has no auth", name, i, rule.Get)
			}
		}
	}
}

// Who looks up with a user and a token writes both into token.
func TestATokenMayNameItsUser(t *testing.T) {
	for name, tt := range map[string]struct{ auth, token, user, word, header, refused string }{
		"basic":                 {"kind: basic", "ada@example.com/token:k:1", "ada@example.com/token", "k:1", "", ""},
		"basic, a key for user": {"kind: basic", "key:", "key", "", "", ""},
		"basic, a password":     {"kind: basic", "word", "", "word", "", ""},
		"a header for each":     {"kind: header, header: X-Key, user_header: X-User", "ada@example.com:k1", "", "k1", "ada@example.com", ""},
		"a header and no user":  {"kind: header, header: X-Key, user_header: X-User", "k1", "", "", "", "token: names no user; write both with a colon between them: user:token"},
		"a header of two lines": {"kind: header, header: X-Key, user_header: X-User", "a\nb:k1", "", "", "", "token: has a line end or another control character in it; copy it again, in one line"},
	} {
		t.Run(name, func(t *testing.T) {
			c := decodeConfig(t, `enrich: [{get: "https://api.example.com/c/{id}", into: lead, auth: {`+tt.auth+`}}]`+"\n"+goodVerify)
			c.Token = secret.New(tt.token)
			con, problems := connectors.Compile("x", c, connectors.Options{})
			if tt.refused != "" {
				if con != nil || len(problems) != 1 || problems[0].String() != tt.refused {
					t.Errorf("%v", problems)
				}
				return
			}
			if con == nil {
				t.Fatal(problems)
			}
			next, ok, err := con.Lookup(messaging.Event{Kind: "a", Payload: []byte(`{"id":1}`), ContentType: "application/json"})
			if !ok || err != nil || next.Auth.User != tt.user || next.Auth.Token.Reveal() != tt.word || next.Header.Get("X-User") != tt.header {
				t.Errorf("%+v %v %v", next, ok, err)
			}
		})
	}
}

func TestAnEntryChangesThePresetsAPI(t *testing.T) {
	con := mustCompile(t, "intercom", connectors.Config{
		Secret: secret.New(testSecret), Token: secret.New("tok"), APIURL: "https://api.eu.intercom.io",
	}, connectors.Options{})
	e := messaging.Event{Kind: "contact.created", Payload: []byte(`{"data":{"item":{"id":"a"}}}`), ContentType: "application/json"}
	next, ok, err := con.Lookup(e)
	if !ok || err != nil || next.URL != "https://api.eu.intercom.io/contacts/a" || next.Host != "api.eu.intercom.io" || next.Rate != 10 || next.Cache != time.Minute {
		t.Errorf("%+v %v %v", next, ok, err)
	}
}

// Whatever a sender posts and its API answers: no panic, an address on the host that the
// config names, and an item that is JSON with the answer in it.
func FuzzLookUpAndJoin(f *testing.F) {
	f.Add(`{"id":7,"type":"cart.updated"}`, `{"phone":"+447700900123"}`)
	f.Add(`["a"]`, `[1]`)
	f.Add(`"x"`, `null`)
	f.Add(`{ }`, ` "t" `)
	f.Add(`{"id":"../..","lead":{}}`, `{"lead":1}`)
	con := connector(f, lookupConfig+`enrich: [{into: lead, get: "https://api.example.com/c/{id}?x={type}&y={event.kind}", when: [phone == null]}]`)
	f.Fuzz(func(t *testing.T, payload, answer string) {
		e := messaging.Event{Connector: "x", Kind: "cart.updated", DedupeKey: "k", Payload: []byte(payload), ContentType: "application/json"}
		next, ok, err := con.Lookup(e)
		if ok {
			u, bad := url.Parse(next.URL)
			if bad != nil || u.Host != "api.example.com" || !strings.HasPrefix(u.EscapedPath(), "/c/") || strings.Count(u.EscapedPath(), "/") != 2 || len(u.Query()) != 2 {
				t.Errorf("%q leads to %s (%v)", payload, next.URL, bad)
			}
		}
		if err != nil && !json.Valid([]byte(payload)) {
			return
		}
		got, err := con.Join(e, "lead", []byte(answer))
		if err != nil {
			return
		}
		var item map[string]json.RawMessage
		if err := json.Unmarshal(got.Payload, &item); err != nil || len(item["lead"]) == 0 {
			t.Errorf("%q and %q became %q (%v)", payload, answer, got.Payload, err)
		}
		if got.Kind != e.Kind || got.DedupeKey != e.DedupeKey {
			t.Errorf("%+v", got)
		}
	})
}
