package app_test

import (
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
)

const threeSteps = `
defaults: {country: GB, language: en}
connectors:
  shopify: {secret: "${SHOP_SECRET}", defaults: {country: GB}}
triggers:
  reminder:
    on: [shopify.cart.created, shopify.cart.updated]
    if: cart.total >= 50
    cancel_on: shopify.order.created
    steps:
      - wait: 0s
        send: {template: one, variables: ['{{ cart.total }}']}
      - wait: 2s
        if: previous.status != "failed"
        send: {template: two, variables: ['{{ cart.total }}']}
      - wait: 1h
        if: [cart.total < 100, previous.status != "dropped"]
        send: {template: three, variables: ['{{ cart.total }}']}
tracking: {poll: [1s]}
`

// step is the newest message of a step to a phone.
func (h *house) step(phone string, step int) server.MessageView {
	h.t.Helper()
	for _, m := range h.messages() {
		if m.Step == step && string(m.Phone) == phone[1:] {
			return m
		}
	}
	h.t.Fatalf("no step %d to %s", step, phone)
	return server.MessageView{}
}

func (h *house) stepIs(phone string, step int, want messaging.State) server.MessageView {
	h.t.Helper()
	var m server.MessageView
	h.eventually("step is "+string(want), func() bool {
		m = h.step(phone, step)
		return m.State == want
	})
	return m
}

func (h *house) cartOf(token, phone, total string) {
	h.t.Helper()
	h.mustTake(h.shopify("checkouts/update", "", cart(token, phone, total)))
}

// hold keeps a template back until it is let go, so that what a test does before a step falls due may take as long as it takes.
func (h *house) hold(template string) (letGo func()) {
	h.t.Helper()
	r := server.HaltRequest{Scope: messaging.ScopeTemplate, Name: template}
	if _, err := server.Halt.Call(h.t.Context(), h.ask, r); err != nil {
		h.t.Fatal(err)
	}
	return func() {
		h.t.Helper()
		if _, err := server.Resume.Call(h.t.Context(), h.ask, r); err != nil {
			h.t.Fatal(err)
		}
	}
}

// Each step waits for the one before it, asks its own conditions when it falls due, and tells what it saw.
func TestASequenceGoesStepByStep(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: strings.Replace(threeSteps, "wait: 1h", "wait: 1s", 1), sandbox: sandbox.Options{
		Pace: sandbox.Pace{Sent: time.Millisecond, Delivered: time.Millisecond, Read: -1},
	}})
	h.cartOf("c1", phone(1), "60.00")
	h.cartOf("c2", phone(2), "120.00")
	h.stepIs(phone(1), 3, messaging.StateAccepted)
	m := h.stepIs(phone(2), 3, messaging.StateDropped)
	if m.Steps != 3 || m.Reason != "step 3 of 3: cart.total < 100 does not hold (cart.total = 120.00)" {
		t.Errorf("step %d of %d: %s", m.Step, m.Steps, m.Reason)
	}
	m, err := server.ShowMessage.Call(t.Context(), h.ask, "6")
	if err != nil || m.Decided == nil || m.Decided.Outcome != messaging.Skipped || len(m.Decided.Clauses) != 1 {
		t.Errorf("show: %+v, %v", m.Decided, err)
	}
	if two := h.step(phone(1), 2); two.AcceptedAt.Before(two.DueAt) {
		t.Errorf("due %s, sent %s", two.DueAt, two.AcceptedAt)
	}
	story, err := server.Why.Call(t.Context(), h.ask, server.ListQuery{Phone: phone(1), Limit: 10})
	if err != nil || len(story) != 1 || len(story[0].Messages) != 3 {
		t.Fatalf("why: %+v, %v", story, err)
	}
	var said []messaging.Outcome
	for _, d := range story[0].Event.Decisions {
		said = append(said, d.Outcome)
	}
	if want := []messaging.Outcome{messaging.Planned, messaging.Confirmed, messaging.Confirmed}; !slices.Equal(said, want) {
		t.Errorf("said %v", said)
	}
	if n := h.service.Accepted(phone(1)[1:]); n != 3 {
		t.Errorf("%d messages", n)
	}
}

