package store

import (
	"cmp"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// With a hash that has two values, nearly every event collides with others; still none may
// be lost, none may be stored twice, and no correlation key may be taken for another.
func TestCollidingHashesLoseNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := openAt(t, filepath.Join(t.TempDir(), "nudgewire.db"))
		defer func() { _ = s.Close() }() // openAt's cleanup tells of an error
		s.hash = func(parts ...string) int64 { return int64(len(parts[len(parts)-1])) % 2 }
		first := map[string]time.Time{} // of the newest stored copy
		day := 0
		for range rapid.IntRange(1, 40).Draw(rt, "events") {
			day += rapid.SampledFrom([]int{0, 0, 0, 1, 3, 9}).Draw(rt, "days later")
			key := rapid.StringMatching(`[ab]{1,3}`).Draw(rt, "key")
			p := testPlan(key)
			at := p.Event.ReceivedAt.AddDate(0, 0, day)
			p.Event.ReceivedAt = at
			before, known := first[key]
			p.Window = time.Duration(rapid.SampledFrom([]int{0, 1, 2, 7, 12, 30}).Draw(rt, "window")) * 24 * time.Hour
			known = known && at.Sub(before) <= cmp.Or(p.Window, 7*24*time.Hour)
			got, err := s.Accept(t.Context(), []messaging.Plan{p})
			if err != nil {
				rt.Fatal(err)
			}
			if got[0].Duplicate != known {
				rt.Fatalf("%q on day %d: duplicate %v, stored before %v", key, day, got[0].Duplicate, before)
			}
			if !known {
				first[key] = at
			}
		}
	})
}

func TestCollidingKeysAreKeptApart(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "nudgewire.db"))
	s.hash = func(parts ...string) int64 { return int64(len(parts[len(parts)-1])) } // dedupe keys differ in length, correlation keys do not
	var facts []messaging.Facts
	s.settle = func(w messaging.Proposal, f messaging.Facts) messaging.Settlement {
		facts = append(facts, f)
		if w.Decision.Outcome == messaging.Cancelling {
			return messaging.Settlement{RecordTombstone: true}
		}
		return planAll(w, f)
	}
	accept := func(key, dedupe string, outcome messaging.Outcome) {
		t.Helper()
		p := testPlan(key)
		p.Event.DedupeKey, p.Proposals[0].Decision.Outcome, p.Proposals[0].Forget = dedupe, outcome, time.Now().AddDate(1, 0, 0)
		if _, err := s.Accept(t.Context(), []messaging.Plan{p}); err != nil {
			t.Fatal(err)
		}
	}
	accept("a", "1", messaging.Planned)
	accept("b", "22", messaging.Cancelling)
	accept("b", "333", messaging.Planned)
	accept("a", "4444", messaging.Planned)
	var got []string
	for _, f := range facts {
		got = append(got, fmt.Sprint(len(f.Waiting), f.Tombstone != nil))
	}
	if want := "[0 false 0 false 0 true 1 false]"; fmt.Sprint(got) != want {
		t.Errorf("waiting and tombstone at each: %v, want %s", got, want)
	}
}

func TestRefusalsAreARing(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "nudgewire.db"))
	s.ring = ring{perConnector: 20, total: 60, every: 5}
	refuse := func(connector string) {
		t.Helper()
		if err := s.RejectRequest(t.Context(), messaging.RejectedRequest{Connector: connector, At: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		refuse("shop")
	}
	kept := func() ([]int64, error) {
		return List(t.Context(), s, `SELECT id FROM rejected_requests ORDER BY id DESC`, nil, engine.Number[int64])
	}
	rows, err := kept()
	if err != nil || len(rows) != 20 || rows[0] != 100 {
		t.Fatalf("%d of one connector (%v)", len(rows), err)
	}
	for i := range 200 {
		refuse(fmt.Sprint("guess ", i))
	}
	if rows, err = kept(); err != nil || len(rows) != 60 || rows[0] != 300 {
		t.Fatalf("%d of all (%v)", len(rows), err)
	}
}

// The window of a connector is held to the second, also where it is shorter than a day or longer than the days of one
// look, and over a restart.
func TestAnEventIsRememberedForItsWindow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	s := openAt(t, path)
	accept := func(key string, window, later time.Duration) bool {
		t.Helper()
		p := testPlan(key)
		p.Window = window
		p.Event.ReceivedAt = p.Event.ReceivedAt.Add(later)
		got, err := s.Accept(t.Context(), []messaging.Plan{p})
		if err != nil {
			t.Fatal(err)
		}
		return got[0].Duplicate
	}
	const day = 24 * time.Hour
	for _, window := range []time.Duration{time.Minute, time.Hour, 13 * time.Hour, day, 7 * day, 8 * day, 19 * day, 30 * day, 0} {
		for round, restart := range []bool{false, true} {
			key := fmt.Sprint(window, round)
			last := cmp.Or(window, 7*day)
			if accept(key, window, 0) {
				t.Errorf("window %s: a new event is a duplicate", window)
			}
			if restart {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = openAt(t, path)
			}
			if !accept(key, window, last) || !accept(key, window, -time.Minute) {
				t.Errorf("window %s: its last moment is over", window)
			}
			if accept(key, window, last+time.Microsecond) {
				t.Errorf("window %s: it is remembered for longer", window)
			}
			if !accept(key, window, last+time.Second) {
				t.Errorf("window %s: the second copy is not remembered", window)
			}
		}
	}
}
