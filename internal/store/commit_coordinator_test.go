package store

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/lowwater"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
	"github.com/nudgewire/nudgewire/internal/store/peers"
)

// strict holds operations to what an engine with many writers needs: every hash is locked before it is looked for or
// remembered, each operation locks once, and numbers have gaps.
type strict struct {
	*peers.Single
	locked, read []int64
}

var errNotLocked = errors.New("not locked")

func (s *strict) Begin() error {
	s.locked, s.read = nil, nil
	return s.Single.Begin()
}

func (s *strict) Allocate(t *engine.Tx, of numbers.Sequence, n int64) (int64, error) {
	if _, err := s.Single.Allocate(t, of, 7); err != nil { // nobody gets these
		return 0, err
	}
	return s.Single.Allocate(t, of, n)
}

func (s *strict) Lock(_ *engine.Tx, hashes, read []int64) error {
	s.locked, s.read = append(s.locked, hashes...), append(s.read, read...)
	return nil
}

func (s *strict) TryLock(t *engine.Tx, hashes []int64, reads [][]int64) ([]bool, error) {
	return make([]bool, len(hashes)), s.Lock(t, hashes, slices.Concat(reads...))
}

func (s *strict) Find(t *engine.Tx, first, last, hash int64, ids []int64) ([]int64, error) {
	if !slices.Contains(s.locked, hash) && !slices.Contains(s.read, hash) {
		return nil, errNotLocked
	}
	return s.Single.Find(t, first, last, hash, ids)
}

func (s *strict) Remember(t *engine.Tx, k peers.Key, fresh bool) error {
	if k.Part != peers.PhonesOfEvents && !slices.Contains(s.locked, k.Hash) { // by phones people search, and nothing is decided by that
		return errNotLocked
	}
	return s.Single.Remember(t, k, fresh)
}

func (s *strict) LowWater() *lowwater.Marks { return nil }

// curious are rules that need every fact and let everything go.
type curious struct{}

func (curious) Needs(*messaging.Message) messaging.DueNeeds {
	return messaging.DueNeeds{Sends: time.Hour, Account: time.Hour, Consent: true, Window: true}
}

func (curious) Decide(_ *messaging.Message, _ *messaging.DueFacts, now time.Time) messaging.Verdict {
	return messaging.Verdict{Window: now}
}

func TestOperationsKeepToWhatManyWritersNeed(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "nudgewire.db"))
	s.writer.peers = &strict{Single: single(s)}
	s.due = func() messaging.DueRules { return curious{} }
	s.settle = func(w messaging.Proposal, f messaging.Facts) messaging.Settlement {
		switch {
		case w.Decision.Outcome == messaging.Cancelling:
			return messaging.Settlement{RecordTombstone: true}
		case len(f.Waiting) > 0:
			return messaging.Settlement{Outcome: messaging.Restarted, Restart: f.Waiting[0].ID}
		default:
			return planAll(w, f)
		}
	}
	now := time.Now()
	accept := func(change func(*messaging.Plan), keys ...string) []messaging.Receipt {
		t.Helper()
		plans := make([]messaging.Plan, len(keys))
		for i, key := range keys {
			plans[i] = testPlan(key)
			plans[i].Event.ContentKey = "content of " + key
			change(&plans[i])
		}
		got, err := s.Accept(t.Context(), plans)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	same := func(*messaging.Plan) {}
	accept(same, "a", "b", "c")
	if got := accept(same, "a"); !got[0].Duplicate {
		t.Error("a repeated event is not recognised")
	}
	another := func(dedupe string, outcome messaging.Outcome) func(*messaging.Plan) {
		return func(p *messaging.Plan) {
			p.Event.DedupeKey, p.Event.ContentKey = dedupe, ""
			p.Proposals[0].Decision.Outcome, p.Proposals[0].Forget = outcome, now.Add(time.Hour)
			p.Proposals[0].Correlation.Phone, p.Proposals[0].Message.Phone = "447700900199", "447700900199"
		}
	}
	if got := accept(another("a again", messaging.Planned), "a"); got[0].Decisions[0].Outcome != messaging.Restarted {
		t.Errorf("the cart came again: %+v", got[0].Decisions)
	}
	accept(another("a is over", messaging.Cancelling), "a")
	anew, err := s.Replan(t.Context(), "remind", "", func(d *messaging.Message, _ func() (messaging.Event, error)) (Replanned, error) {
		d.DueAt, d.Reason = now, "planned anew"
		return Replanned{Anew: &messaging.Proposal{Decision: messaging.Decision{Outcome: messaging.Planned}, Message: *d}}, nil
	})
	if err != nil || anew.Anew != 3 {
		t.Fatalf("planned anew: %+v (%v)", anew, err)
	}
	claimed, err := s.Claim(t.Context(), messaging.ClaimRequest{Owner: "o", Now: now, Lease: time.Minute, Marketing: 9, Authentication: 9, Utility: 9})
	if err != nil || len(claimed) != 3 {
		t.Fatalf("claimed %d (%v)", len(claimed), err)
	}
	for _, d := range claimed {
		if err := s.Finish(t.Context(), messaging.Attempt{MessageID: d.ID, Owner: "o", Number: 1, State: messaging.StateRejected, At: now}); err != nil {
			t.Fatal(err)
		}
	}
	went, stayed, err := s.Retry(t.Context(), Retry{Filter: MessageFilter{State: messaging.StateRejected}, Now: now})
	if err != nil || len(went) != 1 || went[0].N != 3 {
		t.Errorf("sent again: %v, not: %v (%v)", went, stayed, err)
	}
	later := accept(func(p *messaging.Plan) { p.Later, p.Proposals = true, nil }, "d")
	found, err := s.ClaimLookups(t.Context(), now.AddDate(1, 0, 0), time.Minute, 1)
	if err != nil || len(found) != 1 || found[0].EventID != later[0].EventID {
		t.Fatalf("look-ups: %+v (%v)", found, err)
	}
	plan := testPlan("d")
	plan.Event.ID = later[0].EventID
	if got, err := s.Complete(t.Context(), found[0], plan); err != nil || len(got.Decisions) != 1 {
		t.Errorf("planned after its look-up: %+v (%v)", got, err)
	}
	run, _, err := s.StartRun(t.Context(), messaging.Run{
		Job: "j", Slot: "1", DueAt: now, Cause: messaging.CauseHand, State: messaging.RunUploading, Deliver: messaging.DeliverPerMessage,
		Category: messaging.Marketing, CreatedAt: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]messaging.Message, 5)
	for i := range rows {
		rows[i] = messaging.Message{Trigger: "j", Key: messaging.RowKey(run, int64(i+1)), Phone: "447700900101", Category: messaging.Marketing, DueAt: now}
	}
	for _, some := range [][]messaging.Message{rows[1:3], rows} { // the second time some are there already
		first := int64(1)
		if len(some) == 2 {
			first = 2
		}
		if err := s.Enqueue(t.Context(), run, first, some); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	if err := s.RunRows(t.Context(), run, 0, func(r *messaging.RunRow) error {
		if n++; int(r.Number) != n || r.Message.Key != rows[n-1].Key {
			t.Errorf("row %d: %+v", n, r)
		}
		return nil
	}); err != nil || n != 5 {
		t.Errorf("%d rows (%v)", n, err)
	}
}
