package app_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/server"
)

func (h *house) replay(in preview.ReplayEventsRequest) preview.ReplayedEvents {
	h.t.Helper()
	out, err := server.ReplayEvents.Call(h.t.Context(), h.ask, in)
	if err != nil {
		h.t.Fatalf("replay: %v", err)
	}
	return out
}

// reload puts the config in use.
func (h *house) takeUp(old, now string) {
	h.t.Helper()
	h.edit(old, now)
	if err := h.Reload(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}

func only(ids ...messaging.EventID) preview.ReplayEventsRequest {
	return preview.ReplayEventsRequest{Events: ids}
}

// A rule that was mended says what it should have said; whoever got a message gets no other, whatever the rule.
func TestAReplayQueuesNothingTwice(t *testing.T) {
	h := open(t, options{config: strings.Replace(plainConfig, "    send: {template: cart_reminder", "    cooldown: none\n    on_repeat: parallel\n    send: {template: cart_reminder", 1)})
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(1), "60.00"))) // event 1: planned
	h.mustTake(h.shopify("checkouts/update", "", cart("c2", phone(2), "40.00"))) // event 2: skipped, by a rule that is wrong
	h.takeUp("cart.total >= 50", "cart.total >= 30")
	dry := h.replay(preview.ReplayEventsRequest{Since: time.Now().Add(-time.Hour), Connector: "shopify", DryRun: true})
	if dry.Count != 2 || dry.Events[0].Would.Decisions[0].Outcome != messaging.Skipped || dry.Events[1].Would.Decisions[0].Outcome != messaging.Planned {
		t.Errorf("a dry run: %+v", dry)
	}
	if n := len(h.events()); n != 2 {
		t.Errorf("a dry run stored something: %d events", n)
	}
	done := h.replay(preview.ReplayEventsRequest{Since: time.Now().Add(-time.Hour), Connector: "shopify"})
	if done.Count != 2 || done.Events[0].Decisions[0].Outcome != messaging.Skipped || !strings.Contains(done.Events[0].Decisions[0].Reason, "none is queued twice") || done.Events[1].Decisions[0].Outcome != messaging.Planned {
		t.Errorf("a replay: %+v", done)
	}
	// Once, and again only by word; never a second message, whichever link of the chain is named.
	if more := h.replay(preview.ReplayEventsRequest{Since: time.Now().Add(-time.Hour), Connector: "shopify"}); more.Count != 0 || more.Events[1].Before != done.Events[1].As {
		t.Errorf("a second replay: %+v", more)
	}
	for range 2 {
		again := h.replay(preview.ReplayEventsRequest{Events: []messaging.EventID{1, 2}, Again: true})
		for _, e := range again.Events {
			if e.As == 0 || e.Decisions[0].Outcome != messaging.Skipped {
				t.Errorf("again: %+v", e)
			}
		}
	}
	if one := h.replay(only(done.Events[0].As)).Events[0]; !strings.Contains(one.Refused, "it is a replay of event 1") {
		t.Errorf("a replay of a replay: %+v", one)
	}
	// All at once: one of them is the first.
	h.mustTake(h.shopify("checkouts/update", "", cart("c3", phone(3), "20.00")))
	third := h.events()[0].ID
	h.takeUp("cart.total >= 30", "cart.total >= 10")
	var all sync.WaitGroup
	stored := make(chan messaging.EventID, 8)
	for range 8 {
		all.Go(func() {
			if out, err := server.ReplayEvents.Call(t.Context(), h.ask, only(third)); err != nil || len(out.Events) != 1 {
				t.Errorf("%v %+v", err, out)
			} else if as := out.Events[0].As; as != 0 {
				stored <- as
			}
		})
	}
	all.Wait()
	if len(stored) != 1 {
		t.Errorf("%d of 8 replays were stored", len(stored))
	}
	by := map[messaging.Phone]int{}
	for _, m := range h.messages() {
		by[m.Phone]++
	}
	if len(by) != 3 || by[messaging.Phone(strings.TrimPrefix(phone(1), "+"))] != 1 || by[messaging.Phone(strings.TrimPrefix(phone(2), "+"))] != 1 || by[messaging.Phone(strings.TrimPrefix(phone(3), "+"))] != 1 {
		t.Errorf("messages by phone: %v", by)
	}
	entries, err := server.ListAudit.Call(t.Context(), h.ask, server.AuditQuery{Limit: 5})
	if err != nil || entries[0].Action != "POST /replay" {
		t.Errorf("the audit: %v %+v", err, entries)
	}
}

// What was cancelled before it came, what a block or an age says, and a shadow.
func TestAReplayMeetsTheRulesOfNow(t *testing.T) {
	h := open(t, options{})
	h.mustTake(h.shopify("orders/create", "", order("c1", phone(1), "60.00")))
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(1), "60.00")))
	cancelled := h.events()[0]
	if cancelled.Decisions[0].Outcome != messaging.Cancelled {
		t.Fatalf("%+v", cancelled)
	}
	if one := h.replay(only(cancelled.ID)).Events[0]; one.Decisions[0].Outcome != messaging.Skipped || !strings.Contains(one.Decisions[0].Reason, "cancelled before it came") {
		t.Errorf("%+v", one)
	}
	h.mustTake(h.shopify("checkouts/update", "", cart("c2", phone(2), "40.00")))
	late := h.events()[0].ID
	h.takeUp("cart.total >= 50", "cart.total >= 30\n    mode: shadow")
	if one := h.replay(only(late)).Events[0]; one.Decisions[0].Outcome != messaging.Shadowed {
		t.Errorf("shadow: %+v", one)
	}
	h.takeUp("mode: shadow", "max_age: 1m")
	again := only(late)
	again.Again = true
	if one := h.replay(again).Events[0]; one.Decisions[0].Outcome != messaging.Planned {
		t.Errorf("fresh: %+v", one)
	}
}

