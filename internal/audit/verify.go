package audit

import (
	"context"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/chain"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// An Error says where the chain is broken.
type Error struct {
	ID    int64 // the first entry that is not as it was written, or that is not there
	Words string
}

func (e *Error) Error() string { return fmt.Sprintf("entry %d %s", e.ID, e.Words) }

// perPage is how many entries are in memory at a time.
const perPage = 1000

// mostFaults is how many faults of the chain are told.
const mostFaults = 10

// Verify reads the chain from its beginning and gives its length and the hash of its last entry. What was changed, taken out or cut off
// is an *Error. Entries that are missing at the end, of which the data itself does not know any more, are seen only by who knows an earlier
// hash: known is its entry and known hash, 0 for none.
func (s Records) Verify(ctx context.Context, known int64, knownHash string) (n int64, last string, err error) {
	state, err := s.State(ctx)
	if err != nil {
		return 0, "", err
	}
	var found *Error
	count := 0
	tell := func(id int64, words string) {
		switch count++; {
		case found == nil:
			found = &Error{id, words}
		case count <= mostFaults:
			found.Words += fmt.Sprintf("; entry %d %s", id, words)
		}
	}
	for {
		page, err := store.List(ctx, s.Store, `SELECT `+chain.Columns+` FROM audit WHERE id > ?1 ORDER BY id LIMIT ?2`, []any{n, int64(perPage)}, chain.Scan)
		if err != nil {
			return n, last, store.Wrap(err, "the audit")
		}
		for i := range page {
			e := &page[i]
			switch {
			case e.ID == n+2:
				tell(n+1, "is missing")
			case e.ID != n+1:
				tell(n+1, fmt.Sprintf("is missing, and all to %d", e.ID-1))
			case e.Chained(last) != e.Hash:
				tell(e.ID, "is not as it was written, or the one before it is not")
			case e.ID == state.end.ID && e.Hash != state.end.Hash:
				tell(e.ID, "is not the one that was written")
			}
			if n, last = e.ID, e.Hash; n == known && last != knownHash {
				tell(n, "is not the one that you know: its hash is "+last)
			}
			if e.Action == chain.Broken {
				tell(n, "says that at "+e.At.UTC().Format(time.DateTime)+" UTC "+e.Subject)
			}
		}
		if len(page) < perPage {
			break
		}
	}
	if want := max(known, state.end.ID); n < want {
		tell(n+1, fmt.Sprintf("is missing, and all to %d", want))
	}
	if found != nil {
		return n, last, found
	}
	return n, last, nil
}

// A State is how the end of the audit stands.
type State struct {
	ID     int64  // of the last entry
	Hash   string // of the last entry
	Broken string // what is missing or not as it was written, until a person accepts it; "" for nothing
	Since  time.Time

	end chain.End // what the last entry must be
}

// State compares the end of the chain with what was written.
func (s Records) State(ctx context.Context) (State, error) {
	l := s.Chain.Look()
	if err := s.Rows(ctx, chain.LookSQL, []any{l.Wrote()}, l.Scan); err != nil {
		return State{}, store.Wrap(err, "the end of the audit")
	}
	words, on := l.Fault()
	state := State{ID: l.Last.ID, Hash: l.Last.Hash, Broken: l.Broken, Since: l.Since, end: on}
	if words != "" {
		state.Broken, state.Since = l.Joined(words), time.Time{}
	}
	return state, nil
}

// Check is State, and has the chain say for good what is found.
func (s Records) Check(ctx context.Context) (State, error) {
	state, err := s.State(ctx)
	if err != nil || state.Broken == "" || !state.Since.IsZero() {
		return state, err
	}
	if err := s.Write(ctx, commit.LaneWork, func(t *store.Tx) error { t.Audit(nil); return nil }); err != nil {
		return state, store.Wrap(err, "look at the end of the audit")
	}
	return s.State(ctx)
}

var acceptSQL = engine.SQL(`UPDATE audit_end SET broken = '', broken_at = 0 WHERE one = 1`)

// Accept ends the trouble of what was found: a person has looked into it. What is missing stays missing.
func (s Records) Accept(ctx context.Context) error {
	err := s.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
		if err := t.Lock(chain.Lock); err != nil {
			return err
		}
		return t.Put(acceptSQL)
	})
	return store.Wrap(err, "accept the audit")
}
