package app_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/simulation"
)

// played waits until the newest simulation has ended.
func (h *house) played() (p simulation.Status) {
	h.t.Helper()
	h.eventually("the simulation ends", func() bool {
		var err error
		if p, err = server.ShowSimulation.Call(h.t.Context(), h.ask, server.None{}); err != nil {
			h.t.Fatal(err)
		}
		return p.State != simulation.Running
	})
	return p
}

// A daemon plays its stored events by edited files, by edited triggers and by an earlier config, and says whose messages would be otherwise. It changes
// nothing, and who is forgotten meanwhile is not told of any more.
func TestADaemonPlaysStoredEvents(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: withPages(with("pin"))})
	h.hasBegun()
	h.threeCarts()
	first, due := h.status().Daemon.Config, h.due()
	began := time.Now().Add(-time.Hour)
	plays := func(o simulation.Request) simulation.Status {
		t.Helper()
		o.Since = began
		if p, err := server.Simulate.Call(t.Context(), h.ask, o); err != nil || p.State != simulation.Running {
			t.Fatalf("%+v, %v", p, err)
		}
		return h.played()
	}
	if p, err := server.ShowSimulation.Call(t.Context(), h.ask, server.None{}); err != nil || p.State != simulation.None {
		t.Errorf("before any: %+v, %v", p, err)
	}
	for _, one := range []struct {
		order  simulation.Request
		status int
		words  string
	}{
		{simulation.Request{}, http.StatusConflict, "which is in use"},
		{simulation.Request{Version: "000000000000"}, http.StatusNotFound, "are not kept"},
		{simulation.Request{Edited: "reminder: {on: shopify.cart.abandoned, wait: never}"}, http.StatusUnprocessableEntity, "cannot be used"},
		{simulation.Request{Since: time.Now().Add(time.Hour)}, http.StatusBadRequest, "is to come"},
	} {
		_, err := server.Simulate.Call(t.Context(), h.ask, one.order)
		if no, is := errors.AsType[*refusal.Error](err); !is || no.Status != one.status || !strings.Contains(no.Words, one.words) {
			t.Errorf("%+v: %v", one.order, err)
		}
	}
	if _, err := server.StopSimulation.Call(t.Context(), h.ask, server.None{}); err == nil {
		t.Error("one was stopped that does not run")
	}

	h.edit("wait: 1h", "wait: 2h")
	p := plays(simulation.Request{})
	if p.State != simulation.Done || len(p.Changes) != 3 || p.Was != first || p.Is == first || p.Is == "" || p.Error != "" {
		t.Fatalf("by the edited files: %+v", p)
	}
	for _, c := range p.Changes {
		if c.Kind != simulation.Moved || !c.Is.Due.Equal(c.Was.Due.Add(time.Hour)) {
			t.Errorf("%+v was %v is %v", c, c.Was, c.Is)
		}
	}
	if now := h.due(); len(now) != 3 || !now[0].Equal(due[0]) || h.status().Daemon.Config != first {
		t.Errorf("a simulation changed something: %v, %v", now, due)
	}
	gone := p.Changes[0].Phone
	h.forget(string(gone))
	if p := h.played(); len(p.Changes) != 2 || p.Changes[0].Phone == gone || p.Changes[1].Phone == gone {
		t.Errorf("of who was forgotten: %+v", p.Changes)
	}

	if _, err := server.Reload.Call(t.Context(), h.ask, server.ReloadRequest{}); err != nil {
		t.Fatal(err)
	}
	if p := plays(simulation.Request{Version: first}); p.State != simulation.Done || len(p.Changes) != 2 || p.Is != first {
		t.Errorf("by the config before: %+v", p)
	}
	if p := plays(simulation.Request{Ledger: true}); p.State != simulation.Done || p.Was != "" {
		t.Errorf("against what was sent: %+v", p)
	}
	if left, err := os.ReadDir(filepath.Join(h.folder, "data.db.simulations")); err == nil && len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	// The daemon's own pages show it.
	b := h.browser()
	b.signIn(false)
	h.edit("wait: 2h", "wait: 3h")
	b.press("/simulation", "simulate")
	h.played()
	b.says(b.page("/simulation"), "2 messages would be otherwise", "By Trigger", "moved", "cart_reminder")
}

// A daemon's lists, sent as files or one by one, approved or cancelled, are played as they were sent; and an edit of a job is told row by row.
func TestADaemonPlaysItsLists(t *testing.T) {
	t.Parallel()
	for name, deliver := range map[string]string{"as files": byCSV, "one by one": perMessage} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			wanted := list(t, filepath.Join(folder, "list.csv"), 100)
			h := open(t, options{folder: folder, config: withPages(jobConfig(folder, deliver+"    guard: {approve_over: 1}\n"))})
			began := time.Now().Add(-time.Hour)
			first := h.fire("winback").ID
			h.eventually("it awaits approval", func() bool { return h.run(first).State == messaging.RunAwaiting })
			h.order(first, "approve")
			h.eventually("it is done", func() bool { return h.run(first).State == messaging.RunDone })
			second := h.fire("winback").ID
			h.eventually("the second awaits approval", func() bool { return h.run(second).State == messaging.RunAwaiting })
			h.order(second, "cancel")
			if deliver == perMessage {
				h.eventually("all are sent", func() bool { return h.delivered("") == len(wanted) })
			}
			plays := func(o simulation.Request) simulation.Status {
				t.Helper()
				o.Since = began
				if p, err := server.Simulate.Call(t.Context(), h.ask, o); err != nil || p.State != simulation.Running {
					t.Fatalf("%+v, %v", p, err)
				}
				return h.played()
			}
			if p := plays(simulation.Request{Ledger: true}); p.State != simulation.Done || len(p.Changes) != 0 || p.Runs != 2 || len(p.Jobs) != 1 || p.Jobs[0].Was != int64(len(wanted)) {
				t.Fatalf("against what was sent: %+v", p)
			}
			h.edit("guard: {approve_over: 1}", "mode: off")
			p := plays(simulation.Request{})
			if p.State != simulation.Done || len(p.Changes) != len(wanted) || p.Jobs[0].Gone != int64(len(wanted)) {
				t.Fatalf("by a job that is off: %+v", p)
			}
			for _, c := range p.Changes {
				if c.Kind != simulation.Gone || c.Job != "winback" || c.Run != first || c.Trigger != "" || c.Reason != "its job is off" {
					t.Errorf("%+v", c)
				}
			}
			h.edit("mode: off", "guard: {repeat: send}")
			if p := plays(simulation.Request{}); p.State != simulation.Done || p.Jobs[0].New < int64(len(wanted)) {
				t.Errorf("without a guard, the second goes, too: %+v", p.Jobs)
			}
			b := h.browser()
			b.signIn(false)
			b.says(b.page("/simulation"), "By Job", "winback", fmt.Sprint("run ", second))
		})
	}
}
