package suite

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/contacts"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/store"
)

// childDSN is set for the process that the crash test kills.
const childDSN = "NUDGEWIRE_SUITE_CHILD"

// child stores events and claims messages from many goroutines until it is killed. It
// prints "stored KEY" and "claimed ID" only after the store answered, so that its parent
// knows what must have survived.
func child(dsn string) {
	s, err := store.Open(context.Background(), store.Options{DSN: dsn, Settle: insert})
	if err != nil {
		fmt.Println("broken", err)
		os.Exit(1)
	}
	ctx := context.Background()
	for c := range 8 {
		go func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("%d-%d", c, i)
				if _, err := s.Accept(ctx, []messaging.Plan{cart(key, due(noon), paidOrder(key))}); err != nil {
					fmt.Println("broken", err)
					os.Exit(1)
				}
				fmt.Println("stored", key)
			}
		}()
	}
	go func() {
		for {
			if _, err := (contacts.Records{Store: s}).ReadContacts(ctx, nil); err != nil {
				fmt.Println("broken", err)
				os.Exit(1)
			}
		}
	}()
	for {
		got, err := s.Claim(ctx, messaging.ClaimRequest{Owner: "child", Now: noon.Add(time.Minute), Lease: time.Hour, Marketing: 1})
		if err != nil {
			fmt.Println("broken", err)
			os.Exit(1)
		}
		for _, d := range got {
			fmt.Println("claimed", d.ID)
		}
	}
}

// paidOrder has an event tell of an order.
func paidOrder(id string) change {
	return func(p *messaging.Plan) { p.Event.Kind, p.Event.Order = "order.paid", messaging.Order{ID: id} }
}

func (s suite) crash(t *testing.T) {
	dsn := s.fresh(t)
	root, _, _ := strings.Cut(t.Name(), "/")
	for round := range 3 {
		before := kill(t, dsn, root, 400)
		t.Run(fmt.Sprintf("what was acknowledged survives kill number %d", round+1), func(t *testing.T) {
			l := reopen(t, dsn)
			defer l.close()
			for _, key := range before.stored {
				r := l.mustAccept(cart(key))
				if !r.Duplicate {
					t.Errorf("event %s was lost", key)
				}
			}
			sending, err := l.Messages(l.ctx, store.MessageFilter{State: messaging.StateSending, Limit: 1 << 20})
			l.must(err)
			n, err := l.RescueClaims(l.ctx, noon, owner)
			if err != nil || n.Doubtful != len(sending) || n.Doubtful < len(before.claimed) {
				t.Errorf("%+v claims recovered of %d stored and %d acknowledged (%v)", n, len(sending), len(before.claimed), err)
			}
			for _, id := range before.claimed {
				if d := l.message(id); d.State != messaging.StateInDoubt {
					t.Errorf("message %d had been claimed and is %s", id, d.State)
				}
			}
			l.readAll()
			counts, err := report.Records{Store: l.Store}.Counts(l.ctx)
			l.must(err)
			if known, err := (contacts.Records{Store: l.Store}).KnownContact(l.ctx, ada); err != nil || len(known) != 1 || known[0].Orders != counts.Totals["events"] {
				t.Errorf("%d events told of an order each, and known are %+v (%v)", counts.Totals["events"], known, err)
			}
			l.recount()
			if err := l.Check(l.ctx); err != nil {
				t.Error(err)
			}
			// The next child's keys must be new ones.
			dsn = s.fresh(t)
		})
	}
}

type acknowledged struct {
	stored  []string
	claimed []messaging.MessageID
}

// kill runs a child over dsn, kills it after it acknowledged n things, and returns them all.
func kill(t *testing.T, dsn, root string, n int) (a acknowledged) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+regexp.QuoteMeta(root)+"$")
	cmd.Env = append(os.Environ(), childDSN+"="+dsn)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var id messaging.MessageID
		switch word, rest, _ := strings.Cut(lines.Text(), " "); word {
		case "stored":
			a.stored = append(a.stored, rest)
		case "claimed":
			if _, err := fmt.Sscan(rest, &id); err == nil {
				a.claimed = append(a.claimed, id)
			}
		default:
			t.Errorf("child: %s", lines.Text())
		}
		if len(a.stored)+len(a.claimed) == n {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the child was not killed")
	}
	if len(a.stored) < 10 || len(a.claimed) < 10 {
		t.Fatalf("the child did too little: %d stored, %d claimed", len(a.stored), len(a.claimed))
	}
	return a
}

// recount compares what the counters say with the rows themselves.
func (l *ledger) recount() {
	l.t.Helper()
	events, err := l.Events(l.ctx, store.EventFilter{Limit: 1 << 20})
	l.must(err)
	messages, err := l.Messages(l.ctx, store.MessageFilter{Limit: 1 << 20})
	l.must(err)
	want := map[string]int64{"events": int64(len(events)), "messages": int64(len(messages))}
	live := report.Counts{}
	for _, o := range []messaging.Outcome{messaging.Planned, messaging.Restarted, messaging.Skipped, messaging.Cancelled, messaging.Cancelling, messaging.Shadowed} {
		want["decisions_"+string(o)] = 0
	}
	for _, e := range events {
		for _, d := range e.Decisions {
			want["decisions_"+string(d.Outcome)]++
		}
	}
	for _, name := range []string{"messages_accepted", "messages_rejected", "messages_cancelled", "messages_dropped", "attempts"} {
		want[name] = 0
	}
	for _, d := range messages {
		want["attempts"] += int64(d.Attempt)
		switch d.State {
		case messaging.StateWaiting:
			live.Waiting++
		case messaging.StateSending:
			live.Sending++
		case messaging.StateInDoubt:
			live.InDoubt++
		default:
			want["messages_"+string(d.State)]++
		}
		if d.Status != "" && !d.Final {
			live.Tracking++
		}
	}
	l.totals(want)
	l.rehour(events, messages)
	got, err := report.Records{Store: l.Store}.Counts(l.ctx)
	l.must(err)
	got.Totals, got.OldestDue, got.Deferred = nil, time.Time{}, 0
	same(l.t, "live counts", live, got)
}
