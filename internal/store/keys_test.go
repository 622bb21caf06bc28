package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/keyindex"
	"github.com/nudgewire/nudgewire/internal/store/peers"
	"github.com/nudgewire/nudgewire/internal/store/place"
)

// single is what coordinates s.
func single(s *Store) *peers.Single { return s.writer.peers.(*peers.Single) }

// filled waits until the filter of a store that was just opened holds the keys of the table.
func filled(t testing.TB, s *Store) {
	t.Helper()
	<-single(s).Filled()
	if !single(s).Keys.Filled() {
		t.Fatal("the filter could not be filled")
	}
}

// copyData copies the files of a store that is open and idle, as a crash would leave them.
func copyData(t testing.TB, from string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), filepath.Base(from))
	for _, end := range []string{"", "-wal"} {
		b, err := os.ReadFile(from + end)
		if err == nil {
			err = os.WriteFile(path+end, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// It stands for the same data after a crash, not for a copy of it.
	token, _, err := place.ReadInstance(from)
	if err == nil {
		err = place.WriteInstance(path, token)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// However the keys are spread over memory and table, and whatever happened to the process or
// to a group, each event is known again and each correlation key finds what it has.
func TestKeysOutliveMovesCrashesAndUndoneGroups(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type known struct{ event, message int64 }
		var (
			path   = filepath.Join(t.TempDir(), "nudgewire.db")
			s      *Store
			facts  messaging.Facts
			events = map[string]known{} // by dedupe key
			phones = map[string][]int64{}
		)
		open := func(rt *rapid.T) {
			s = openAt(t, path)
			if rapid.Bool().Draw(rt, "filter filled") {
				filled(t, s)
			}
			s.settle = func(w messaging.Proposal, f messaging.Facts) messaging.Settlement {
				if w.Decision.Key == "poison" {
					panic("poison")
				}
				facts = f
				return planAll(w, f)
			}
			single(s).Keys.Limit = 6
		}
		// plan is an event whose cart has the key, of the phone.
		plan := func(key, phone string) messaging.Plan {
			p := testPlan(key)
			p.Event.Contact.Phone = messaging.Phone(phone)
			p.Proposals[0].Correlation.Phone, p.Proposals[0].Message.Phone = messaging.Phone(phone), messaging.Phone(phone)
			return p
		}
		phone := rapid.SampledFrom([]string{"447700900101", "447700900102", "447700900103"})
		open(rt)
		defer func() { _ = s.Close() }() // openAt's cleanup tells of an error
		rt.Repeat(map[string]func(*rapid.T){
			"accept": func(rt *rapid.T) {
				key, to := fmt.Sprint("cart-", rapid.IntRange(0, 60).Draw(rt, "cart")), phone.Draw(rt, "phone")
				p := plan(key, to)
				p.Event.ContentKey = "content of " + key
				if rapid.Bool().Draw(rt, "under an id of its own") {
					p.Event.DedupeKey = rand.Text()
				}
				got, err := s.Accept(t.Context(), []messaging.Plan{p})
				if err != nil {
					rt.Fatal(err)
				}
				before, again := events[key]
				if got[0].Duplicate != again || again && int64(got[0].EventID) != before.event {
					rt.Fatalf("%s: receipt %+v, known %v", key, got[0], before)
				}
				if !again {
					id := int64(got[0].Decisions[0].MessageID)
					events[key] = known{int64(got[0].EventID), id}
					phones[to] = append(phones[to], id)
				}
			},
			"the correlation key finds its message": func(rt *rapid.T) {
				if len(events) == 0 {
					rt.Skip()
				}
				key := rapid.SampledFrom(slices.Sorted(maps.Keys(events))).Draw(rt, "cart")
				p := plan(key, phone.Draw(rt, "phone"))
				p.Event.DedupeKey, p.Proposals[0].Decision.Outcome = "poison", messaging.Cancelling
				p.Proposals = append(p.Proposals, plan("poison", "447700900104").Proposals...)
				_, err := s.Accept(t.Context(), []messaging.Plan{p}) // nothing of it stays
				if err == nil || !strings.Contains(err.Error(), "poison") {
					rt.Fatal(err)
				}
				if len(facts.Waiting) != 1 || int64(facts.Waiting[0].ID) != events[key].message {
					rt.Fatalf("%s: facts %+v, want message %d", key, facts, events[key].message)
				}
			},
			"a cancellation finds all that waits for its phone": func(rt *rapid.T) {
				to := phone.Draw(rt, "phone")
				p := plan("", to)
				p.Event.DedupeKey, p.Proposals[0].Decision.Outcome = "by phone", messaging.Cancelling
				p.Proposals = append(p.Proposals, plan("poison", "447700900104").Proposals...)
				if _, err := s.Accept(t.Context(), []messaging.Plan{p}); err == nil {
					rt.Fatal("the poison was taken")
				}
				var got []int64
				for _, w := range facts.Waiting {
					got = append(got, int64(w.ID))
				}
				if !slices.Equal(got, phones[to]) {
					rt.Fatalf("phone %s: found %v, want %v", to, got, phones[to])
				}
			},
			"restart": func(rt *rapid.T) {
				if err := s.Close(); err != nil {
					rt.Fatal(err)
				}
				open(rt)
				if n := single(s).Keys.Held(); n != 0 {
					rt.Fatalf("%d keys were read again after a clean end", n)
				}
			},
			"crash": func(rt *rapid.T) {
				crashed := s
				path = copyData(t, path)
				open(rt)
				_ = crashed.Close()
			},
		})
	})
}

// The mark of what need not be read again may only pass a row when every segment was flushed since.
func TestACrashAnywhereInARoundLosesNoKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	s := openAt(t, path)
	single(s).Keys.Limit = 400
	stored, marked := 0, false
	for range 12 {
		for range 20 {
			var plans []messaging.Plan
			for range 12 {
				plans = append(plans, testPlan(fmt.Sprint("cart-", stored)))
				stored++
			}
			if _, err := s.Accept(t.Context(), plans); err != nil {
				t.Fatal(err)
			}
		}
		after := openAt(t, copyData(t, path))
		again := make([]messaging.Plan, stored)
		for i := range again {
			again[i] = testPlan(fmt.Sprint("cart-", i))
		}
		got, err := after.Accept(t.Context(), again)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range got {
			if !r.Duplicate {
				t.Fatalf("after %d events, event %d is forgotten", stored, i+1)
			}
		}
		marked = marked || single(after).Keys.Held() < 2*stored
		if err := after.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !marked {
		t.Error("every start read all keys again: no round ended")
	}
}

// Rows that came past the store, as in a ledger of an older version, get their keys when it
// is opened, a page at a time.
func TestOldRowsGetTheirKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	s := openAt(t, path)
	const n = 2*keyindex.PageSize + 5
	for i := 0; i < n; i += 512 {
		plans := make([]messaging.Plan, 0, 512)
		for j := i; j < min(i+512, n); j++ {
			plans = append(plans, testPlan(fmt.Sprint(j)))
		}
		if _, err := s.Accept(t.Context(), plans); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{`DELETE FROM keys`, `DELETE FROM counts WHERE name LIKE 'keyed/%'`} {
		if err := TryExec(t, path, statement); err != nil {
			t.Fatal(err)
		}
	}
	s = openAt(t, path)
	for _, i := range []int{0, keyindex.PageSize - 1, keyindex.PageSize, n - 1} {
		got, err := s.Accept(t.Context(), []messaging.Plan{testPlan(fmt.Sprint(i))})
		if err != nil || !got[0].Duplicate || int(got[0].EventID) != i+1 {
			t.Errorf("event %d: %+v (%v)", i, got, err)
		}
	}
}

// A tombstone is known after a restart, and its key is taken for no day.
func TestATombstoneIsKnownAfterARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	s := openAt(t, path)
	over := testPlan("a")
	over.Event.DedupeKey = "a is over"
	over.Proposals[0].Decision.Outcome, over.Proposals[0].Forget = messaging.Cancelling, time.Now().Add(time.Hour)
	s.settle = func(messaging.Proposal, messaging.Facts) messaging.Settlement {
		return messaging.Settlement{RecordTombstone: true}
	}
	if _, err := s.Accept(t.Context(), []messaging.Plan{over}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path)
	if first, last := single(s).Keys.Days(); first < peers.FirstDay || first != last {
		t.Errorf("the days with events are %d to %d", first, last)
	}
	for _, filled := range []bool{false, true} {
		if filled {
			<-single(s).Filled()
		}
		met := map[string]bool{}
		s.settle = func(w messaging.Proposal, f messaging.Facts) messaging.Settlement {
			met[w.Correlation.Key] = f.Tombstone != nil
			return messaging.Settlement{Outcome: messaging.Skipped}
		}
		again, other := testPlan("a"), testPlan("b")
		again.Event.DedupeKey, other.Event.DedupeKey = fmt.Sprint("a", filled), fmt.Sprint("b", filled)
		if _, err := s.Accept(t.Context(), []messaging.Plan{again, other}); err != nil {
			t.Fatal(err)
		}
		if !met[again.Proposals[0].Correlation.Key] || met[other.Proposals[0].Correlation.Key] {
			t.Errorf("filter read %v: tombstones met: %v", filled, met)
		}
	}
}

func TestAStoreMayCloseWhileItsBloomFilterIsFilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	s := openAt(t, path)
	if err := s.Write(t.Context(), commit.LaneWork, func(tx *Tx) error {
		for i := range int64(3 * keyindex.PageSize) {
			if err := single(s).Remember(tx.Tx, peers.Key{Part: 1, Hash: i, ID: i}, false); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openAt(t, path)
	}
}

var (
	dropEventsTestSQL   = engine.SQL(`DELETE FROM events WHERE id < ?1`)
	dropMessagesTestSQL = engine.SQL(`DELETE FROM messages WHERE id < ?1`)
)

// A sweep removes the keys that lead nowhere, those that come meanwhile are known after it, and so is every other.
func TestASweepOfTheKeysForgetsNothing(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "nudgewire.db"))
	single(s).Keys.Limit = 100
	const old, all = 700, 1400
	accept := func(key string) messaging.Receipt {
		t.Helper()
		got, err := s.Accept(t.Context(), []messaging.Plan{testPlan(key)})
		failIf(t, err)
		return got[0]
	}
	plans := make([]messaging.Plan, all)
	for i := range plans {
		plans[i] = testPlan(fmt.Sprint(i + 1))
	}
	_, err := s.Accept(t.Context(), plans)
	failIf(t, err)
	failIf(t, s.Write(t.Context(), commit.LaneWork, func(t *Tx) error {
		t.CountNamed(peers.DeadKeys, 4*old)
		return errors.Join(t.Put(dropEventsTestSQL, int64(old+1)), t.Put(dropMessagesTestSQL, int64(old+1)), single(s).FlushAll(t.Tx))
	}))
	kept := func() int64 {
		t.Helper()
		n, err := List(t.Context(), s, `SELECT count(*) FROM keys`, nil, engine.Number[int64])
		failIf(t, err)
		return n[0]
	}
	before, during := kept(), 0
	failIf(t, s.SweepKeys(t.Context(), func(ctx context.Context, run func(*Tx) error) error {
		if err := s.Write(ctx, commit.LaneWork, run); err != nil {
			return err
		}
		if single(s).Keys.Sweeping() && during < 50 { // the walk is under way
			during++
			accept(fmt.Sprint("during ", during))
		}
		return nil
	}))
	if during == 0 || single(s).Keys.Sweeping() || !single(s).Keys.Filled() {
		t.Fatalf("no sweep was met: %d events during it", during)
	}
	failIf(t, s.Write(t.Context(), commit.LaneWork, func(t *Tx) error { return single(s).FlushAll(t.Tx) }))
	if after := kept(); after > before*2/3 {
		t.Errorf("%d keys of %d are left", after, before)
	}
	for _, n := range []int{old + 1, 1000, all} {
		if got := accept(fmt.Sprint(n)); !got.Duplicate || int(got.EventID) != n {
			t.Errorf("event %d came again: %+v", n, got)
		}
	}
	for i := range during {
		if got := accept(fmt.Sprint("during ", i+1)); !got.Duplicate {
			t.Errorf("event %d of the sweep came again: %+v", i, got)
		}
	}
}

