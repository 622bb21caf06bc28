package enricher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/claims"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// memory is a Store.
type memory struct {
	mu    sync.Mutex
	rows  map[messaging.EventID]*messaging.PendingLookup
	plans map[messaging.EventID]messaging.Plan
	log   []string // what was put off, and when, counted from the start
	start time.Time
	fails func(op string) error
	wake  func(time.Time)
}

func newMemory() *memory {
	return &memory{rows: map[messaging.EventID]*messaging.PendingLookup{}, plans: map[messaging.EventID]messaging.Plan{}, start: time.Now()}
}

func (m *memory) add(payload string) messaging.EventID {
	return m.addEvent(payload, func(*messaging.Event) {})
}

func (m *memory) addEvent(payload string, as func(*messaging.Event)) messaging.EventID {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := messaging.EventID(len(m.rows) + len(m.plans) + 1)
	now := time.Now()
	m.rows[id] = &messaging.PendingLookup{EventID: id, Connector: "crm", NextAt: now, Since: now, Event: messaging.Event{
		ID: id, Connector: "crm", Kind: "cart.updated", DedupeKey: fmt.Sprint(id), ReceivedAt: now,
		Contact: messaging.Contact{PhoneProblem: "no phone number in phone"},
		Payload: []byte(payload), ContentType: "application/json",
	}}
	as(&m.rows[id].Event)
	if m.wake != nil {
		m.wake(now)
	}
	return id
}

func (m *memory) failing(op string) error {
	if m.fails == nil {
		return nil
	}
	return m.fails(op)
}

func (m *memory) ClaimLookups(_ context.Context, now time.Time, lease time.Duration, n int) (out []messaging.PendingLookup, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.failing("claim"); err != nil {
		return nil, err
	}
	var due []messaging.EventID
	for id, row := range m.rows {
		if !row.NextAt.After(now) {
			due = append(due, id)
		}
	}
	slices.Sort(due)
	for _, id := range due[:min(n, len(due))] {
		row := m.rows[id]
		row.Attempt++
		row.NextAt, row.UnderWay = now.Add(lease), true
		out = append(out, *row)
	}
	return out, nil
}

func (m *memory) held(id messaging.EventID, attempt int) *messaging.PendingLookup {
	if row := m.rows[id]; row != nil && row.Attempt == attempt {
		return row
	}
	return nil
}

func (m *memory) RetryLookup(_ context.Context, r messaging.LookupRetry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.failing("retry"); err != nil {
		return err
	}
	row := m.held(r.EventID, r.Attempt)
	if row == nil {
		return messaging.ErrClaimLost
	}
	row.NextAt, row.UnderWay, row.Reason = r.At, false, r.Reason
	if r.Free {
		row.Attempt--
	}
	m.log = append(m.log, fmt.Sprintf("%d: attempt %d, again at %v", r.EventID, r.Attempt, r.At.Sub(m.start)))
	return nil
}

func (m *memory) Complete(_ context.Context, l messaging.PendingLookup, plan messaging.Plan) (messaging.Receipt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.failing("complete"); err != nil {
		return messaging.Receipt{}, err
	}
	if m.held(l.EventID, l.Attempt) == nil {
		return messaging.Receipt{}, messaging.ErrClaimLost
	}
	delete(m.rows, l.EventID)
	m.plans[l.EventID] = plan
	return messaging.Receipt{EventID: l.EventID}, nil
}

func (m *memory) NextLookup(context.Context) (at time.Time, ok bool, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, row := range m.rows {
		if !ok || row.NextAt.Before(at) {
			at, ok = row.NextAt, true
		}
	}
	return at, ok, nil
}

// said is what the first trigger decided about an event: "planned", or why not.
func (m *memory) said(id messaging.EventID) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	plan, ok := m.plans[id]
	switch {
	case !ok:
		return "nothing yet"
	case len(plan.Proposals) == 0:
		return "nothing"
	case plan.Proposals[0].Decision.Outcome == messaging.Skipped:
		return "refused: " + plan.Proposals[0].Decision.Reason
	default:
		return string(plan.Proposals[0].Decision.Outcome) + " to " + string(plan.Event.Contact.Phone)
	}
}

