package app_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/server"
)

// states are those of all messages, by number.
func (h *house) states() (out []nudgewire.State) {
	h.t.Helper()
	all := h.messages()
	slices.SortFunc(all, func(a, b server.MessageView) int { return int(a.ID - b.ID) })
	for _, m := range all {
		out = append(out, m.State)
	}
	return out
}

// show is a message with all that is known of it.
func (h *house) show(id nudgewire.DispatchID) server.MessageView {
	h.t.Helper()
	m, err := h.ask.Message(h.t.Context(), strconv.FormatInt(int64(id), 10))
	if err != nil {
		h.t.Fatal(err)
	}
	return m
}

// A limit of the config holds over triggers, its numbers are told, and what waits obeys a reload at once.
func TestALimitPutsOffAndAReloadThatLiftsItLetsGo(t *testing.T) {
	const limited = "language: en, limit: 1 per 6h}"
	config := strings.NewReplacer("wait: 1h", "wait: 1s", "language: en}", limited).Replace(plainConfig)
	h := open(t, options{config: config})
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(1), "60.00")))
	h.eventually("the first is accepted", func() bool { return slices.Equal(h.states(), []nudgewire.State{nudgewire.StateAccepted}) })
	h.mustTake(h.shopify("checkouts/update", "", cart("c2", phone(1), "61.00")))
	deferred := func() bool { return len(h.messages()) == 2 && len(h.show(2).Verdicts) == 1 }
	h.eventually("the second is put off", deferred)
	m := h.show(2)
	v := m.Verdicts[0]
	if m.State != nudgewire.StateWaiting || v.Rule != "limit" || v.Action != nudgewire.DeferSend || v.Until == nil || !v.Until.Equal(m.DueAt) ||
		!strings.Contains(v.Reason, "1 of 1 per 6h was sent to this contact") || m.FirstDue == nil || !m.DueAt.After(time.Now().Add(5*time.Hour)) {
		t.Errorf("the second: %+v", m)
	}
	if s := h.status(); s.Deferred != 1 || !slices.Equal(s.Rules, []server.RuleCountView{{Rule: "limit", Action: nudgewire.DeferSend, Times: 1}}) {
		t.Errorf("status: %d deferred, rules %+v", s.Deferred, s.Rules)
	}
	h.edit(limited, "language: en, limit: 1 per 12h}")
	h.reload()
	h.eventually("a longer limit holds at once", func() bool { return len(h.show(2).Verdicts) == 2 })
	if m := h.show(2); !m.DueAt.After(time.Now().Add(11 * time.Hour)) {
		t.Errorf("by the longer limit: %+v", m)
	}
	h.edit("language: en, limit: 1 per 12h}", "language: en}")
	h.reload()
	h.eventually("both are accepted", func() bool {
		return slices.Equal(h.states(), []nudgewire.State{nudgewire.StateAccepted, nudgewire.StateAccepted})
	})
}
