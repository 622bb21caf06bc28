package connectors_test

import (
	"testing"
)

func TestBrazesBatches(t *testing.T) {
	const one = `{"id":"e1","event_type":"users.behaviors.Purchase","time":1795163400,"user":{"user_id":"u1","timezone":"Europe/London"},"properties":{"price":12.5,"currency":"GBP"}}`
	const two = `{"id":"e2","event_type":"users.messages.sms.Delivery","user":{"user_id":"u2"},"properties":{"to_phone_number":"+447700900177"}}`
	for body, want := range map[string]int{
		`{"events":[` + one + `,` + two + `]}`: 2, `[` + one + `,` + two + `]`: 2, one: 1, `{"events":[]}`: 0,
	} {
		events := itemsOf(t, "braze", body)
		if len(events) != want {
			t.Fatalf("%s: %d events, want %d", body, len(events), want)
		}
		if want > 0 {
			e := events[0]
			if e.Kind != "order.created" || e.DedupeKey != "e1" || e.Contact.ID != "u1" || e.Contact.Timezone != "Europe/London" || e.Order.Total.String() != "12.5" || e.Order.Currency != "GBP" {
				t.Errorf("%s: %+v", body, e)
			}
		}
		if want > 1 && (events[1].Contact.Phone != "447700900177" || events[1].Kind != "users.messages.sms.delivery") {
			t.Errorf("%s: %+v", body, events[1])
		}
	}
	for body, want := range map[string]string{
		`{"id":"a","event_type":"users.behaviors.CustomEvent","properties":{"name":"Cart Left"}}`:                                                "cart.left",
		`{"id":"b","event_type":"users.behaviors.Purchase","properties":{"name":"no event"}}`:                                                    "order.created",
		`{"id":"c","event_type":"users.messages.sms.InboundReceive","properties":{"action":"Unsubscribed","user_phone_number":"+447700900177"}}`: "contact.unsubscribed",
		`{"id":"d","event_type":"users.messages.sms.InboundReceive","properties":{"user_phone_number":"+447700900177"}}`:                         "message.received",
	} {
		if e := itemsOf(t, "braze", body)[0]; e.Kind != want {
			t.Errorf("%s is %s, want %s", body, e.Kind, want)
		}
	}
}
