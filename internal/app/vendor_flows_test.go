package app_test

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// A vendorFlow is what a vendor posts by default, from the event that opens a matter to the one that closes it. {phone} stands for
// a phone, {phone_form} for the same in a form, {n} for a number of the person's own, {now}, {sql} and {unix} for when it happened, {national} for the phone as it is dialled at home.
type vendorFlow struct {
	name, preset  string
	settings      string // more keys of the connector
	token         string // for look-ups; that of the rig unless set
	headers       func(body string) http.Header
	on, cancelOn  string // kinds
	opens, closes string
	again         string // the matter, saved once more; "" where the vendor posts nothing that distinguishes it
	optOut        string // "" where the vendor has no word for it; TestEveryPresetHasItsFlow wants the reason of each that is ""
	answers       map[string]string
}

var vendorFlows = []vendorFlow{
	{
		// developers.activecampaign.com/page/webhooks; the automation's body follows two public captures.
		name: "ActiveCampaign, an automation", preset: "activecampaign", on: "contact.updated", cancelOn: "deal.created",
		opens:  `contact[id]={n}&contact[email]=gil%40example.com&contact[first_name]=Gil&contact[last_name]=Moreau&contact[phone]={phone_form}&contact[orgname]=&contact[customer_acct_name]=&contact[tags]=lead&contact[ip4]=192.0.2.7&seriesid=9`,
		again:  `contact[id]={n}&contact[email]=gil%40example.com&contact[first_name]=Gil&contact[last_name]=Moreau&contact[phone]={phone_form}&contact[orgname]=&contact[customer_acct_name]=&contact[tags]=lead%2C+trial&contact[ip4]=192.0.2.7&seriesid=9`,
		closes: `type=deal_add&date_time={now}&initiated_from=admin&initiated_by=admin&deal[id]=5{n}&deal[title]=Roof&deal[contactid]={n}&deal[contact_email]=gil%40example.com&deal[contact_firstname]=Gil&deal[contact_phone]={phone_form}&deal[value_raw]=120&deal[currency]=eur`,
		optOut: `type=unsubscribe&date_time={now}&initiated_from=admin&initiated_by=contact&list=3&contact[id]={n}&contact[email]=gil%40example.com&contact[first_name]=Gil&contact[phone]={phone_form}`,
	},
	{
		// pipedrive.readme.io/docs/guide-for-webhooks-v2; the look-up's answer is that of version 2 of the API.
		name: "Pipedrive, a deal", preset: "pipedrive", on: "deal.created", cancelOn: "deal.won",
		opens:   `{"meta":{"action":"create","entity":"deal","entity_id":7{n},"id":"a{n}","timestamp":"{now}","version":"2.0","attempt":1},"data":{"add_time":"{now}","currency":"EUR","custom_fields":{},"id":7{n},"org_id":null,"owner_id":51,"person_id":{n},"pipeline_id":1,"stage_id":2,"status":"open","title":"Oak floor","update_time":"{now}","value":2400},"previous":null}`,
		again:   `{"meta":{"action":"change","entity":"deal","entity_id":7{n},"id":"b{n}","timestamp":"{now}","version":"2.0","attempt":1},"data":{"currency":"EUR","custom_fields":{},"id":7{n},"owner_id":51,"person_id":{n},"stage_id":3,"status":"open","title":"Oak floor","value":2400},"previous":{"stage_id":2}}`,
		closes:  `{"meta":{"action":"change","entity":"deal","entity_id":7{n},"id":"c{n}","timestamp":"{now}","version":"2.0","attempt":1},"data":{"currency":"EUR","custom_fields":{},"id":7{n},"owner_id":51,"person_id":{n},"stage_id":3,"status":"won","title":"Oak floor","value":2400},"previous":{"status":"open"}}`,
		answers: map[string]string{"/api/v2/persons/{n}": `{"success":true,"data":{"id":{n},"name":"Piet Jansen","first_name":"Piet","last_name":"Jansen","emails":[],"phones":[{"label":"work","value":"{phone}","primary":true}]}}`},
	},
	{
		name: "Pipedrive, a lead", preset: "pipedrive", on: "create.lead", cancelOn: "deal.created", settings: ", kinds: [create.lead, change.lead, delete.lead]",
		opens:   `{"meta":{"action":"create","entity":"lead","entity_id":"l-{n}","id":"a{n}","timestamp":"{now}","version":"2.0","attempt":1},"data":{"add_time":"{now}","id":"l-{n}","owner_id":51,"person_id":{n},"title":"Oak floor","value":{"amount":2400,"currency":"EUR"}},"previous":null}`,
		again:   `{"meta":{"action":"change","entity":"lead","entity_id":"l-{n}","id":"b{n}","timestamp":"{now}","version":"2.0","attempt":1},"data":{"id":"l-{n}","owner_id":51,"person_id":{n},"title":"Oak floor and stairs","value":{"amount":2800,"currency":"EUR"}},"previous":{"title":"Oak floor"}}`,
		closes:  `{"meta":{"action":"create","entity":"deal","entity_id":7{n},"id":"c{n}","timestamp":"{now}","version":"2.0","attempt":1},"data":{"currency":"EUR","custom_fields":{},"id":7{n},"owner_id":51,"person_id":{n},"stage_id":1,"status":"open","title":"Oak floor","value":2400},"previous":null}`,
		answers: map[string]string{"/api/v2/persons/{n}": `{"success":true,"data":{"id":{n},"first_name":"Piet","emails":[],"phones":[{"label":"work","value":"{phone}","primary":true}]}}`},
	},
	{
		// docs.bigcommerce.com/docs/integrations/webhooks: the scopes of a channel.
		name: "BigCommerce, a cart of a channel", preset: "bigcommerce", on: "cart.abandoned", cancelOn: "cart.converted",
		opens:   `{"store_id":"1009001","producer":"stores/trystore","created_at":{unix},"scope":"store/channel/1/cart/abandoned","data":{"cart_id":"c-{n}"},"hash":"a{n}"}`,
		closes:  `{"store_id":"1009001","producer":"stores/trystore","created_at":{unix},"scope":"store/channel/1/cart/converted","data":{"cart_id":"c-{n}","order_id":252},"hash":"b{n}"}`,
		again:   `{"store_id":"1009001","producer":"stores/trystore","created_at":{unix},"scope":"store/channel/1/cart/updated","data":{"cart_id":"c-{n}"},"hash":"c{n}"}`,
		answers: map[string]string{"/stores/trystore/v3/carts/c-{n}": `{"data":{"id":"c-{n}","customer_id":{n},"cart_amount":59.5,"currency":{"code":"GBP"},"line_items":{"physical_items":[]}}}`, "/stores/trystore/v3/customers?id:in={n}": `{"data":[{"id":{n},"first_name":"Ada","phone":"{phone}"}]}`},
	},
	{
		// developer.calendly.com/docs/webhooks: "I will call", and a question in German.
		name: "Calendly, a booking by phone", preset: "calendly", on: "booking.created", cancelOn: "booking.cancelled",
		opens:  `{"event":"invitee.created","created_at":"{now}","created_by":"u","payload":{"uri":"https://api.calendly.example.com/e/{n}","email":"jan@example.com","name":"Jan Keller","first_name":null,"last_name":null,"text_reminder_number":null,"timezone":"Europe/London","rescheduled":false,"old_invitee":null,"questions_and_answers":[],"scheduled_event":{"name":"Intro call","location":{"type":"outbound_call","location":"{phone}"}},"status":"active"}}`,
		closes: `{"event":"invitee.canceled","created_at":"{now}","created_by":"u","payload":{"uri":"https://api.calendly.example.com/e/{n}","email":"jan@example.com","name":"Jan Keller","text_reminder_number":null,"timezone":"Europe/London","rescheduled":false,"questions_and_answers":[],"scheduled_event":{"name":"Intro call","location":{"type":"outbound_call","location":"{phone}"}},"status":"canceled","cancellation":{"canceled_by":"Jan Keller","reason":"","canceler_type":"invitee"}}}`,
	},
	{
		name: "Calendly, a question in German", preset: "calendly", on: "booking.created", cancelOn: "booking.cancelled",
		opens:  `{"event":"invitee.created","created_at":"{now}","payload":{"uri":"https://api.calendly.example.com/e/{n}","name":"Jan Keller","text_reminder_number":null,"rescheduled":false,"questions_and_answers":[{"question":"Ihre Telefonnummer","answer":"{phone}","position":0}],"scheduled_event":{"name":"Intro","location":{"type":"physical","location":"Room 4"}}}}`,
		closes: `{"event":"invitee.canceled","created_at":"{now}","payload":{"uri":"https://api.calendly.example.com/e/{n}","name":"Jan Keller","text_reminder_number":null,"rescheduled":false,"questions_and_answers":[{"question":"Ihre Telefonnummer","answer":"{phone}","position":0}],"scheduled_event":{"name":"Intro","location":{"type":"physical","location":"Room 4"}}}}`,
	},
	{
		// marketplace.gohighlevel.com/docs/webhook: appointments and opportunities name the contact alone.
		name: "HighLevel, an appointment", preset: "gohighlevel", on: "booking.created", cancelOn: "booking.cancelled",
		opens:   `{"type":"AppointmentCreate","locationId":"l","webhookId":"a{n}","timestamp":"{now}","appointment":{"id":"p{n}","title":"First visit","calendarId":"c","contactId":"h{n}","appointmentStatus":"confirmed","startTime":"{now}","endTime":"{now}","dateAdded":"{now}","dateUpdated":"{now}"}}`,
		again:   `{"type":"AppointmentUpdate","locationId":"l","webhookId":"b{n}","timestamp":"{now}","appointment":{"id":"p{n}","title":"First visit, room 2","calendarId":"c","contactId":"h{n}","appointmentStatus":"confirmed","startTime":"{now}","endTime":"{now}"}}`,
		closes:  `{"type":"AppointmentUpdate","locationId":"l","webhookId":"c{n}","timestamp":"{now}","appointment":{"id":"p{n}","title":"First visit","calendarId":"c","contactId":"h{n}","appointmentStatus":"cancelled","startTime":"{now}","endTime":"{now}"}}`,
		optOut:  `{"type":"ContactDndUpdate","locationId":"l","webhookId":"d{n}","timestamp":"{now}","id":"h{n}","country":"GB","dateAdded":"{now}","dnd":true,"email":"dana@example.com","name":"Dana Fox","firstName":"Dana","lastName":"Fox","phone":"{phone}","tags":[],"customFields":[]}`,
		answers: map[string]string{"/contacts/h{n}": `{"contact":{"id":"{n}","locationId":"l","firstName":"Dana","lastName":"Fox","email":"dana@example.com","phone":"{phone}","country":"GB","dnd":false,"tags":[]}}`},
	},
	{
		name: "HighLevel, an opportunity", preset: "gohighlevel", on: "deal.created", cancelOn: "deal.won",
		opens:   `{"type":"OpportunityCreate","locationId":"l","webhookId":"a{n}","timestamp":"{now}","id":"o{n}","assignedTo":"u","contactId":"h{n}","monetaryValue":40,"name":"Roof","pipelineId":"p","pipelineStageId":"s","source":"form","status":"open","dateAdded":"{now}"}`,
		again:   `{"type":"OpportunityMonetaryValueUpdate","locationId":"l","webhookId":"b{n}","timestamp":"{now}","id":"o{n}","contactId":"h{n}","monetaryValue":60,"name":"Roof","pipelineId":"p","pipelineStageId":"s","status":"open","dateAdded":"{now}"}`,
		closes:  `{"type":"OpportunityStatusUpdate","locationId":"l","webhookId":"c{n}","timestamp":"{now}","id":"o{n}","contactId":"h{n}","monetaryValue":60,"name":"Roof","pipelineId":"p","pipelineStageId":"s","status":"won","dateAdded":"{now}"}`,
		optOut:  `{"type":"ContactDndUpdate","locationId":"l","webhookId":"d{n}","timestamp":"{now}","id":"h{n}","country":"GB","dateAdded":"{now}","dnd":true,"email":"dana@example.com","name":"Dana Fox","firstName":"Dana","lastName":"Fox","phone":"{phone}","tags":[],"customFields":[]}`,
		answers: map[string]string{"/contacts/h{n}": `{"contact":{"id":"{n}","locationId":"l","firstName":"Dana","lastName":"Fox","email":"dana@example.com","phone":"{phone}","country":"GB","dnd":false,"tags":[]}}`},
	},
	{
		// developer.squareup.com/docs/bookings-api: a booking names its customer alone.
		name: "Square, a booking", preset: "square", on: "booking.created", cancelOn: "booking.cancelled",
		opens:   `{"merchant_id":"M","type":"booking.created","event_id":"a{n}","created_at":"{now}","data":{"type":"booking","id":"b{n}:0","object":{"booking":{"id":"b{n}","version":0,"status":"ACCEPTED","customer_id":"C{n}","location_id":"L","start_at":"{now}"}}}}`,
		again:   `{"merchant_id":"M","type":"booking.updated","event_id":"b{n}","created_at":"{now}","data":{"type":"booking","id":"b{n}:1","object":{"booking":{"id":"b{n}","version":1,"status":"ACCEPTED","customer_id":"C{n}","location_id":"L","start_at":"{now}"}}}}`,
		closes:  `{"merchant_id":"M","type":"booking.updated","event_id":"c{n}","created_at":"{now}","data":{"type":"booking","id":"b{n}:2","object":{"booking":{"id":"b{n}","version":2,"status":"CANCELLED_BY_CUSTOMER","customer_id":"C{n}","location_id":"L","start_at":"{now}"}}}}`,
		answers: map[string]string{"/v2/customers/C{n}": `{"customer":{"id":"C{n}","given_name":"Ada","family_name":"River","phone_number":"{phone}"}}`},
	},
	{
		// The order's event has its number alone: the order names the customer.
		name: "Square, an order", preset: "square", on: "order.created", cancelOn: "order.paid",
		opens:   `{"merchant_id":"M","type":"order.created","event_id":"a{n}","created_at":"{now}","data":{"type":"order_created","id":"O{n}","object":{"order_created":{"order_id":"O{n}","created_at":"{now}","location_id":"L","state":"OPEN","version":1}}}}`,
		again:   `{"merchant_id":"M","type":"order.updated","event_id":"b{n}","created_at":"{now}","data":{"type":"order_updated","id":"O{n}","object":{"order_updated":{"order_id":"O{n}","created_at":"{now}","updated_at":"{now}","location_id":"L","state":"OPEN","version":2}}}}`,
		closes:  `{"merchant_id":"M","type":"payment.updated","event_id":"c{n}","created_at":"{now}","data":{"type":"payment","id":"p{n}","object":{"payment":{"id":"p{n}","order_id":"O{n}","customer_id":"C{n}","status":"COMPLETED","amount_money":{"amount":1200,"currency":"GBP"}}}}}`,
		answers: map[string]string{"/v2/orders/O{n}": `{"order":{"id":"O{n}","customer_id":"C{n}","total_money":{"amount":1200,"currency":"GBP"}}}`},
	},
	{
		// shopify.dev/docs/api/webhooks, version 2026-07: the customer has neither consents nor tags, and the boxes are left empty.
		name: "Shopify, a checkout", preset: "shopify", on: "cart.updated", cancelOn: "order.created", headers: ofShopify,
		opens:  `{"id":10{n},"token":"tok{n}","cart_token":"crt{n}","email":"ada@example.com","buyer_accepts_marketing":false,"buyer_accepts_sms_marketing":false,"sms_marketing_phone":null,"created_at":"{now}","updated_at":"{now}","completed_at":null,"phone":"{phone}","total_price":"60.00","currency":"GBP","line_items":[],"customer":{"id":55{n},"first_name":"Ada","last_name":"River","phone":null}}`,
		again:  `{"id":10{n},"token":"tok{n}","cart_token":"crt{n}","email":"ada@example.com","buyer_accepts_marketing":false,"buyer_accepts_sms_marketing":false,"created_at":"{now}","updated_at":"{now}","completed_at":null,"phone":"{phone}","total_price":"75.00","currency":"GBP","line_items":[],"customer":{"id":55{n},"first_name":"Ada","phone":null}}`,
		closes: `{"id":90{n},"checkout_id":10{n},"checkout_token":"tok{n}","cart_token":"crt{n}","buyer_accepts_marketing":false,"updated_at":"{now}","order_number":10{n},"financial_status":"paid","phone":"{phone}","current_total_price":"75.00","currency":"GBP","line_items":[],"customer":{"id":55{n}}}`,
		optOut: `{"id":55{n},"phone":"{phone}","sms_marketing_consent":{"state":"unsubscribed","opt_in_level":"single_opt_in","consent_updated_at":"{now}","consent_collected_from":"SHOPIFY"}}`,
	},
	{
		name: "Shopify, a shipment", preset: "shopify", on: "shipment.created", cancelOn: "order.cancelled", headers: ofShopify,
		opens:  `{"id":77{n},"order_id":90{n},"status":"success","created_at":"{now}","service":"manual","updated_at":"{now}","tracking_company":"Royal Mail","shipment_status":null,"location_id":4,"origin_address":null,"email":"ada@example.com","destination":{"first_name":"Ada","phone":"{phone}","country_code":"GB","last_name":"River","name":"Ada River"},"line_items":[],"tracking_number":"T{n}","tracking_numbers":["T{n}"],"tracking_url":"https://parcel.example.com/T{n}","receipt":{},"name":"#1001.1"}`,
		again:  `{"id":78{n},"order_id":90{n},"status":"success","created_at":"{now}","service":"manual","updated_at":"{now}","tracking_company":"Royal Mail","shipment_status":null,"email":"ada@example.com","destination":{"first_name":"Ada","phone":"{phone}","country_code":"GB"},"line_items":[],"tracking_number":"U{n}","name":"#1001.2"}`,
		closes: `{"id":90{n},"checkout_token":"tok{n}","updated_at":"{now}","cancelled_at":"{now}","order_number":10{n},"financial_status":"refunded","phone":"{phone}","current_total_price":"0.00","currency":"GBP","line_items":[]}`,
		optOut: `{"id":55{n},"phone":"{phone}","sms_marketing_consent":{"state":"unsubscribed","opt_in_level":"single_opt_in","consent_updated_at":"{now}","consent_collected_from":"SHOPIFY"}}`,
	},
}

