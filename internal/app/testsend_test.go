package app_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
)

// mine is the number of the tests below, which is no customer's.
const mine = "447700900199"

// testConfig has rules that would keep a message from leaving: a wait, a condition, a limit, consent, a mode, steps.
const testConfig = `
defaults: {country: GB, language: en}
test_numbers: {me: "+` + mine + `", ann: "07700 900198"}
connectors:
  shopify: {secret: "${SHOP_SECRET}", defaults: {country: GB}}
  generic: {secret: "${SHOP_SECRET}"}
triggers:
  reminder:
    on: [shopify.cart.created, shopify.cart.updated]
    if: cart.total >= 5000
    wait: 1h
    cancel_on: shopify.order.created
    stop_on: shopify.order.created
    consent: required
    limit: 1 per day
    quiet_hours: 00:00-23:59
    send: {template: cart_reminder, variables: ['{{ customer.first_name | default: "there" }}', '{{ cart.items[0].title }}']}
  quiet:
    on: shopify.cart.updated
    mode: off
    send: {template: quiet}
  course:
    on: shopify.order.created
    mode: shadow
    steps:
      - send: {template: thanks}
      - {wait: 3d, send: {template: review_please, variables: ['{{ order.name }}']}}
  bare:
    on: shopify.cart.updated
    send: {template: bare, variables: ['{{ cart.expires_at }}']}
  both:
    on: [shopify.cart.updated, generic.cart.updated]
    mode: shadow
    send: {template: both}
tracking: {poll: [1s]}
`

func (h *house) sendTest(in preview.TestSendRequest) (preview.TestSendView, error) {
	return server.SendTest.Call(h.t.Context(), h.ask, in)
}

func (h *house) mustSendTest(in preview.TestSendRequest) preview.TestSendView {
	h.t.Helper()
	v, err := h.sendTest(in)
	if err != nil {
		h.t.Fatalf("send a test: %v", err)
	}
	return v
}

// arrived waits until a message was delivered, and is it.
func (h *house) arrived(id messaging.MessageID) (m server.MessageView) {
	h.t.Helper()
	h.eventually("the test arrives", func() bool {
		for _, m = range h.messages() {
			if m.ID == id && m.Status == messaging.StatusDelivered {
				return true
			}
		}
		return false
	})
	return m
}

func TestATestIsSentWhateverItsRuleSays(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: testConfig, calls: ", price: {marketing: {default: 1, GB: 0.8}}"})
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(1), "80.00")))
	h.eventually("the event is there", func() bool { return len(h.events()) == 1 })
	event := h.events()[0].ID

	dry := h.mustSendTest(preview.TestSendRequest{Trigger: "reminder", To: "me", Event: event, DryRun: true})
	if dry.Message != 0 || len(h.messages()) != 0 || len(h.events()) != 1 {
		t.Errorf("a dry run stored something: %+v", dry)
	}
	v := h.mustSendTest(preview.TestSendRequest{Trigger: "reminder", To: "me", Event: event})
	if v.Phone != mine || v.Test != "me" || v.Points != 0.8 || v.Event != "shopify.cart.updated" || strings.Join(v.Send.Variables, "|") != "Ada|Walking boots" {
		t.Errorf("it is %+v", v)
	}
	if d := v.Decision; d == nil || d.Outcome != messaging.Skipped || !strings.Contains(d.Reason, "cart.total >= 5000 does not hold") {
		t.Errorf("for the real contact: %+v", d)
	}
	m := h.arrived(v.Message)
	if m.Phone != mine || m.Trigger != "reminder" || m.Test != "me" || len(m.Send.Variables) != 0 || m.Step != 0 {
		t.Errorf("the message is %+v", m)
	}
	if n := h.service.Accepted(mine); n != 1 {
		t.Errorf("the service took %d messages to the number", n)
	}
	if n := h.service.Accepted(phone(1)[1:]); n != 0 {
		t.Errorf("the service took %d messages to the customer", n)
	}
	for name, in := range map[string]preview.TestSendRequest{
		"of a trigger that is off":          {Trigger: "quiet", To: "me"},
		"of the first step, in mode shadow": {Trigger: "course", To: "ann"},
		"of a second step, in mode shadow":  {Trigger: "course", To: "ann", Step: 2},
		"of a webhook":                      {Trigger: "both", To: "me", Connector: "shopify", Topic: "checkouts/update", Payload: preview.TryBody(`{"token":"c9","phone":"` + phone(3) + `","total_price":"9.00"}`)},
		"twice in a row, by a sample":       {Trigger: "reminder", To: "me"},
	} {
		v := h.mustSendTest(in)
		h.arrived(v.Message)
		if in.Step == 2 && (v.Of != 2 || len(v.Send.Variables) != 1) {
			t.Errorf("%s: %+v", name, v)
		}
	}
	got, err := server.ShowReport.Call(t.Context(), h.ask, report.Query{Group: "trigger"})
	if err != nil {
		t.Fatal(err)
	}
	if s := got.Total; s.Queued+s.Accepted+s.Delivered != 0 || s.Tests != 6 || s.TestPoints != 4.8 || s.Events != 1 {
		t.Errorf("the report has %+v", s)
	}
	if got := h.toldOf(mine); !strings.Contains(got, "test") {
		t.Errorf("why says %s", got)
	}
}

