package connectors_test

import (
	"testing"
	"time"
)

func TestKlaviyoTellsPermissionForSMSFromThatForMail(t *testing.T) {
	for topic, want := range map[string]string{
		"subscribed_to_sms_marketing":                "contact.subscribed",
		"unsubscribed_from_sms_marketing":            "contact.unsubscribed",
		"subscribed_to_email_marketing":              "contact.email_subscribed",
		"unsubscribed_from_email_marketing":          "contact.email_unsubscribed",
		"manually_suppressed_from_email_marketing":   "contact.email_unsubscribed",
		"manually_unsuppressed_from_email_marketing": "contact.email_subscribed",
		"updated_email_preferences":                  "contact.updated",
		"sent_sms":                                   "message.received",
		"received_sms":                               "event.klaviyo.received.sms", // what reached the person, not what the person wrote
	} {
		e := itemsOf(t, "klaviyo", `{"data":[{"external_id":"e1","topic":"event:klaviyo.`+topic+`","payload":{"data":{"attributes":{"event_properties":{"phone_number":"+447700900222"}},"relationships":{"profile":{"data":{"id":"01P"}}}}}}],"meta":{"timestamp":"`+request("").Now.UTC().Format(time.RFC3339)+`"}}`, "Klaviyo-Timestamp", "x")
		if len(e) != 1 || e[0].Kind != want || e[0].Contact.Phone != "447700900222" {
			t.Errorf("%s: %+v", topic, e)
		}
	}
}
