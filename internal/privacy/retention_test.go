package privacy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/contacts"
	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/peers"
)

const day = 24 * time.Hour

// keepUsual is what the sample config keeps, and a trigger that sends once.
var keepUsual = Retention{
	Payloads: 30 * day, Facts: 60 * day, Decisions: 90 * day, Events: 400 * day, Messages: 400 * day, Phones: 180 * day, Attempts: 90 * day, RejectedRequests: 30 * day,
	Once: func(trigger string, keyed bool) bool { return trigger == "cart" && keyed },
}

// aging is a store whose clock is turned by hand.
type aging struct{ *erasing }

func openAging(t *testing.T) aging { return aging{openErasing(t)} }

func (a aging) retain(r Retention) RetentionRun {
	a.Helper()
	run, err := a.Retain(a.Context(), r, a.now)
	a.must(err)
	return run
}

// crash ends the store where it stands: what closing it writes is taken back.
func (a aging) crash() {
	a.Helper()
	left := map[string][]byte{}
	for _, end := range []string{"", "-wal"} {
		text, err := os.ReadFile(a.path + end)
		a.must(err)
		left[a.path+end] = text
	}
	a.must(a.Store.Close())
	for path, text := range left {
		a.must(os.WriteFile(path, text, 0o600))
	}
	a.Store = nil
	a.reopen()
}

// sweepKeys walks through all keys, however few lead nowhere.
func (a aging) sweepKeys() {
	a.Helper()
	a.reopen() // what was in memory is in the table
	commit := func(ctx context.Context, run func(*store.Tx) error) error { return a.Write(ctx, commit.LaneWork, run) }
	a.must(commit(a.Context(), func(t *store.Tx) error { t.CountNamed(peers.DeadKeys, 1<<40); return nil }))
	a.must(a.SweepKeys(a.Context(), commit))
}