func (h *house) toldOf(phone string) string {
	h.t.Helper()
	stories, err := server.Why.Call(h.t.Context(), h.ask, server.ListQuery{Phone: phone})
	if err != nil {
		h.t.Fatal(err)
	}
	var out strings.Builder
	for _, s := range stories {
		out.WriteString(s.Event.Topic + "; ")
		for _, d := range s.Event.Decisions {
			out.WriteString(d.Reason + "; ")
		}
	}
	return out.String()
}

func TestATestIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: testConfig})
	h.mustTake(h.shopify("orders/create", "", order("c1", phone(1), "80.00")))
	h.eventually("the event is there", func() bool { return len(h.events()) == 1 })
	event := h.events()[0].ID
	for _, c := range []struct {
		in          preview.TestSendRequest
		status      int
		field, says string
	}{
		{preview.TestSendRequest{Trigger: "reminder", To: "+" + mine}, 400, "to", "and a test goes to nobody else"},
		{preview.TestSendRequest{Trigger: "reminder", To: "mee"}, 400, "to", `there is no "mee" under test_numbers`},
		{preview.TestSendRequest{Trigger: "remind", To: "me"}, 404, "trigger", `the config has no trigger "remind"`},
		{preview.TestSendRequest{Trigger: "reminder", To: "me", Step: 1}, 400, "step", "reminder has no steps"},
		{preview.TestSendRequest{Trigger: "course", To: "me", Step: 3}, 400, "step", "course has the steps 1 to 2"},
		{preview.TestSendRequest{Trigger: "course", To: "me", Step: -1}, 400, "step", "a step is 1 or more"},
		{preview.TestSendRequest{Trigger: "reminder", To: "me", Event: event}, 400, "event", "reminder does not listen to shopify.order.created; it listens to shopify.cart.created, shopify.cart.updated"},
		{preview.TestSendRequest{Trigger: "reminder", To: "me", Event: 99}, 404, "event", "there is no event 99"},
		{preview.TestSendRequest{Trigger: "reminder", To: "me", Event: event, Sample: "order"}, 400, "event", "a stored event has its connector, payload and headers already"},
		{preview.TestSendRequest{Trigger: "reminder", To: "me", Payload: "[1"}, 400, "payload", "shopify would answer 400"},
		{preview.TestSendRequest{Trigger: "both", To: "me", Payload: "{}"}, 400, "connector", "both listens to several connectors"},
		{preview.TestSendRequest{Trigger: "both", To: "me", Payload: "{}", Connector: "shoppify"}, 404, "connector", "there is no connector of that name"},
		{preview.TestSendRequest{Trigger: "reminder", To: "me", Sample: "nosuch"}, 404, "sample", "has no sample of that name"},
		{preview.TestSendRequest{Trigger: "bare", To: "me"}, 409, "", "the message of bare cannot be filled in from this event: variable 1"},
		{preview.TestSendRequest{Trigger: "bare", To: "me", IdempotencyKey: []string{"a", "b"}}, 409, "", "variable 1"},
	} {
		_, err := h.sendTest(c.in)
		no, is := errors.AsType[*refusal.Error](err)
		if !is || no.Status != c.status || no.Field != c.field || !strings.Contains(no.Words, c.says) {
			t.Errorf("%+v: %#v", c.in, err)
		}
	}
	h.edit(`test_numbers: {me: "+`+mine+`", ann: "07700 900198"}`, "")
	h.reload()
	if _, err := h.sendTest(preview.TestSendRequest{Trigger: "reminder", To: "me"}); err == nil || err.Error() != "the config names no number that a test may go to" {
		t.Errorf("without numbers: %v", err)
	}
	if n := len(h.messages()); n != 0 {
		t.Errorf("%d messages were stored", n)
	}
}

// What a halt or a block keeps back is refused at once: nothing waits to leave when it ends.
func TestATestIsRefusedWhileItWouldBeHeld(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: testConfig})
	ask := func() string {
		_, err := h.sendTest(preview.TestSendRequest{Trigger: "reminder", To: "me"})
		if err == nil {
			return "sent"
		}
		return err.Error()
	}
	for _, scope := range []server.HaltRequest{{Scope: messaging.ScopeAll}, {Scope: messaging.ScopeTrigger, Name: "reminder"}, {Scope: messaging.ScopeTemplate, Name: "cart_reminder"}} {
		scope.Reason = "the shop is closed"
		if _, err := server.Halt.Call(t.Context(), h.ask, scope); err != nil {
			t.Fatal(err)
		}
		if got := ask(); !strings.HasPrefix(got, "nothing is sent now: ") || !strings.HasSuffix(got, "is halted") {
			t.Errorf("%s: %s", scope.Scope, got)
		}
		if _, err := server.Resume.Call(t.Context(), h.ask, scope); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := server.BlockContacts.Call(t.Context(), h.ask, server.BlockRequest{Phones: []string{"+" + mine}}); err != nil {
		t.Fatal(err)
	}
	if got := ask(); got != "the number me is blocked: nothing but codes is sent to it" {
		t.Errorf("blocked: %s", got)
	}
	if _, err := server.AllowContact.Call(t.Context(), h.ask, mine); err != nil {
		t.Fatal(err)
	}
	h.forget("+" + mine)
	if got := ask(); got != "the number me is blocked: nothing but codes is sent to it" {
		t.Errorf("forgotten: %s", got)
	}
	if n := len(h.messages()); n != 0 {
		t.Errorf("%d messages wait", n)
	}
}

