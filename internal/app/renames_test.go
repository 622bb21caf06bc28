package app_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

const pollHead = "\ndefaults: {country: GB, language: en}\nconnectors:\n  shopify: {secret: \"${SHOP_SECRET}\", defaults: {country: GB}}\ntriggers:\n"

// polled is the trigger of carts under a name, with more keys.
func polled(name, more string) string {
	return "  " + name + ": {on: shopify.cart.created, key: cart.id, expires: 48h, " + more + "send: {template: cart}}\n"
}

// A trigger that is renamed with `was` sends nothing again for a cart that it served, before and after a restart, and what waits
// goes once, under its new name. Without the key it does, and the dry run says so before.
func TestATriggerThatWasRenamedKeepsItsMemory(t *testing.T) {
	t.Parallel()
	for _, was := range []bool{true, false} {
		folder := t.TempDir()
		before, after := pollHead+polled("polled", ""), pollHead+polled("polled-2", "")
		says := "polled-2 has the rule that polled had: write was: polled to keep its memory; without it polled-2 knows nothing of what polled sent, and what is open stays under the old name"
		if was {
			after = pollHead + polled("polled-2", "was: polled, ")
			says = "polled-2 was polled: it takes along what is open and what is remembered"
		}
		h := open(t, options{folder: folder, config: before})
		h.mustTake(h.shopify("checkouts/create", "one", cart("a", phone(0), "60.00")))
		h.eventually("cart A is served", func() bool { return h.service.Accepted(phone(0)[1:]) == 1 })
		halt := server.HaltRequest{Scope: messaging.ScopeTrigger, Name: "polled"}
		if _, err := server.Halt.Call(t.Context(), h.ask, halt); err != nil {
			t.Fatal(err)
		}
		h.mustTake(h.shopify("checkouts/create", "two", cart("b", phone(1), "60.00")))
		h.eventually("cart B waits", func() bool { return len(h.messages()) == 2 })
		h.edit(before, after)
		said := words(waiting(server.PlanConfig.Call(t.Context(), h.ask, server.PlanRequest{})))
		if len(said) == 0 || said[len(said)-1] != says {
			t.Errorf("the dry run says %q", said)
		}
		h.reload()
		h.mustTake(h.shopify("checkouts/create", "three", cart("a", phone(0), "61.00")))
		again := 1
		if !was {
			again = 2
			h.eventually("it is sent again", func() bool { return h.service.Accepted(phone(0)[1:]) == 2 })
			halt.Name = "polled"
		} else {
			halt.Name = "polled-2"
		}
		h.stop()
		h = open(t, options{folder: folder, config: after})
		h.mustTake(h.shopify("checkouts/create", "four", cart("a", phone(0), "62.00")))
		if n := h.service.Accepted(phone(1)[1:]); n != 0 {
			t.Errorf("was %v: what is halted left", was)
		}
		if _, err := server.Resume.Call(t.Context(), h.ask, halt); err != nil {
			t.Fatal(err)
		}
		if was {
			h.eventually("cart B is served", func() bool { return h.service.Accepted(phone(1)[1:]) == 1 })
			for _, m := range h.messages() {
				if m.ID == 2 && m.Trigger != "polled-2" {
					t.Errorf("it is of %s", m.Trigger)
				}
			}
			if n := len(h.messages()); n != 2 {
				t.Errorf("%d messages were queued for two carts", n)
			}
			same(t, "the dry run after it", words(waiting(server.PlanConfig.Call(t.Context(), h.ask, server.PlanRequest{}))))
		}
		if n := h.service.Accepted(phone(0)[1:]); n != 0 && was || n > again {
			t.Errorf("was %v: cart A was served %d times", was, n)
		}
	}
}

// A trigger that is renamed and edited at once does what its on_change says; what waits of it when it leaves later is held back by
// the rules that planned it under its old name.
func TestARenameMeetsAnEditAndALeave(t *testing.T) {
	t.Parallel()
	const other = "  other: {on: shopify.cart.created, mode: off, send: {template: other}}\n"
	quiet := `quiet_hours: "` + nowQuiet() + `", `
	for _, c := range []struct {
		more, says string
		state      messaging.State
	}{
		{"on_change: cancel, wait: 1h, ", "polled-2: edited, 1 waits: cancelled", messaging.StateCancelled},
		{quiet, "polled-2 was polled: it takes along what is open and what is remembered", messaging.StateWaiting},
	} {
		before := pollHead + polled("polled", quiet) + other
		after := pollHead + polled("polled-2", "was: polled, "+c.more) + other
		h := open(t, options{config: before})
		h.mustTake(h.shopify("checkouts/create", "one", cart("a", phone(0), "60.00")))
		h.eventually("it waits", func() bool { return len(h.messages()) == 1 })
		h.edit(before, after)
		if said := words(waiting(server.PlanConfig.Call(t.Context(), h.ask, server.PlanRequest{}))); len(said) == 0 || said[0] != c.says {
			t.Errorf("the dry run says %q", said)
		}
		h.reload()
		if m := h.messages()[0]; m.State != c.state || m.Trigger != "polled-2" {
			t.Errorf("it is %s of %s", m.State, m.Trigger)
		}
		if c.state != messaging.StateWaiting {
			continue
		}
		h.edit(after, pollHead+other)
		h.reload()
		if _, err := server.Resume.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeTrigger, Name: "polled-2"}); err != nil {
			t.Fatal(err)
		}
		h.eventually("it is held back", func() bool { return strings.Contains(h.messages()[0].Reason, "quiet hours are") })
	}
}

// The runs of a job that is renamed with `was` are those of its new name: one that waits for approval goes on when it is
// approved, with its canary, once.
func TestAJobThatWasRenamedKeepsItsRuns(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	list(t, filepath.Join(folder, "list.csv"), 3)
	const keys = "    deliver: per_message\n    send: {template: winback}\n    guard: {approve_over: 1}\n    canary: {first: 1, wait: 2h, stop_if: \"failed > 10%\"}\n"
	h := open(t, options{folder: folder, config: jobConfig(folder, keys)})
	r, err := server.RunJob.Call(t.Context(), h.ask, server.JobOrder{Job: "winback"})
	if err != nil {
		t.Fatal(err)
	}
	h.eventually("it waits for approval", func() bool { return h.run(r.ID).State == messaging.RunAwaiting })
	h.edit("  winback:\n", "  weekly:\n    was: winback\n")
	same(t, "the dry run", words(waiting(server.PlanConfig.Call(t.Context(), h.ask, server.PlanRequest{}))), "weekly was winback: it takes along what is open and what is remembered")
	h.reload()
	if got := h.run(r.ID); got.Job != "weekly" || got.State != messaging.RunAwaiting || got.Slot != r.Slot {
		t.Errorf("%+v", got)
	}
	if _, err := server.ApproveRun.Call(t.Context(), h.ask, r.ID); err != nil {
		t.Fatal(err)
	}
	h.eventually("its canary waits", func() bool { return h.run(r.ID).Waits == messaging.WaitCanary })
	if m := h.messages(); len(m) != 1 || m[0].Trigger != "weekly" {
		t.Errorf("%+v", m)
	}
}
