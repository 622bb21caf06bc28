package app_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// What waits of a trigger that is gone and that a person lets go on is held back by the rules that planned it: in the state in
// which it waits, as a later step, and after a restart.
func TestATriggerThatIsGoneKeepsItsRules(t *testing.T) {
	t.Parallel()
	rules := []struct{ name, yaml, says string }{
		{"quiet", `quiet_hours: "` + nowQuiet() + `"`, "quiet hours are"},
		{"limit", "limit: 0 per day", "lets no message go"},
		{"consent", "consent: required", "consent is required"},
		{"rate", "rate: 1/h", "were taken for sending by rate"},
		{"steps", `quiet_hours: "` + nowQuiet() + `"`, "quiet hours are"},
	}
	trigger := func(name, yaml string) string {
		send := "send: {template: " + name + "}"
		if name == "steps" {
			send = "steps: [{send: {template: one}}, {wait: 1s, send: {template: two}}]"
		}
		return "  " + name + ": {on: shopify.cart.created, key: cart.id, expires: 48h, " + yaml + ", " + send + "}\n"
	}
	head := "\ndefaults: {country: GB, language: en, timezone: UTC}\nconnectors:\n  shopify: {secret: \"${SHOP_SECRET}\", defaults: {country: GB}}\ntriggers:\n"
	before, after := head, head+trigger("other", "mode: off")
	for _, r := range rules {
		before += trigger(r.name, r.yaml)
	}
	folder := t.TempDir()
	h := open(t, options{folder: folder, config: before})
	if _, err := server.Halt.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeAll}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		h.mustTake(h.shopify("checkouts/create", "", cart(fmt.Sprint("c", i), phone(i), "60.00")))
	}
	h.edit(before, after)
	if paused := h.reload(); len(paused) != len(rules) {
		t.Fatalf("reload says %q", paused)
	}
	if _, err := server.Resume.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeAll}); err != nil {
		t.Fatal(err)
	}
	held := func() {
		t.Helper()
		for _, r := range rules {
			h.eventually(r.name+" is held back", func() bool {
				n, want := 0, 3
				switch r.name {
				case "steps": // both
					want = 6
				case "rate": // and it lets one go
					want = 2
				}
				for _, m := range h.messages() {
					switch {
					case m.Trigger != r.name:
					case strings.Contains(m.Reason, r.says):
						n++
					case m.State != messaging.StateAccepted || r.name != "rate":
						return false
					}
				}
				return n == want
			})
		}
	}
	for _, r := range rules {
		if _, err := server.Resume.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeTrigger, Name: r.name}); err != nil {
			t.Fatal(err)
		}
	}
	held()
	left := 0
	for i := range 3 {
		left += h.service.Accepted(phone(i)[1:])
	}
	h.stop()
	h = open(t, options{folder: folder, config: after})
	held()
	for i := range 3 {
		left += h.service.Accepted(phone(i)[1:])
	}
	if left != 1 { // the one that its rate lets go
		t.Errorf("%d messages left", left)
	}
}

// A new name with the rule of one that is gone is told: it remembers nothing of what the old one sent.
func TestARenameIsTold(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	h := open(t, options{folder: folder, config: plainConfig + jobConfig(folder, byCSV)[len("\ndefaults: {country: GB, language: en}\n"):]})
	h.edit("  thanks:", "  thanks-2:")
	h.edit("  winback:", "  weekly:")
	same(t, "before the reload it says", words(waiting(server.PlanConfig.Call(t.Context(), h.ask, server.PlanRequest{}))),
		"weekly has the rule that winback had: write was: winback to keep its memory; without it weekly knows nothing of what winback sent, and what is open stays under the old name",
		"thanks-2 has the rule that thanks had: write was: thanks to keep its memory; without it thanks-2 knows nothing of what thanks sent, and what is open stays under the old name")
}

// A rate that is raised, lowered or taken away reaches the run that waits for it at its next look, with no restart.
func TestAChangedRateReachesTheRunThatWaitsForIt(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	list(t, filepath.Join(folder, "list.csv"), 6)
	const slow = "    deliver: per_message\n    send: {template: winback}\n    rate: 1/h\n"
	h := open(t, options{folder: folder, config: jobConfig(folder, slow)})
	r, err := server.RunJob.Call(t.Context(), h.ask, server.JobOrder{Job: "winback"})
	if err != nil {
		t.Fatal(err)
	}
	sent := func() int {
		return len(slices.DeleteFunc(h.messages(), func(m server.MessageView) bool { return m.State != messaging.StateAccepted }))
	}
	h.eventually("it waits for its rate", func() bool { return h.run(r.ID).Waits == messaging.WaitRate && sent() == 1 })
	h.edit("rate: 1/h", "rate: 3 per day")
	h.reload()
	h.eventually("three leave", func() bool { return h.run(r.ID).Waits == messaging.WaitRate && sent() == 3 })
	h.edit("    rate: 3 per day\n", "")
	h.reload()
	h.eventually("the others leave", func() bool { return h.run(r.ID).State == messaging.RunDone && sent() == 6 })
}

// A code whose trigger said that a person decides in doubt is not sent again because that trigger is gone.
func TestWhatATriggerThatIsGoneSaidOfDoubts(t *testing.T) {
	t.Parallel()
	const head = "\ndefaults: {country: GB, language: en}\nconnectors:\n  shopify: {secret: \"${SHOP_SECRET}\", defaults: {country: GB}}\ntriggers:\n"
	const before = head + "  code: {on: shopify.order.created, category: authentication, expires: 48h, on_doubt: hold, send: {template: code}}\n"
	const after = head + "  other: {on: shopify.order.created, mode: off, send: {template: other}}\n"
	h := open(t, options{config: before})
	all := server.HaltRequest{Scope: messaging.ScopeAll}
	if _, err := server.Halt.Call(t.Context(), h.ask, all); err != nil {
		t.Fatal(err)
	}
	h.mustTake(h.shopify("orders/create", "", order("c", phone(0), "10.00")))
	h.edit(before, after)
	h.reload()
	f := h.service.Faults()
	f.CutAfter = 1
	h.service.SetFaults(f)
	for _, r := range []server.HaltRequest{all, {Scope: messaging.ScopeTrigger, Name: "code"}} {
		if _, err := server.Resume.Call(t.Context(), h.ask, r); err != nil {
			t.Fatal(err)
		}
	}
	h.eventually("it is in doubt", func() bool { return h.status().InDoubt == 1 })
	if n := h.service.Accepted(phone(0)[1:]); n != 1 {
		t.Errorf("it was sent %d times", n)
	}
}
