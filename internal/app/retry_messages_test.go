package app_test

import (
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
)

// What the service rejected goes again once, and nothing else does.
func TestRetryingMessagesThatWereRejected(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: strings.Replace(plainConfig, "wait: 1h", "wait: 0s", 1)})
	f := h.service.Faults()
	f.ErrorRate, f.Status = 1, 400
	h.service.SetFaults(f)
	for i, c := range []string{"c0", "c1", "c2", "c3"} {
		h.mustTake(h.shopify("checkouts/update", "", cart(c, phone(i), "60.00")))
	}
	h.eventually("all are rejected", func() bool {
		n := 0
		for _, m := range h.messages() {
			if m.Trigger == "reminder" && m.State == messaging.StateRejected {
				n++
			}
		}
		return n == 4
	})
	h.service.SetFaults(sandbox.Faults{})
	if _, err := server.BlockContacts.Call(t.Context(), h.ask, server.BlockRequest{Phones: []string{phone(1)}}); err != nil {
		t.Fatal(err)
	}
	h.mustTake(h.shopify("orders/create", "", order("c2", phone(2), "60.00")))
	h.mustTake(h.shopify("checkouts/update", "", cart("c3", phone(3), "61.00"))) // its matter goes on by itself
	h.eventually("the later cart leaves", func() bool { return h.service.Accepted(phone(3)[1:]) == 1 })

	by := server.BulkRequest{State: "rejected", Trigger: "reminder", DryRun: true}
	retry := func(want int64) server.BulkView {
		t.Helper()
		v, err := server.RetryMessages.Call(t.Context(), h.ask, by)
		if err != nil || v.Count != want {
			t.Fatalf("retry (dry run %v): %+v, %v; want %d", by.DryRun, v, err, want)
		}
		return v
	}
	if v := retry(1); len(v.Stay) != 3 {
		t.Errorf("what does not go: %+v", v.Stay)
	}
	// Pages say it of each before anybody asks, and nothing of that is in the audit.
	var ids []messaging.MessageID
	for _, m := range h.messages() {
		if m.State == messaging.StateRejected {
			ids = append(ids, m.ID)
		}
	}
	planned := func() (goes int, whys string) {
		t.Helper()
		all, err := server.PlanRetry.Call(t.Context(), h.ask, server.RetryPlanRequest{Messages: append(ids, 99_999)})
		if err != nil || len(all) != len(ids) {
			t.Fatalf("the plan of %d: %+v, %v", len(ids), all, err)
		}
		for _, one := range all {
			if one.Goes {
				goes++
			}
			whys += one.Why + "\n"
		}
		return goes, whys
	}
	before, err := server.VerifyAudit.Call(t.Context(), h.ask, "")
	if err != nil {
		t.Fatal(err)
	}
	if goes, whys := planned(); goes != 1 || !strings.Contains(whys, "blocked") || !strings.Contains(whys, "a later message for the same key waits, or was sent") {
		t.Errorf("%d would go: %s", goes, whys)
	}
	if after, err := server.VerifyAudit.Call(t.Context(), h.ask, ""); err != nil || after.Entries != before.Entries {
		t.Errorf("a plan is in the audit: %d entries, then %d, %v", before.Entries, after.Entries, err)
	}
	h.edit(sends, stops["off"])
	h.reload()
	retry(0)
	if goes, whys := planned(); goes != 0 || !strings.Contains(whys, "its trigger does not send by the present config") {
		t.Errorf("%d would go of a trigger that is off: %s", goes, whys)
	}
	h.edit(stops["off"], sends)
	h.reload()
	by = server.BulkRequest{Messages: append(ids, h.messages()[0].ID)} // as they were ticked, and one that did arrive
	if v := retry(1); len(v.Stay) != 4 {
		t.Errorf("what does not go: %+v", v.Stay)
	}
	if goes, whys := planned(); goes != 0 || !strings.Contains(whys, "was sent again already") {
		t.Errorf("%d would go once more: %s", goes, whys)
	}
	retry(0)
	by = server.BulkRequest{State: "rejected", Trigger: "reminder"}
	retry(0)
	h.eventually("it leaves", func() bool { return h.service.Accepted(phone(0)[1:]) == 1 })
	stories, err := server.Why.Call(t.Context(), h.ask, server.ListQuery{Phone: phone(0), Limit: 10})
	if err != nil || len(stories) != 1 || len(stories[0].Messages) != 2 {
		t.Errorf("why tells %+v, %v", stories, err)
	}
	for i, want := range []int{1, 0, 1, 1} { // the third ordered, and its thanks left
		if n := h.service.Accepted(phone(i)[1:]); n != want {
			t.Errorf("%d messages to the phone %d, want %d", n, i, want)
		}
	}
	by.State = "accepted"
	if _, err := server.RetryMessages.Call(t.Context(), h.ask, by); err == nil || !strings.Contains(err.Error(), `state "accepted": want rejected, failed or dropped`) {
		t.Errorf("retry of what was accepted: %v", err)
	}
}
