package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
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

// sweepKeys walks through all keys, however few lead nowhere.
func (a aging) sweepKeys() {
	a.Helper()
	a.must(a.sweep(a.Context(), 0, func(ctx context.Context, run func(*Tx) error) error { return a.Write(ctx, LaneWork, run) }))
}

// rows counts those of every table that has some.
func (a aging) rows() map[string]int {
	a.Helper()
	tables, err := List(a.Context(), a.Store, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'goose_%'`, nil, Text)
	a.must(err)
	all := map[string]int{}
	for _, table := range tables {
		var n int
		a.must(a.reads.QueryRowContext(a.Context(), `SELECT count(*) FROM "`+table+`"`).Scan(&n))
		if n > 0 {
			all[table] = n
		}
	}
	// What leaves before its row does.
	for name, where := range map[string]string{"payloads": "events WHERE cleared = ''", "facts": "events WHERE length(content) > 0", "reasons": "decisions WHERE kept = 1"} {
		var n int
		a.must(a.reads.QueryRowContext(a.Context(), `SELECT count(*) FROM `+where).Scan(&n))
		if n > 0 {
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
		n, err = a.ReadContacts(a.Context())
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
	a.must(a.Write(t.Context(), LaneWork, single(a.Store).flushAll))
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
	totals, err := a.Totals(t.Context())
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
		s, err := a.EventStory(t.Context(), id)
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
	if s, err := a.EventStory(t.Context(), waits.EventID); err != nil || !s.FactsCleared || len(s.Messages) != 1 || len(s.Decisions) != 1 || !strings.Contains(s.Decisions[0].Reason, "retention.decisions") {
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
			path := copyData(t, a.path)
			a.must(a.Store.Close())
			a.Store, a.dsn = nil, "sqlite:"+path
			a.reopen()
		}
		a.retain(keepUsual)
		a.must(a.Check(t.Context()))
		got := a.rows()
		delete(got, "restorations") // the crash is played by a copy, which knows that it is one
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
		crashed := copyData(t, a.path)
		a.must(a.Store.Close())
		a.Store, a.path, a.dsn = nil, crashed, "sqlite:"+crashed
		a.reopen()
		a.settle = func(w messaging.Proposal, f messaging.Facts) messaging.Settlement {
			met[w.Correlation.Key] = f.Last
			return messaging.Settlement{Outcome: messaging.Skipped}
		}
		if years == 10 {
			filled(t, a.Store)
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

// A sweep removes the keys that lead nowhere, those that come meanwhile are known after it, and so is every other.
func TestASweepOfTheKeysForgetsNothing(t *testing.T) {
	a := openAging(t)
	single(a.Store).keys.Limit = 100
	a.live(700)
	a.now = a.now.Add(300 * day)
	a.live(700)
	a.now = a.now.Add(150 * day)
	a.must(a.Write(t.Context(), LaneWork, single(a.Store).flushAll))
	before, during := a.rows()["keys"], 0
	r := keepUsual
	r.Rest = func(context.Context, time.Duration) error {
		if single(a.Store).keys.Sweeping() && during < 50 { // the walk is under way
			during++
			a.event(otherPhone, fmt.Sprintf("during-%d", during))
		}
		return nil
	}
	a.retain(r)
	if during == 0 || single(a.Store).keys.Sweeping() || !single(a.Store).keys.Filled() {
		t.Fatalf("no sweep was met: %d events during it", during)
	}
	a.must(a.Write(t.Context(), LaneWork, single(a.Store).flushAll))
	if after := a.rows()["keys"]; after > before*2/3 {
		t.Errorf("%d keys of %d are left", after, before)
	}
	for _, n := range []int{701, 1000, 1400} { // of the life that is kept
		again := a.n
		a.n = n - 1
		got := a.event("447700900000", "x", func(p *messaging.Plan) { p.Window = 400 * day })
		a.n = again
		if !got.Duplicate || int(got.EventID) != n {
			t.Errorf("event %d came again: %+v", n, got)
		}
	}
	again := a.n
	for i := range during {
		a.n = 1400 + i
		if got := a.event(otherPhone, fmt.Sprintf("during-%d", i+1)); !got.Duplicate {
			t.Errorf("event %d of the sweep came again: %+v", i, got)
		}
	}
	a.n = again
}

// A payload leaves when its own event is old.
func TestAPayloadLeavesByItsOwnAge(t *testing.T) {
	a := openAging(t)
	var plans []messaging.Plan
	for i := range 40 {
		p := testPlan(fmt.Sprint(i))
		p.Event.ReceivedAt, p.Event.Payload = a.now.Add(time.Duration(i)*time.Hour), []byte("load")
		p.Proposals[0].Decision.Outcome = messaging.Skipped
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
		p := testPlan(fmt.Sprint(i))
		p.Event.ReceivedAt, p.Event.Payload = a.now, []byte("load")
		p.Proposals[0].Message.DueAt, p.Proposals[0].Message.CreatedAt = a.now, a.now
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
			s, err := a.EventStory(t.Context(), id)
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

// Free pages go back to the disk while the store is open, and a file of an earlier version can do so once it was compacted.
func TestTheFileGivesSpaceBack(t *testing.T) {
	for _, old := range []bool{false, true} {
		t.Run(fmt.Sprintf("laid out by an earlier version: %v", old), func(t *testing.T) {
			a := openAging(t)
			if old {
				a.must(a.Store.Close())
				a.must(tryExec(t, a.path, "PRAGMA auto_vacuum = NONE; VACUUM"))
				a.Store = nil
				a.reopen()
			}
			fill := func() {
				for range 30 {
					var plans []messaging.Plan
					for range 40 {
						a.n++
						p := testPlan(fmt.Sprint("fill-", a.n))
						p.Event.ReceivedAt, p.Event.Payload, p.Proposals = a.now, make([]byte, 28_000), nil
						_, err := rand.Read(p.Event.Payload)
						a.must(err)
						plans = append(plans, p)
					}
					_, err := a.Accept(t.Context(), plans)
					a.must(err)
				}
			}
			fill()
			full, err := a.Space(t.Context())
			a.must(err)
			if full.Gives == old || full.File < 30<<20 {
				t.Fatalf("the test is weak: %+v", full)
			}
			a.now = a.now.Add(31 * day)
			run := a.retain(keepUsual)
			v, err := a.Space(t.Context())
			a.must(err)
			if old {
				if run.Freed != 0 || v.Free < 20<<20 {
					t.Errorf("freed %d, %+v", run.Freed, v)
				}
				a.must(a.Store.Close())
				before, after, err := Compact(t.Context(), a.dsn)
				if err != nil || before.File < 30<<20 || after.File > 5<<20 || !after.Gives {
					t.Errorf("compacted from %+v to %+v (%v)", before, after, err)
				}
				a.Store = nil
				a.reopen()
				fill()
				a.now = a.now.Add(31 * day)
				a.retain(keepUsual)
				if v, err = a.Space(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if v.Free > sparePages*sqlite.PageSize || v.File > 15<<20 {
				t.Errorf("the file keeps %+v", v)
			}
			a.must(a.Check(t.Context()))
			if e, err := a.Event(t.Context(), 7); err != nil || !e.Cleared {
				t.Errorf("%+v %v", e, err)
			}
		})
	}
}

func TestCompactNeedsAStoppedDaemon(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	openAt(t, path)
	if _, _, err := Compact(t.Context(), "sqlite:"+path); err == nil {
		t.Error("compacted under an open store")
	} else if _, ok := errors.AsType[*sqlite.LockedError](err); !ok {
		t.Error(err)
	}
}

// What cannot be read is cleared by the first age as everything is, and keeps no facts.
func TestAContentThatCannotBeReadKeepsNothing(t *testing.T) {
	a := openAging(t)
	for i := range 3 {
		a.event(fmt.Sprintf("44770090%04d", i), "x", func(p *messaging.Plan) { p.Proposals, p.Event.Cart.ID = nil, "c1" })
	}
	a.must(a.Write(t.Context(), LaneWork, func(t *Tx) error { return t.Put(damageContentSQL, int64(2), []byte{9, 9}) }))
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

var damageContentSQL = SQL(`UPDATE events SET content = ?2 WHERE id = ?1`)

// What cannot be read is cleared by its age as everything is.
func TestADecisionThatCannotBeReadKeepsNothing(t *testing.T) {
	a := openAging(t)
	a.live(20)
	a.must(a.Write(t.Context(), LaneWork, func(t *Tx) error {
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
