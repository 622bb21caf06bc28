package app_test

import (
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
)

func (h *house) rollBack(version string) server.RollbackView {
	h.t.Helper()
	done, err := server.RollBack.Call(h.t.Context(), h.ask, server.RollbackRequest{Version: version})
	if err != nil {
		h.t.Fatal(err)
	}
	return done
}

// A rollback to a config from before a rename has what waits and what is remembered under the name that it had then: a halt holds, nothing is sent
// twice, also after a restart and after the way forward again. The plan of it says so.
func TestARollbackOfARenameKeepsItsMemory(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	service := sandbox.New(sandbox.Options{ // of all configs, also after the restart
		Keys: []string{apiKey}, Templates: []sandbox.Template{{Name: "*", Language: "*", Variables: -1}},
		Pace: sandbox.Pace{Sent: time.Millisecond, Delivered: time.Millisecond, Read: -1},
	})
	defer service.Close()
	listens := httptest.NewServer(service.Handler())
	defer listens.Close()
	o := options{folder: folder, api: "{base_url: " + listens.URL + "/api/v1, key: \"${API_KEY}\", rate: 5000/s, timeout: 30s}"}
	before, after := pollHead+polled("polled", ""), pollHead+polled("polled-2", "was: polled, ")
	o.config = before
	h := open(t, o)
	first := h.status().Daemon.Config
	h.mustTake(h.shopify("checkouts/create", "one", cart("a", phone(0), "60.00")))
	h.eventually("cart A is served", func() bool { return service.Accepted(phone(0)[1:]) == 1 })
	h.edit(before, after)
	h.reload()
	second := h.status().Daemon.Config
	h.mustTake(h.shopify("checkouts/create", "two", cart("b", phone(1), "60.00")))
	h.eventually("cart B is served under the new name", func() bool { return service.Accepted(phone(1)[1:]) == 1 })
	if _, err := server.Halt.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeTrigger, Name: "polled-2"}); err != nil {
		t.Fatal(err)
	}
	h.mustTake(h.shopify("checkouts/create", "three", cart("c", phone(2), "60.00")))
	h.eventually("cart C waits", func() bool { return len(h.messages()) == 3 })

	same(t, "the plan", words(waiting(server.PlanConfig.Call(t.Context(), h.ask, server.PlanRequest{Version: first}))), "polled was polled-2: it takes along what is open and what is remembered")
	h.rollBack(first)
	names := func(want string) {
		t.Helper()
		for _, m := range h.messages() {
			if m.State == messaging.StateWaiting && m.Trigger != want {
				t.Errorf("message %d waits as one of %s, not of %s", m.ID, m.Trigger, want)
			}
		}
	}
	again := func(key string) {
		t.Helper()
		for i, token := range []string{"a", "b", "c"} {
			h.mustTake(h.shopify("checkouts/create", key+token, cart(token, phone(i), "61.00")))
		}
		if n := len(h.messages()); n != 3 {
			t.Errorf("%s: %d messages were queued for three carts", key, n)
		}
	}
	names("polled")
	again("back")
	h.stop()
	h = open(t, o)
	names("polled")
	again("restarted")
	h.rollBack(second)
	names("polled-2")
	again("forward")
	h.rollBack(first)
	names("polled")
	again("back again")
	if n := service.Accepted(phone(2)[1:]); n != 0 {
		t.Error("what is halted left")
	}
	if _, err := server.Resume.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeTrigger, Name: "polled"}); err != nil {
		t.Fatal(err)
	}
	h.eventually("cart C is served", func() bool { return service.Accepted(phone(2)[1:]) == 1 })
	again("at last")
	for i, want := range []int{1, 1, 1} {
		if n := service.Accepted(phone(i)[1:]); n != want {
			t.Errorf("contact %d got %d messages", i, n)
		}
	}
}

