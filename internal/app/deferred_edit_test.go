package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/sandbox"
)

// What quiet hours put off waits as anything does: an edit pins it, plans it anew or cancels it, a trigger that is turned off
// or removed holds it, and its order still ends it. When quiet hours are lifted and the trigger is back, what is left goes once.
func TestAnEditMeetsWhatQuietHoursPutOff(t *testing.T) {
	t.Parallel()
	quiet := "language: en, quiet_hours: " + nearlyAlways(t) + "}"
	edits := map[string]struct {
		edit, back func(*house)
		meanwhile  messaging.State
		sent       string // of what is left; "" for nothing
	}{
		"pin":     {func(h *house) { h.edit("cart_reminder", "cart_news") }, nil, messaging.StateWaiting, "cart_reminder"},
		"migrate": {func(h *house) { h.edit("cart_reminder", "cart_news") }, nil, messaging.StateWaiting, "cart_news"},
		"cancel":  {func(h *house) { h.edit("cart_reminder", "cart_news") }, nil, messaging.StateCancelled, ""},
		"off": {
			func(h *house) { h.edit(sends, stops["off"]) }, func(h *house) { h.edit(stops["off"], sends) },
			messaging.StateWaiting, "cart_reminder",
		},
		"gone": {
			func(h *house) { h.edit(sends, stops["gone"]) }, func(h *house) { h.edit(stops["gone"], sends) },
			messaging.StateWaiting, "cart_reminder",
		},
	}
	for how, want := range edits {
		t.Run(how, func(t *testing.T) {
			config := plainConfig
			if want.back == nil {
				config = with(how)
			}
			h := open(t, options{config: strings.NewReplacer("wait: 1h", "wait: 1s", "language: en}", quiet).Replace(config)})
			for i, id := range []string{"c1", "c2"} {
				h.mustTake(h.shopify("checkouts/update", "", cart(id, phone(i), "60.00")))
			}
			for i := range 2 {
				h.eventually("it is put off", func() bool { m := h.of("reminder", phone(i)); return m != nil && len(m.Verdicts) > 0 })
			}
			want.edit(h)
			h.reload()
			if m := h.of("reminder", phone(0)); m.State != want.meanwhile || m.Attempt != 0 {
				t.Errorf("after the edit it is %s, attempt %d: %s", m.State, m.Attempt, m.Reason)
			}
			h.mustTake(h.shopify("orders/create", "", order("c2", phone(1), "60.00")))
			if m := h.of("reminder", phone(1)); m.State != messaging.StateCancelled {
				t.Errorf("after its order it is %s: %s", m.State, m.Reason)
			}
			h.edit(quiet, "language: en}")
			h.reload()
			if want.back != nil {
				h.settle(phone(7))
				if m := h.of("reminder", phone(0)); m.State != messaging.StateWaiting || m.Attempt != 0 {
					t.Errorf("before it is back it is %s, attempt %d", m.State, m.Attempt)
				}
				want.back(h)
				h.reload()
			}
			if want.sent == "" {
				h.settle(phone(8))
				if n := h.service.Accepted(phone(0)[1:]); n != 0 {
					t.Errorf("%d were sent", n)
				}
				return
			}
			h.eventually("it is sent", func() bool { return h.of("reminder", phone(0)).State == messaging.StateAccepted })
			if m := h.of("reminder", phone(0)); h.service.Accepted(phone(0)[1:]) != 1 || m.What != `template "`+want.sent+`"` {
				t.Errorf("%d were sent, of %s", h.service.Accepted(phone(0)[1:]), m.What)
			}
		})
	}
}

// Rules may change while sending is halted for want of points. A reload tries at once and meets the trouble again;
// what waits follows the rules, and when points return each that is left is sent once.
func TestAnEditMeetsAHaltForPoints(t *testing.T) {
	t.Parallel()
	for how, sent := range map[string]string{"pin": "cart_reminder", "migrate": "cart_news", "cancel": ""} {
		t.Run(how, func(t *testing.T) {
			h := open(t, options{config: strings.Replace(with(how), "wait: 1h", "wait: 1s", 1)})
			h.service.SetFaults(sandbox.Faults{ErrorRate: 1, Status: http.StatusPaymentRequired, Endpoints: []string{"send-template"}})
			h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(0), "60.00")))
			halted := func() bool { v := h.status().Daemon.Halts; return len(v) > 0 && v[0].Cause == "points" }
			waits := func() bool {
				m := h.of("reminder", phone(0))
				return m.State == messaging.StateWaiting && m.Attempt > 0
			}
			h.eventually("sending is halted for points", halted)
			h.eventually("it waits again", waits)
			h.edit("cart_reminder", "cart_news")
			h.reload()
			if sent == "" {
				h.eventually("it is cancelled", func() bool { return h.of("reminder", phone(0)).State == messaging.StateCancelled })
			} else {
				h.eventually("the reload tried, and it waits still", func() bool { return waits() && h.of("reminder", phone(0)).What == `template "`+sent+`"` })
			}
			h.service.SetFaults(sandbox.Faults{})
			h.reload() // it tries at once
			if sent == "" {
				h.settle(phone(7))
			} else {
				h.eventually("it is sent", func() bool { return h.of("reminder", phone(0)).State == messaging.StateAccepted })
			}
			if n := h.service.Accepted(phone(0)[1:]); n != map[bool]int{true: 0, false: 1}[sent == ""] {
				t.Errorf("%d were sent", n)
			}
			h.eventually("nothing halts it any more", func() bool { return h.status().Daemon.Halts == nil })
		})
	}
}