// fetcher answers look-ups without a network.
type fetcher struct {
	mu     sync.Mutex
	asked  []string
	takes  time.Duration
	answer func(n int, l connectors.Lookup) (string, error)
	now    int
	most   int
}

func (f *fetcher) Fetch(ctx context.Context, l connectors.Lookup) ([]byte, error) {
	f.mu.Lock()
	f.asked = append(f.asked, l.URL)
	n := len(f.asked)
	f.now++
	f.most = max(f.most, f.now)
	f.mu.Unlock()
	defer func() { f.mu.Lock(); f.now--; f.mu.Unlock() }()
	if f.takes > 0 {
		timer := time.NewTimer(f.takes)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, &FetchError{Host: l.Host, Words: "the request was cut", Err: ctx.Err()}
		}
	}
	if f.answer == nil {
		return []byte(`{"phone":"+447700900123"}`), nil
	}
	text, err := f.answer(n, l)
	return []byte(text), err
}

func (f *fetcher) times() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

const crmConfig = `
verify: {kind: none}
event: {type: [type], id: [id]}
map: {phone: [phone, lead.phone, owner.phone], cart.id: cart}
enrich:
  - {into: lead, get: "https://crm.example.com/leads/{id}"}
  - {into: owner, get: "https://crm.example.com/owners/{lead.owner}", when: [phone == null, lead.owner]}
`

func rulesOf(t *testing.T, more ...triggers.Rule) Rules {
	t.Helper()
	var c connectors.Config
	if _, problems := yamlpos.Decode("test.yaml", []byte(crmConfig), &c); problems.Err() != nil {
		t.Fatal(problems.Err())
	}
	con, problems := connectors.Compile("crm", c, connectors.Options{Country: "GB"})
	if con == nil {
		t.Fatal(problems)
	}
	rules := append([]triggers.Rule{{Name: "remind", On: []string{"crm.cart.updated"}, Send: triggers.Send{Template: "reminder"}}}, more...)
	set, found := triggers.Compile(rules, triggers.Env{Version: "v1", Language: "en", Connectors: map[string]triggers.ConnectorInfo{"crm": {}}})
	if set == nil {
		t.Fatal(found)
	}
	return Rules{Receivers: map[string]*connectors.Connector{"crm": con}, Triggers: set}
}

// house is an Enricher that runs.
type house struct {
	*Enricher
	store *memory
	fetch *fetcher
	stop  func()
}

func run(t *testing.T, m *memory, f *fetcher, changes ...func(*Options)) *house {
	t.Helper()
	rules := rulesOf(t)
	o := Options{Store: m, Fetcher: f, Rules: func() Rules { return rules }, Jitter: func() float64 { return 0 }}
	for _, c := range changes {
		c(&o)
	}
	h := &house{Enricher: New(o), store: m, fetch: f}
	m.mu.Lock()
	m.wake = h.Wake
	m.mu.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	h.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return h
}

