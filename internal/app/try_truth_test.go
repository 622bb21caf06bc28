package app

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/delivery/enricher"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

// drawnRules is a config with one to three triggers of drawn rules.
func drawnRules(t *rapid.T) string {
	pick := func(of string, from ...string) string { return rapid.SampledFrom(from).Draw(t, of) }
	line := func(of, key string, from ...string) string {
		if value := pick(of, append([]string{""}, from...)...); value != "" {
			return "    " + key + ": " + value + "\n"
		}
		return ""
	}
	text := `
api: {base_url: "https://api.example.com", key: k}
connectors:
  shop:
    verify: {kind: none}
    event: {type: type, id: id}
    map: {phone: phone, cart.id: cart, cart.total: total, customer.accepts_marketing: yes}
defaults:
  country: GB
  language: en
` + strings.ReplaceAll(line("default hours", "quiet_hours", "21:00-09:00")+line("default limit", "limit", "1 per 24h", "2 per day"), "    ", "  ") + "triggers:\n"
	for i := range rapid.IntRange(1, 3).Draw(t, "triggers") {
		text += fmt.Sprintf("  t%d:\n    on: shop.cart\n    send: {template: t%d}\n", i, i) +
			line("category", "category", "marketing", "utility") + line("wait", "wait", "30m", "5h", "26h") + line("if", "if", `"cart.total >= 50"`) +
			line("consent", "consent", "required") + line("hours", "quiet_hours", "20:00-10:00", "off", "{hours: 21:00-09:00, on_hit: drop}", "{hours: 21:00-09:00, max_defer: 6h}") +
			line("limit", "limit", "1 per 24h", "{count: 1 per day, on_hit: drop}", "2 per 7d", "off") + line("cooldown", "cooldown", "once", "none", "6h") +
			line("repeat", "on_repeat", "ignore", "parallel", "restart", "restart", "restart") + line("expires", "expires", "8h", "30h") + line("key", "key", "cart.id", "customer.phone") +
			line("cancel", "cancel_on", "shop.bought")
	}
	return text
}

// What a try says of a webhook is what the daemon then does: the same decisions with the same reasons, and each message goes when it was said,
// or ends for the reason that was told.
func TestATryIsTheTruth(t *testing.T) {
	t.Parallel()
	n := 0
	met := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		n++
		cfg, problems := config.Parse("config.yaml", []byte(drawnRules(rt)), func(string) (string, bool) { return "", false })
		if cfg == nil || problems.Errors() > 0 {
			rt.Fatalf("rules that nobody may write: %v", problems)
		}
		now := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
		s, err := store.Open(t.Context(), store.Options{
			DSN: "sqlite:" + filepath.Join(t.TempDir(), fmt.Sprint(n, ".db")), Settle: triggers.Settle, Now: func() time.Time { return now },
			Due: func() messaging.DueRules { return cfg.Due },
		})
		if err != nil {
			rt.Fatal(err)
		}
		defer s.Close()
		trial := TrialOf(cfg)
		trial.Ledger = s
		h := tried{rt, s, cfg, &now, met}
		for i := range 12 {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{1, 10, 60, 300, 900}).Draw(rt, "minutes")) * time.Minute)
			h.due(now)
			body := fmt.Sprintf(`{"type": %q, "id": "e%d", "phone": "0770090012%d", "cart": "c%d", "total": %d, "yes": %s}`,
				rapid.SampledFrom([]string{"cart", "cart", "cart", "bought"}).Draw(rt, "type"), rapid.IntRange(max(0, i-3), i).Draw(rt, "id"),
				rapid.IntRange(1, 2).Draw(rt, "phone"), rapid.IntRange(1, 2).Draw(rt, "cart"), rapid.SampledFrom([]int{20, 80}).Draw(rt, "total"),
				rapid.SampledFrom([]string{"true", "false", "null"}).Draw(rt, "yes"))
			alone := rapid.IntRange(0, 2).Draw(rt, "alone") == 0
			if alone {
				h.drain()
			}
			h.post(&trial, body, alone)
		}
	})
	for _, what := range []string{"planned", "skipped", "restarted", "cancelling", "cancelled", "goes", "deferred", "dropped"} {
		if met[what] == 0 {
			t.Errorf("%s was never met, of %v", what, met)
		}
	}
}

