package chain

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// An End is an entry of the audit that is known to be written.
type End struct {
	ID   int64
	Hash string
}

// Known is what a process knows that it wrote last.
type Known struct{ wrote atomic.Pointer[End] }

// note remembers what was committed. Of two writers the one that was told later may have written earlier.
func (k *Known) note(e End) {
	for e.ID > 0 {
		was := k.wrote.Load()
		if was != nil && was.ID >= e.ID || k.wrote.CompareAndSwap(was, &e) {
			return
		}
	}
}

// Look begins a look: what this process wrote is known before what is there is read, as others may write meanwhile.
func (k *Known) Look() (l Look) {
	if e := k.wrote.Load(); e != nil {
		l.wrote = *e
	}
	return l
}

// A Look is the end of the chain as one look finds it.
type Look struct {
	Last   End       // the last entry there is
	Broken string    // what was found before, and nobody has looked into since
	Since  time.Time // when that was

	noted End // what the last entry was when it was written, by whichever process
	wrote End // what this process wrote last
	there End // the entry of that number, as it is now
}

// Wrote is the argument of LookSQL: which entry is compared.
func (l *Look) Wrote() int64 { return l.wrote.ID }

// Fault says what is not as it was written, "" for nothing, and behind which entry the chain goes on: behind one that is missing, so that it
// is missing for good.
func (l *Look) Fault() (words string, on End) {
	want := l.noted
	if l.wrote.ID > want.ID {
		want = l.wrote
	}
	switch {
	case l.Last.ID == want.ID-1:
		return fmt.Sprintf("entry %d is missing", want.ID), want
	case l.Last.ID < want.ID:
		return fmt.Sprintf("entries %d to %d are missing", l.Last.ID+1, want.ID), want
	case l.there != l.wrote:
		return fmt.Sprintf("entry %d is not the one that was written", l.wrote.ID), l.Last
	case l.Last.ID > l.noted.ID:
		return fmt.Sprintf("entry %d was written by somebody else", l.noted.ID+1), l.Last
	case l.Last != l.noted:
		return fmt.Sprintf("entry %d is not the one that was written", l.noted.ID), l.Last
	}
	return "", l.Last
}

// mostBroken bounds what is kept of what was found, in bytes.
const mostBroken = 500

// Joined is what was found before, and now.
func (l *Look) Joined(words string) string {
	switch {
	case l.Broken == "":
		return words
	case len(l.Broken) > mostBroken:
		return l.Broken
	}
	return l.Broken + "; " + words
}

// LookSQL is one statement, so that what it finds is of one moment. The first number of a row says which end it is.
const LookSQL = `SELECT CAST(0 AS BIGINT), id, hash, '', CAST(0 AS BIGINT) FROM audit WHERE id = (SELECT max(id) FROM audit)
	UNION ALL SELECT CAST(1 AS BIGINT), id, hash, broken, broken_at FROM audit_end WHERE one = 1
	UNION ALL SELECT CAST(2 AS BIGINT), id, hash, '', CAST(0 AS BIGINT) FROM audit WHERE id = ?1`

var (
	lookSQL   = engine.SQL(LookSQL)
	setEndSQL = engine.SQL(`INSERT INTO audit_end (one, id, hash, broken, broken_at) VALUES (1, ?1, ?2, ?3, ?4)
		ON CONFLICT (one) DO UPDATE SET id = excluded.id, hash = excluded.hash, broken = excluded.broken, broken_at = excluded.broken_at`)
)

// Scan reads a row of LookSQL.
func (l *Look) Scan(r *engine.Row) error {
	which, e, broken, at := r.Int(), End{r.Int(), r.Text()}, r.Text(), r.Time()
	switch which {
	case 0:
		l.Last = e
	case 1:
		l.noted, l.Broken, l.Since = e, broken, at
	default:
		l.there = e
	}
	return r.Err
}