// An opt-out that was taken back stays taken back, and whoever is blocked stays so.
func TestAReplayCarriesOutNoOptOut(t *testing.T) {
	config := strings.Replace(plainConfig, "connectors:\n", "connectors:\n  crm: {verify: {kind: none}, event: {type: type, id: id}, map: {phone: phone, message.text: text}}\n", 1)
	h := open(t, options{config: config})
	if _, err := server.PostEvents.Call(t.Context(), h.ask, server.PostedRequest{Connector: "crm", Body: []byte(`{"type": "contact.unsubscribed", "id": "1", "phone": "` + phone(1) + `"}`)}); err != nil {
		t.Fatal(err)
	}
	if blocks, err := server.ListBlocks.Call(t.Context(), h.ask, server.ListQuery{Limit: 10}); err != nil || len(blocks) != 1 {
		t.Fatalf("not blocked: %v %+v", err, blocks)
	}
	if _, err := server.AllowContact.Call(t.Context(), h.ask, phone(1)); err != nil {
		t.Fatal(err)
	}
	if one := h.replay(only(h.events()[0].ID)).Events[0]; one.As == 0 || len(one.Decisions) > 0 {
		t.Errorf("%+v", one)
	}
	if blocks, err := server.ListBlocks.Call(t.Context(), h.ask, server.ListQuery{Limit: 10}); err != nil || len(blocks) > 0 {
		t.Errorf("blocked again: %v %+v", err, blocks)
	}
}

// What is gone is not replayed, nor what was never a webhook.
func TestAReplayMeetsWhatIsGone(t *testing.T) {
	h := open(t, options{config: strings.Replace(plainConfig, "    category: utility\n", "    category: utility\n    keep_variables: false\n", 1)})
	h.mustTake(h.shopify("orders/create", "", order("c1", phone(1), "60.00")))
	h.mustTake(h.shopify("checkouts/update", "", cart("c2", phone(2), "60.00")))
	if _, err := server.ForgetContacts.Call(t.Context(), h.ask, server.ForgetRequest{Phones: []string{phone(2)}}); err != nil {
		t.Fatal(err)
	}
	m, err := server.SendMessage.Call(t.Context(), h.ask, server.SendRequest{Phone: phone(3), Send: messaging.Send{Template: "hello", Language: "en"}})
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		e, err := server.ShowEvent.Call(t.Context(), h.ask, 2)
		if err != nil || e.Event.Payload == "" || time.Now().After(deadline) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	for id, want := range map[messaging.EventID]string{1: "not kept any more", 2: "", m.EventID: "a person asked", 99: "no such event"} {
		for _, dry := range []bool{true, false} {
			in := only(id)
			in.DryRun = dry
			if one := h.replay(in).Events[0]; one.As != 0 || one.Would != nil || !strings.Contains(one.Refused, want) || one.Refused == "" {
				t.Errorf("event %d: %+v", id, one)
			}
		}
	}
	if _, err := server.TryWebhook.Call(t.Context(), h.ask, preview.TryRequest{Event: 1}); err == nil || !strings.Contains(err.Error(), "not kept any more") {
		t.Errorf("a try: %v", err)
	}
	for what, in := range map[string]preview.ReplayEventsRequest{"nothing": {}, "no time": {Connector: "shopify"}, "both": {Events: []messaging.EventID{1}, Connector: "shopify"}} {
		if _, err := server.ReplayEvents.Call(t.Context(), h.ask, in); err == nil {
			t.Errorf("%s is replayed", what)
		}
	}
}

func TestTheReplayButtonAsksFirst(t *testing.T) {
	h := open(t, options{config: withPages(plainConfig)})
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(1), "40.00")))
	h.takeUp("cart.total >= 50", "cart.total >= 30")
	b := h.browser()
	b.signIn(false)
	b.says(b.page("/events/1"), "Replay…")
	res := b.send(http.MethodPost, "/do/replay", url.Values{"id": {"1"}, "back": {"/events/1"}}, nil)
	b.says(res.body, "Decide about event 1 again?", "Reminder: planned")
	if n := len(h.events()); n != 1 {
		t.Fatalf("the question stored %d events", n)
	}
	res = b.send(http.MethodPost, "/do/replay", url.Values{"id": {"1"}, "back": {"/events/1"}, "sure": {"yes"}}, nil)
	b.says(res.body, "decided about again, as this event 2", "replay:1")
	res = b.send(http.MethodPost, "/do/replay", url.Values{"id": {"1"}, "back": {"/events/1"}, "sure": {"yes"}}, nil)
	b.says(res.body, "It was replayed before, as this event 2")
	viewer := h.browser()
	viewer.signIn(true)
	if page := viewer.page("/events/1"); strings.Contains(page, "Replay") {
		t.Error("a viewer is offered a replay")
	}
	if res := viewer.send(http.MethodPost, "/do/replay", url.Values{"id": {"1"}, "sure": {"yes"}}, nil); res.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer replays: %d", res.StatusCode)
	}
}
