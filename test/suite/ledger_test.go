package suite

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nudgewire/nudgewire/internal/alerts"
	"github.com/nudgewire/nudgewire/internal/auth"
	"github.com/nudgewire/nudgewire/internal/delivery/enricher"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/outbox"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

type suite struct {
	fresh func(t testing.TB) string
}

// Three people, and none of them is the one of cart.
const ana, ben, eve = "447700900101", "447700900102", "447700900103"

// noon is when every test begins.
var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// A ledger is an open store with a clock and a Settle of its own.
type ledger struct {
	*store.Store
	t   testing.TB
	dsn string
	ctx context.Context

	mu     sync.Mutex
	now    time.Time
	settle store.Settle
	rules  messaging.DueRules
	doubt  messaging.OnDoubt // of every trigger
	due    []time.Time       // calls of OnDue
	poll   []time.Time       // calls of OnPoll
	dueOf  []string          // the accounts that they named
	pollOf []string
	look   []time.Time // calls of OnLookup
	tells  map[string][]string
	out    []string // receivers that OnOutgoing named
	facts  []messaging.Facts
	paused atomic.Int64 // calls of OnPause
	tokens *enricher.Tokens
}

func (l *ledger) alerts() alerts.Records   { return alerts.Records{Store: l.Store} }
func (l *ledger) outbox() outbox.Records   { return outbox.Records{Store: l.Store} }
func (l *ledger) auth() auth.Records       { return auth.Records{Store: l.Store} }
func (l *ledger) report() report.Records   { return report.Records{Store: l.Store} }
func (l *ledger) privacy() privacy.Records { return privacy.Records{Store: l.Store} }

// insert is the settlement of a ledger that has no other: what is planned is stored, what
// cancels is remembered.
func insert(w messaging.Proposal, f messaging.Facts) messaging.Settlement {
	if w.Decision.Outcome == messaging.Cancelling {
		s := messaging.Settlement{Outcome: messaging.Cancelling, RecordTombstone: true}
		for _, one := range f.Waiting {
			s.Cancel = append(s.Cancel, one.ID)
		}
		for _, one := range f.Open {
			if w.Correlation.Key != "" || !one.EventAt.After(w.EventAt) {
				s.CallOff = append(s.CallOff, one.ID)
			}
		}
		return s
	}
	return messaging.Settlement{Outcome: messaging.Planned, Insert: true}
}

func (s suite) open(t testing.TB) *ledger {
	t.Helper()
	return reopen(t, s.fresh(t))
}

// A check is one of many in a test that leaves nothing for the others: what it was given is free again as soon as it ended, and
// so is its database, which takes far longer to make than the check takes.
type check struct {
	testing.TB
	left []func()
}

// Cleanup is of the check, not of its test.
func (c *check) Cleanup(f func()) { c.left = append(c.left, f) }

func (c *check) end() {
	for _, f := range slices.Backward(c.left) {
		f()
	}
}

// openNarrow opens data that one connection alone writes to, whatever the engine.
func (s suite) openNarrow(t testing.TB) *ledger {
	t.Helper()
	return openWith(t, s.fresh(t), func(o *store.Options) { o.Writers = 1 })
}

// reopen opens the data at dsn, which may hold some.
func reopen(t testing.TB, dsn string) *ledger {
	t.Helper()
	return openWith(t, dsn, func(*store.Options) {})
}

func openWith(t testing.TB, dsn string, change func(*store.Options)) *ledger {
	t.Helper()
	l := &ledger{t: t, dsn: dsn, ctx: context.Background(), now: noon, settle: insert}
	o := store.Options{
		DSN: dsn,
		Settle: func(w messaging.Proposal, f messaging.Facts) messaging.Settlement {
			l.mu.Lock()
			settle := l.settle
			l.facts = append(l.facts, f)
			l.mu.Unlock()
			return settle(w, f)
		},
		OnDue: func(account string, at time.Time) {
			l.mu.Lock()
			l.due, l.dueOf = append(l.due, at), append(l.dueOf, account)
			l.mu.Unlock()
		},
		OnPoll: func(account string, at time.Time) {
			l.mu.Lock()
			l.poll, l.pollOf = append(l.poll, at), append(l.pollOf, account)
			l.mu.Unlock()
		},

		OnPause: func() { l.paused.Add(1) },

		OnLookup: func(at time.Time) { l.mu.Lock(); l.look = append(l.look, at); l.mu.Unlock() },

		FirstPoll: func(_ string, accepted time.Time, place int64) time.Time {
			return accepted.Add(time.Second + time.Duration(place)*time.Millisecond)
		},

		Due: func() messaging.DueRules { l.mu.Lock(); defer l.mu.Unlock(); return l.rules },

		OnDoubt: func(*messaging.Message) messaging.OnDoubt { l.mu.Lock(); defer l.mu.Unlock(); return l.doubt },

		Sends: func(trigger string) bool { return trigger != "switched off" },

		Accounts: func(name string) bool { return name != "gone" },

		Tells: func(about, word string) []string { l.mu.Lock(); defer l.mu.Unlock(); return l.tells[about+"."+word] },

		OnOutgoing: func(receiver string, at time.Time) { l.mu.Lock(); l.out = append(l.out, receiver); l.mu.Unlock() },

		Now: func() time.Time { l.mu.Lock(); defer l.mu.Unlock(); return l.now },
	}
	change(&o)
	var err error
	l.Store, err = store.Open(l.ctx, o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(l.close)
	l.tokens = &enricher.Tokens{Store: l.Store, Path: engine.Path(dsn) + ".tokens"}
	l.must(l.tokens.KeepNoted(l.ctx))
	return l
}

func (l *ledger) close() {
	if err := l.Close(); err != nil {
		l.t.Errorf("close: %v", err)
	}
}

// must ends the test where something went wrong that it is not about.
func (l *ledger) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *ledger) settleBy(s store.Settle) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle = s
}

