package app

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/delivery/enricher"
	"github.com/nudgewire/nudgewire/internal/delivery/sender"
	"github.com/nudgewire/nudgewire/internal/delivery/tracker"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
	"github.com/nudgewire/nudgewire/internal/simulation"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/test/tries"
)

// A webhook of the property comes so long after the begin.
type laterHook struct {
	after time.Duration
	body  string
}

// played is what came of webhooks: what was decided at once, and what became of messages.
type played struct {
	Decided  []string
	Messages []string
}

// A sequence that some of the drawn configs have.
const drawnSequence = `
  seq:
    on: shop.cart
    stop_on: shop.bought
    category: utility
    steps:
      - {wait: 30m, send: {template: s1, variables: ['{{ cart.total }}']}}
      - {wait: {until: "10:00"}, if: 'previous.status != "failed"', send: {template: s2}}
      - {wait: 26h, if: cart.total >= 50, send: {template: t1}}
`

// What is played of random webhooks under random rules is what the rooms of a daemon do with them as their own loops run: the same decisions
// with the same reasons, and each message goes, or ends, at the same time for the same reason.
func TestASimulationIsTheTruth(t *testing.T) {
	sim, err := simulation.NewSimulator("")
	if err != nil {
		t.Fatal(err)
	}
	defer sim.Close()
	met, n := map[string]int{}, 0
	defer tries.Set(tries.OfStores)() // no test runs beside this one, whose clock is its own
	rapid.Check(t, func(rt *rapid.T) {
		text := drawnRules(rt)
		if rapid.Bool().Draw(rt, "sequence") {
			text += drawnSequence
		}
		var hooks []laterHook
		after := time.Duration(0)
		for i := range 12 {
			after += time.Duration(rapid.SampledFrom([]int{0, 1, 10, 60, 300, 900}).Draw(rt, "minutes")) * time.Minute
			hooks = append(hooks, laterHook{after, fmt.Sprintf(`{"type": %q, "id": "e%d", "phone": "0770090012%d", "cart": "c%d", "total": %d, "yes": %s}`,
				rapid.SampledFrom([]string{"cart", "cart", "cart", "cart", "bought", "contact.unsubscribed", "contact.subscribed"}).Draw(rt, "type"), rapid.IntRange(max(0, i-3), i).Draw(rt, "id"),
				rapid.IntRange(1, 2).Draw(rt, "phone"), rapid.IntRange(1, 2).Draw(rt, "cart"), rapid.SampledFrom([]int{20, 80}).Draw(rt, "total"),
				rapid.SampledFrom([]string{"true", "false", "null"}).Draw(rt, "yes"))})
		}
		cfg, problems := config.Parse("config.yaml", []byte(text), func(string) (string, bool) { return "", false })
		if cfg == nil || problems.Errors() > 0 {
			rt.Fatalf("rules that nobody may write: %v", problems)
		}
		fates := map[string]simulation.Fate{}
		for _, template := range []string{"t1", "s1"} {
			fates[template] = rapid.SampledFrom([]simulation.Fate{{}, {Status: messaging.StatusFailed, Error: "no such number"}, {Status: messaging.StatusRead}, {Status: messaging.StatusSent}}).Draw(rt, template)
		}
		fate := func(c simulation.Call) simulation.Fate { return fates[c.Template] }
		n++
		var did played
		synctest.Test(t, func(t *testing.T) { did = loops(t, cfg, hooks, fate, filepath.Join(t.TempDir(), fmt.Sprint(n, ".db"))) })
		said := plays(rt.Context(), rt, sim, cfg, hooks, fate)
		if diff := gocmp.Diff(did, said); diff != "" {
			rt.Errorf("-did +said:\n%s", diff)
		}
		for _, what := range slices.Concat(said.Decided, said.Messages) {
			var word string
			_, _ = fmt.Sscan(what, &word)
			met[word]++
		}
	})
	for _, what := range []string{"planned", "skipped", "restarted", "cancelling", "cancelled", "blocked", "allowed", "accepted", "dropped", "duplicate"} {
		if met[what] == 0 {
			t.Errorf("%s was never met, of %v", what, met)
		}
	}
}

