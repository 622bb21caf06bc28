package store

import (
	"context"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// An auditEnd is an entry of the audit that is known to be written.
type auditEnd struct {
	id   int64
	hash string
}

// An auditLook is the end of the chain as one look finds it.
type auditLook struct {
	last     auditEnd  // the last entry there is
	end      auditEnd  // what the last entry was when it was written, by whichever process
	wrote    auditEnd  // what this process wrote last
	there    auditEnd  // the entry of that number, as it is now
	broken   string    // what was found before, and nobody has looked into since
	brokenAt time.Time // when that was
}

// fault says what is not as it was written, "" for nothing, and behind which entry the chain goes on: behind one that is missing, so that it
// is missing for good.
func (l *auditLook) fault() (words string, on auditEnd) {
	want := l.end
	if l.wrote.id > want.id {
		want = l.wrote
	}
	switch {
	case l.last.id == want.id-1:
		return fmt.Sprintf("entry %d is missing", want.id), want
	case l.last.id < want.id:
		return fmt.Sprintf("entries %d to %d are missing", l.last.id+1, want.id), want
	case l.there != l.wrote:
		return fmt.Sprintf("entry %d is not the one that was written", l.wrote.id), l.last
	case l.last.id > l.end.id:
		return fmt.Sprintf("entry %d was written by somebody else", l.end.id+1), l.last
	case l.last != l.end:
		return fmt.Sprintf("entry %d is not the one that was written", l.end.id), l.last
	}
	return "", l.last
}

// lookSQL is one statement, so that what it finds is of one moment. The first number of a row says which end it is.
const lookSQL = `SELECT CAST(0 AS BIGINT), id, hash, '', CAST(0 AS BIGINT) FROM audit WHERE id = (SELECT max(id) FROM audit)
	UNION ALL SELECT CAST(1 AS BIGINT), id, hash, broken, broken_at FROM audit_end WHERE one = 1
	UNION ALL SELECT CAST(2 AS BIGINT), id, hash, '', CAST(0 AS BIGINT) FROM audit WHERE id = ?1`

var (
	lookAtAuditSQL = engine.SQL(lookSQL)
	setAuditEndSQL = engine.SQL(`INSERT INTO audit_end (one, id, hash, broken, broken_at) VALUES (1, ?1, ?2, ?3, ?4)
		ON CONFLICT (one) DO UPDATE SET id = excluded.id, hash = excluded.hash, broken = excluded.broken, broken_at = excluded.broken_at`)
	acceptAuditSQL = engine.SQL(`UPDATE audit_end SET broken = '', broken_at = 0 WHERE one = 1`)
)

func (l *auditLook) scan(r *engine.Row) error {
	which, e, broken, at := r.Int(), auditEnd{r.Int(), r.Text()}, r.Text(), r.Time()
	switch which {
	case 0:
		l.last = e
	case 1:
		l.end, l.broken, l.brokenAt = e, broken, at
	default:
		l.there = e
	}
	return r.Err
}

// lookAt begins a look: what this process wrote is known before what is there is read, as others may write meanwhile.
func (s *shared) lookAt() (l auditLook) {
	if e := s.auditWrote.Load(); e != nil {
		l.wrote = *e
	}
	return l
}

// noteAudit remembers what was committed. Of two writers the one that was told later may have written earlier.
func (s *shared) noteAudit(e auditEnd) {
	for e.id > 0 {
		was := s.auditWrote.Load()
		if was != nil && was.id >= e.id || s.auditWrote.CompareAndSwap(was, &e) {
			return
		}
	}
}

// Broken is the action of an entry that says what was found not to be as it was written.
const Broken = "audit broken"

// An AuditState is how the end of the audit stands.
type AuditState struct {
	ID     int64  // of the last entry
	Hash   string // of the last entry
	Broken string // what is missing or not as it was written, until a person accepts it; "" for nothing
	Since  time.Time

	end auditEnd // what the last entry must be
}

// AuditState compares the end of the chain with what was written.
func (s *Store) AuditState(ctx context.Context) (AuditState, error) {
	l := s.lookAt()
	if err := s.Rows(ctx, lookSQL, []any{l.wrote.id}, l.scan); err != nil {
		return AuditState{}, Wrap(err, "the end of the audit")
	}
	words, on := l.fault()
	state := AuditState{ID: l.last.id, Hash: l.last.hash, Broken: l.broken, Since: l.brokenAt, end: on}
	if words != "" {
		state.Broken, state.Since = joinBroken(l.broken, words), time.Time{}
	}
	return state, nil
}

// CheckAudit is AuditState, and has the chain say for good what is found.
func (s *Store) CheckAudit(ctx context.Context) (AuditState, error) {
	state, err := s.AuditState(ctx)
	if err != nil || state.Broken == "" || !state.Since.IsZero() {
		return state, err
	}
	if err := s.Write(ctx, commit.LaneWork, func(t *Tx) error { t.Audit(nil); return nil }); err != nil {
		return state, Wrap(err, "look at the end of the audit")
	}
	return s.AuditState(ctx)
}

// AcceptAudit ends the trouble of what was found: a person has looked into it. What is missing stays missing.
func (s *Store) AcceptAudit(ctx context.Context) error {
	err := s.Write(ctx, commit.LaneWork, func(t *Tx) error {
		if err := t.peers.Lock(t.Tx, []int64{auditChain}, nil); err != nil {
			return err
		}
		return t.Put(acceptAuditSQL)
	})
	return Wrap(err, "accept the audit")
}

// mostBroken bounds what is kept of what was found, in bytes.
const mostBroken = 500

func joinBroken(before, words string) string {
	switch {
	case before == "":
		return words
	case len(before) > mostBroken:
		return before
	}
	return before + "; " + words
}
