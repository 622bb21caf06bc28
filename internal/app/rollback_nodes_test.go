//go:build unix

package app_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// Two nodes read one file. A rollback on one of them is for that one; the other goes on with the config that it has, both are told, and a reload of
// the other takes up the same version.
func TestARollbackOnOneOfTwoNodesWithOneFile(t *testing.T) {
	t.Parallel()
	_, address := onPostgres(t)
	folders := []string{t.TempDir(), t.TempDir()}
	var all []*house
	for _, folder := range folders {
		all = append(all, open(t, options{storage: address, config: with("migrate"), folder: folder, env: func(name string) (string, bool) {
			if name == "NODE_FOLDER" {
				return folder, true
			}
			return testEnv(name)
		}}))
	}
	one, two := all[0], all[1]
	text, err := os.ReadFile(one.file())
	if err != nil {
		t.Fatal(err)
	}
	one.write(strings.Replace(string(text), folders[0], `"${NODE_FOLDER}"`, 1))
	if err := errors.Join(os.Remove(two.file()), os.Symlink(one.file(), two.file())); err != nil {
		t.Fatal(err)
	}
	versions := func() (all []string) { return []string{one.status().Daemon.Config, two.status().Daemon.Config} }
	differ := func(h *house) bool {
		return slices.ContainsFunc(h.status().Troubles, func(one messaging.Trouble) bool {
			return one.Code == messaging.TroubleNodes && one.Subject == "config"
		})
	}
	one.reload()
	two.reload()
	first := versions()[0]
	one.threeCarts()
	due := one.due()
	one.edit("wait: 1h", "wait: 2h")
	one.reload()
	two.reload()
	second := versions()[0]
	same(t, "the versions", versions(), second, second)

	one.rollBack(first)
	same(t, "the versions after the rollback", versions(), first, second)
	one.eventually("both are told", func() bool { return differ(one) && differ(two) })
	if now := one.due(); !slices.Equal(now, due) {
		t.Errorf("due at %v, were %v", now, due)
	}
	plan, err := server.PlanConfig.Call(t.Context(), two.ask, server.PlanRequest{})
	if err != nil || plan.Version != first || len(plan.Edits) != 1 {
		t.Errorf("the other node's plan: %+v, %v", plan, err)
	}
	two.reload()
	same(t, "the versions after its reload", versions(), first, first)
	one.eventually("nobody is told any more", func() bool { return !differ(one) && !differ(two) })
	if now := two.due(); !slices.Equal(now, due) {
		t.Errorf("due at %v, were %v", now, due)
	}
	// The other way round it is the same file, by its link.
	two.rollBack(second)
	if info, err := os.Lstat(two.file()); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	one.reload()
	same(t, "the versions at last", versions(), second, second)
}

// One of two nodes takes a rename of a trigger and of a job back, while the other has the config that renamed them still: what waits has its older name
// and keeps it, its halt holds, and nothing is sent twice whichever takes an event, also once the other has gone back, too.
func TestARenameThatOneOfTwoNodesTakesBack(t *testing.T) {
	t.Parallel()
	_, address := onPostgres(t)
	lists := t.TempDir()
	list(t, filepath.Join(lists, "list.csv"), 3)
	_, job, _ := strings.Cut(jobConfig(lists, byCSV+"    guard: {approve_over: 1}\n"), "jobs:\n")
	const probe = "  probe: {on: shopify.order.created, category: utility, cooldown: none, send: {template: probe}}\n"
	before := pollHead + polled("polled", "") + probe + "jobs:\n" + job
	after := pollHead + polled("polled-2", "was: polled, ") + probe + "jobs:\n" + strings.Replace(job, "  winback:\n", "  weekly:\n    was: winback\n", 1)
	one, two := open(t, options{storage: address, config: before}), open(t, options{storage: address, config: before})
	first := one.status().Daemon.Config
	sent := func(n int) int { return one.service.Accepted(phone(n)[1:]) + two.service.Accepted(phone(n)[1:]) }
	post := func(h *house, token string, n int) {
		t.Helper()
		h.mustTake(h.shopify("checkouts/create", "", cart(token, phone(n), "60.00")))
	}
	both := func() {
		t.Helper()
		for _, h := range []*house{two, one, two} {
			post(h, "served", 0)
			post(h, "waits", 1)
		}
		for i, h := range []*house{one, two} {
			for _, now := range []time.Time{time.Now(), time.Now().Add(time.Hour)} { // as it does now and then: soon after a reload, and long after it
				if err := h.LateRules(t.Context(), now); err != nil {
					t.Fatal(err)
				}
			}
			n := sent(3 + i)
			h.mustTake(h.shopify("orders/create", "", order(fmt.Sprint("probe", i, n), phone(3+i), "1.00")))
			h.eventually("another trigger's message is sent", func() bool { return sent(3+i) == n+1 })
		}
	}
	post(one, "served", 0)
	one.eventually("a cart is served", func() bool { return sent(0) == 1 })
	id := one.fire("winback").ID
	one.eventually("the run awaits approval", func() bool { return one.run(id).State == messaging.RunAwaiting })
	if _, err := server.Halt.Call(t.Context(), one.ask, server.HaltRequest{Scope: messaging.ScopeTrigger, Name: "polled"}); err != nil {
		t.Fatal(err)
	}
	post(two, "waits", 1)
	are := func(trigger, job string) {
		t.Helper()
		waits := 0
		for _, m := range one.messages() {
			if m.State == messaging.StateWaiting {
				waits++
				if m.Trigger != trigger {
					t.Errorf("message %d waits as one of %s, not of %s", m.ID, m.Trigger, trigger)
				}
			}
		}
		if waits != 1 || one.run(id).Job != job || sent(1) != 0 || sent(0) != 1 {
			t.Errorf("%d wait, the run is of %s; served %d and %d times", waits, one.run(id).Job, sent(0), sent(1))
		}
		for _, h := range []*house{one, two} {
			if held := h.status().Holds; len(held) != 1 || held[0].Name != trigger {
				t.Errorf("halts: %+v", held)
			}
		}
	}
	for _, h := range []*house{one, two} {
		h.edit(before, after)
		h.reload()
	}
	both()
	are("polled-2", "weekly")

	one.rollBack(first)
	both()
	are("polled", "winback")
	both()
	are("polled", "winback")
	two.rollBack(first)
	both()
	are("polled", "winback")

	if _, err := server.Resume.Call(t.Context(), two.ask, server.HaltRequest{Scope: messaging.ScopeTrigger, Name: "polled"}); err != nil {
		t.Fatal(err)
	}
	one.eventually("what waited is sent", func() bool { return sent(1) == 1 })
	both()
	if n := len(one.messages()); sent(0) != 1 || sent(1) != 1 {
		t.Errorf("served %d and %d times, %d messages", sent(0), sent(1), n)
	}
	if r := two.order(id, "cancel"); r.Job != "winback" || r.State != messaging.RunCancelled {
		t.Errorf("the run is one of %s, and %s", r.Job, r.State)
	}
}
