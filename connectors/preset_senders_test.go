package connectors_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// itemsOf are the events of a body under a preset, verified.
func itemsOf(t testing.TB, preset, body string, headers ...string) []messaging.Event {
	t.Helper()
	con := mustCompile(t, preset, ownConfig(t, preset, testSecret), connectors.Options{})
	r := request(body, append([]string{"Content-Type", "application/json"}, headers...)...)
	signed, err := con.Sign(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := con.Receive(signed)
	if err != nil {
		t.Fatal(err)
	}
	return got.Events
}

func TestEverySampleBecomesTheKindItNames(t *testing.T) {
	for _, name := range connectors.PresetNames() {
		con := mustCompile(t, name, ownConfig(t, name, testSecret), connectors.Options{Country: "GB"})
		for _, s := range con.SamplesAt(mutationNow, 7) {
			got, err := con.Receive(signSample(t, con, s, mutationNow))
			if err != nil || len(got.Events) == 0 {
				t.Errorf("%s, sample %s: %+v, %v", name, s.Name, got, err)
				continue
			}
			for _, e := range got.Events {
				if len(e.Unread) > 0 {
					t.Errorf("%s, sample %s: %q", name, s.Name, e.Unread)
				}
			}
			if u, err := url.Parse(s.Page); err != nil || u.Scheme != "https" || strings.Contains(u.Host, "example.com") {
				t.Errorf("%s, sample %s: page %q is no public address of who shows such a body", name, s.Name, s.Page)
			}
			if e := got.Events[0]; e.Kind != s.Kind || e.Topic != s.Topic {
				t.Errorf("%s, sample %s: kind %s of topic %q, and it names %s of %q", name, s.Name, e.Kind, e.Topic, s.Kind, s.Topic)
			}
		}
	}
}

// A pipeline of one's own names its stages by numbers; the line is the one of the preset's setup.

// What the pages and "connectors show" say of a preset comes from the preset alone.
func TestAPresetTellsItsTopicsItsConsentAndItsLookups(t *testing.T) {
	hubspot, _ := connectors.PresetInfo("hubspot")
	if got := hubspot.Words["contact.deleted"]; len(got) < 3 || got[0] != "contact.deletion" || got[2] != "event.type == object.deletion and objectTypeId == 0-1" {
		t.Errorf("contact.deleted is called %q", got)
	}
	if len(hubspot.EmailConsent) != 3 || hubspot.EmailConsent[0] != "properties.hs_marketable_status.value (states it: its no withdraws)" {
		t.Errorf("consent: %q", hubspot.EmailConsent)
	}
	if len(hubspot.Lookups) != 3 || hubspot.Lookups[0] != "https://api.hubapi.com/crm/v3/objects/contacts/{objectId}" {
		t.Errorf("look-ups: %q", hubspot.Lookups)
	}
	if klaviyo, _ := connectors.PresetInfo("klaviyo"); len(klaviyo.Consent) != 0 || klaviyo.Words["contact.unsubscribed"][0] != "event:klaviyo.unsubscribed_from_sms_marketing" {
		t.Errorf("%+v", klaviyo)
	}
}

// What several vendors' default bodies have at places that were not read.
func TestFieldsWhereVendorsHaveThem(t *testing.T) {
	for _, tt := range []struct {
		name, preset, body string
		want               func(e *messaging.Event) bool
	}{
		{"Adobe's article added to a quote", "adobe_commerce", `{"eventName":"sales_quote_add_item","data":{"quote_item":{"quote_id":"77","sku":"L"}}}`, func(e *messaging.Event) bool { return e.Cart.ID == "77" }},
		{"Razorpay's own address is nobody's", "razorpay", `{"event":"payment_link.paid","payload":{"payment":{"entity":{"id":"p","email":"void@razorpay.com","contact":"+919876543210"}},"payment_link":{"entity":{"id":"l","customer":{"email":"ada@example.com"}}}}}`, func(e *messaging.Event) bool { return e.Contact.Email == "ada@example.com" }},
		{"Razorpay's own address alone", "razorpay", `{"event":"payment.captured","payload":{"payment":{"entity":{"id":"p","email":"void@razorpay.com","contact":"+919876543210"}}}}`, func(e *messaging.Event) bool { return e.Contact.Email == "" }},
		{"cash on delivery", "razorpay", `{"event":"payment.pending","payload":{"payment":{"entity":{"id":"p","method":"cod","contact":"+919876543210"}}}}`, func(e *messaging.Event) bool { return e.Kind == "order.created" }},
		{"a pending card", "razorpay", `{"event":"payment.pending","payload":{"payment":{"entity":{"id":"p","method":"card"}}}}`, func(e *messaging.Event) bool { return e.Kind == "payment.pending" }},
		{"PayPal's failed subscription", "paypal", `{"id":"w","event_type":"BILLING.SUBSCRIPTION.PAYMENT.FAILED","resource":{"id":"I-1","billing_info":{"last_failed_payment":{"amount":{"currency_code":"EUR","value":"9.99"}}}}}`, func(e *messaging.Event) bool { return e.Order.Total.String() == "9.99" && e.Order.Currency == "EUR" }},
		{"an archived contact of Intercom", "intercom", `{"id":"n","topic":"contact.archived","data":{"item":{"id":"a"}}}`, func(e *messaging.Event) bool { return e.Kind == "contact.deleted" }},
	} {
		if e := mapped(t, tt.preset, tt.body); !tt.want(&e) {
			t.Errorf("%s: %s, %+v %+v %+v", tt.name, e.Kind, e.Contact, e.Cart, e.Order)
		}
	}
	form := "type=subscribe&fired_at=2026-11-20+09%3A30%3A00&data[id]=1&data[email]=a%40example.com&data[merges][PHONE]=030901820&data[merges][ADDRESS][country]=DE"
	if e := mapped(t, "mailchimp", form, "Content-Type", "application/x-www-form-urlencoded"); e.Contact.Phone != "4930901820" {
		t.Errorf("Mailchimp's country of the address: %q, %s", e.Contact.Phone, e.Contact.PhoneProblem)
	}
}

func TestSalesforcesObjectsByTheirWholeNames(t *testing.T) {
	for object, want := range map[string]string{
		`"sf:Contact"><sf:Id>3</sf:Id>`:                                                  "contact.updated 3",
		`"sf:Lead"><sf:Id>3</sf:Id>`:                                                     "contact.updated 3",
		`"sf:ContractContactRole"><sf:Id>3</sf:Id>`:                                      "outbound.message ",
		`"sf:OrderItem"><sf:Id>3</sf:Id>`:                                                "outbound.message ",
		`"sf:Opportunity"><sf:Id>3</sf:Id><sf:StageName>Closed Won</sf:StageName>`:       "deal.won ",
		`"sf:Opportunity"><sf:Id>3</sf:Id><sf:StageName>Prospecting</sf:StageName>`:      "deal.updated ",
		`"ns1:Opportunity"><ns1:Id>3</ns1:Id><ns1:StageName>Closed Lost</ns1:StageName>`: "deal.lost ",
	} {
		body := `<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body><notifications xmlns="http://soap.sforce.com/2005/09/outbound"><OrganizationId>00D</OrganizationId><Notification><Id>04l</Id><sObject xsi:type=` + object + `</sObject></Notification></notifications></soapenv:Body></soapenv:Envelope>`
		e := mapped(t, "salesforce", body, "Content-Type", "text/xml")
		if got := e.Kind + " " + e.Contact.ID; got != want {
			t.Errorf("%s: %s, want %s", object, got, want)
		}
	}
}