// The order comes before the cart, between two steps, and while the first step's call is under way.
func TestAnOrderEndsWhatIsLeftOfASequence(t *testing.T) {
	t.Parallel()
	t.Run("before the cart", func(t *testing.T) {
		h := open(t, options{config: threeSteps})
		h.mustTake(h.shopify("orders/create", "", order("c1", phone(1), "60.00")))
		h.cartOf("c1", phone(1), "60.00")
		if n := len(h.messages()); n != 0 {
			t.Errorf("%d messages", n)
		}
	})
	t.Run("between the steps", func(t *testing.T) {
		h := open(t, options{config: strings.Replace(threeSteps, "wait: 2s", "wait: 1h", 1)})
		h.cartOf("c1", phone(1), "60.00")
		h.stepIs(phone(1), 1, messaging.StateAccepted)
		h.mustTake(h.shopify("orders/create", "", order("c1", phone(1), "60.00")))
		for _, step := range []int{2, 3} {
			if m := h.step(phone(1), step); m.State != messaging.StateCancelled {
				t.Errorf("step %d is %s", step, m.State)
			}
		}
	})
	t.Run("during the call", func(t *testing.T) {
		h := open(t, options{config: threeSteps})
		g := h.gated()
		h.service.SetFaults(sandbox.Faults{ErrorRate: 1, Status: http.StatusTooManyRequests, Endpoints: []string{"send-template"}})
		h.cartOf("c1", phone(1), "60.00")
		h.eventually("the call is under way", func() bool { return len(g.phones()) == 1 })
		h.mustTake(h.shopify("orders/create", "", order("c1", phone(1), "60.00")))
		g.open()
		for step := 1; step <= 3; step++ {
			h.stepIs(phone(1), step, messaging.StateCancelled)
		}
	})
}

func TestStopOnEndsEverySequenceOfThePhone(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: strings.NewReplacer("cancel_on:", "stop_on:", "wait: 2s", "wait: 1h").Replace(threeSteps)})
	h.cartOf("c1", phone(1), "60.00")
	h.cartOf("c2", phone(1), "60.00")
	h.cartOf("c3", phone(2), "60.00")
	h.eventually("the first steps have left", func() bool { return h.service.Stats().Messages == 3 })
	h.mustTake(h.shopify("orders/create", "", order("another", phone(1), "60.00")))
	counts := map[messaging.State]int{}
	for _, m := range h.messages() {
		if m.Step > 1 {
			counts[m.State]++
		}
	}
	if counts[messaging.StateCancelled] != 4 || counts[messaging.StateWaiting] != 2 {
		t.Errorf("%v", counts)
	}
	// What happens to the phone afterwards is another matter.
	c := cart("c4", phone(1), "60.00")
	c["updated_at"] = time.Now().UTC().Add(2 * time.Second).Format(time.RFC3339)
	time.Sleep(2 * time.Second)
	h.mustTake(h.shopify("checkouts/update", "", c))
	h.eventually("a new cart is reminded of", func() bool { return h.service.Accepted(phone(1)[1:]) == 3 })
}

// A cart that changes between two steps: what was sent stays sent, and the rest takes the new content.
func TestARepeatedEventRenewsTheStepsThatWait(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: strings.Replace(threeSteps, "wait: 2s", "wait: 1h", 1)})
	h.cartOf("c1", phone(1), "60.00")
	one := h.stepIs(phone(1), 1, messaging.StateAccepted)
	was := h.step(phone(1), 3).DueAt
	time.Sleep(time.Second) // senders say the second
	h.cartOf("c1", phone(1), "70.00")
	for _, step := range []int{2, 3} {
		m := h.step(phone(1), step)
		if m.EventID == one.EventID || m.Send.Variables[0] != "70.00" || m.Restarts != 1 {
			t.Errorf("step %d holds %q of event %d, restarted %d times", step, m.Send.Variables, m.EventID, m.Restarts)
		}
	}
	if m := h.step(phone(1), 1); m.Send.Variables[0] != "60.00" || m.State != messaging.StateAccepted {
		t.Errorf("the first step is %s with %q", m.State, m.Send.Variables)
	}
	if now := h.step(phone(1), 3).DueAt; !now.After(was) {
		t.Errorf("the third step is due %s, was %s", now, was)
	}
	if n := len(h.messages()); n != 3 || h.service.Stats().Messages != 1 {
		t.Errorf("%d messages, %d sent", n, h.service.Stats().Messages)
	}
	// Two at once of another cart: one sequence.
	done := make(chan bool)
	for range 2 {
		go func() { h.cartOf("c2", phone(2), "60.00"); done <- true }()
	}
	<-done
	<-done
	h.stepIs(phone(2), 1, messaging.StateAccepted)
	if n := len(h.messages()); n != 6 {
		t.Errorf("%d messages", n)
	}
}

