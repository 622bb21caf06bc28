package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/server"
)

const optOutConfig = `
defaults: {country: GB, language: en}
connectors:
  crm: {verify: {kind: token, from: header, field: X-Token, secret: "${SHOP_SECRET}"}, event: {type: type, id: id, time: at}, map: {phone: phone}}
triggers:
  offer: {on: crm.deal.won, key: raw.id, send: {template: offer}}
  receipt: {on: crm.order.paid, key: raw.id, category: utility, send: {template: receipt}}
tracking: {poll: [1s]}
`

// crm posts an event of a connector of one's own.
func (h *house) crm(kind, id, phone, at string) {
	h.t.Helper()
	h.fromCRM(fmt.Sprintf(`{"type":%q,"id":%q,"phone":%q,"at":%q}`, kind, id, phone, at))
}

func (h *house) fromCRM(body string) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url+"/hooks/crm", strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Token", shopSecret)
	h.mustTake(req)
}

func TestAnOptOutThatACRMPostsBlocksAndALaterOptInAllows(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: optOutConfig})
	const early, late = "2026-03-02T12:00:00Z", "2026-03-02T13:00:00Z"
	h.crm("contact.unsubscribed", "u1", phone(0), early)
	h.crm("deal.won", "d1", phone(0), early)
	var m server.MessageView
	h.eventually("the offer ends", func() bool { m = h.messages()[0]; return m.State.Final() })
	if m.State != messaging.StateDropped || m.Reason != "the contact is blocked: opted out (event 1)" {
		t.Errorf("the offer: %s, %q", m.State, m.Reason)
	}
	blocks, err := server.ListBlocks.Call(t.Context(), h.ask, server.ListQuery{})
	if err != nil || len(blocks) != 1 || blocks[0].Event != 1 || blocks[0].Source != "crm.contact.unsubscribed" {
		t.Errorf("blocked: %+v, %v", blocks, err)
	}
	stories, err := server.Why.Call(t.Context(), h.ask, server.ListQuery{Phone: phone(0), Limit: 10})
	if err != nil || len(stories) != 3 {
		t.Fatalf("why: %+v, %v", stories, err)
	}
	if b := stories[2].Block; b == nil || b.Event != 1 || b.Source != "crm.contact.unsubscribed" {
		t.Errorf("why ends with %+v", stories[2])
	}
	if d := stories[0].Event.Decisions; len(d) != 1 || d[0].Outcome != messaging.Blocked || d[0].Reason != "the contact is blocked: it gets nothing but codes" {
		t.Errorf("why says %+v", d)
	}
	if _, err := server.BlockContacts.Call(t.Context(), h.ask, server.BlockRequest{Phones: []string{phone(9)}, Reason: "rude"}); err != nil {
		t.Fatal(err)
	}
	if stories, err := server.Why.Call(t.Context(), h.ask, server.ListQuery{Phone: phone(9), Limit: 10}); err != nil || len(stories) != 1 || stories[0].Block == nil || stories[0].Block.Reason != "rude" {
		t.Errorf("why of one who is blocked and nothing else: %+v, %v", stories, err)
	}
	h.crm("contact.subscribed", "s1", phone(0), late)
	h.crm("contact.unsubscribed", "u2", phone(0), early) // it was on its way for long
	h.crm("deal.won", "d2", phone(0), late)
	h.eventually("an offer leaves", func() bool { return h.service.Accepted(phone(0)[1:]) == 1 })

	h.edit("map: {phone: phone}}", "map: {phone: phone}, opt_out: off}")
	h.reload()
	h.crm("contact.unsubscribed", "u3", phone(1), late)
	h.crm("deal.won", "d3", phone(1), late)
	h.eventually("an opt-out that is ignored stops nothing", func() bool { return h.service.Accepted(phone(1)[1:]) == 1 })
}

// A sender's clock may be a year fast. What it says then counts as of its arrival, so that the contact's next word is the later one.
func TestAFastClockMakesNoWordOfAContactTheLast(t *testing.T) {
	t.Parallel()
	const far = "2126-03-02T12:00:00Z"
	h := open(t, options{config: optOutConfig})
	for i, first := range []string{"contact.subscribed", "contact.unsubscribed"} {
		second := []string{"contact.unsubscribed", "contact.subscribed"}[i]
		h.crm(first, fmt.Sprint("f", i), phone(i), far)
		h.crm(second, fmt.Sprint("s", i), phone(i), time.Now().Format(time.RFC3339Nano))
		v, err := server.ShowContact.Call(t.Context(), h.ask, phone(i))
		if err != nil || (v.Block != nil) != (second == "contact.unsubscribed") {
			t.Errorf("after %s, then %s: %+v, %v", first, second, v, err)
		}
	}
}

// What Klaviyo calls the text of a reply is published nowhere: a reply stops nothing by its text until the config names the property as the
// connector's page says. The event of leaving stops in any case.
func TestAReplyAtKlaviyoStopsOnceItsTextIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		more, topic string
		blocked     bool
	}{
		"a reply without a name":   {"", "sent_sms", false},
		"a reply whose text has":   {`, map: {message.text: 'payload.data.attributes.event_properties."Some Name"'}`, "sent_sms", true},
		"who leaves":               {"", "unsubscribed_from_sms_marketing", true},
		"what reached the contact": {`, map: {message.text: 'payload.data.attributes.event_properties."Some Name"'}`, "received_sms", false},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, options{config: "defaults: {country: GB, language: en}\nconnectors:\n  klaviyo: {secret: \"${SHOP_SECRET}\"" + c.more + "}\n"})
			sender, problems := connectors.Compile("klaviyo", connectors.Config{Secret: secret.New(shopSecret)}, connectors.Options{})
			if sender == nil {
				t.Fatal(problems)
			}
			now := time.Now()
			body := `{"data":[{"external_id":"e1","topic":"event:klaviyo.` + c.topic + `","payload":{"data":{"attributes":{"event_properties":{"phone_number":"` + phone(1) +
				`","Some Name":"Stop"}},"relationships":{"profile":{"data":{"id":"01P"}}}}}}],"meta":{"timestamp":"` + now.UTC().Format(time.RFC3339) + `"}}`
			signed, err := sender.Sign(connectors.Request{Method: http.MethodPost, Path: "/hooks/klaviyo", Header: http.Header{"Content-Type": {"application/json"}, "Klaviyo-Timestamp": {"x"}}, Body: []byte(body), Now: now})
			if err != nil {
				t.Fatal(err)
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/hooks/klaviyo", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = signed.Header
			h.mustTake(req)
			if v, err := server.ShowContact.Call(t.Context(), h.ask, phone(1)); err != nil || (v.Block != nil) != c.blocked {
				t.Errorf("%+v, %v; want blocked: %v", v, err, c.blocked)
			}
		})
	}
}