// tried is data that webhooks come to.
type tried struct {
	*rapid.T
	*store.Store
	cfg *config.Config
	now *time.Time
	met map[string]int // how often each outcome was held against the truth
}

func (h tried) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// due carries out what falls due up to a time, each at its moment. All that is sent arrives.
func (h tried) due(until time.Time) {
	h.Helper()
	for range 1000 {
		at, waits, err := h.NextDue(h.Context())
		h.must(err)
		if !waits || at.After(until) {
			*h.now = until
			return
		}
		*h.now = at
		got, err := h.Claim(h.Context(), messaging.ClaimRequest{Owner: "me", Now: at, Lease: time.Minute, Authentication: 9, Utility: 9, Marketing: 9})
		h.must(err)
		for i := range got {
			h.must(h.Finish(h.Context(), messaging.Attempt{
				MessageID: got[i].ID, Owner: "me", Number: got[i].Attempt, State: messaging.StateAccepted, At: at,
				Message: &messaging.Message{ServiceID: messaging.ServiceID(fmt.Sprint(got[i].ID)), Phone: got[i].Phone, Category: got[i].Category, Status: messaging.StatusAccepted},
			}))
		}
	}
	h.Fatal("something falls due for ever")
}

// drain carries out all that waits, and begins the next day.
func (h tried) drain() {
	h.Helper()
	for {
		at, waits, err := h.NextDue(h.Context())
		if h.must(err); !waits {
			return
		}
		h.due(at)
	}
}

// post tries a webhook and then takes it. alone says that nothing waits that could come between.
func (h tried) post(trial *preview.Trial, body string, alone bool) {
	h.Helper()
	c := h.cfg.Receivers["shop"]
	req := connectors.Request{Method: http.MethodPost, Path: "/hooks/shop", Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body), Now: *h.now, Proven: true}
	said, err := trial.Request(h.Context(), c, req)
	h.must(err)
	got, err := c.Receive(req)
	h.must(err)
	if len(said.Events) != 1 || len(got.Events) != 1 || len(said.Assumed) > 0 {
		h.Fatalf("%s: %+v", body, said)
	}
	receipts, err := h.Accept(h.Context(), []messaging.Plan{enricher.First(c, h.cfg.Triggers, &got.Events[0], *h.now)})
	h.must(err)
	e, did := &said.Events[0], &receipts[0]
	if (e.Repeats != 0) != did.Duplicate || did.Duplicate && e.Repeats != did.EventID {
		h.Fatalf("%s repeats %d, and did %+v", body, e.Repeats, did)
	}
	if did.Duplicate {
		return
	}
	if len(e.Decisions) != len(did.Decisions) {
		h.Fatalf("%s: said %+v, did %+v", body, e.Decisions, did.Decisions)
	}
	for i := range did.Decisions {
		h.met[string(did.Decisions[i].Outcome)]++
		if want, is := &e.Decisions[i], &did.Decisions[i]; want.Trigger != is.Trigger || want.Outcome != is.Outcome || want.Reason != is.Reason {
			h.Errorf("%s: said %s %s: %s\ndid %s %s: %s", body, want.Trigger, want.Outcome, want.Reason, is.Trigger, is.Outcome, is.Reason)
		}
	}
	if !alone {
		return
	}
	h.drain()
	for i := range did.Decisions {
		if m := e.Decisions[i].Message; m != nil && did.Decisions[i].MessageID != 0 {
			h.went(did.Decisions[i].MessageID, m)
		}
	}
}

// went holds what became of a message against what was said of it.
func (h tried) went(id messaging.MessageID, said *preview.TriedMessage) {
	h.Helper()
	m, err := h.Message(h.Context(), id)
	h.must(err)
	goes := said.DueAt
	if said.Held == nil {
		h.met["goes"]++
	}
	if hold := said.Held; hold != nil {
		h.met[string(hold.Action)]++
		if hold.Action == messaging.DropSend {
			if m.State != messaging.StateDropped || m.Reason != hold.Reason {
				h.Errorf("message %d was to be dropped (%s); it is %s (%s)", id, hold.Reason, m.State, m.Reason)
			}
			return
		}
		goes = hold.Until
	}
	if m.State != messaging.StateAccepted || !m.AcceptedAt.Equal(goes) {
		h.Errorf("message %d was to go at %s (%+v); it is %s (%s), taken at %s", id, goes, said.Held, m.State, m.Reason, m.AcceptedAt)
	}
}