// A file that cannot be written in the middle of a rollback leaves all files and the config in use as they were.
func TestARollbackThatStopsInTheMiddleChangesNothing(t *testing.T) {
	t.Parallel()
	h, first, more := withoutItsInclude(t)
	// A link that leads nowhere is in the way of the h.folder, which is seen when config.yaml has been written already.
	if err := errors.Join(os.RemoveAll(more), os.Symlink(filepath.Join(h.folder, "nowhere"), more)); err != nil {
		t.Fatal(err)
	}
	before, running := h.onDisk(), h.status().Daemon.Config
	_, err := server.RollBack.Call(t.Context(), h.ask, server.RollbackRequest{Version: first})
	if no, is := errors.AsType[*refusal.Error](err); !is || !strings.Contains(no.Words, "cannot be written here, and nothing was changed: ") {
		t.Errorf("it says %+v", err)
	}
	if diff := cmp.Diff(before, h.onDisk()); diff != "" {
		t.Error(diff)
	}
	if left, err := filepath.Glob(filepath.Join(h.folder, ".*rollback*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if now := h.status().Daemon.Config; now != running {
		t.Errorf("config %s is in use, and was %s", now, running)
	}
	h.reload() // the files are those of the config in use
	if now := h.status().Daemon.Config; now != running {
		t.Errorf("the files are config %s", now)
	}
}

// A halt of everything and the pause of a run outlast a rollback, and so does what waits under them.
func TestAHaltAndAPauseOutlastARollback(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	list(t, filepath.Join(folder, "list.csv"), 3)
	_, job, _ := strings.Cut(jobConfig(folder, byCSV+"    guard: {approve_over: 1}\n"), "jobs:\n")
	h := open(t, options{folder: folder, config: pollHead + polled("polled", "") + "jobs:\n" + job})
	first := h.status().Daemon.Config
	id := h.fire("winback").ID
	h.eventually("it awaits approval", func() bool { return h.run(id).State == messaging.RunAwaiting })
	h.order(id, "pause")
	all := server.HaltRequest{Scope: messaging.ScopeAll}
	if _, err := server.Halt.Call(t.Context(), h.ask, all); err != nil {
		t.Fatal(err)
	}
	h.mustTake(h.shopify("checkouts/create", "one", cart("a", phone(0), "60.00")))
	h.edit("expires: 48h", "expires: 47h")
	h.edit("approve_over: 1", "approve_over: 2")
	h.reload()
	h.rollBack(first)
	held := h.status().Holds
	if r := h.run(id); r.State != messaging.RunPaused || len(held) != 2 {
		t.Errorf("the run is %s, halts %+v", r.State, held)
	}
	if m := h.messages(); len(m) != 1 || m[0].State != messaging.StateWaiting {
		t.Errorf("%+v", m)
	}
	if _, err := server.Resume.Call(t.Context(), h.ask, all); err != nil {
		t.Fatal(err)
	}
	h.eventually("the cart is served once the halt ends", func() bool { return h.service.Accepted(phone(0)[1:]) == 1 })
	if r := h.run(id); r.State != messaging.RunPaused {
		t.Errorf("the run is %s", r.State)
	}
	if r := h.order(id, "resume"); r.State != messaging.RunAwaiting {
		t.Errorf("resumed, the run is %s", r.State)
	}
}

// A phone that an earlier config named is blotted out once its contact is forgotten. A way back to that config writes nothing of it into a file: it
// names the lines and stops, and so does its plan. A way back to a config with nines of its own goes.
func TestARollbackToAConfigThatNamedWhoWasForgotten(t *testing.T) {
	t.Parallel()
	const gone = "+447700900998"
	for name, line := range map[string]string{ // behind the triggers
		"a key":       "test_numbers: {me: '" + gone + "'}\n",
		"a condition": "  ann: {on: shopify.cart.created, if: 'customer.phone != \"" + gone + "\"', wait: 1h, send: {template: cart}}\n",
		"a comment":   "# Ann is 07700 900998\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := pollHead + polled("polled", "") + line + "# the office is 0999999999\n"
			h := open(t, options{config: config})
			first := h.status().Daemon.Config
			h.edit("expires: 48h", "expires: 47h")
			h.reload()
			second := h.status().Daemon.Config
			h.rollBack(first) // nobody is forgotten yet, and nines are nines
			h.rollBack(second)
			h.edit(line, "")
			h.reload()
			third := h.status().Daemon.Config
			h.forget(gone)

			named := strings.Join(strings.Fields(line)[:2], " ")
			before := h.onDisk()
			_, back := server.RollBack.Call(t.Context(), h.ask, server.RollbackRequest{Version: first})
			_, plan := server.PlanConfig.Call(t.Context(), h.ask, server.PlanRequest{Version: first})
			for _, err := range []error{back, plan} {
				no, is := errors.AsType[*refusal.Error](err)
				if !is || !strings.Contains(no.Words, "config "+first+" named contacts who were forgotten since") || !strings.Contains(no.Words, named) ||
					!strings.Contains(no.Hint, "nudgewire config show "+first) {
					t.Errorf("it says %+v", err)
				}
			}
			if diff := cmp.Diff(before, h.onDisk()); diff != "" {
				t.Error(diff)
			}
			if now := h.status().Daemon.Config; now != third {
				t.Errorf("config %s is in use, and was %s", now, third)
			}
		})
	}
}

