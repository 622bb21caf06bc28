package simulation_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/simulation"
	"github.com/nudgewire/nudgewire/internal/store"
)

const shop = `
api: {base_url: "https://messages.example/api/v1", key: "${KEY}"}
defaults: {timezone: Europe/London, country: GB, language: en}
connectors:
  shop:
    verify: {kind: none}
    event: {type: topic, id: [id]}
    map:
      phone: phone
      first_name: name
      cart.id: cart
      cart.total: total
      order.id: order
triggers:
  cart:
    on: shop.cart.updated
    if: [cart.total >= 50]
    wait: 45m
    key: cart.id
    cancel_on: [shop.order.paid]
    limit: 2 per day
    quiet_hours: "21:00-08:00"
    send: {template: cart_reminder, variables: ['{{ customer.first_name | default: "there" }}', '{{ cart.total }}']}
  paid:
    on: shop.order.paid
    category: utility
    send: {template: thank_you, variables: ['{{ customer.first_name | default: "there" }}']}
`

func rulesOf(t testing.TB, text string) simulation.Rules {
	t.Helper()
	cfg, problems := config.ParseWithoutSecrets("config.yaml", []byte(text), func(string) (string, bool) { return "", false })
	if cfg == nil || problems.Errors() > 0 {
		t.Fatal(problems)
	}
	return app.SimulationOf(cfg)
}

// A deed is what somebody does in a month, so long after its begin.
type deed struct {
	at time.Duration
	do func(*simulation.World) error
}

