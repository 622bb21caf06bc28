package app_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
)

func TestAWebhookBecomesAMessageThatIsDelivered(t *testing.T) {
	t.Parallel()
	h := open(t, options{})
	h.mustTake(h.shopify("orders/create", "", order("c1", "07700 900123", "49.90")))
	h.eventually("a delivered message", func() bool {
		m := h.messages()
		return len(m) == 1 && m[0].Status == messaging.StatusDelivered
	})
	got := h.service.Messages("447700900123")
	if len(got) != 1 {
		t.Fatalf("the service got %d messages, want 1", len(got))
	}
	if diff := cmp.Diff([]string{"Ada", "49.90"}, got[0].Variables); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	m := h.messages()[0]
	if m.ServiceID == "" || m.AcceptedAt.IsZero() || m.DeliveredAt.IsZero() || !m.NextPollAt.IsZero() {
		t.Errorf("the message's record is not whole: %+v", m)
	}
}

func TestTheSameWebhook200TimesAtOnceIsOneEventAndOneMessage(t *testing.T) {
	t.Parallel()
	h := open(t, options{})
	body := order("c1", phone(1), "49.90")
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			res, err := http.DefaultClient.Do(h.shopify("orders/create", "one-delivery", body))
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			if res.StatusCode != http.StatusOK {
				t.Errorf("answered %d", res.StatusCode)
			}
		})
	}
	all.Wait()
	h.eventually("the message", func() bool { return h.service.Accepted(phone(1)[1:]) > 0 })
	if n := len(h.events()); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
	h.eventually("one delivered message", func() bool {
		m := h.messages()
		return len(m) == 1 && m[0].Status == messaging.StatusDelivered
	})
	if n := h.service.Accepted(phone(1)[1:]); n != 1 {
		t.Errorf("the service got %d messages, want 1", n)
	}
}

func TestACartFollqueuedByItsOrderSendsNoReminder(t *testing.T) {
	t.Parallel()
	h := open(t, options{})
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(2), "89.00")))
	h.mustTake(h.shopify("orders/create", "", order("c1", phone(2), "89.00")))
	states := map[string]messaging.State{}
	for _, m := range h.messages() {
		states[m.Trigger] = m.State
	}
	if states["reminder"] != messaging.StateCancelled {
		t.Errorf("the reminder is %q, want cancelled", states["reminder"])
	}
}

func TestAnOrderThatOvertakesItsCartStillCancels(t *testing.T) {
	t.Parallel()
	h := open(t, options{})
	h.mustTake(h.shopify("orders/create", "", order("c1", phone(3), "89.00")))
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(3), "89.00")))
	for _, m := range h.messages() {
		if m.Trigger == "reminder" {
			t.Errorf("a reminder was planned: %+v", m)
		}
	}
	story, err := server.Why.Call(t.Context(), h.ask, server.ListQuery{Phone: phone(3), Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	last := story[len(story)-1].Event.Decisions
	if len(last) != 1 || last[0].Outcome != messaging.Cancelled || !strings.Contains(last[0].Reason, "cancelled before it was planned: shopify.order.created") {
		t.Errorf("decisions of the late cart: %+v", last)
	}
}

func TestWhyTellsOfAMessageThatWasNotSent(t *testing.T) {
	t.Parallel()
	h := open(t, options{})
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(4), "12.00")))
	story, err := server.Why.Call(t.Context(), h.ask, server.ListQuery{Phone: phone(4), Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	if len(story) != 1 || len(story[0].Event.Decisions) != 1 || len(story[0].Messages) != 0 {
		t.Fatalf("story: %+v", story)
	}
	d := story[0].Event.Decisions[0]
	want := []messaging.Clause{{Text: "cart.total >= 50", Held: false, Values: []messaging.Value{{Name: "cart.total", Value: "12.00"}}}}
	if diff := cmp.Diff(want, d.Clauses); diff != "" || d.Outcome != messaging.Skipped {
		t.Errorf("outcome %s, clauses (-want +got):\n%s", d.Outcome, diff)
	}
}

func TestBracesInAPayloadAreText(t *testing.T) {
	t.Parallel()
	h := open(t, options{})
	body := order("c1", phone(5), "10.00")
	body["customer"] = map[string]any{"first_name": "{{ order.total }}"}
	h.mustTake(h.shopify("orders/create", "", body))
	h.eventually("the message", func() bool { return h.service.Accepted(phone(5)[1:]) == 1 })
	if got := h.service.Messages(phone(5)[1:])[0].Variables[0]; got != "{{ order.total }}" {
		t.Errorf("variable 1 is %q", got)
	}
}

func TestReloadKeepsTheOldConfigWhenTheNewOneIsBad(t *testing.T) {
	t.Parallel()
	h := open(t, options{})
	h.edit("cart.total >= 50", "cart.totl >= 50")
	_, err := server.Reload.Call(t.Context(), h.ask, server.ReloadRequest{})
	var no *refusal.Error
	if !errors.As(err, &no) || no.Status != http.StatusUnprocessableEntity || !strings.Contains(no.Words, `did you mean "total"`) {
		t.Fatalf("reload of a bad config: %v", err)
	}
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(6), "60.00")))
	if m := h.messages(); len(m) != 1 {
		t.Fatalf("%d messages with the old rule, want 1", len(m))
	}
	status, err := server.ShowStatus.Call(t.Context(), h.ask, server.None{})
	if err != nil || status.Daemon.LoadError == "" {
		t.Errorf("status does not tell of the refused reload: %+v, %v", status.Daemon, err)
	}

	h.edit("cart.totl >= 50", "cart.total >= 500")
	d, err := server.Reload.Call(t.Context(), h.ask, server.ReloadRequest{})
	if err != nil || d.LoadError != "" {
		t.Fatalf("reload of a good config: %+v, %v", d, err)
	}
	h.mustTake(h.shopify("checkouts/update", "", cart("c2", phone(7), "60.00")))
	if m := h.messages(); len(m) != 1 {
		t.Errorf("%d messages after the rule changed, want 1", len(m))
	}
}