// A reload with fewer or more steps leaves what waits as it is planned; the next event of the key
// brings it up to date.
func TestAReloadWithOtherSteps(t *testing.T) {
	t.Parallel()
	config := strings.Replace(threeSteps, "wait: 2s", "wait: 1h", 1)
	h := open(t, options{config: config})
	h.cartOf("c1", phone(1), "60.00")
	h.cartOf("c2", phone(2), "60.00")
	h.stepIs(phone(1), 1, messaging.StateAccepted)
	third := "      - wait: 1h\n        if: [cart.total < 100, previous.status != \"dropped\"]\n        send: {template: three, variables: ['{{ cart.total }}']}\n"
	h.edit(third, "")
	h.reload()
	if m := h.step(phone(1), 3); m.State != messaging.StateWaiting {
		t.Fatalf("the third step is %s", m.State)
	}
	time.Sleep(time.Second)
	h.cartOf("c1", phone(1), "70.00")
	if m := h.step(phone(1), 3); m.State != messaging.StateCancelled {
		t.Errorf("the step that the trigger has no more is %s", m.State)
	}
	if m := h.step(phone(1), 2); m.State != messaging.StateWaiting || m.Steps != 2 || m.Send.Variables[0] != "70.00" {
		t.Errorf("step 2 of %d is %s", m.Steps, m.State)
	}
	h.edit("tracking:", strings.ReplaceAll(third, "three", "third")+strings.ReplaceAll(third, "three", "four")+"tracking:")
	h.reload()
	time.Sleep(time.Second)
	h.cartOf("c2", phone(2), "70.00")
	if m := h.step(phone(2), 4); m.State != messaging.StateWaiting || m.Steps != 4 || m.What != `template "four"` {
		t.Errorf("step 4 of %d: %s, %s", m.Steps, m.State, m.What)
	}
	if m := h.step(phone(2), 3); m.What != `template "third"` {
		t.Errorf("step 3 sends %s", m.What)
	}
	if n := h.service.Stats().Messages; n != 2 {
		t.Errorf("%d were sent", n)
	}
}

// A first step that the service rejects, and that a person sends again while the next one waits.
func TestARejectedStepIsSentAgainWhileTheNextOneWaits(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: strings.Replace(threeSteps, `previous.status != "failed"`, `previous.status in ["sent", "delivered", "read", "queued", "accepted"]`, 1)})
	letGo := h.hold("two")
	h.service.SetFaults(sandbox.Faults{ErrorRate: 1, Status: http.StatusBadRequest, Endpoints: []string{"send-template"}})
	h.cartOf("c1", phone(1), "60.00")
	h.stepIs(phone(1), 1, messaging.StateRejected)
	h.service.SetFaults(sandbox.Faults{})
	v, err := server.RetryMessages.Call(t.Context(), h.ask, server.BulkRequest{State: "rejected", Trigger: "reminder"})
	if err != nil || v.Count != 1 {
		t.Fatalf("retry: %+v, %v", v, err)
	}
	h.stepIs(phone(1), 1, messaging.StateAccepted)
	letGo()
	h.stepIs(phone(1), 2, messaging.StateAccepted)
	if n := h.service.Accepted(phone(1)[1:]); n != 2 {
		t.Errorf("%d messages", n)
	}
	// A step after it went, so the first is history.
	if v, err := server.RetryMessages.Call(t.Context(), h.ask, server.BulkRequest{State: "rejected", Trigger: "reminder", DryRun: true}); err != nil || v.Count != 0 {
		t.Errorf("retry: %+v, %v", v, err)
	}
}

// A first step in doubt has ended for the second, which sees it; one that is sent again holds it back.
func TestAStepInDoubt(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: strings.Replace(threeSteps, `previous.status != "failed"`, `previous.status == "in_doubt"`, 1)})
	letGo := h.hold("two")
	h.service.SetFaults(sandbox.Faults{ErrorRate: 1, Status: http.StatusInternalServerError, Endpoints: []string{"send-template"}})
	h.cartOf("c1", phone(1), "60.00")
	one := h.stepIs(phone(1), 1, messaging.StateInDoubt)
	h.service.SetFaults(sandbox.Faults{})
	letGo()
	h.stepIs(phone(1), 2, messaging.StateAccepted)
	if _, err := server.ResolveMessage.Call(t.Context(), h.ask, server.ResolveRequest{ID: one.ID, As: messaging.ResolveResend, Reason: "not seen"}); err != nil {
		t.Fatal(err)
	}
	h.stepIs(phone(1), 1, messaging.StateAccepted)
	if n := h.service.Accepted(phone(1)[1:]); n != 2 {
		t.Errorf("%d messages", n)
	}
}