// A month is what so many webhooks of a shop, about so many carts (0: each about its own), led to, by the daemon's own code, with what somebody did
// meanwhile, in the order of its time.
func month(t testing.TB, rules *simulation.Rules, webhooks, carts int, deeds ...deed) simulation.Past {
	t.Helper()
	sim, err := simulation.NewSimulator("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	start := time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC) // the clocks change within it
	random := rand.New(rand.NewPCG(1, 2))
	w, err := sim.Begin(t.Context(), *rules, func(simulation.Call) (f simulation.Fate) {
		switch random.IntN(10) {
		case 0:
			f.Status, f.Error = messaging.StatusFailed, "the phone is switched off"
		case 1:
			f.Status = messaging.StatusRead
		}
		return f
	}, start)
	if err != nil {
		t.Fatal(err)
	}
	lasts := 30 * 24 * time.Hour
	next := start
	until := func(at time.Time) { // with the jobs that fire
		t.Helper()
		for !next.IsZero() && !next.After(at) {
			if err = w.RunUntil(t.Context(), next); err == nil {
				next, err = w.Tick(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.RunUntil(t.Context(), at); err != nil {
			t.Fatal(err)
		}
	}
	for i := range webhooks {
		at := lasts / time.Duration(webhooks) * time.Duration(i)
		for ; len(deeds) > 0 && deeds[0].at <= at; deeds = deeds[1:] {
			until(start.Add(deeds[0].at))
			if err := deeds[0].do(w); err != nil {
				t.Fatal(err)
			}
		}
		until(start.Add(at))
		cart := i * i * 7919 % 1_000_003 // carts of their own, unless a number of them is asked for
		if carts > 0 {
			cart = random.IntN(carts)
		}
		topic := "cart.updated"
		if random.IntN(3) == 0 {
			topic = "order.paid"
		}
		body := fmt.Sprintf(`{"id":"e%d","topic":%q,"phone":"+4477009%05d","name":"Ada %d","cart":"c%d","total":%d,"order":"o%d"}`,
			i, topic, cart%(1+webhooks/10), cart%7, cart, 20+random.IntN(100), i)
		taken, err := w.Take(t.Context(), rules.Receivers["shop"], connectors.Request{Method: http.MethodPost, Path: "/hooks/shop", Body: []byte(body), Header: http.Header{"Content-Type": {"application/json"}}})
		if err != nil || taken.Rejected != nil {
			t.Fatal(err, taken.Rejected)
		}
	}
	until(start.Add(lasts))
	return simulation.Past{Store: w.Store, From: start, Until: w.Now(), Zone: time.UTC}
}

// monthly is how many webhooks a month has: NUDGEWIRE_SIMULATED_EVENTS, or few.
func monthly(t testing.TB) int { return number(t, "NUDGEWIRE_SIMULATED_EVENTS", 1000) }

func compare(t testing.TB, p simulation.Past, was, is *simulation.Rules) *simulation.Comparison {
	t.Helper()
	got, err := simulation.Compare(t.Context(), p, was, is)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// What the config that ran would send is what was sent, message by message.
func TestASimulationEqualsTheLedger(t *testing.T) {
	rules := rulesOf(t, shop)
	events := monthly(t)
	past := month(t, &rules, events, events*35/100)
	for name, was := range map[string]*simulation.Rules{"the ledger": nil, "the same config": &rules} {
		got := compare(t, past, was, &rules)
		if got.Differs() || got.Events != int64(events) || len(got.Triggers) != 2 || got.Triggers[0].Was < 50 || got.Triggers[1].Was < 250 {
			t.Errorf("against %s: %d changes, the first %+v; %+v of %d", name, len(got.Changes), got.Changes[:min(3, len(got.Changes))], got.Triggers, got.Events)
		}
	}
}

// A longer wait moves those who wait, and nobody else.
func TestALongerWaitMovesWhoWaits(t *testing.T) {
	rules, later := rulesOf(t, shop), rulesOf(t, strings.Replace(shop, "wait: 45m", "wait: 2h", 1))
	events := monthly(t)
	past := month(t, &rules, events, events*35/100)
	got := compare(t, past, &rules, &later)
	moved, replaced := int64(0), 0
	for _, c := range got.Changes {
		switch {
		case c.Trigger != "cart":
			t.Fatalf("%+v", c)
		case c.Kind == simulation.Moved:
			// Out of the night, or into it, it moves by another span.
			if by := c.Is.Due.Sub(c.Was.Due); by <= 0 || by > 24*time.Hour {
				t.Errorf("moved by %s: %+v", by, c)
			}
			moved++
		case c.Kind == simulation.Gone && c.Reason == "":
			t.Errorf("nobody says why it is gone: %+v", c)
		case strings.HasSuffix(c.Reason, ", of the same key, took its place while it waited"):
			replaced++
		}
	}
	if replaced == 0 {
		t.Error("no second word about a cart met the longer wait")
	}
	// Nobody's message is where it was but those that wait for the morning in both.
	if moved < 100 || moved != got.Triggers[0].Moved {
		t.Errorf("%d moved: %+v", moved, got.Triggers)
	}
}

// A lower limit takes from each contact what is beyond it, and from nobody else.
func TestALowerLimitTakesWhatIsBeyondIt(t *testing.T) {
	const limit = "limit: {count: %d per day, on_hit: drop}"
	two := strings.Replace(shop, "limit: 2 per day", fmt.Sprintf(limit, 2), 1)
	rules, lower := rulesOf(t, two), rulesOf(t, strings.Replace(two, fmt.Sprintf(limit, 2), fmt.Sprintf(limit, 1), 1))
	events := monthly(t)
	past := month(t, &rules, events, 0) // each cart comes once, so that what is dropped is not made up for by the next word about it
	london, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	all, err := past.Store.Messages(t.Context(), store.MessageFilter{Limit: events})
	if err != nil {
		t.Fatal(err)
	}
	// What is beyond one a day, counted apart from all rules: what failed reached nobody, from when that is known.
	slices.SortFunc(all, func(a, b store.MessageStory) int {
		// Of two that waited for the same morning the service's own numbers say which came first.
		return cmp.Or(a.AcceptedAt.Compare(b.AcceptedAt), len(a.ServiceID)-len(b.ServiceID), cmp.Compare(a.ServiceID, b.ServiceID))
	})
	reached, beyond := map[string]time.Time{}, 0 // until when one of the day counts
	for i := range all {
		m := &all[i]
		day := string(m.Phone) + m.AcceptedAt.In(london).Format(time.DateOnly)
		switch {
		case m.Trigger != "cart" || m.AcceptedAt.IsZero():
		case m.AcceptedAt.Before(reached[day]):
			beyond++
		case m.Status == messaging.StatusFailed:
			reached[day] = m.FailedAt
		default:
			reached[day] = past.Until
		}
	}
	gone := 0
	for _, c := range compare(t, past, &rules, &lower).Changes {
		switch {
		case c.Kind != simulation.Gone || c.Trigger != "cart":
			t.Errorf("%+v", c)
		case !strings.Contains(c.Reason, "1 per day"):
			t.Errorf("gone because of %q", c.Reason)
		case !c.Was.Due.Before(past.Until): // it still waits as the month ends, and is not among what was sent
		default:
			gone++
		}
	}
	if beyond == 0 || gone != beyond {
		t.Errorf("%d are gone, %d were beyond the limit", gone, beyond)
	}
}

// A block by hand holds from when it was made, and one from before the time that is played holds all along.
func TestABlockByHandHoldsFromItsTime(t *testing.T) {
	rules := rulesOf(t, shop)
	past := month(t, &rules, 1000, 0)
	for name, from := range map[string]time.Time{"within": past.From.Add(15 * 24 * time.Hour), "before": past.From.Add(-time.Hour)} {
		t.Run(name, func(t *testing.T) {
			phone := messaging.Phone("447700900023")
			if _, err := past.Store.Block(t.Context(), []store.Block{{Phone: phone, Source: "by hand", At: from}}); err != nil {
				t.Fatal(err)
			}
			sent, err := past.Store.Messages(t.Context(), store.MessageFilter{Phone: phone, Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			want := 0
			for i := range sent {
				if sent[i].AcceptedAt.After(from) {
					want++
				}
			}
			got := compare(t, past, nil, &rules).Changes
			for _, c := range got {
				if c.Phone != phone || c.Kind != simulation.Gone || !strings.Contains(c.Reason, "block") || c.Was.Due.Before(from) {
					t.Errorf("%+v", c)
				}
			}
			if want == 0 || len(got) != want {
				t.Errorf("%d are gone, %d were sent after the block", len(got), want)
			}
			if err := past.Store.Allow(t.Context(), phone); err != nil {
				t.Fatal(err)
			}
		})
	}
}
