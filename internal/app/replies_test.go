package app_test

import (
	"fmt"
	"html"
	"net/http"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

const repliesConfig = `
defaults: {country: GB, language: en}
connectors:
  shopify: {secret: "${SHOP_SECRET}"}
  replies: {verify: {kind: token, from: header, field: X-Token, secret: "${SHOP_SECRET}"}, event: {type: type, id: id}, map: {phone: phone, message.text: text}}
triggers:
  follow-up:
    on: shopify.cart.updated
    wait: 1h
    category: utility
    stop_on: 'replies.message.received if message.text matches "(?i)^no\\b"'
    send: {template: follow_up}
  prices:
    on: "*.message.received"
    if: message.text matches "(?i)^price"
    category: utility
    send: {template: price_list}
tracking: {poll: [1s]}
`

// writes posts a reply, and gives what the triggers decided of it.
func (h *house) writes(phone, text string) (decided map[string]messaging.Decision) {
	h.t.Helper()
	before := len(h.events())
	h.postAs("replies", "application/json", fmt.Sprintf(`{"type":"message.received","id":"r%d","phone":%q,"text":%q}`, before, phone, text), map[string]string{"X-Token": shopSecret})
	story, err := server.ShowEvent.Call(h.t.Context(), h.ask, messaging.EventID(before+1))
	if err != nil {
		h.t.Fatal(err)
	}
	decided = map[string]messaging.Decision{}
	for _, d := range story.Event.Decisions {
		decided[d.Trigger] = d
	}
	return decided
}

// A reply begins what asks for it and ends what its words mean, also after an edit and a restart: what waits is ended by the condition that it was
// planned with, and by the new one. Its words stand on the person's page, for those who may see phones, until the person is forgotten.
func TestARepliesWordsBeginAndEnd(t *testing.T) {
	t.Parallel()
	o := options{config: withPages(repliesConfig), folder: t.TempDir()}
	h := open(t, o)
	for n := 1; n <= 3; n++ {
		h.mustTake(h.shopify("checkouts/update", "", cart(fmt.Sprint("c", n), phone(n), "80.00")))
	}
	waits := func(want ...string) {
		t.Helper()
		var got []string
		for _, m := range h.messages() {
			if m.Trigger == "follow-up" && m.State == messaging.StateWaiting {
				got = append(got, "+"+string(m.Phone))
			}
		}
		if len(got) != len(want) {
			t.Errorf("it waits for %v, want %v", got, want)
		}
		for _, one := range want {
			if !strings.Contains(strings.Join(got, " "), one) {
				t.Errorf("it waits for %v, want %v", got, want)
			}
		}
	}
	asks := h.writes(phone(1), "Price, please. When will it come?")
	if d := asks["follow-up"]; d.Outcome != messaging.Skipped || len(d.Clauses) != 1 || !strings.Contains(d.Reason, "stops nothing") {
		t.Errorf("a question: %+v", d)
	}
	if d := asks["prices"]; d.Outcome != messaging.Planned {
		t.Errorf("a question for the price: %+v", d)
	}
	waits(phone(1), phone(2), phone(3))
	if d := h.writes(phone(1), "No, thanks")["follow-up"]; d.Outcome != messaging.Cancelling || len(d.Clauses) != 1 || !d.Clauses[0].Held {
		t.Errorf("a no: %+v", d)
	}
	waits(phone(2), phone(3))

	h.edit(`"(?i)^no\\b"`, `"(?i)^never"`)
	h.reloaded()
	h.stop()
	o.config = strings.ReplaceAll(o.config, `"(?i)^no\\b"`, `"(?i)^never"`)
	h = open(t, o)
	h.writes(phone(2), "Nothing")
	waits(phone(2), phone(3))
	h.writes(phone(2), "no") // it was planned when this ended it
	waits(phone(3))
	h.writes(phone(3), "Never mind")
	waits()

	stories, err := server.Why.Call(t.Context(), h.ask, server.ListQuery{Phone: phone(1), Limit: 10})
	var said []string
	for i := range stories {
		if text := stories[i].Event.Said; text != "" {
			said = append(said, text)
		}
	}
	if err != nil || strings.Join(said, " | ") != "Price, please. When will it come? | No, thanks" {
		t.Errorf("why tells %q, %v", said, err)
	}
	b, masked := h.browser(), h.browser()
	b.signIn(false)
	masked.signIn(true)
	path := "/people?phone=" + strings.ReplaceAll(phone(1), "+", "%2B")
	if page := html.UnescapeString(b.page(path)); !strings.Contains(page, "Last replies") || !strings.Contains(page, "No, thanks") {
		t.Errorf("the person's page has no replies: %s", page)
	}
	if _, page := masked.open(path); strings.Contains(page, "Last replies") {
		t.Error("who may not see phones is shown what the person wrote")
	}
	h.forget(phone(1))
	if status, page := b.open(path); status != http.StatusOK || strings.Contains(page, "No, thanks") {
		t.Errorf("forgotten: %d, and its words stand there", status)
	}
}
