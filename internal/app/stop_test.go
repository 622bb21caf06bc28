package app_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

const stopConfig = `
defaults: {country: GB, language: en}
connectors:
  shopify: {secret: "${SHOP_SECRET}"}
  klaviyo: {secret: "${SHOP_SECRET}"}
  mailchimp: {secret: "${SHOP_SECRET}"}
  replies: {verify: {kind: token, from: header, field: X-Token, secret: "${SHOP_SECRET}"}, event: {type: type, id: id, time: at}, map: {phone: phone, message.text: text}}
triggers:
  offer: {on: shopify.cart.updated, send: {template: offer}}
tracking: {poll: [1s]}
`

func (h *house) postAs(path, content, body string, header map[string]string) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url+"/hooks/"+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Content-Type", content)
	for name, value := range header {
		req.Header.Set(name, value)
	}
	h.mustTake(req)
}

// Whoever says stop, by the shop, by a list or by a reply, gets no marketing from then on, with the reason; who says
// start gets it again. Each posts in the shape of its sender.
func TestWhoSaysStopGetsNoMarketing(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: stopConfig})
	at := func(ago time.Duration) time.Time { return time.Now().UTC().Add(-ago) }
	reply := func(phone, text string, when time.Time) {
		h.postAs("replies", "application/json", fmt.Sprintf(`{"type":"message.received","id":%q,"phone":%q,"text":%q,"at":%q}`, phone+text, phone, text, when.Format(time.RFC3339Nano)),
			map[string]string{"X-Token": shopSecret})
	}
	stops := []func(phone string){
		func(phone string) {
			h.mustTake(h.shopify("customers_marketing_consent/update", "", map[string]any{
				"id": 7, "phone": phone, "sms_marketing_consent": map[string]any{
					"state": "unsubscribed", "opt_in_level": "single_opt_in", "consent_updated_at": at(time.Minute).Format(time.RFC3339), "consent_collected_from": "OTHER",
				},
			}))
		},
		func(phone string) {
			now := time.Now().UTC().Format(time.RFC3339)
			body := fmt.Sprintf(`{"data":[{"external_id":"k1","topic":"event:klaviyo.unsubscribed_from_sms_marketing","payload":{"data":{"type":"event","id":"k1","attributes":{"timestamp":%d,`+
				`"event_properties":{"phone_number":%q},"datetime":%q}}}}],"meta":{"klaviyo_webhook_id":"w1","timestamp":%q}}`, at(time.Minute).Unix(), phone, at(time.Minute).Format(time.RFC3339), now)
			mac := hmac.New(sha256.New, []byte(shopSecret))
			mac.Write(bytes.Join([][]byte{[]byte(body), []byte(now)}, nil))
			h.postAs("klaviyo", "application/json", body, map[string]string{"Klaviyo-Timestamp": now, "Klaviyo-Signature": hex.EncodeToString(mac.Sum(nil))})
		},
		func(phone string) {
			form := url.Values{
				"type": {"unsubscribe"}, "fired_at": {at(time.Minute).Format(time.DateTime)}, "data[id]": {"m1"}, "data[list_id]": {"l1"},
				"data[email]": {"tove@example.com"}, "data[merges][PHONE]": {phone},
			}
			h.postAs("mailchimp?token="+shopSecret, "application/x-www-form-urlencoded", form.Encode(), nil)
		},
		func(phone string) { reply(phone, "Stop.", at(time.Minute)) },
	}
	for i, stop := range stops {
		stop(phone(i))
		h.mustTake(h.shopify("checkouts/update", "", cart(fmt.Sprintf("c%d", i), phone(i), "60.00")))
	}
	h.eventually("no offer leaves", func() bool {
		all := h.states()
		return len(all) == len(stops) && !strings.Contains(fmt.Sprint(all), string(messaging.StateWaiting)) && !strings.Contains(fmt.Sprint(all), string(messaging.StateSending))
	})
	for _, m := range h.messages() {
		if m.State != messaging.StateDropped || !strings.HasPrefix(m.Reason, "the contact is blocked: ") {
			t.Errorf("message %d is %s: %q", m.ID, m.State, m.Reason)
		}
	}
	for i := range stops {
		reply(phone(i), "START", at(0))
		h.mustTake(h.shopify("checkouts/update", "", cart(fmt.Sprintf("again%d", i), phone(i), "60.00")))
	}
	for i := range stops {
		h.eventually("who said start gets the offer", func() bool { return h.service.Accepted(phone(i)[1:]) == 1 })
	}
}