// begin is when the clock of a synctest bubble begins.
var begin = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// lasts is how long both go on behind the last webhook.
const lasts = 40 * 24 * time.Hour

type fataler interface {
	Helper()
	Fatal(args ...any)
}

// plays is what the simulation says.
func plays(ctx context.Context, t fataler, sim *simulation.Simulator, cfg *config.Config, hooks []laterHook, fate simulation.Service) (out played) {
	t.Helper()
	w, err := sim.Begin(ctx, SimulationOf(cfg), fate, begin)
	must(t, err)
	for _, h := range hooks {
		must(t, w.RunUntil(ctx, begin.Add(h.after)))
		got, err := w.Take(ctx, cfg.Receivers["shop"], connectors.Request{Method: http.MethodPost, Path: "/hooks/shop", Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(h.body)})
		must(t, err)
		out.decided(got.Receipts)
	}
	must(t, w.RunUntil(ctx, begin.Add(hooks[len(hooks)-1].after+lasts)))
	out.ended(ctx, t, w.Store)
	return out
}

// loops is what the rooms of a daemon do in a synctest bubble, each in its own loop.
func loops(t *testing.T, cfg *config.Config, hooks []laterHook, fate simulation.Service, path string) (out played) {
	t.Helper()
	ctx := context.Background()
	var send *sender.Sender
	var track *tracker.Tracker
	due := func() messaging.DueRules {
		if cfg.Due.Any() {
			return cfg.Due
		}
		return nil
	}
	s, err := store.Open(ctx, store.Options{
		DSN: "sqlite:" + path, Scratch: true, Settle: triggers.Settle, Due: due,
		OnDue: func(_ string, at time.Time) { send.Wake(at) }, OnPoll: func(_ string, at time.Time) { track.Wake(at) },
		Sends:     func(trigger string) bool { return cfg.Triggers.ModeOf(trigger) == triggers.Live },
		OwnExpiry: func(d *messaging.Message) bool { return cfg.Triggers.OwnExpiry(d.Trigger) },
	})
	must(t, err)
	api, even := &slowService{fate: fate}, func() float64 { return 0.5 }
	rows := s.Account("", 0)
	track = tracker.New(tracker.Options{Store: rows, API: api, Budget: pace.NewBudget(0), Plan: planOf(cfg), Jitter: even, Classify: cfg.Errors.Class})
	look := sender.LastLook{Store: s, Rules: due, Step: cfg.Triggers.Step}
	send = sender.New(sender.Options{
		Store: rows, API: api, Budget: pace.NewBudget(0), Owner: "me", Jitter: even, FirstPoll: track.First, Classify: cfg.Errors.Class,
		MayGo: look.MayGo, OwnExpiry: func(d *messaging.Message) bool { return cfg.Triggers.OwnExpiry(d.Trigger) },
	})
	l := looping{t, rows, send, track}
	for _, h := range hooks {
		l.until(ctx, begin.Add(h.after))
		req := connectors.Request{Method: http.MethodPost, Path: "/hooks/shop", Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(h.body), Now: time.Now()}
		got, err := cfg.Receivers["shop"].Receive(req)
		must(t, err)
		receipts, err := s.Accept(ctx, enricher.Plans(cfg.Receivers["shop"], cfg.Triggers, got.Events, "", req.Now))
		must(t, err)
		out.decided(receipts)
	}
	l.until(ctx, time.Now().Add(lasts))
	out.ended(ctx, t, s)
	must(t, s.Close())
	return out
}

// looping are rooms that run while something is due: between, their loops would only wake to find nothing, thousands of times a day.
type looping struct {
	*testing.T
	rows  store.Account
	send  *sender.Sender
	track *tracker.Tracker
}