// What holds the first step holds the second behind it, and what expires meanwhile is dropped.
func TestAHaltedStepHoldsTheNextOne(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: threeSteps})
	if _, err := server.Halt.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeTemplate, Name: "one"}); err != nil {
		t.Fatal(err)
	}
	h.cartOf("c1", phone(1), "60.00")
	h.eventually("the second step is put off", func() bool {
		return strings.HasPrefix(h.step(phone(1), 2).Reason, "step 2 of 3 is put off: step 1 has not been sent yet")
	})
	two := h.step(phone(1), 2)
	if two.State != messaging.StateWaiting || two.ExpiresAt.Sub(two.DueAt) != 24*time.Hour {
		t.Errorf("it is %s, due %s, and expires %s", two.State, two.DueAt, two.ExpiresAt)
	}
	if n := h.service.Stats().Messages; n != 0 {
		t.Errorf("%d were sent", n)
	}
	// A block on top ends each as it falls due.
	if _, err := server.BlockContacts.Call(t.Context(), h.ask, server.BlockRequest{Phones: []string{phone(1)}}); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Resume.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeTemplate, Name: "one"}); err != nil {
		t.Fatal(err)
	}
	h.stepIs(phone(1), 1, messaging.StateDropped)
}

// A block between two steps drops the rest, and a step that expired is dropped; the one after it sees that.
func TestABlockAndAnExpiryBetweenSteps(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: threeSteps})
	letGo := h.hold("two")
	h.cartOf("c1", phone(1), "60.00")
	h.stepIs(phone(1), 1, messaging.StateAccepted)
	if _, err := server.BlockContacts.Call(t.Context(), h.ask, server.BlockRequest{Phones: []string{phone(1)}}); err != nil {
		t.Fatal(err)
	}
	letGo()
	h.stepIs(phone(1), 2, messaging.StateDropped)
	h.edit("cancel_on: shopify.order.created", "expires: 4s")
	h.edit("wait: 2s", "wait: 6s") // the first has ended by then; where not, the second is put off for a minute, and expires later
	h.reload()
	letGo = h.hold("one")
	h.cartOf("c2", phone(2), "60.00")
	one := h.step(phone(2), 1)
	h.eventually("the first step expires", func() bool { return time.Now().After(one.ExpiresAt) })
	letGo()
	h.stepIs(phone(2), 1, messaging.StateDropped)
	two := h.stepIs(phone(2), 2, messaging.StateAccepted)
	shown, err := server.ShowMessage.Call(t.Context(), h.ask, strconv.FormatInt(int64(two.ID), 10))
	if err != nil || shown.Decided == nil || shown.Decided.Clauses[0].Values[0].Value != "dropped" {
		t.Errorf("it saw %+v, %v", shown.Decided, err)
	}
}

// A trigger that is turned off pauses what is left; a daemon that stops and starts goes on.
func TestASequenceOverATurnOffAndARestart(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	h := open(t, options{folder: folder, config: threeSteps})
	letGo := h.hold("two")
	h.cartOf("c1", phone(1), "60.00")
	h.stepIs(phone(1), 1, messaging.StateAccepted)
	h.edit(sends, stops["off"])
	h.reload()
	letGo() // from here on the turn-off alone holds it
	h.stop()
	h = open(t, options{folder: folder, config: strings.Replace(threeSteps, sends, stops["shadow"], 1)})
	time.Sleep(2500 * time.Millisecond) // step 2 is past its time now
	h.cartOf("c2", phone(2), "60.00")
	if m := h.step(phone(1), 2); m.State != messaging.StateWaiting {
		t.Fatalf("step 2 is %s: %s", m.State, m.Reason)
	}
	events := h.events()
	if d := events[0].Decisions[0]; d.Outcome != messaging.Shadowed || strings.Count(d.Reason, "step ") != 3 {
		t.Errorf("%s: %s", d.Outcome, d.Reason)
	}
	h.edit(stops["shadow"], sends)
	h.reload()
	h.stepIs(phone(1), 2, messaging.StateAccepted)
}

// With keep_variables: false nothing of the event is left when a step falls due, and what became of the
// step before still is.
func TestStepsThatKeepNothing(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: strings.NewReplacer("[cart.total < 100, previous.status != \"dropped\"]", "customer.first_name == \"Ada\"", "    cancel_on", "    keep_variables: false\n    cancel_on", "wait: 1h", "wait: 1s").Replace(threeSteps)})
	h.cartOf("c1", phone(1), "60.00")
	m := h.stepIs(phone(1), 3, messaging.StateAccepted)
	if len(m.Send.Variables) != 0 {
		t.Errorf("it keeps %q", m.Send.Variables)
	}
}

