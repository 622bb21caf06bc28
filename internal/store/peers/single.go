package peers

import (
	"context"
	"fmt"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/keyindex"
	"github.com/nudgewire/nudgewire/internal/store/lowwater"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
	"github.com/nudgewire/nudgewire/internal/store/reach"
)

// A Single coordinates transactions where this process is the only one that writes, and its flusher runs them
// one after the other. It therefore counts numbers by itself, keeps new keys in memory, knows which hashes are new
// without asking the disk, and remembers what claims need not look at again. Nothing depends on its memory: all
// of it is read from the rows again at a start.
type Single struct {
	On    engine.Connection
	Reads engine.Pool
	Write func(run func(*engine.Tx) error) error // runs it as a transaction that this one coordinates
	Bare  bool                                   // what only people read is not written
	Small bool                                   // the data is scratch, and its keys are few

	Keys   *keyindex.Index
	ids    numbers.Newest // the newest given out
	begun  numbers.Newest // newest numbers when the present round of flushing keys began
	claims lowwater.Marks
	reach  map[string]*reach.Contacts // by account; none where nobody asked

	before struct { // the open transaction
		ids, begun numbers.Newest
	}
	filling filling
}

// Open reads where the data goes on. Transactions are coordinated already meanwhile.
func (w *Single) Open(ctx context.Context, all ...Keyed) error {
	err := w.resume(ctx)
	if err == nil {
		err = w.loadKeys(ctx, all)
	}
	if err == nil {
		w.startFilling(ctx)
	}
	return err
}

// Begin implements Coordinator.
func (w *Single) Begin() error {
	w.before.ids, w.before.begun = w.ids, w.begun
	w.Keys.Begin()
	return w.On.Begin()
}

// Settle implements Coordinator.
func (w *Single) Settle(t *engine.Tx, err error) error {
	if err == nil {
		err = w.flushKeys(t)
	}
	if err == nil {
		err = w.On.Commit()
	}
	if err == nil {
		w.Keys.Commit()
		return nil
	}
	// Numbers of a transaction that was rolled back are given out again, so they have no gaps.
	w.ids, w.begun = w.before.ids, w.before.begun
	w.Keys.Rollback()
	w.reach = nil
	w.claims.Lower(messaging.EveryAccount, 0) // what a claim took, and passed, waits again
	w.On.Rollback()
	return err
}

// Lock has nothing to do: transactions do not overlap.
func (w *Single) Lock(*engine.Tx, []int64, []int64) error { return nil }

// TryLock implements Coordinator.
func (w *Single) TryLock(*engine.Tx, []int64, [][]int64) (busy []bool, err error) { return nil, nil }

// LockNotes implements Coordinator.
func (w *Single) LockNotes(*engine.Tx, bool) error { return nil }

// LowWater implements Coordinator.
func (w *Single) LowWater() *lowwater.Marks { return &w.claims }

// Sending implements Coordinator.
func (w *Single) Sending(t *engine.Tx, own string, now int64, each func(*engine.Row) error) error {
	return t.Query(sendingSQL, each, own, now)
}

// Alive is true of the asker alone: other owners are earlier processes, or this would not be the only one.
func (w *Single) Alive(_ *engine.Tx, owner, own string) (bool, error) { return owner == own, nil }

// Buries leaves it to the start, which frees what earlier processes held.
func (w *Single) Buries() bool { return false }

// FreeLookups implements Coordinator.
func (w *Single) FreeLookups(t *engine.Tx, own string, now int64) (int64, error) {
	return t.Exec(freeLookupsSQL, now, own)
}

// Contacts implements Coordinator.
func (w *Single) Contacts(t *engine.Tx, account string, since int64, hash func(...string) int64) (*reach.Contacts, error) {
	if c := w.reach[account]; c != nil && c.Covers(since) {
		return c, c.Refresh(t, account, since)
	}
	c, err := reach.Read(t, account, since, hash)
	if err != nil {
		return nil, err
	}
	if w.reach == nil {
		w.reach = map[string]*reach.Contacts{}
	}
	w.reach[account] = c
	return c, nil
}

// NoteRecipient implements Coordinator.
func (w *Single) NoteRecipient(account string, phone messaging.Phone, at int64) {
	if c := w.reach[account]; c != nil && phone != "" {
		c.Note(phone, at)
	}
}

// FilesCount implements Coordinator.
func (w *Single) FilesCount(yes bool) {
	if !yes {
		w.reach = nil // who was on the file may have been reached by something else
	}
	for _, c := range w.reach {
		c.FilesChanged()
	}
}

// TellDue has nobody to tell.
func (w *Single) TellDue(*engine.Tx, int64) error { return nil }

// Close leaves the next start nothing to read again.
func (w *Single) Close() {
	if w.filling.stop == nil {
		return // it was never opened to the end
	}
	w.StopFilling()
	if w.Bare {
		return // nobody starts with it again
	}
	// What is not in the table now is read again at the next start: no reason to fail.
	_ = w.Write(w.FlushForGood)
}

// Allocate implements Coordinator.
func (w *Single) Allocate(_ *engine.Tx, of numbers.Sequence, n int64) (first int64, err error) {
	first = w.ids[of] + 1
	w.ids[of] += n
	return first, nil
}

// resume finds out where the numbers go on. The counters remember what was given out even
// after the newest rows were cleared away; a number is never given twice.
func (w *Single) resume(ctx context.Context) error {
	var first, last, some int64 // days, and whether there are other keys
	for _, q := range []struct {
		sql  string
		into *int64
	}{
		{`SELECT coalesce(min(part), 0) FROM keys WHERE part >= ?1`, &first},
		{`SELECT coalesce(max(part), 0) FROM keys WHERE part >= ?1`, &last},
		{`SELECT count(*) FROM (SELECT 1 FROM keys WHERE part < ?1 LIMIT 1) AS one`, &some},
	} {
		if err := w.Reads.Scan(ctx, q.sql, []any{FirstDay}, q.into); err != nil {
			return fmt.Errorf("resume: %w", err)
		}
	}
	w.Keys = keyindex.New(FirstDay, first, last)
	if w.Small && first == 0 && some == 0 {
		w.Keys = w.Keys.Small()
	}
	var err error
	w.ids, err = numbers.Find(ctx, w.Reads)
	return err
}