// ruleBy sets the rules of the due moment, as a reload does.
func (l *ledger) ruleBy(rules messaging.DueRules) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rules = rules
}

// inDoubt sets what the config says is done in doubt, as a reload does.
func (l *ledger) inDoubt(rule messaging.OnDoubt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.doubt = rule
}

func (l *ledger) at(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = now
}

// lastFacts are what Settle was told last.
func (l *ledger) lastFacts() messaging.Facts {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.facts) == 0 {
		return messaging.Facts{}
	}
	return l.facts[len(l.facts)-1]
}

// lastCall is the newest time that a hook was given; zero for none.
func (l *ledger) lastCall(calls *[]time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(*calls) == 0 {
		return time.Time{}
	}
	return (*calls)[len(*calls)-1]
}

// woken is want, if senders were woken for that time, and else the newest that they were woken for. A node of PostgreSQL may hear its own
// notices meanwhile.
func (l *ledger) woken(want time.Time) time.Time {
	newest := l.lastCall(&l.due)
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.ContainsFunc(l.due, want.Equal) {
		return want
	}
	return newest
}

// mustAccept stores one plan.
func (l *ledger) mustAccept(p messaging.Plan) messaging.Receipt {
	l.t.Helper()
	got, err := l.Accept(l.ctx, []messaging.Plan{p})
	if err != nil {
		l.t.Fatalf("accept: %v", err)
	}
	return got[0]
}

// queue stores a cart and returns the message it queues.
func (l *ledger) enqueue(key string, changes ...change) messaging.MessageID {
	l.t.Helper()
	return l.mustAccept(cart(key, changes...)).Decisions[0].MessageID
}

const owner = "node:1:abc"

// mustClaim claims up to n in each lane at a time.
func (l *ledger) mustClaim(at time.Time, n int) []messaging.Message {
	l.t.Helper()
	got, err := l.Claim(l.ctx, messaging.ClaimRequest{Owner: owner, Now: at, Lease: time.Minute, Authentication: n, Utility: n, Marketing: n})
	if err != nil {
		l.t.Fatalf("claim: %v", err)
	}
	return got
}

// message is a stored message.
func (l *ledger) message(id messaging.MessageID) messaging.Message {
	l.t.Helper()
	d, err := l.Message(l.ctx, id)
	l.must(err)
	return d
}

// totals checks some counters.
func (l *ledger) totals(want map[string]int64) {
	l.t.Helper()
	c, err := report.Records{Store: l.Store}.Counts(l.ctx)
	l.must(err)
	got := make(map[string]int64)
	for name := range want {
		got[name] = c.Totals[name]
	}
	same(l.t, "totals", want, got)
}

// same compares, taking nil and empty for the same, and amounts digit by digit.
func same(t testing.TB, what string, want, got any) {
	t.Helper()
	amounts := cmp.Comparer(func(a, b messaging.Amount) bool { return a.Reported() == b.Reported() && a.String() == b.String() })
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), amounts); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// wantErr checks an error's exact words.
func wantErr(t testing.TB, err error, words string) {
	t.Helper()
	if got := fmt.Sprint(err); got != words {
		t.Errorf("error:\n got %s\nwant %s", got, words)
	}
}

// until waits for what another goroutine is about to do.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

// together calls do(0) … do(n-1) at the same time and waits for all.
func together(n int, do func(int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			do(i)
		})
	}
	close(start)
	wg.Wait()
}

// reopenAfter closes a ledger and opens its data again.
func reopenAfter(t testing.TB, l *ledger) *ledger {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return reopen(t, l.dsn)
}

// factsOf are those of the look just before a call.
func (l *ledger) factsOf(d *messaging.Message) messaging.DueFacts {
	l.t.Helper()
	f, err := l.FactsOf(l.ctx, d)
	l.must(err)
	return f
}