func TestAStopLeavesWhatWaitsAndTheNextStartSendsIt(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	config := strings.Replace(plainConfig, "wait: 1h", "wait: 2s", 1)
	h := open(t, options{folder: folder, config: config})
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(8), "60.00")))
	h.stop()
	again := open(t, options{folder: folder, config: config})
	again.eventually("the reminder", func() bool { // a stop that takes longer than it waits does not keep it
		return h.service.Accepted(phone(8)[1:])+again.service.Accepted(phone(8)[1:]) == 1
	})
}

func TestASecondDaemonOverTheSameDataIsRefused(t *testing.T) {
	t.Parallel()
	h := open(t, options{})
	_, err := app.New(t.Context(), app.Options{ConfigFile: h.file(), Env: testEnv})
	if err == nil || !strings.Contains(err.Error(), "another nudgewire already uses this data") {
		t.Errorf("a second daemon: %v", err)
	}
}

func TestAnAnswerThatIsLostLeavesTheMessageInDoubtAndIsNotRepeated(t *testing.T) {
	t.Parallel()
	h := open(t, options{})
	f := h.service.Faults()
	f.CutAfter = 1
	h.service.SetFaults(f)
	h.mustTake(h.shopify("orders/create", "", order("c1", phone(9), "10.00")))
	h.eventually("a message in doubt", func() bool {
		m := h.messages()
		return len(m) == 1 && m[0].State == messaging.StateInDoubt
	})
	f.CutAfter = 0
	h.service.SetFaults(f)
	time.Sleep(300 * time.Millisecond)
	if n := h.service.Accepted(phone(9)[1:]); n != 1 {
		t.Fatalf("the service got %d messages, want 1", n)
	}
	id := h.messages()[0].ID
	m, err := server.ResolveMessage.Call(t.Context(), h.ask, server.ResolveRequest{ID: id, As: messaging.ResolveAccepted, Reason: "seen on the phone"})
	if err != nil || m.State != messaging.StateAccepted {
		t.Errorf("resolve: %+v, %v", m, err)
	}
}

func TestAnOrderWithoutACartIDCancelsByPhone(t *testing.T) {
	t.Parallel()
	h := open(t, options{})
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(10), "89.00")))
	h.mustTake(h.shopify("checkouts/update", "", cart("c2", phone(11), "89.00")))
	keyless := order("", phone(10), "89.00")
	delete(keyless, "checkout_token")
	h.mustTake(h.shopify("orders/create", "", keyless))
	states := map[messaging.Phone]messaging.State{}
	for _, m := range h.messages() {
		if m.Trigger == "reminder" {
			states[m.Phone] = m.State
		}
	}
	want := map[messaging.Phone]messaging.State{
		messaging.Phone(phone(10)[1:]): messaging.StateCancelled, messaging.Phone(phone(11)[1:]): messaging.StateWaiting,
	}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("reminders (-want +got):\n%s", diff)
	}
}