func TestALookUpEndsAsAPlan(t *testing.T) {
	notThere := func(int, connectors.Lookup) (string, error) {
		return "", &FetchError{Host: "crm.example.com", Status: 404, Words: "404 Not Found", Final: true}
	}
	const missing = "; no phone number in phone"
	tests := map[string]struct {
		payload string
		answer  func(n int, l connectors.Lookup) (string, error)
		want    string
		asked   int
	}{
		"found at once": {`{"id":7}`, nil, "planned to 447700900123", 1},
		"found in two steps": {`{"id":7}`, func(n int, l connectors.Lookup) (string, error) {
			return []string{`{"owner":9}`, `{"phone":"07700 900123"}`}[n-1], nil
		}, "planned to 447700900123", 2},
		"found without phone": {`{"id":7}`, func(int, connectors.Lookup) (string, error) { return `{"name":"Ada"}`, nil }, "refused: no phone number in phone, lead.phone, owner.phone", 1},
		"not found":           {`{"id":7}`, notThere, "refused: the phone could not be looked up at crm.example.com: 404 Not Found" + missing, 1},
		"no JSON":             {`{"id":7}`, func(int, connectors.Lookup) (string, error) { return "<html>", nil }, "refused: the phone could not be looked up at crm.example.com: the answer is not JSON: byte 1: a symbol where a value should be" + missing, 1},
		"nothing to ask by":   {`{"no":7}`, nil, "refused: the phone was not looked up at crm.example.com: the address needs id, which the event does not have" + missing, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := run(t, newMemory(), &fetcher{answer: tt.answer})
				id := h.store.add(tt.payload)
				synctest.Wait()
				if got := h.store.said(id); got != tt.want || h.fetch.times() != tt.asked {
					t.Errorf("after %d look-ups\n got %s\nwant %s", h.fetch.times(), got, tt.want)
				}
				h.stop()
			})
		})
	}
}

// What somebody asks for counts also where a look-up had to find who asks: it blocked nobody, whatever was found.
func TestWhoOptsOutIsLookedUp(t *testing.T) {
	for _, tt := range []struct{ kind, says, want string }{
		{"contact.unsubscribed", "", "blocked to 447700900123"},
		{"contact.subscribed", "", "allowed to 447700900123"},
		{"message.received", messaging.SaysStop, "blocked to 447700900123"},
		{"message.received", messaging.SaysStart, "allowed to 447700900123"},
		{"message.received", "", "nothing"},
		{"contact.redacted", "", "refused: forgets nobody: its connector verifies nothing, and anybody could ask for that"},
	} {
		t.Run(tt.kind+" "+tt.says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := run(t, newMemory(), &fetcher{})
				id := h.store.addEvent(`{"id":7}`, func(e *messaging.Event) { e.Kind, e.Message.Says = tt.kind, tt.says })
				synctest.Wait()
				if got := h.store.said(id); got != tt.want {
					t.Errorf("got %s, want %s", got, tt.want)
				}
				h.stop()
			})
		})
	}
}

func TestACRMInTroubleIsAskedAgainLaterAndLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fetcher{answer: func(n int, l connectors.Lookup) (string, error) {
			switch n {
			case 1, 2:
				return "", &FetchError{Host: l.Host, Status: 503, Words: "503 Service Unavailable"}
			case 3:
				return "", &FetchError{Host: l.Host, Status: 429, Words: "429 Too Many Requests", RetryAfter: 5 * time.Minute}
			default:
				return `{"phone":"+447700900123"}`, nil
			}
		}}
		h := run(t, newMemory(), f)
		id := h.store.add(`{"id":7}`)
		synctest.Wait()
		h.store.mu.Lock()
		reason := h.store.rows[id].Reason
		h.store.mu.Unlock()
		if reason != "could not be looked up at crm.example.com: 503 Service Unavailable" {
			t.Errorf("put off because it %s", reason)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := h.store.said(id); got != "planned to 447700900123" || f.times() != 4 {
			t.Errorf("%s after %d", got, f.times())
		}
		want := "1: attempt 1, again at 10s\n1: attempt 2, again at 30s\n1: attempt 3, again at 5m30s"
		if got := strings.Join(h.store.log, "\n"); got != want {
			t.Errorf("put off:\n%s\nwant\n%s", got, want)
		}
		h.stop()
	})
}

