package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

const unusedConfig = `
defaults: {country: GB, language: en}
connectors:
  generic: {secret: "${SHOP_SECRET}"}
  shopify: {secret: "${SHOP_SECRET}"}
  chat: {verify: {kind: token, from: bearer, secret: "${SHOP_SECRET}"}, items: "messages[*]", event: {kind: message.received, id: id}, map: {phone: from, message.text: text}}
triggers:
  thanks: {on: generic.order.created, cancel_on: generic.order.cancelled, category: utility, mode: shadow, send: {template: x}}
`

// hook posts a body to a connector that takes a bearer token, and gives the answer.
func (h *house) hook(name, body string, headers ...string) (int, string) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url+"/hooks/"+name, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+shopSecret)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return h.do(req)
}

// told are the troubles of events that came to nothing, by code and subject.
func (h *house) told() (out []string) {
	h.t.Helper()
	for _, t := range h.status().Troubles {
		switch t.Code {
		case messaging.TroubleOptOutMissed, messaging.TroubleUnknownKind, messaging.TroubleNoPhone, messaging.TroubleUnknownTopic, messaging.TroubleRepeatedID, messaging.TroubleNoEvent:
			out = append(out, fmt.Sprintf("%s %s %s %v", t.Severity, t.Code, t.Subject, t.Amount))
			if !strings.Contains(t.Words, "since ") || !strings.Contains(t.Hint, "nudgewire events ") || t.Since.IsZero() {
				h.t.Errorf("%s says %q, hint %q", t.Code, t.Words, t.Hint)
			}
		}
	}
	return out
}

func (h *house) mustTell(when string, want ...string) {
	h.t.Helper()
	if got := h.told(); !slices.Equal(got, want) {
		h.t.Errorf("%s: told %q, want %q", when, got, want)
	}
}

// What is answered 2xx and comes to nothing is told: at the first opt-out, else from the tenth on, across a restart and a reload, until it
// goes well or a person says so.
func TestWhatComesToNothingIsTold(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: unusedConfig})
	order := func(n int, more string) string {
		return fmt.Sprintf(`{"event":"order.created","event_id":"o%d"%s}`, n, more)
	}
	post := func(name, body string) {
		t.Helper()
		if status, answer := h.hook(name, body); status != http.StatusOK {
			t.Fatalf("%s to %s: %d %s", body, name, status, answer)
		}
	}
	h.mustTell("at first")
	for i := range 9 {
		post("generic", order(i, ""))
		post("generic", fmt.Sprintf(`{"event_id":"u%d","phone":"+447700900123"}`, i))
		post("generic", fmt.Sprintf(`{"event":"order.cancelled","event_id":"c%d","order_id":"1"}`, i))
	}
	h.mustTell("nine of a sort")
	post("generic", order(10, `,"phone":"call me"`))
	post("generic", `{"event_id":"u9","phone":"+447700900123"}`)
	post("chat", `{"messages":[{"id":"m1","from":"somebody","text":"STOP"}]}`)
	post("chat", `{"messages":[{"id":"m2","from":"somebody","text":"hello"}]}`)
	all := []string{"bad opt_out_missed chat.message.received 1", "bad unknown_kind generic 10", "bad no_phone generic.order.created 10"}
	h.mustTell("ten", all...)

	h.stop()
	h = open(t, options{config: unusedConfig, folder: h.folder})
	h.mustTell("after a restart", all...)
	if _, err := server.Reload.Call(t.Context(), h.ask, server.ReloadRequest{}); err != nil {
		t.Fatal(err)
	}
	h.mustTell("after a reload", all...)

	post("generic", order(11, `,"phone":"+447700900123"`))
	h.mustTell("one with a phone", all[0], all[1])
	ended, err := server.EndUnused.Call(t.Context(), h.ask, server.UnusedRequest{Connector: "generic"})
	if err != nil || len(ended) != 1 {
		t.Errorf("EndUnused = %+v, %v", ended, err)
	}
	h.mustTell("a person's word on one connector", all[0])
	if _, err = server.EndUnused.Call(t.Context(), h.ask, server.UnusedRequest{Connector: ""}); err != nil {
		t.Error(err)
	}
	h.mustTell("a person's word on all")
	if _, err = server.EndUnused.Call(t.Context(), h.ask, server.UnusedRequest{Connector: ""}); err == nil || !strings.Contains(err.Error(), "nothing of any connector came to nothing") {
		t.Errorf("a word on nothing: %v", err)
	}
	audit, err := server.ListAudit.Call(t.Context(), h.ask, server.AuditQuery{Limit: 10})
	if err != nil || !slices.ContainsFunc(audit, func(v server.AuditView) bool { return strings.Contains(v.Action, "unused") }) {
		t.Errorf("the audit: %+v, %v", audit, err)
	}
}