// until lets time go by, with the rooms running from a second before something falls due until all of it is done. What is due at the end goes.
func (l *looping) until(ctx context.Context, end time.Time) {
	for {
		at, waits, err := l.rows.NextDue(ctx)
		must(l, err)
		look, looks, err := l.rows.NextPoll(ctx)
		must(l, err)
		if looks && (!waits || look.Before(at)) {
			at, waits = look, true
		}
		if !waits || at.After(end) {
			break
		}
		time.Sleep(time.Until(at) - time.Second)
		running, stop := context.WithCancel(ctx)
		var rooms sync.WaitGroup
		rooms.Go(func() { _ = l.send.Run(running) })
		rooms.Go(func() { _ = l.track.Run(running) })
		time.Sleep(time.Until(at))
		synctest.Wait()
		stop()
		rooms.Wait()
	}
	time.Sleep(time.Until(end))
}

func must(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (p *played) decided(receipts []messaging.Receipt) {
	for _, r := range receipts {
		if r.Duplicate {
			p.Decided = append(p.Decided, fmt.Sprint("duplicate of event ", r.EventID))
		}
		for _, d := range r.Decisions {
			p.Decided = append(p.Decided, fmt.Sprintf("%s event %d, message %d, %s: %s", d.Outcome, d.EventID, d.MessageID, d.Trigger, d.Reason))
		}
	}
}

// ended notes what became of all messages.
func (p *played) ended(ctx context.Context, t fataler, s *store.Store) {
	t.Helper()
	all, err := s.Messages(ctx, store.MessageFilter{Limit: 1000})
	must(t, err)
	slices.SortFunc(all, func(a, b store.MessageStory) int { return cmp.Compare(a.ID, b.ID) })
	for i := range all {
		m := &all[i]
		// When an end was seen hangs on the clock of looks, whose jitter is none here.
		text := fmt.Sprintf("%s message %d of %s %d: %s %v, due %s, updated %s: %s; taken %s, %s %s", m.State, m.ID, m.Trigger, m.Step, m.Send.Template, m.Send.Variables,
			m.DueAt, m.UpdatedAt, m.Reason, m.AcceptedAt, m.Status, m.Error)
		for _, v := range m.Verdicts {
			text += fmt.Sprintf("\n%s %s at %s: %s", v.Rule, v.Action, v.At, v.Reason)
		}
		p.Messages = append(p.Messages, text)
	}
	events, err := s.Events(ctx, store.EventFilter{Limit: 100})
	must(t, err)
	for _, e := range slices.Backward(events) { // with what was decided of steps when they fell due
		p.decided([]messaging.Receipt{{EventID: e.ID, Decisions: e.Decisions}})
	}
}

// A slowService is written from the API document: it takes a message, and tells of it as time goes by.
type slowService struct {
	mu    sync.Mutex
	fate  simulation.Service
	taken []time.Time
	of    []string
}

func (s *slowService) SendTemplate(_ context.Context, m apiclient.TemplateMessage) (apiclient.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken, s.of = append(s.taken, time.Now()), append(s.of, m.Template)
	return apiclient.Answer{MessageID: strconv.Itoa(len(s.taken)), HTTPStatus: http.StatusOK}, nil
}

func (s *slowService) SendCampaign(context.Context, string, string) (apiclient.Answer, error) {
	panic("no rule sends a campaign")
}

func (s *slowService) SendText(context.Context, string, string) (apiclient.Answer, error) {
	panic("no rule sends a text")
}

func (s *slowService) MessageStatus(_ context.Context, id string) (apiclient.Status, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := strconv.Atoi(id)
	if err != nil {
		return apiclient.Status{}, err
	}
	st := apiclient.Status{MessageID: id, Status: "sent"}
	if f := s.fate(simulation.Call{Template: s.of[n-1]}); time.Since(s.taken[n-1]) > 4*time.Second {
		st.Status, st.Error = cmp.Or(string(f.Status), "delivered"), f.Error
	}
	return st, nil
}