// rows counts those of every table that has some.
func (a aging) rows() map[string]int {
	a.Helper()
	count := func(from string) (n int) {
		a.must(a.Rows(a.Context(), `SELECT count(*) FROM `+from, nil, func(r *engine.Row) error { n = int(r.Int()); return r.Err }))
		return n
	}
	tables, err := store.List(a.Context(), a.Store, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'goose_%'`, nil, engine.Text)
	a.must(err)
	all := map[string]int{}
	for _, table := range tables {
		if n := count(`"` + table + `"`); n > 0 {
			all[table] = n
		}
	}
	// What leaves before its row does.
	for name, where := range map[string]string{"payloads": "events WHERE cleared = ''", "facts": "events WHERE length(content) > 0", "reasons": "decisions WHERE kept = 1"} {
		if n := count(where); n > 0 {
			all[name] = n
		}
	}
	return all
}

// live is a life of every kind that ends: n events, most with a message that reaches its end.
func (a aging) live(n int) {
	a.Helper()
	for i := range n {
		a.event(fmt.Sprintf("4477009%05d", i%50), "x", func(p *messaging.Plan) {
			switch i % 10 {
			case 8: // nobody wants it
				p.Proposals[0].Decision.Outcome, p.Proposals[0].Message = messaging.Skipped, messaging.Message{}
			case 9:
				p.Proposals[0].Decision.Outcome, p.Proposals[0].Message = messaging.Cancelling, messaging.Message{}
				p.Proposals[0].Forget = a.now.Add(day)
			}
		})
	}
	for i, d := range a.claim(n) {
		switch i % 5 {
		case 1:
			a.finish(&d, messaging.StateRejected)
		case 2:
			a.finish(&d, messaging.StateDropped)
		case 3:
			a.finish(&d, messaging.StateInDoubt)
			a.must(a.Resolve(a.Context(), d.ID, messaging.ResolveDrop, "let be"))
		default:
			a.finish(&d, messaging.StateAccepted, func(at *messaging.Attempt) { at.Message.Status, at.Message.NextPollAt = "failed", time.Time{} })
		}
	}
	a.must(a.RejectRequest(a.Context(), messaging.RejectedRequest{Connector: "shop", Status: 401, Stage: "verify", Reason: "no", At: a.now}))
	for n := 1; n > 0; {
		var err error
		n, err = contacts.Records{Store: a.erasing.Records.Store}.ReadContacts(a.Context(), nil)
		a.must(err)
	}
}

func TestWhatIsOldGoesByItsKindAndLeavesNothing(t *testing.T) {
	a := openAging(t)
	a.live(1000)
	began := a.rows()
	for _, table := range []string{"events", "payloads", "facts", "decisions", "reasons", "messages", "attempts", "resolutions", "tombstones", "rejected_requests"} {
		if began[table] == 0 {
			t.Fatalf("the test is weak: no row in %s: %v", table, began)
		}
	}
	for _, step := range []struct {
		days int
		gone []string
	}{
		{29, []string{"tombstones"}}, // which expired after a day
		{31, []string{"payloads", "rejected_requests"}},
		{59, nil},
		{61, []string{"facts"}},
		{91, []string{"reasons"}},   // attempts in doubt stay
		{399, []string{"contacts"}}, // with their phones
		{401, []string{"events", "messages", "attempts", "resolutions", "decisions", "hourly_counts"}},
	} {
		a.now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Add(time.Duration(step.days) * day)
		before := a.rows()
		a.retain(keepUsual)
		after := a.rows()
		var gone []string
		for table := range before {
			if after[table] == 0 {
				gone = append(gone, table)
			}
		}
		slices.Sort(gone)
		slices.Sort(step.gone)
		if diff := cmp.Diff(step.gone, gone); diff != "" {
			t.Errorf("after %d days (-want +got):\n%s", step.days, diff)
		}
	}
	// What is left: who got a message of a trigger that sends once, and what is no row of a kind.
	a.sweepKeys()
	left := a.rows()
	if n := left["sent_once"]; n == 0 || n != left["keys"] {
		t.Errorf("%d keys were sent to once, and %d keys are left", n, left["keys"])
	}
	for _, table := range []string{"sent_once", "keys", "counts", "trigger_names", "error_texts", "consents"} {
		delete(left, table)
	}
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	v, err := a.RetentionState(t.Context())
	a.must(err)
	want := map[string]int64{"events": 1000, "payloads": 1000, "facts": 1000, "decisions": 1000, "messages": 800, "phones": 1800, "rejected_requests": 1}
	maps.DeleteFunc(v.Removed, func(kind string, _ int64) bool { return kind == kindAttempts })
	if diff := cmp.Diff(want, v.Removed); diff != "" || len(v.Oldest) > 0 {
		t.Errorf("removed (-want +got):\n%s\noldest: %v", diff, v.Oldest)
	}
	totals, err := report.Records{Store: a.erasing.Records.Store}.Totals(t.Context())
	a.must(err)
	if totals["events"] != 1000 || totals["messages"] != 800 {
		t.Errorf("what was stored in all is %v", totals)
	}
	a.must(a.Check(t.Context()))
	// Numbers go on where they were.
	a.reopen()
	if got := a.event(otherPhone, "again"); got.EventID != 1001 || got.Decisions[0].MessageID != 801 {
		t.Errorf("%+v", got)
	}
}

// What has not ended keeps all of it, however old it is.
func TestWhatHasNotEndedIsKeptWhole(t *testing.T) {
	a := openAging(t)
	later := a.now.Add(2000 * day)
	waits := a.event("447700900111", "x", func(p *messaging.Plan) { p.Proposals[0].Message.DueAt = later })
	a.event("447700900112", "x")
	a.event("447700900113", "x")
	a.event("447700900114", "x")
	held := a.claim(3)
	a.finish(&held[1], messaging.StateInDoubt)
	a.finish(&held[2], messaging.StateAccepted) // and asked about
	lookup := a.event("447700900115", "x", func(p *messaging.Plan) { p.Later, p.Proposals = true, nil })
	ended := a.event("447700900116", "x", func(p *messaging.Plan) { p.Proposals = nil })
	a.now = a.now.Add(1000 * day)
	a.retain(keepUsual)
	for id := messaging.EventID(1); id <= lookup.EventID; id++ {
		s, err := history.Records{Store: a.erasing.Records.Store}.EventStory(t.Context(), id)
		if err != nil {
			t.Fatalf("event %d: %v", id, err)
		}
		if id == 4 {
			// Its message is only asked about: what was sent is known, what was carried is not needed.
			if !s.FactsCleared || len(s.Messages) != 1 || s.Messages[0].Status == "" || s.Decisions[0].Outcome != messaging.Planned {
				t.Errorf("event 4: %+v", s)
			}
			continue
		}
		if s.Cleared || len(s.Payload) == 0 {
			t.Errorf("event %d lost its payload", id)
		}
		if id < lookup.EventID && (len(s.Decisions) != 1 || len(s.Decisions[0].Clauses) != 1 || len(s.Messages) != 1) {
			t.Errorf("event %d: decisions %+v, %d messages", id, s.Decisions, len(s.Messages))
		}
	}
	if _, err := a.Event(t.Context(), ended.EventID); !errors.Is(err, messaging.ErrNotFound) {
		t.Errorf("what had ended is there: %v", err)
	}
	// Once it ends it is as old as its end.
	a.must(a.CancelMessage(t.Context(), waits.Decisions[0].MessageID, ""))
	a.now = a.now.Add(399 * day)
	a.retain(keepUsual)
	if s, err := (history.Records{Store: a.erasing.Records.Store}).EventStory(t.Context(), waits.EventID); err != nil || !s.FactsCleared || len(s.Messages) != 1 || len(s.Decisions) != 1 || !strings.Contains(s.Decisions[0].Reason, "retention.decisions") {
		t.Errorf("399 days after its end: %+v, %v", s, err)
	}
	a.now = a.now.Add(2 * day)
	a.retain(keepUsual)
	if _, err := a.Event(t.Context(), waits.EventID); !errors.Is(err, messaging.ErrNotFound) {
		t.Errorf("401 days after its end: %v", err)
	}
}

// A stop after any commit leaves data that the next run, after a crash, brings to the same end.
func TestRetentionGoesOnAfterACrash(t *testing.T) {
	want := map[string]int{}
	for stop := 0; ; stop++ {
		a := openAging(t)
		a.live(200)
		a.now = a.now.Add(401 * day)
		cut := errors.New("cut off")
		r, commits := keepUsual, 0
		r.Rest = func(context.Context, time.Duration) error {
			if commits++; commits == 2*stop && stop > 0 {
				return cut
			}
			return nil
		}
		_, err := a.Retain(t.Context(), r, a.now)
		if stop > 0 && err == nil {
			break // all of it was done before
		}
		if stop > 0 && !errors.Is(err, cut) {
			t.Fatal(err)
		}
		if stop > 0 {
			a.crash()
		}
		a.retain(keepUsual)
		a.must(a.Check(t.Context()))
		got := a.rows()
		if stop == 0 {
			want = got
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("cut off after %d commits (-want +got):\n%s", commits, diff)
		}
	}
}

// A trigger that sends once does so when the message is long gone; another sends again; a collision of hashes of what
// was never sent is none.
func TestOnceIsKeptForEver(t *testing.T) {
	a := openAging(t)
	met := map[string]*messaging.Sent{}
	a.settle = func(w messaging.Proposal, f messaging.Facts) messaging.Settlement {
		met[w.Correlation.Key] = f.Last
		return messaging.Settlement{Outcome: w.Decision.Outcome, Insert: w.Decision.Outcome == messaging.Planned}
	}
	ask := func(trigger, key string, mode messaging.CooldownMode) *messaging.Sent {
		t.Helper()
		a.event("447700900111", "x", func(p *messaging.Plan) {
			w := &p.Proposals[0]
			w.Decision.Trigger, w.Correlation.Trigger, w.Correlation.Key, w.Cooldown.Mode = trigger, trigger, key, mode
		})
		return met[key]
	}
	once, none := messaging.CooldownOnce, messaging.CooldownNone
	ask("cart", "sent", once)
	ask("cart", "rejected", once)
	ask("news", "sent by news", none)
	ask("cart", "let be", once)
	ask("cart", "dropped", once)
	ask("news", "let be by news", none)
	held := a.claim(6)
	for i, state := range []messaging.State{
		messaging.StateAccepted, messaging.StateRejected, messaging.StateAccepted,
		messaging.StateInDoubt, messaging.StateDropped, messaging.StateInDoubt,
	} {
		a.finish(&held[i], state, func(at *messaging.Attempt) {
			if at.Message != nil {
				at.Message.Status, at.Message.NextPollAt = "failed", time.Time{}
			}
		})
	}
	for _, i := range []int{3, 5} {
		a.must(a.Resolve(t.Context(), held[i].ID, messaging.ResolveDrop, "let be"))
	}
	sentAt := a.now
	for _, years := range []int{2, 10} {
		a.now = sentAt.AddDate(years, 0, 0)
		a.retain(keepUsual)
		a.sweepKeys()
		a.crash()
		a.settle = func(w messaging.Proposal, f messaging.Facts) messaging.Settlement {
			met[w.Correlation.Key] = f.Last
			return messaging.Settlement{Outcome: messaging.Skipped}
		}
		if got := ask("cart", "sent", once); got == nil || got.ID != 1 || !got.At.Equal(sentAt) || got.State != messaging.StateAccepted {
			t.Errorf("after %d years the key that was sent to is %+v", years, got)
		}
		if got := ask("cart", "sent", none); got != nil {
			t.Errorf("a trigger that sends each time met %+v", got)
		}
		if got := ask("cart", "let be", once); got == nil || got.ID != 4 || !got.At.Equal(sentAt) || got.State != messaging.StateDropped {
			t.Errorf("after %d years the key whose message may have arrived is %+v", years, got)
		}
		for _, key := range []string{"rejected", "sent by news", "dropped", "let be by news"} {
			if got := ask("cart", key, once); got != nil {
				t.Errorf("%s met %+v", key, got)
			}
		}
	}
}

// A payload leaves when its own event is old.
func TestAPayloadLeavesByItsOwnAge(t *testing.T) {
	a := openAging(t)
	var plans []messaging.Plan
	for i := range 40 {
		p := a.plan(otherPhone, "x")
		p.Event.ReceivedAt = a.now.Add(time.Duration(i) * time.Hour)
		p.Proposals[0].Decision.Outcome, p.Proposals[0].Message = messaging.Skipped, messaging.Message{}
		plans = append(plans, p)
	}
	_, err := a.Accept(t.Context(), plans)
	a.must(err)
	began, gone := a.now, int64(0)
	for _, hours := range []int{30 * 24, 30*24 + 1, 30*24 + 20, 32 * 24} {
		a.now = began.Add(time.Duration(hours) * time.Hour)
		gone += a.retain(keepUsual).Removed[kindPayloads]
		for id := messaging.EventID(1); id <= 40; id++ {
			e, err := a.Event(t.Context(), id)
			a.must(err)
			if old := e.ReceivedAt.Before(a.now.Add(-keepUsual.Payloads)); e.Cleared != old || (len(e.Payload) == 0) != old {
				t.Errorf("after %d hours event %d of %s is cleared: %v", hours, id, e.ReceivedAt, e.Cleared)
			}
		}
	}
	if gone != 40 {
		t.Errorf("removed %d", gone)
	}
}

// Where one event is still needed, those after it lose what they carried all the same, and what they led to is known.
func TestNeighboursOfWhatWaitsDoNotStayWithIt(t *testing.T) {
	a := openAging(t)
	var plans []messaging.Plan
	for i := range 9 {
		p := a.plan(otherPhone, "x")
		if i == 4 {
			p.Proposals[0].Message.DueAt = a.now.Add(3000 * day)
		}
		plans = append(plans, p)
	}
	_, err := a.Accept(t.Context(), plans)
	a.must(err)
	for _, d := range a.claim(8) {
		a.finish(&d, messaging.StateRejected)
	}
	a.now = a.now.Add(100 * day)
	for again := range 3 { // the second finds nothing to do, the third begins after a start
		run := a.retain(keepUsual)
		if want := int64(8); again > 0 && len(run.Removed) > 0 || again == 0 && (run.Removed[kindFacts] != want || run.Removed[kindDecisions] != want) {
			t.Errorf("run %d removed %v", again, run.Removed)
		}
		for id := messaging.EventID(1); id <= 9; id++ {
			s, err := history.Records{Store: a.erasing.Records.Store}.EventStory(t.Context(), id)
			a.must(err)
			kept := id == 5
			if s.Cleared == kept || s.FactsCleared == kept || s.Unsaid == kept || (len(s.Payload) > 0) != kept || len(s.Decisions) != 1 || len(s.Messages) != 1 {
				t.Errorf("event %d: %+v", id, s)
			}
		}
		a.reopen()
	}
	a.must(a.CancelMessage(t.Context(), 5, ""))
	a.retain(keepUsual)
	if rows := a.rows(); rows["facts"] != 0 || rows["reasons"] != 0 || rows["decisions"] != 9 {
		t.Errorf("after its end: %v", rows)
	}
}

// What cannot be read is cleared by the first age as everything is, and keeps no facts.
func TestAContentThatCannotBeReadKeepsNothing(t *testing.T) {
	a := openAging(t)
	for i := range 3 {
		a.event(fmt.Sprintf("44770090%04d", i), "x", func(p *messaging.Plan) { p.Proposals, p.Event.Cart.ID = nil, "c1" })
	}
	a.must(a.Write(t.Context(), commit.LaneWork, func(t *store.Tx) error { return t.Put(damageContentSQL, int64(2), []byte{9, 9}) }))
	a.now = a.now.Add(31 * day)
	if run := a.retain(keepUsual); run.Removed[kindPayloads] != 3 {
		t.Errorf("removed %v", run.Removed)
	}
	for id := messaging.EventID(1); id <= 3; id++ {
		e, err := a.Event(t.Context(), id)
		a.must(err)
		if kept := e.Cart.ID == "c1"; !e.Cleared || kept != (id != 2) || len(e.Payload) > 0 {
			t.Errorf("event %d: %+v", id, e)
		}
	}
}

var damageContentSQL = engine.SQL(`UPDATE events SET content = ?2 WHERE id = ?1`)

// What cannot be read is cleared by its age as everything is.
func TestADecisionThatCannotBeReadKeepsNothing(t *testing.T) {
	a := openAging(t)
	a.live(20)
	a.must(a.Write(t.Context(), commit.LaneWork, func(t *store.Tx) error {
		return t.Put(eraseDecisionSQL, int64(3), int64(1), "reason", "damaged")
	}))
	if _, err := a.Decisions(t.Context(), 3); err == nil || !strings.Contains(err.Error(), "event 3") {
		t.Errorf("said %v", err)
	}
	a.now = a.now.Add(401 * day)
	_, err := a.Retain(t.Context(), keepUsual, a.now)
	a.must(err)
	left := a.rows()
	for _, table := range []string{"decisions", "events", "messages", "rejected_requests"} {
		if left[table] != 0 {
			t.Errorf("%d rows are left in %s", left[table], table)
		}
	}
}