// One that the service is too busy for waits, and not for long; an edit that turns its trigger off, renames it or takes it out changes nothing.
func TestAReloadLeavesATestAsItIs(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: testConfig})
	f := h.service.Faults()
	f.ErrorRate, f.Status, f.Endpoints = 1, http.StatusTooManyRequests, []string{"send-template"}
	h.service.SetFaults(f)
	v := h.mustSendTest(preview.TestSendRequest{Trigger: "reminder", To: "me"})
	h.eventually("it waits again", func() bool {
		m := h.messages()[0]
		return m.State == messaging.StateWaiting && m.Attempt > 0
	})
	m := h.messages()[0]
	if until := m.ExpiresAt.Sub(m.CreatedAt); until != 10*time.Minute {
		t.Errorf("it may wait for %s", until)
	}
	h.edit("    wait: 1h\n", "    wait: 2h\n    mode: off\n    on_change: cancel\n")
	h.reload()
	if m := h.messages()[0]; m.State == messaging.StateCancelled || m.ID != v.Message {
		t.Errorf("the edit made it %s: %s", m.State, m.Reason)
	}
	f.ErrorRate = 0
	h.service.SetFaults(f)
	h.arrived(v.Message)
}

func TestATestIsSentOnceForEachKey(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: withPages(testConfig)})
	token, err := server.CreateToken.Call(t.Context(), h.ask, signin.TokenRequest{Name: "crm", Scopes: []access.Scope{access.Sending}})
	if err != nil {
		t.Fatal(err)
	}
	post := func(ctx context.Context, key, body string) (int, string) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+h.ConsoleAddr().String()+server.Base+"/test-sends", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token.Token)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", key)
		return h.do(req)
	}
	const one = `{"trigger":"reminder","to":"me"}`
	for i, c := range []struct {
		key, body string
		status    int
		says      string
	}{
		{"k1", one, 200, `"message":1`},
		{"k1", one, 200, `"before":true`},
		{"k1", `{"trigger":"reminder","to":"ann"}`, 409, "another message was asked for with this key"},
		{"k2", one, 200, `"message":2`},
		{"k3", `{"trigger":"reminder","to":"me","event":1}`, 403, "needs the scope phones"},
	} {
		if status, body := post(t.Context(), c.key, c.body); status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%d: answered %d %s", i, status, body)
		}
	}
	h.arrived(2)
	h.arrived(1)
	if n := h.service.Accepted(mine); n != 2 {
		t.Errorf("the service took %d messages", n)
	}
}

// An answer that is lost leaves a test in doubt, also after a stop in the middle of its call, and nothing sends it again.
func TestATestInDoubtIsNotSentAgain(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: testConfig})
	f := h.service.Faults()
	f.CutAfter = 1
	h.service.SetFaults(f)
	v := h.mustSendTest(preview.TestSendRequest{Trigger: "reminder", To: "me"})
	h.eventually("it is in doubt", func() bool { return h.messages()[0].State == messaging.StateInDoubt })
	f.CutAfter = 0
	h.service.SetFaults(f)
	if _, err := server.ResolveMessage.Call(t.Context(), h.ask, server.ResolveRequest{ID: v.Message, As: messaging.ResolveResend}); err == nil {
		t.Error("it is sent again")
	}
	again := h.mustSendTest(preview.TestSendRequest{Trigger: "reminder", To: "me"})
	h.arrived(again.Message)
	if n := h.service.Accepted(mine); n != 2 {
		t.Errorf("the service took %d messages", n)
	}
}

func TestATestIsSentFromThePageOfItsTrigger(t *testing.T) {
	h := open(t, options{config: withPages(testConfig)})
	b := h.browser()
	b.signIn(false)
	sent := b.press("/triggers/reminder", "send-test", "to", "me")
	b.isTold(sent, "A test goes to me as this message, filled in with ")
	b.isTold(sent, "For the real contact it would be skipped")
	b.isTold(b.press("/triggers/course", "send-test", "to", "ann", "step", "2"), "A test goes to ann")
	b.isTold(b.press("/triggers/course", "send-test", "to", "ann", "step", "x"), "is no step")
	b.isTold(b.press("/triggers/course", "send-test", "to", "ann", "event", "x"), "is no number of an event")
	if n := len(h.messages()); n != 2 {
		t.Errorf("%d messages", n)
	}
	for _, path := range []string{"/messages", "/messages/1"} {
		if page := b.page(path); !strings.Contains(strings.ToLower(page), "a test") {
			t.Errorf("%s does not mark it", path)
		}
	}
}
