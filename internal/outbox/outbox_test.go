package outbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.uber.org/goleak"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/outbox"
	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/units"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	oldSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	newSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
)

// A customer is a system that is told. It verifies by the official library.
type customer struct {
	*httptest.Server
	t      *testing.T
	verify string // the secret
	answer func(outbox.Body, int) int

	mu    sync.Mutex
	got   []outbox.Body // taken, in the order in which they came
	tries map[string]int
	came  chan struct{}
}

func newCustomer(t *testing.T, answer func(b outbox.Body, try int) int) *customer {
	c := &customer{t: t, verify: oldSecret, answer: answer, tries: map[string]int{}, came: make(chan struct{}, 1000)}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *customer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		c.t.Error(err)
	}
	signer, err := standardwebhooks.NewWebhook(c.verify)
	if err != nil {
		c.t.Error(err)
	}
	if err := signer.Verify(text, r.Header); err != nil {
		c.t.Errorf("not verified: %v", err)
	}
	var b outbox.Body
	if err := json.Unmarshal(text, &b); err != nil || b.ID != r.Header.Get("webhook-id") {
		c.t.Errorf("%s: %v", text, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tries[b.ID]++
	status := http.StatusNoContent
	if c.answer != nil {
		status = c.answer(b, c.tries[b.ID])
	}
	if status == http.StatusFound {
		w.Header().Set("Location", "/elsewhere")
	}
	w.WriteHeader(status)
	if status < 300 {
		c.got = append(c.got, b)
	}
	c.came <- struct{}{}
}

// kinds are those that were taken about a message.
func (c *customer) kinds(message messaging.MessageID) (kinds []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.got {
		if b.Data.Message == message {
			kinds = append(kinds, b.Type)
		}
	}
	return kinds
}

func (c *customer) await(n int) {
	c.t.Helper()
	for range n {
		select {
		case <-c.came:
		case <-time.After(2 * time.Minute):
			c.t.Fatalf("%d webhooks did not come", n)
		}
	}
}

// A shop is a store with messages whose changes are told to a receiver named crm.
type shop struct {
	outbox.Records
	t    *testing.T
	box  *outbox.Outbox
	plan *outbox.Plan
	n    int
}

func entry(url string, on ...string) outbox.Entry {
	return outbox.Entry{Name: "crm", URL: secret.New(url), Secret: secret.New(oldSecret), On: on, AllowPrivate: true, GiveUp: units.Duration(72 * time.Hour)}
}

func newShop(t *testing.T, e outbox.Entry) *shop {
	t.Helper()
	s := &shop{t: t, plan: compile(t, e)}
	var err error
	s.Store, err = store.Open(t.Context(), store.Options{
		DSN: "sqlite:" + filepath.Join(t.TempDir(), "n.db"), Tells: s.plan.Tells,
		OnOutgoing: func(_ string, at time.Time) { s.box.Wake(at) },
		Settle: func(p messaging.Proposal, _ messaging.Facts) messaging.Settlement {
			return messaging.Settlement{Outcome: p.Decision.Outcome, Insert: true}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Store.Close() })
	s.box = s.outbox(5 * time.Second)
	return s
}

func (s *shop) outbox(grace time.Duration) *outbox.Outbox {
	return outbox.New(outbox.Options{Store: s.Records, Agent: "nudgewire/test", Jitter: func() float64 { return 0 }, Grace: grace}, s.plan.Receivers[0])
}

func compile(t *testing.T, entries ...outbox.Entry) *outbox.Plan {
	t.Helper()
	plan, problems := outbox.Compile(entries)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return plan
}

// run has the outbox deliver until the test ends or stop is called.
func (s *shop) run() (stop func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.box.Run(ctx); err != nil {
			s.t.Error(err)
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	s.t.Cleanup(stop)
	return stop
}

func (s *shop) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// message is one that was sent, delivered and read.
func (s *shop) message() messaging.MessageID {
	s.t.Helper()
	s.n++
	now := time.Now()
	phone := messaging.Phone(fmt.Sprintf("4477009%05d", s.n))
	got, err := s.Accept(s.t.Context(), []messaging.Plan{{
		Event: messaging.Event{Connector: "shop", Kind: "cart.updated", DedupeKey: fmt.Sprint(s.n), ReceivedAt: now, Request: fmt.Sprintf("request-%d", s.n)},
		Proposals: []messaging.Proposal{{
			Decision:    messaging.Decision{Trigger: "cart", Outcome: messaging.Planned, At: now},
			Correlation: messaging.Correlation{Trigger: "cart", Key: fmt.Sprint(s.n), Phone: phone},
			Message:     messaging.Message{Phone: phone, Category: messaging.Utility, DueAt: now, CreatedAt: now, Send: messaging.Send{Template: "t", Language: "en"}},
		}},
	}})
	s.must(err)
	id := got[0].Decisions[0].MessageID
	claimed, err := s.Claim(s.t.Context(), messaging.ClaimRequest{Owner: "me", Now: time.Now(), Lease: time.Minute, Authentication: 9, Utility: 9})
	s.must(err)
	for _, d := range claimed {
		s.must(s.Finish(s.t.Context(), messaging.Attempt{
			MessageID: d.ID, Owner: "me", Number: d.Attempt, State: messaging.StateAccepted, At: now,
			Message: &messaging.Message{ServiceID: messaging.ServiceID(fmt.Sprint(900 + d.ID)), Phone: d.Phone, Category: d.Category, Status: messaging.StatusAccepted, NextPollAt: now},
		}))
	}
	for _, status := range []messaging.Status{messaging.StatusSent, messaging.StatusDelivered, messaging.StatusRead} {
		s.must(s.FinishPoll(s.t.Context(), messaging.Poll{MessageID: id, Status: status, At: now, Final: status == messaging.StatusRead, NextPollAt: now}))
	}
	return id
}

// delivered waits until nothing waits for the receiver.
func (s *shop) delivered() {
	s.t.Helper()
	for until := time.Now().Add(2 * time.Minute); ; {
		all, err := s.ReceiverStates(s.t.Context())
		s.must(err)
		if len(all) == 1 && all[0].Waiting == 0 {
			return
		}
		if time.Now().After(until) {
			s.t.Fatalf("%+v", all)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestALifeIsToldInItsOrderAndSigned(t *testing.T) {
	c := newCustomer(t, nil)
	s := newShop(t, entry(c.URL, "message.*"))
	s.run()
	var ids []messaging.MessageID
	for range 20 {
		ids = append(ids, s.message())
	}
	s.delivered()
	want := []string{"message.waiting", "message.accepted", "message.sent", "message.delivered", "message.read"}
	for _, id := range ids {
		if got := c.kinds(id); !slices.Equal(got, want) {
			t.Errorf("message %d: %v", id, got)
		}
	}
	first := c.got[slices.IndexFunc(c.got, func(b outbox.Body) bool { return b.Type == "message.read" })]
	d := first.Data
	if d.Phone == "" || d.MessageID == "" || d.Trigger != "cart" || d.Event == 0 || !strings.HasPrefix(d.Request, "request-") || d.Status != messaging.StatusRead || first.At.IsZero() {
		t.Errorf("%+v", first)
	}
}

// statuses are what the service says of a message.
var statuses = []string{"message.accepted", "message.sent", "message.delivered", "message.read"}

// The first change of one message fails for good, and what comes after it waits; all others go.
func TestAFailureHoldsBackItsOwnMessageOnly(t *testing.T) {
	held := messaging.MessageID(1)
	c := newCustomer(t, func(b outbox.Body, _ int) int {
		if b.Data.Message == held {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	s := newShop(t, entry(c.URL, statuses...))
	s.run()
	for range 3 {
		s.message()
	}
	c.await(9)
	for id := range messaging.MessageID(3) {
		want := statuses
		if id+1 == held {
			want = nil
		}
		for until := time.Now().Add(2 * time.Minute); !slices.Equal(c.kinds(id+1), want); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("message %d: %v", id+1, c.kinds(id+1))
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.tries); n != 9 {
		t.Errorf("%d changes were tried", n)
	}
}

func TestWhatEachAnswerMeans(t *testing.T) {
	for status, want := range map[int]messaging.OutgoingState{
		200: messaging.OutgoingDelivered, 299: messaging.OutgoingDelivered, 302: messaging.OutgoingWaiting, 400: messaging.OutgoingWaiting,
		410: messaging.OutgoingGivenUp, 429: messaging.OutgoingWaiting, 500: messaging.OutgoingWaiting,
	} {
		c := newCustomer(t, func(outbox.Body, int) int { return status })
		s := newShop(t, entry(c.URL, "message.read"))
		stop := s.run()
		s.message()
		c.await(1)
		stop()
		all, err := s.ReceiverStates(t.Context())
		s.must(err)
		got := messaging.OutgoingDelivered
		switch {
		case all[0].Waiting > 0:
			got = messaging.OutgoingWaiting
		case all[0].GivenUp > 0:
			got = messaging.OutgoingGivenUp
		}
		if got != want || c.tries["elsewhere"] > 0 {
			t.Errorf("%d: %s, want %s (%+v)", status, got, want, all[0])
		}
		if want != messaging.OutgoingDelivered && !strings.Contains(all[0].LastError, fmt.Sprint(status)) {
			t.Errorf("%d: %q", status, all[0].LastError)
		}
	}
}

func TestARotatedSecretSignsByBoth(t *testing.T) {
	c := newCustomer(t, nil)
	e := entry(c.URL, "message.read")
	s := newShop(t, e)
	s.run()
	s.message()
	c.await(1)
	e.Secret, e.Secrets = secret.Secret{}, []secret.Secret{secret.New(newSecret), secret.New(oldSecret)}
	s.box.Use(compile(t, e).Receivers[0])
	s.message() // the customer knows the old one still
	c.await(1)
	c.mu.Lock()
	c.verify = newSecret
	c.mu.Unlock()
	s.message()
	c.await(1)
	s.delivered()
}

func TestReplaySendsTheSameIDs(t *testing.T) {
	c := newCustomer(t, nil)
	s := newShop(t, entry(c.URL, statuses...))
	s.run()
	id := s.message()
	s.delivered()
	n, err := s.Replay(t.Context(), outbox.Replay{Receiver: "crm", Message: id})
	s.must(err)
	s.delivered()
	c.mu.Lock()
	defer c.mu.Unlock()
	if n != 4 || len(c.got) != 8 || len(c.tries) != 4 {
		t.Fatalf("%d replayed, %d came with %d ids", n, len(c.got), len(c.tries))
	}
	for i := range 4 {
		if c.got[i].ID != c.got[i+4].ID || c.got[i].Type != c.got[i+4].Type {
			t.Errorf("%d: %+v, then %+v", i, c.got[i], c.got[i+4])
		}
	}
}

// A receiver that hangs is left at a stop, and what it had in hand is delivered after the next start.
func TestAStopLeavesAReceiverThatHangs(t *testing.T) {
	release := make(chan struct{})
	c := newCustomer(t, nil)
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer hangs.Close()
	defer close(release)
	s := newShop(t, entry(hangs.URL, "message.read"))
	s.box = s.outbox(0)
	stop := s.run()
	s.message()
	for s.waitingAttempts() == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	stop()
	s.box.Use(compile(t, entry(c.URL, "message.read")).Receivers[0])
	s.run()
	c.await(1)
	s.delivered()
}

// waitingAttempts is 1 once the change is in hand: nothing of it is due now.
func (s *shop) waitingAttempts() int {
	at, ok, err := s.NextOutgoing(s.t.Context(), "crm")
	s.must(err)
	if ok && at.After(time.Now().Add(10*time.Second)) {
		return 1
	}
	return 0
}

func TestPrivateAddressesAreRefused(t *testing.T) {
	c := newCustomer(t, nil)
	e := entry(strings.Replace(c.URL, "http://", "https://", 1), "message.read")
	e.AllowPrivate = false
	plan, problems := outbox.Compile([]outbox.Entry{e})
	if len(problems) != 1 || !strings.Contains(problems[0].Msg, "private network") {
		t.Fatalf("%+v", problems)
	}
	s := newShop(t, entry(c.URL, "message.read"))
	s.box.Use(plan.Receivers[0])
	if err := s.box.Test(t.Context()); err == nil || !strings.Contains(err.Error(), "private network") {
		t.Errorf("%v", err)
	}
}

func TestATestIsPostedPastWhatWaits(t *testing.T) {
	c := newCustomer(t, nil)
	s := newShop(t, entry(c.URL, statuses...))
	s.must(s.box.Test(t.Context()))
	if len(c.got) != 1 || c.got[0].Type != outbox.TestKind {
		t.Errorf("%+v", c.got)
	}
}

func TestWhatIsWrongWithAReceiver(t *testing.T) {
	const at = "https://crm.example.com/hooks"
	for name, tt := range map[string]struct {
		change func(e *outbox.Entry)
		path   string
		words  string
		hint   string
	}{
		"no address":          {func(e *outbox.Entry) { e.URL = secret.New("crm") }, ".url", "is not an address", "https://"},
		"in the clear":        {func(e *outbox.Entry) { e.URL = secret.New("http://crm.example.com") }, ".url", "begins with http://", "allow_private"},
		"this machine":        {func(e *outbox.Entry) { e.URL = secret.New("https://localhost/x") }, ".url", "private network", "allow_private"},
		"a password":          {func(e *outbox.Entry) { e.URL = secret.New("https://u:p@crm.example.com") }, ".url", "user name or password", "take them out"},
		"no secret":           {func(e *outbox.Entry) { e.Secret = secret.Secret{} }, "", "has no secret", "openssl"},
		"a short secret":      {func(e *outbox.Entry) { e.Secret = secret.New("whsec_c2hvcnQ=") }, ".secret", "5 bytes", "openssl"},
		"another secret":      {func(e *outbox.Entry) { e.Secret = secret.New("hunter2") }, ".secret", "is not a secret of Standard Webhooks", "openssl"},
		"both":                {func(e *outbox.Entry) { e.Secrets = []secret.Secret{secret.New(newSecret)} }, ".secrets", "beside secret", "secrets: [new, old]"},
		"a misspelt kind":     {func(e *outbox.Entry) { e.On = []string{"message.deliverd"} }, ".on[0]", "no kind of change", "message.delivered"},
		"everything":          {func(e *outbox.Entry) { e.On = []string{"*"} }, ".on[0]", "no kind of change", ""},
		"twice":               {func(e *outbox.Entry) { e.On = []string{"message.*", "message.read"} }, ".on[1]", "already", "remove it"},
		"all decisions":       {func(e *outbox.Entry) { e.On = []string{"decision.*"} }, ".on[0]", "every decision", "decision.planned"},
		"a name with a blank": {func(e *outbox.Entry) { e.Name = "crm " }, ".name", "is not a name", "crm"},
	} {
		t.Run(name, func(t *testing.T) {
			e := outbox.Entry{Name: "crm", URL: secret.New(at), Secret: secret.New(oldSecret), On: []string{"message.read"}, GiveUp: units.Duration(time.Hour)}
			tt.change(&e)
			_, problems := outbox.Compile([]outbox.Entry{e})
			if len(problems) != 1 || problems[0].Path != "webhooks_out[0]"+tt.path || !strings.Contains(problems[0].Msg, tt.words) || !strings.Contains(problems[0].Hint, tt.hint) {
				t.Errorf("%+v", problems)
			}
			for _, p := range problems {
				if strings.Contains(p.Msg+p.Hint, "hunter2") {
					t.Errorf("it shows the secret: %+v", p)
				}
			}
		})
	}
	e := outbox.Entry{URL: secret.New(at), Secret: secret.New(oldSecret), On: []string{"message.read"}, GiveUp: units.Duration(time.Hour)}
	plan, problems := outbox.Compile([]outbox.Entry{e, e})
	if plan.Receivers[0].Name != "crm.example.com" || len(problems) != 1 || !strings.Contains(problems[0].Hint, "name: crm") {
		t.Errorf("%+v, %+v", plan.Receivers, problems)
	}
}