// ofShopify are the headers that Shopify sends with a body.
func ofShopify(body string) http.Header {
	topic := "checkouts/update"
	for _, t := range []struct{ has, topic string }{
		{`"cancelled_at":`, "orders/cancelled"},
		{`"order_number":`, "orders/create"},
		{`"sms_marketing_consent":`, "customers_marketing_consent/update"},
		{`"tracking_number":`, "fulfillments/create"},
	} {
		if strings.Contains(body, t.has) {
			topic = t.topic
			break
		}
	}
	return http.Header{"X-Shopify-Topic": {topic}, "X-Shopify-Webhook-Id": {fmt.Sprintf("%x", sha256.Sum256([]byte(body)))}}
}

// TestVendorsDefaultBodies plays what a vendor posts by default: the closing event cancels what the opening one planned, an opt-out
// blocks (what a block does is TestAnOptOutThatACRMPostsBlocksAndALaterOptInAllows), a body without a word on consent changes none, a redelivery is a duplicate, and a second save is not.
func TestVendorsDefaultBodies(t *testing.T) {
	t.Parallel()
	answers := map[*regexp.Regexp]string{}
	for _, f := range vendorFlows {
		for address, answer := range f.answers {
			answers[regexp.MustCompile("^"+strings.ReplaceAll(regexp.QuoteMeta(address), regexp.QuoteMeta("{n}"), "([12][0-9]{3})")+"$")] = answer
		}
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for address, answer := range answers {
			if m := address.FindStringSubmatch(r.URL.RequestURI()); m != nil {
				n := 1000 // of nobody, as a token is
				if len(m) > 1 {
					if _, err := fmt.Sscan(m[1], &n); err != nil {
						t.Error(err)
					}
				}
				_, _ = io.WriteString(w, ofPerson(answer, n-1000, 0))
				return
			}
		}
		w.WriteHeader(http.StatusGone) // as Pipedrive's version 1
	}))
	t.Cleanup(api.Close)
	var connectors, triggers strings.Builder
	for i, f := range vendorFlows {
		fmt.Fprintf(&connectors, "  v%d: {preset: %s, verify: {kind: token, from: header, field: X-Token, secret: \"${SHOP_SECRET}\"}", i, f.preset)
		if f.answers != nil {
			fmt.Fprintf(&connectors, ", api_url: %q, allow_private: true, token: %q", api.URL, cmp.Or(f.token, "${API_KEY}"))
		}
		connectors.WriteString(strings.ReplaceAll(f.settings, "{api}", api.URL) + "}\n")
		cancel := ""
		if f.closes != "" {
			cancel = fmt.Sprintf("cancel_on: v%d.%s, ", i, f.cancelOn)
		}
		fmt.Fprintf(&triggers, "  of-v%[1]d: {on: v%[1]d.%[2]s, wait: 1h, %[3]scategory: utility, send: {template: t}}\n", i, f.on, cancel)
	}
	h := open(t, options{config: "defaults: {country: GB, language: en}\nconnectors:\n" + connectors.String() + "triggers:\n" + triggers.String()})
	for i, f := range vendorFlows {
		t.Run(f.name, func(t *testing.T) {
			connector, trigger := fmt.Sprint("v", i), fmt.Sprint("of-v", i)
			post := func(body string, person int, after time.Duration) {
				t.Helper()
				h.vendorPost(connector, &f, ofPerson(body, person, after))
			}
			first, second, gone := 10*i, 10*i+1, 10*i+2
			state := func(person int) messaging.State {
				if m := h.of(trigger, phone(person)); m != nil {
					return m.State
				}
				return ""
			}
			opened := ofPerson(f.opens, first, -time.Minute)
			h.vendorPost(connector, &f, opened)
			post(f.opens, second, -time.Minute)
			h.eventually("both wait", func() bool { return h.decidedAll(connector, 2) })
			if state(first) != messaging.StateWaiting || state(second) != messaging.StateWaiting {
				t.Fatalf("opened: %q and %q; %+v", state(first), state(second), h.events())
			}
			h.vendorPost(connector, &f, opened)
			if n := h.eventsOf(connector); len(n) != 2 {
				t.Errorf("a redelivery is an event of its own: %d", len(n))
			}
			events := 2
			if f.again != "" {
				post(f.again, first, -30*time.Second)
				if events++; len(h.eventsOf(connector)) != events {
					t.Errorf("a second save is a duplicate")
				}
			}
			if f.closes != "" {
				post(f.closes, first, 2*time.Second)
				events++
				h.eventually("the closing event is decided", func() bool { return h.decidedAll(connector, events) })
				if state(first) != messaging.StateCancelled || state(second) != messaging.StateWaiting {
					t.Errorf("closed: %q, and somebody else's is %q", state(first), state(second))
				}
			}
			if f.optOut != "" {
				post(f.optOut, gone, 0)
				events++
				h.eventually("the opt-out counts", func() bool { return h.decidedAll(connector, events) })
				if got, err := server.ShowContact.Call(t.Context(), h.ask, phone(gone)); err != nil || got.Block == nil {
					t.Errorf("who opted out is not blocked: %+v, %v; %+v", got, err, h.eventsOf(connector)[0])
				}
			}
			for j, word := range []messaging.Consent{messaging.ConsentGiven, messaging.ConsentWithdrawn} {
				person := 10*i + 3 + j
				h.consents(word, phone(person))
				post(f.opens, person, 0)
				events++
				h.eventually("the silent body is decided", func() bool { return h.decidedAll(connector, events) })
				got, err := server.ShowContact.Call(t.Context(), h.ask, phone(person))
				if err != nil {
					t.Fatal(err)
				}
				var is messaging.Consent
				for _, c := range got.Consents {
					if c.Channel == messaging.ChannelPhone {
						is = c.Consent
					}
				}
				if is != word {
					t.Errorf("a body that says nothing of consent made %q of %q", is, word)
				}
			}
		})
	}
}

