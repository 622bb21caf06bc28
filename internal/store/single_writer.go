package store

import (
	"context"
	"fmt"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/keyindex"
	"github.com/nudgewire/nudgewire/internal/store/lowwater"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
	"github.com/nudgewire/nudgewire/internal/store/reach"
)

// A singleWriter coordinates transactions where this process is the only one that writes, and its flusher runs them
// one after the other. It therefore counts numbers by itself, keeps new keys in memory, knows which hashes are new
// without asking the disk, and remembers what claims need not look at again. Nothing depends on its memory: all
// of it is read from the rows again at a start.
type singleWriter struct {
	writer *writer
	ids    numbers.Newest // the newest given out
	keys   *keyindex.Index
	begun  numbers.Newest // newest numbers when the present round of flushing keys began
	claims lowwater.Marks
	reach  map[string]*reach.Contacts // by account; none where nobody asked

	before struct { // the open transaction
		ids, begun numbers.Newest
	}
	filling filling
}

// openSingleWriter makes s.writer the only one.
func openSingleWriter(ctx context.Context, s *Store) error {
	w := &singleWriter{writer: s.writer}
	s.writer.peers = w
	err := w.resume(ctx, s)
	if err == nil {
		err = w.loadKeys(ctx, s)
	}
	if err == nil {
		w.startFilling(ctx, s)
	}
	return err
}

func (w *singleWriter) begin(t *Tx) error {
	w.before.ids, w.before.begun = w.ids, w.begun
	w.keys.Begin()
	return t.engine.Begin()
}

func (w *singleWriter) settle(t *Tx, err error) error {
	if err == nil {
		err = w.flushKeys(t)
	}
	if err == nil {
		err = t.engine.Commit()
	}
	if err == nil {
		w.keys.Commit()
		return nil
	}
	// Numbers of a transaction that was rolled back are given out again, so they have no gaps.
	w.ids, w.begun = w.before.ids, w.before.begun
	w.keys.Rollback()
	w.reach = nil
	w.claims.Lower(messaging.EveryAccount, 0) // what a claim took, and passed, waits again
	t.engine.Rollback()
	return err
}

// lock has nothing to do: transactions do not overlap.
func (w *singleWriter) lock(*Tx, []int64, []int64) error { return nil }

func (w *singleWriter) tryLock(*Tx, []int64, [][]int64) (busy []bool, err error) { return nil, nil }

func (w *singleWriter) lockNotes(*Tx, bool) error { return nil }

func (w *singleWriter) lowWater() *lowwater.Marks { return &w.claims }

func (w *singleWriter) sending(t *Tx, own string, now int64, each func(*engine.Row) error) error {
	return t.Query(sendingSQL, each, own, now)
}

// alive is true of the asker alone: other owners are earlier processes, or this would not be the only one.
func (w *singleWriter) alive(_ *Tx, owner, own string) (bool, error) { return owner == own, nil }

// buries leaves it to the start, which frees what earlier processes held.
func (w *singleWriter) buries(*Tx) bool { return false }

func (w *singleWriter) freeLookups(t *Tx, own string, now int64) (int64, error) {
	return t.Exec(freeLookupsSQL, now, own)
}

func (w *singleWriter) contacts(t *Tx, account string, since int64, hash func(...string) int64) (*reach.Contacts, error) {
	if c := w.reach[account]; c != nil && c.Covers(since) {
		return c, c.Refresh(t.Tx, account, since)
	}
	c, err := reach.Read(t.Tx, account, since, hash)
	if err != nil {
		return nil, err
	}
	if w.reach == nil {
		w.reach = map[string]*reach.Contacts{}
	}
	w.reach[account] = c
	return c, nil
}

func (w *singleWriter) noteRecipient(account string, phone messaging.Phone, at int64) {
	if c := w.reach[account]; c != nil && phone != "" {
		c.Note(phone, at)
	}
}

func (w *singleWriter) filesCount(yes bool) {
	if !yes {
		w.reach = nil // who was on the file may have been reached by something else
	}
	for _, c := range w.reach {
		c.FilesChanged()
	}
}

// close leaves the next start nothing to read again.
func (w *singleWriter) close() {
	if w.filling.stop == nil {
		return // it was never opened to the end
	}
	w.stopFilling()
	// What is not in the table now is read again at the next start: no reason to fail.
	_ = w.writer.runBatch([]*commit.Operation[*Tx]{{Run: w.flushForGood}})
}

func (w *singleWriter) allocate(_ *Tx, of numbers.Sequence, n int64) (first int64, err error) {
	first = w.ids[of] + 1
	w.ids[of] += n
	return first, nil
}

// resume finds out where the numbers go on. The counters remember what was given out even
// after the newest rows were cleared away; a number is never given twice.
func (w *singleWriter) resume(ctx context.Context, s *Store) error {
	var first, last int64 // days
	for _, q := range []struct {
		sql  string
		into *int64
	}{
		{`SELECT coalesce(min(part), 0) FROM keys WHERE part >= ?1`, &first},
		{`SELECT coalesce(max(part), 0) FROM keys WHERE part >= ?1`, &last},
	} {
		if err := s.reads.Scan(ctx, q.sql, []any{firstDay}, q.into); err != nil {
			return fmt.Errorf("resume: %w", err)
		}
	}
	w.keys = keyindex.New(firstDay, first, last)
	if s.scratch {
		w.keys = w.keys.Small()
	}
	var err error
	w.ids, err = numbers.Find(ctx, s.reads)
	return err
}