func TestALookUpThatKeepsFailingIsGivenUpInWords(t *testing.T) {
	trouble := func(n int, l connectors.Lookup) (string, error) {
		return "", &FetchError{Host: l.Host, Status: 500, Words: "500 Internal Server Error"}
	}
	tests := map[string]struct {
		change func(*Options)
		want   string
	}{
		"after twelve attempts": {func(*Options) {}, "given up after 12 attempts"},
		"after its time":        {func(o *Options) { o.GiveUp, o.Attempts = time.Minute, 100 }, "given up 30s after the webhook"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := run(t, newMemory(), &fetcher{answer: trouble}, tt.change)
				id := h.store.add(`{"id":7}`)
				time.Sleep(25 * time.Hour)
				synctest.Wait()
				want := "refused: the phone could not be looked up at crm.example.com: 500 Internal Server Error; " + tt.want + "; no phone number in phone"
				if got := h.store.said(id); got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
				h.stop()
			})
		})
	}
}

func TestAWaitForTheRateDoesNotCountAsAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fetcher{answer: func(n int, l connectors.Lookup) (string, error) {
			if n <= 30 {
				return "", &FetchError{Host: l.Host, Words: "it is asked no faster than it allows", Free: true, RetryAfter: time.Minute}
			}
			return `{"phone":"+447700900123"}`, nil
		}}
		h := run(t, newMemory(), f)
		id := h.store.add(`{"id":7}`)
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := h.store.said(id); got != "planned to 447700900123" || f.times() != 31 {
			t.Errorf("%s after %d", got, f.times())
		}
		h.stop()
	})
}

func TestNoMoreIsAskedAtATimeThanThereAreHands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := newMemory(), &fetcher{takes: time.Second}
		for range 50 {
			m.add(`{"id":7}`)
		}
		h := run(t, m, f, func(o *Options) { o.Concurrency = 4 })
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if len(m.plans) != 50 || f.most != 4 {
			t.Errorf("%d planned, %d at a time", len(m.plans), f.most)
		}
		h.stop()
	})
}

func TestAStopWaitsForLookUpsUnderWayAndGivesBackWhatTakesTooLong(t *testing.T) {
	for name, tt := range map[string]struct {
		takes time.Duration
		want  string
		waits time.Duration
	}{
		"a quick one is finished":     {5 * time.Second, "planned to 447700900123", 5 * time.Second},
		"a slow one is given back":    {time.Hour, "nothing yet", DefaultGrace},
		"without one it ends at once": {0, "planned to 447700900123", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := run(t, newMemory(), &fetcher{takes: tt.takes})
				id := h.store.add(`{"id":7}`)
				synctest.Wait()
				began := time.Now()
				h.stop()
				if took := time.Since(began); took != tt.waits {
					t.Errorf("the stop took %v, want %v", took, tt.waits)
				}
				if got := h.store.said(id); got != tt.want {
					t.Errorf("%s, want %s", got, tt.want)
				}
				if row := h.store.rows[id]; row != nil && (row.UnderWay || row.Attempt != 0 || row.NextAt.After(time.Now())) {
					t.Errorf("given back as %+v", row)
				}
			})
		})
	}
}

func TestACrashBetweenTheAnswerAndThePlanLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := newMemory(), &fetcher{}
		id := m.add(`{"id":7}`)
		// The first process fetched, and died before it could store: its claim stays.
		if got, err := m.ClaimLookups(t.Context(), time.Now(), time.Minute, 1); err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		h := run(t, m, f)
		synctest.Wait()
		if got := m.said(id); got != "nothing yet" {
			t.Errorf("taken under another's lease: %s", got)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := m.said(id); got != "planned to 447700900123" || f.times() != 1 {
			t.Errorf("%s after %d", got, f.times())
		}
		h.stop()
	})
}

func TestAStoreInTroubleIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := newMemory(), &fetcher{}
		failures := map[string]int{"claim": 5, "complete": 3}
		m.fails = func(op string) error {
			if failures[op] == 0 {
				return nil
			}
			failures[op]--
			return errors.New("the disk is full")
		}
		h := run(t, m, f)
		id := m.add(`{"id":7}`)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := m.said(id); got != "planned to 447700900123" || f.times() != 1 {
			t.Errorf("%s after %d look-ups", got, f.times())
		}
		h.stop()
	})
}

func TestAPanicCostsOneAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := run(t, newMemory(), &fetcher{answer: func(n int, _ connectors.Lookup) (string, error) {
			if n == 1 {
				panic("no")
			}
			return `{"phone":"+447700900123"}`, nil
		}})
		id := h.store.add(`{"id":7}`)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got := h.store.said(id); got != "planned to 447700900123" {
			t.Error(got)
		}
		h.stop()
	})
}

func TestAConnectorThatIsGoneIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := rulesOf(t)
		h := run(t, newMemory(), &fetcher{}, func(o *Options) {
			o.Rules = func() Rules { return Rules{Triggers: rules.Triggers} }
		})
		id := h.store.add(`{"id":7}`)
		synctest.Wait()
		if got := h.store.said(id); got != `refused: the phone was not looked up: the config has no connector "crm" any more; no phone number in phone` {
			t.Error(got)
		}
		h.stop()
	})
}

func TestAnEnricherRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := run(t, newMemory(), &fetcher{})
		synctest.Wait()
		if err := h.Run(t.Context()); !errors.Is(err, claims.ErrRunning) {
			t.Errorf("a second Run: %v", err)
		}
		h.stop()
	})
}

func TestWhatWaitsAndWhatDoesNot(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	cancels := triggers.Rule{Name: "paid", On: []string{"crm.cart.created"}, CancelOn: []triggers.EventIf{"crm.cart.ended"}, Send: triggers.Send{Template: "x"}}
	both := triggers.Rule{Name: "also", On: []string{"crm.cart.created"}, CancelOn: []triggers.EventIf{"crm.cart.updated"}, Send: triggers.Send{Template: "x"}}
	event := func(kind, phone, cart string) messaging.Event {
		return messaging.Event{
			Connector: "crm", Kind: kind, DedupeKey: "k", ReceivedAt: now, Contact: messaging.Contact{Phone: messaging.Phone(phone), PhoneProblem: "no phone number in phone"},
			Cart: messaging.Cart{ID: cart}, Payload: []byte(`{"id":7}`), ContentType: "application/json",
		}
	}
	tests := map[string]struct {
		event     messaging.Event
		later     bool
		proposals string
	}{
		"a cart without a phone waits":                     {event("cart.updated", "", ""), true, ""},
		"a cart with one does not":                         {event("cart.updated", "447700900123", ""), false, "remind planned; also cancelling"},
		"what nobody listens to is not looked up":          {event("cart.viewed", "", ""), false, ""},
		"a cancellation by key does not wait":              {event("cart.ended", "", "c-1"), false, "paid cancelling"},
		"one by phone does":                                {event("cart.ended", "", ""), true, ""},
		"of both, the cancellation by key is done at once": {event("cart.updated", "", "c-1"), true, "also cancelling"},
	}
	rules := rulesOf(t, cancels, both)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			plan := First(rules.Receivers["crm"], rules.Triggers, &tt.event, now)
			var proposals []string
			for _, w := range plan.Proposals {
				proposals = append(proposals, w.Decision.Trigger+" "+string(w.Decision.Outcome))
			}
			if got := strings.Join(proposals, "; "); plan.Later != tt.later || got != tt.proposals {
				t.Errorf("later %v, %s", plan.Later, got)
			}
		})
	}
}

func TestWithAPhoneButWithoutTheRestNothingIsSent(t *testing.T) {
	rules := rulesOf(t)
	e := messaging.Event{Connector: "crm", Kind: "cart.updated", DedupeKey: "k", ReceivedAt: time.Now(), Contact: messaging.Contact{Phone: "447700900123"}}
	plan := without(rules.Receivers["crm"], rules.Triggers, &e, "could not be looked up at crm.example.com: 404 Not Found", time.Now())
	d := plan.Proposals[0].Decision
	if d.Outcome != messaging.Skipped || d.Reason != "what the webhook leaves out could not be looked up at crm.example.com: 404 Not Found" || plan.Proposals[0].Message.Send.Template != "" {
		t.Errorf("%+v", plan.Proposals[0])
	}
}
