//go:build unix

package app_test

import (
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// One node knows of a rename, the other still has the config before: nothing is sent twice whichever takes an event, what held
// goes on holding, and the same is so once the other has the new config, too.
func TestARenameThatOneNodeKnows(t *testing.T) {
	t.Parallel()
	_, address := onPostgres(t)
	const probe = "  probe: {on: shopify.order.created, category: utility, cooldown: none, send: {template: probe}}\n"
	day, night := "if: cart.total < 100, ", `if: cart.total >= 100, quiet_hours: "`+nowQuiet()+`", `
	before := pollHead + polled("polled", day) + polled("night", night) + probe
	after := pollHead + polled("polled-2", "was: polled, "+day) + polled("night-2", "was: night, "+night) + probe
	one, two := open(t, options{storage: address, config: before}), open(t, options{storage: address, config: before})
	sent := func(n int) int { return one.service.Accepted(phone(n)[1:]) + two.service.Accepted(phone(n)[1:]) }
	post := func(h *house, token string, n int, total string) {
		t.Helper()
		h.mustTake(h.shopify("checkouts/create", "", cart(token, phone(n), total)))
	}
	all := func(h *house) {
		post(h, "served", 0, "60.00")
		post(h, "waits", 1, "60.00")
		post(h, "night", 2, "160.00")
	}
	of := func(n int) (found []server.MessageView) {
		for _, m := range one.messages() {
			if "+"+string(m.Phone) == phone(n) {
				found = append(found, m)
			}
		}
		return found
	}
	post(one, "served", 0, "60.00")
	one.eventually("a cart is served", func() bool { return sent(0) == 1 })
	post(two, "night", 2, "160.00")
	one.eventually("a cart waits for the morning", func() bool {
		all := of(2)
		return len(all) == 1 && strings.Contains(all[0].Reason, "quiet hours are")
	})
	if _, err := server.Halt.Call(t.Context(), two.ask, server.HaltRequest{Scope: messaging.ScopeTrigger, Name: "polled"}); err != nil {
		t.Fatal(err)
	}
	post(two, "waits", 1, "60.00")
	one.edit(before, after)
	one.reload()
	for _, h := range []*house{two, one, two} {
		all(h)
	}
	if _, err := server.Resume.Call(t.Context(), one.ask, server.HaltRequest{Scope: messaging.ScopeTrigger, Name: "polled-2"}); err != nil {
		t.Fatal(err)
	}
	one.eventually("what waited is sent", func() bool { return sent(1) == 1 })
	for _, h := range []*house{two, one, two} {
		all(h)
	}
	two.edit(before, after)
	two.reload()
	all(two)
	for i, h := range []*house{one, two} {
		h.mustTake(h.shopify("orders/create", "", order("probe"+h.folder, phone(3+i), "1.00")))
		h.eventually("another trigger's message is sent", func() bool { return sent(3+i) == 1 })
	}
	for n, want := range []int{1, 1, 0} {
		if got := sent(n); got != want {
			t.Errorf("contact %d got %d messages, want %d", n, got, want)
		}
		live := 0
		for _, m := range of(n) {
			if m.State == messaging.StateWaiting {
				live++
				if m.Trigger != "night-2" || !strings.Contains(m.Reason, "quiet hours are") {
					t.Errorf("message %d of %s waits: %q", m.ID, m.Trigger, m.Reason)
				}
			}
		}
		if live != 1-want {
			t.Errorf("%d messages to contact %d wait", live, n)
		}
	}
}