// ofPerson fills a body in. Vendors' clocks have whole seconds, so each body says how long after now it happened.
func ofPerson(body string, person int, after time.Duration) string {
	now := time.Now().UTC().Add(after)
	return strings.NewReplacer("{phone}", phone(person), "{phone_form}", url.QueryEscape(phone(person)), "{n}", fmt.Sprint(1000+person),
		"{national}", strings.TrimPrefix(phone(person), "+44"),
		"{now}", now.Format(time.RFC3339), "{sql}", now.Format(time.DateTime), "{unix}", fmt.Sprint(now.Unix())).Replace(body)
}

func (h *house) vendorPost(connector string, f *vendorFlow, body string) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url+"/hooks/"+connector, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	if f.headers != nil {
		req.Header = f.headers(body)
	}
	kind := "application/x-www-form-urlencoded"
	switch body[0] {
	case '{', '[':
		kind = "application/json"
	case '<':
		kind = "text/xml"
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("X-Token", shopSecret)
	h.mustTake(req)
}

func (h *house) eventsOf(connector string) []server.EventView {
	h.t.Helper()
	rows, err := server.ListEvents.Call(h.t.Context(), h.ask, server.ListQuery{Connector: connector, Limit: 1000})
	if err != nil {
		h.t.Fatal(err)
	}
	return rows
}

// decidedAll reports whether a connector has that many events, none of which waits for a look-up.
func (h *house) decidedAll(connector string, events int) bool {
	h.t.Helper()
	rows := h.eventsOf(connector)
	for _, e := range rows {
		if e.Lookup != nil {
			return false
		}
	}
	return len(rows) == events
}
