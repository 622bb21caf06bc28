//go:build unix

package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// beside opens the same data from another folder, as another machine does.
func beside(t *testing.T, dsn string, o store.Options) *store.Store {
	t.Helper()
	address, _, _ := strings.Cut(dsn, "#")
	if o.DSN = address + "#" + t.TempDir(); o.Settle == nil {
		o.Settle = always
	}
	s, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// soon waits for what another node has to hear. The limit is for hangs: the machine of a test may be busy.
func soon(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the other node never heard: %s", what)
		}
	}
}

func claimOne(t *testing.T, s *store.Store, n int64) messaging.Message {
	t.Helper()
	now := time.Now()
	plan := benchPlan(n, now)
	if _, err := s.Accept(t.Context(), []messaging.Plan{plan}); err != nil {
		t.Fatal(err)
	}
	return claimed(t, s)
}

func claimed(t *testing.T, s *store.Store) messaging.Message {
	t.Helper()
	var out []messaging.Message
	soon(t, "something is due", func() bool {
		var err error
		if out, err = claims(t, s); err != nil {
			t.Fatal(err)
		}
		return len(out) > 0
	})
	return out[0]
}

func TestNodesHearOfHalts(t *testing.T) {
	dsn := newDatabase(t)
	woken := make(chan string, 1000)
	a := beside(t, dsn, store.Options{})
	b := beside(t, dsn, store.Options{OnDue: func(string, time.Time) {
		select {
		case woken <- "":
		default:
		}
	}})
	d := claimOne(t, b, 1)
	halted := func(is bool) func() bool {
		return func() bool { _, got := b.Held(&d); return got == is }
	}
	all := messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldHalt, Reason: "a test"}
	if err := a.Hold(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	if out, err := claims(t, b); err != nil || len(out) != 0 {
		t.Errorf("a claim beside a halt of another node: %v, %v", out, err)
	}
	soon(t, "a halt", halted(true))
	for len(woken) > 0 {
		<-woken
	}
	if err := a.EndHold(t.Context(), messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldHalt}); err != nil {
		t.Fatal(err)
	}
	soon(t, "the end of a halt", halted(false))
	soon(t, "that what was held may go", func() bool { return len(woken) > 0 })
	if err := a.PauseTriggers(t.Context(), map[string]string{d.Trigger: "is off"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	soon(t, "a paused trigger", halted(true))
	if err := a.PauseTriggers(t.Context(), nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	soon(t, "a trigger that sends again", halted(false))

	// The server ends the connections that listen.
	address, _, _ := strings.Cut(dsn, "#")
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	var ended int
	if err := conn.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN nudgewire'`).Scan(&ended); err != nil {
		t.Fatal(err)
	}
	if ended < 2 {
		t.Errorf("%d connections listened, want at least 2", ended)
	}
	if err := a.Hold(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	soon(t, "a halt without its connection", halted(true))
}

func TestNodesHearOfBlocksAndOrders(t *testing.T) {
	dsn := newDatabase(t)
	a, b := beside(t, dsn, store.Options{}), beside(t, dsn, store.Options{})
	d := claimOne(t, b, 1)
	barred := func(b *store.Store, d *messaging.Message) func() bool {
		return func() bool {
			f, err := b.FactsOf(t.Context(), d)
			if err != nil {
				t.Fatal(err)
			}
			return f.Blocked != ""
		}
	}
	if barred(b, &d)() {
		t.Fatal("barred before the block")
	}
	if _, err := a.Block(t.Context(), []store.Block{{Phone: d.Phone, Source: "by hand"}}); err != nil {
		t.Fatal(err)
	}
	soon(t, "a block", barred(b, &d))

	other := claimOne(t, b, 2)
	if err := a.Forget(t.Context(), []messaging.Phone{other.Phone}, "by hand"); err != nil {
		t.Fatal(err)
	}
	soon(t, "a contact that is forgotten", barred(b, &other))
	c := beside(t, dsn, store.Options{}) // a new machine, with an empty folder
	if gone, err := c.Forgotten(t.Context(), []messaging.Phone{other.Phone, "+79990000000"}); err != nil || len(gone) != 1 || gone[other.Phone].IsZero() {
		t.Errorf("a new machine knows %v, %v", gone, err)
	}
}

func claims(t *testing.T, s *store.Store) ([]messaging.Message, error) {
	return s.Claim(t.Context(), messaging.ClaimRequest{Owner: "b", Now: time.Now(), Lease: time.Minute, Marketing: 1})
}

// A claim of one node that an order on another one calls off.
func TestNodesHearWhatIsCalledOff(t *testing.T) {
	dsn := newDatabase(t)
	b := beside(t, dsn, store.Options{})
	d := claimOne(t, b, 1)
	a := beside(t, dsn, store.Options{Settle: func(messaging.Proposal, messaging.Facts) messaging.Settlement {
		return messaging.Settlement{Outcome: messaging.Cancelling, CallOff: []messaging.MessageID{d.ID}}
	}})
	plan := benchPlan(2, time.Now())
	plan.Proposals[0].Decision.Outcome = messaging.Cancelling
	if _, err := a.Accept(t.Context(), []messaging.Plan{plan}); err != nil {
		t.Fatal(err)
	}
	soon(t, "an order that calls it off", func() bool {
		f, err := b.FactsOf(t.Context(), &d)
		if err != nil {
			t.Fatal(err)
		}
		return f.CalledOff != ""
	})
}