var sentOnceTestSQL = engine.SQL(`INSERT INTO sent_once (correlation, message, state, at) VALUES (?1, ?2, 'accepted', ?3)`)

// That a key was sent to once is known when the message is gone, also once the filter holds all keys.
func TestAFullFilterKnowsWhatWasSentOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	var last *messaging.Sent
	open := func() *Store {
		t.Helper()
		s, err := Open(t.Context(), Options{DSN: "sqlite:" + path, Settle: func(w messaging.Proposal, f messaging.Facts) messaging.Settlement {
			last = f.Last
			return messaging.Settlement{Outcome: messaging.Skipped}
		}})
		failIf(t, err)
		return s
	}
	ask := func(s *Store, key string) *messaging.Sent {
		t.Helper()
		p := testPlan(key)
		p.Event.DedupeKey, p.Proposals[0].Cooldown.Mode = rand.Text(), messaging.CooldownOnce
		last = nil
		_, err := s.Accept(t.Context(), []messaging.Plan{p})
		failIf(t, err)
		return last
	}
	s := open()
	of := correlationHash(testPlan("sent").Proposals[0].Correlation, s.hash)
	failIf(t, s.Write(t.Context(), commit.LaneWork, func(t *Tx) error {
		return errors.Join(t.Put(sentOnceTestSQL, of, int64(7), t.At), peers.Keep(t.Tx, peers.Key{Part: peers.Correlations, Hash: of, ID: 7}))
	}))
	for range 2 {
		failIf(t, s.Close())
		s = open()
		filled(t, s)
		if got := ask(s, "sent"); got == nil || got.ID != 7 {
			t.Errorf("the key that was sent to is %+v", got)
		}
		if got := ask(s, "other"); got != nil {
			t.Errorf("another key is %+v", got)
		}
	}
	failIf(t, s.Close())
}