// The carts and orders of the past are brought in: they cancel, they send nothing, and what comes
// afterwards sends.
func TestHistoryIsStoredAndSendsNothing(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: threeSteps})
	h.edit("defaults: {country: GB}}", "defaults: {country: GB}, history: true}")
	h.cartOf("c1", phone(1), "60.00")
	h.reload()
	for i := range 5 {
		h.cartOf("old"+phone(i), phone(i), "60.00")
	}
	h.mustTake(h.shopify("orders/create", "", order("c1", phone(1), "60.00")))
	if n := len(h.messages()); n != 3 {
		t.Errorf("%d messages", n)
	}
	if m := h.step(phone(1), 3); m.State != messaging.StateCancelled {
		t.Errorf("an order of the past leaves the step %s", m.State)
	}
	if d := h.events()[1].Decisions[0]; d.Outcome != messaging.Skipped || !strings.Contains(d.Reason, "posted as history") {
		t.Errorf("%s: %s", d.Outcome, d.Reason)
	}
	h.edit(", history: true}", "}")
	h.reload()
	h.cartOf("new", phone(9), "60.00")
	h.stepIs(phone(9), 1, messaging.StateAccepted)
}

// The class of the service's words is known to the next step.
func TestAStepSeesTheClassOfAFailure(t *testing.T) {
	t.Parallel()
	const nobody = "+447700900000" // whose messages fail in the sandbox
	h := open(t, options{
		config:  strings.Replace(threeSteps, `previous.status != "failed"`, `previous.error_class == "permanent"`, 1),
		sandbox: sandbox.Options{Pace: sandbox.Pace{Sent: time.Millisecond, Delivered: time.Millisecond, Read: -1}},
	})
	letGo := h.hold("two")
	h.cartOf("c1", nobody, "60.00")
	h.eventually("the first step has failed", func() bool { return h.step(nobody, 1).Status == messaging.StatusFailed })
	letGo()
	two := h.stepIs(nobody, 2, messaging.StateAccepted)
	shown, err := server.ShowMessage.Call(t.Context(), h.ask, strconv.FormatInt(int64(two.ID), 10))
	if err != nil || shown.Decided == nil || shown.Decided.Outcome != messaging.Confirmed {
		t.Errorf("it saw %+v, %v", shown.Decided, err)
	}
}

// on_change: migrate plans each step that waits anew, by the step of the same number.
func TestAnEditOfStepsWithMigrate(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: strings.NewReplacer(sends, sends+"    on_change: migrate\n", "wait: 2s", "wait: 1h").Replace(threeSteps)})
	h.cartOf("c1", phone(1), "60.00")
	h.stepIs(phone(1), 1, messaging.StateAccepted)
	h.edit("template: two", "template: deux")
	h.edit("if: previous.status != \"failed\"", "if: cart.total < 5")
	h.edit("      - wait: 1h\n        if: [cart.total < 100, previous.status != \"dropped\"]\n        send: {template: three, variables: ['{{ cart.total }}']}\n", "")
	h.edit("      - wait: 1h\n", "      - wait: 3s\n")
	h.reload()
	two, three := h.step(phone(1), 2), h.step(phone(1), 3)
	if two.What != `template "deux"` || two.Steps != 2 || !slices.Equal(two.If, []string{"cart.total < 5"}) {
		t.Errorf("step 2 of %d: %s, if %v", two.Steps, two.What, two.If)
	}
	if three.State != messaging.StateCancelled || !strings.HasPrefix(three.Reason, "the rule changed: the trigger has no step 3 any more") {
		t.Errorf("step 3: %s, %s", three.State, three.Reason)
	}
	h.stepIs(phone(1), 2, messaging.StateDropped) // by its new time and condition
	// One message instead of steps: what waits goes on as it was planned.
	h.edit("cart.total < 5", "cart.total > 5")
	h.reload()
	h.cartOf("c2", phone(2), "60.00")
	h.stepIs(phone(2), 1, messaging.StateAccepted)
	h.edit("    steps:\n", "    send: {template: alone}\n    mode: live #")
	text, err := os.ReadFile(h.file())
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(text), "    mode: live #")
	_, tail, _ := strings.Cut(rest, "tracking:")
	h.write(head + "tracking:" + tail)
	h.reload()
	if m := h.stepIs(phone(2), 2, messaging.StateAccepted); m.What != `template "deux"` {
		t.Errorf("it sent %s", m.What)
	}
}
