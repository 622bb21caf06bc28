package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// What bodies of consent make of what is recorded, and whether marketing goes afterwards: each body × what was recorded before.
func TestWhatABodySaysOfConsentMeetsWhatIsRecorded(t *testing.T) {
	t.Parallel()
	const none, given, withdrawn = messaging.Consent(""), messaging.ConsentGiven, messaging.ConsentWithdrawn
	bodies := []struct {
		preset, topic, body string
		says                messaging.Consent // "" for nothing
		blocks              bool
	}{
		{"shopify", "checkouts/update", `{"id":#,"token":"t#","phone":"P","buyer_accepts_sms_marketing":true}`, given, false},
		{"shopify", "checkouts/update", `{"id":#,"token":"t#","phone":"P","buyer_accepts_sms_marketing":false}`, none, false},
		{"shopify", "checkouts/update", `{"id":#,"token":"t#","phone":"P"}`, none, false},
		{"shopify", "customers/update", `{"id":#,"first_name":"Ann","phone":"P","sms_marketing_consent":{"state":"subscribed"}}`, given, false},
		{"shopify", "customers/update", `{"id":#,"first_name":"Ann","phone":"P","sms_marketing_consent":{"state":"unsubscribed"}}`, withdrawn, false},
		{"shopify", "customers/update", `{"id":#,"first_name":"Ann","phone":"P","sms_marketing_consent":{"state":"not_subscribed"}}`, none, false},
		{"shopify", "customers_marketing_consent/update", `{"id":#,"phone":"P","sms_marketing_consent":{"state":"unsubscribed"}}`, withdrawn, true},
		{"shopify", "customers_marketing_consent/update", `{"id":#,"phone":"P","sms_marketing_consent":{"state":"redacted"}}`, withdrawn, true},
		{"generic", "", `{"event":"cart.abandoned","event_id":"e#","phone":"P","accepts_marketing":true}`, given, false},
		{"generic", "", `{"event":"cart.abandoned","event_id":"e#","phone":"P","accepts_marketing":false}`, none, false},
		{"generic", "", `{"event":"form.submitted","event_id":"e#","phone":"P","accepts_marketing":"off"}`, none, false},
		{"generic", "", `{"event":"contact.updated","event_id":"e#","phone":"P","accepts_marketing":false}`, withdrawn, false},
		{"generic", "", `{"event":"contact.updated","event_id":"e#","phone":"P","accepts_marketing":"perhaps"}`, none, false},
		{"klaviyo_flow", "", `{"event":"cart.abandoned","event_id":"e#","phone":"P","consent":"unsubscribed"}`, withdrawn, false},
		{"klaviyo_flow", "", `{"event":"cart.abandoned","event_id":"e#","phone":"P","consent":"subscribed"}`, given, false},
		{"klaviyo_flow", "", `{"event":"cart.abandoned","event_id":"e#","phone":"P"}`, none, false},
		{"gohighlevel", "", `{"type":"ContactCreate","webhookId":"w#","id":"c#","phone":"P","dnd":false}`, none, false},
		{"gohighlevel", "", `{"type":"ContactUpdate","webhookId":"w#","id":"c#","phone":"P","dnd":true}`, withdrawn, false},
		{"gohighlevel", "", `{"type":"ContactDndUpdate","webhookId":"w#","id":"c#","phone":"P","dnd":true}`, withdrawn, true},
		{"gohighlevel", "", `{"type":"ContactDndUpdate","webhookId":"w#","id":"c#","phone":"P","dnd":false,"dndSettings":{"WhatsApp":{"status":"active"}}}`, withdrawn, true},
		{"gohighlevel", "", `{"type":"ContactDndUpdate","webhookId":"w#","id":"c#","phone":"P","dnd":false,"dndSettings":{"SMS":{"status":"permanent"}}}`, withdrawn, true},
		{"gohighlevel", "", `{"type":"ContactDndUpdate","webhookId":"w#","id":"c#","phone":"P","dnd":false,"dndSettings":{"SMS":{"status":"inactive"}}}`, none, false},
	}
	config := strings.Builder{}
	config.WriteString(strings.Replace(optOutConfig, "language: en}", "language: en, consent: required}", 1))
	for _, preset := range []string{"shopify", "generic", "klaviyo_flow", "gohighlevel"} {
		proof := "  " + preset + ": {verify: {kind: token, from: header, field: X-Token, secret: \"${SHOP_SECRET}\"}}\n"
		config2 := strings.Replace(config.String(), "triggers:\n", proof+"triggers:\n", 1)
		config.Reset()
		config.WriteString(config2)
	}
	h := open(t, options{config: config.String()})
	befores := []messaging.Consent{none, given, withdrawn}
	for i, b := range bodies {
		for j, before := range befores {
			n := i*len(befores) + j
			if before != none {
				if _, err := server.RecordConsents.Call(t.Context(), h.ask, server.ConsentRequest{Rows: []server.ConsentRow{{Phone: phone(n), Consent: before, At: time.Now().Add(-time.Hour)}}}); err != nil {
					t.Fatal(err)
				}
			}
			body := strings.NewReplacer(`"P"`, `"`+phone(n)+`"`, "#", fmt.Sprint(1000+n)).Replace(b.body)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/hooks/"+b.preset, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = http.Header{"Content-Type": {"application/json"}, "X-Token": {shopSecret}, "X-Shopify-Topic": {b.topic}, "X-Shopify-Webhook-Id": {fmt.Sprint("w", n)}}
			h.mustTake(req)
			h.crm("deal.won", fmt.Sprint("d", n), phone(n), time.Now().UTC().Format(time.RFC3339))
		}
	}
	h.eventually("each offer has ended", func() bool {
		for _, m := range h.messages() {
			if m.State == messaging.StateWaiting || m.State == messaging.StateSending {
				return false
			}
		}
		return true
	})
	for i, b := range bodies {
		for j, before := range befores {
			n := i*len(befores) + j
			want := before
			if b.says != none {
				want = b.says
			}
			got, err := server.ShowContact.Call(t.Context(), h.ask, phone(n))
			if err != nil {
				t.Fatal(err)
			}
			is := none
			for _, c := range got.Consents {
				if c.Channel == messaging.ChannelPhone {
					is = c.Consent
				}
			}
			if is != want || (got.Block != nil) != b.blocks {
				t.Errorf("%s %s %s, %q before: %q (blocked %v), want %q (%v)", b.preset, b.topic, b.body, before, is, got.Block != nil, want, b.blocks)
			}
			if sent := h.service.Accepted(phone(n)[1:]); (sent == 1) != (want == given && !b.blocks) {
				t.Errorf("%s %s %s, %q before: %d offers", b.preset, b.topic, b.body, before, sent)
			}
		}
	}
}