// An id that comes again with other content is told, and a delivery that is repeated is not.
func TestAnIdThatSaysSomethingElseIsTold(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: unusedConfig})
	for i := range 12 {
		for range 2 {
			h.hook("generic", fmt.Sprintf(`{"event":"order.created","event_id":"o%d","phone":"+447700900123","total":"5.00","tags":["a"],"name":"Jo Lee","order_id":"7","currency":"GBP"}`, i))
		}
	}
	h.mustTell("deliveries that are repeated")
	for i := range 10 {
		h.hook("generic", fmt.Sprintf(`{"event":"order.created","event_id":"o%d","phone":"+447700900123","total":"6.00","tags":["a"],"name":"Jo Lee","order_id":"7","currency":"GBP"}`, i))
	}
	h.mustTell("other content", "bad repeated_id generic.order.created 10")
}

// A topic that a preset does not know is told until the config knows it; requests without an event are until one comes.
func TestTopicsAndRequestsThatComeToNothing(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: unusedConfig})
	for i := range 10 {
		h.mustTake(h.shopify("app/made_up", fmt.Sprint("w", i), map[string]any{"id": i}))
	}
	const topic = "bad unknown_topic shopify.app.made.up 10"
	h.mustTell("ten of a topic", topic)
	for range 10 {
		if status, answer := h.hook("chat", `{"statuses":[]}`); status != http.StatusOK || !strings.HasPrefix(answer, `{"events":[]`) {
			t.Fatalf("a request without an event: %d %s", status, answer)
		}
	}
	h.mustTell("ten requests without an event", topic, "note no_event chat 10")
	h.hook("chat", `{"messages":[{"id":"m1","from":"+447700900123","text":"hello"}]}`)
	h.mustTell("one with an event", topic)
	status, answer := h.hook("chat", `{"messages":[{"id":"m2","from":"+447700900123","text":"hello"}]}`+"\n"+`{"statuses":[]}`+"\n"+`{"messages":[{"id":"m3","from":"+447700900124","text":"hello"}]}`)
	if status != http.StatusOK || strings.Count(answer, ",") != 2 {
		t.Errorf("three bodies, one a line: %d %s", status, answer)
	}
	if got := rejectedRequests(t, h); !slices.ContainsFunc(got, func(r messaging.RejectedRequest) bool {
		return r.Reason == "taken, but there is no event in 1 of the bodies in it"
	}) {
		t.Errorf("rejected: %+v", got)
	}
	if status, answer := h.hook("chat", `{"id":"m4","from":"+447700900125","text":"hello"}`); status != http.StatusBadRequest {
		t.Errorf("an event outside of messages: %d %s", status, answer)
	}
	h.takeUp(`shopify: {secret: "${SHOP_SECRET}"}`, `shopify: {secret: "${SHOP_SECRET}", kinds: [app.made.up]}`)
	h.mustTell("the config knows it now")
}

// Events that are posted to the API as curl does it, with the type of a form, are understood.
func TestJSONUnderTheTypeOfAFormByTheAPI(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: unusedConfig})
	for name, typ := range map[string]string{"curl": "application/x-www-form-urlencoded", "text": "text/plain", "no name": ""} {
		got, err := server.PostEvents.Call(t.Context(), h.ask, server.PostedRequest{Connector: "generic", Body: json.RawMessage(fmt.Sprintf(`{"event":"order.created","event_id":%q,"phone":"+447700900123"}`, name))})
		if err != nil || len(got.Events) != 1 || len(got.Events[0].Decisions) != 1 {
			t.Errorf("%s by the API: %+v, %v", name, got, err)
		}
		if status, answer := h.hook("generic", fmt.Sprintf(`[{"event":"order.created","event_id":%q,"phone":"+447700900123"}]`, name+" by the door"), "Content-Type", typ); status != http.StatusOK {
			t.Errorf("%s by the door: %d %s", name, status, answer)
		}
	}
	for _, e := range h.events() {
		if e.Event != "generic.order.created" || e.Phone == "" {
			t.Errorf("%+v", e)
		}
	}
}