// A rollback to a config from before a job was renamed has its runs under the name that they had then: one that waits for approval goes on, what its
// canary sent is not sent again, and the slot that it has begun is not begun twice. So it is after a restart and after the way forward again.
func TestARollbackOfAJobsRenameKeepsItsRuns(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	list(t, filepath.Join(folder, "list.csv"), 3)
	const keys = "    deliver: per_message\n    send: {template: winback}\n    guard: {approve_over: 1}\n    canary: {first: 1, wait: 2h, stop_if: \"failed > 10%\"}\n"
	o := options{folder: folder, config: jobConfig(folder, keys)}
	h := open(t, o)
	first := h.status().Daemon.Config
	id := h.fire("winback").ID
	h.eventually("it awaits approval", func() bool { return h.run(id).State == messaging.RunAwaiting })
	slot := h.run(id).Slot
	halt := server.HaltRequest{Scope: messaging.ScopeJob, Name: "winback"}
	if _, err := server.Halt.Call(t.Context(), h.ask, halt); err != nil {
		t.Fatal(err)
	}
	h.edit("  winback:\n", "  weekly:\n    was: winback\n")
	h.reload()
	second := h.status().Daemon.Config
	is := func(name string) {
		t.Helper()
		if r := h.run(id); r.Job != name || r.Slot != slot {
			t.Errorf("run %d is of %s at %s, want %s at %s", id, r.Job, r.Slot, name, slot)
		}
		for _, m := range h.messages() {
			if m.Trigger != name {
				t.Errorf("message %d is of %s, not of %s", m.ID, m.Trigger, name)
			}
		}
		held := h.status().Holds
		if halt.Name == "" && len(held) > 0 || halt.Name != "" && (len(held) != 1 || held[0].Name != name) {
			t.Errorf("halts under %s: %+v", name, held)
		}
	}
	is("weekly")
	same(t, "the plan", words(waiting(server.PlanConfig.Call(t.Context(), h.ask, server.PlanRequest{Version: first}))), "winback was weekly: it takes along what is open and what is remembered")
	h.rollBack(first)
	is("winback")
	if _, err := server.ApproveRun.Call(t.Context(), h.ask, id); err != nil {
		t.Fatal(err)
	}
	h.stop()
	h = open(t, o)
	is("winback")
	if n := len(h.messages()); n > 0 {
		t.Errorf("%d messages under a halt", n)
	}
	h.rollBack(second)
	is("weekly")
	halt.Name = "weekly"
	if _, err := server.Resume.Call(t.Context(), h.ask, halt); err != nil {
		t.Fatal(err)
	}
	halt.Name = ""
	h.eventually("its canary waits", func() bool { return h.run(id).Waits == messaging.WaitCanary })
	h.rollBack(first)
	is("winback")
	if r := h.run(id); r.Waits != messaging.WaitCanary || len(h.messages()) != 1 {
		t.Errorf("it waits for %q, %d messages", r.Waits, len(h.messages()))
	}
	h.order(id, "cancel")
	if r := h.run(id); r.State != messaging.RunCancelled || len(h.messages()) != 1 {
		t.Errorf("the run is %s, %d messages", r.State, len(h.messages()))
	}
}
