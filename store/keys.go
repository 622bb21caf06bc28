package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// Rows are found by what a sender or a shop chose: a dedupe key, a cart. The hash of such a
// text falls anywhere, and an index over it is written all over: a page of its own for almost
// each new row, in the log and again at the checkpoint, which was half of what a commit
// cost. So new keys are collected in memory, on shelves by the first bits of their hash, and
// moved to the table a shelf at a time: neighbours there, hundreds of them to a few pages. This
// is the old idea of log-structured trees, with one level and no compaction to wait for.
//
// Nothing hangs on the memory. A key says no more than the row that it leads to, so after a crash the
// keys that were not moved are read from the rows again (load): those above the numbers
// that were newest when the last full round over all shelves began. A group that is undone
// takes its keys along.
//
// On one machine the flusher is the only one who looks or writes here, so there is no lock,
// and uniqueness is the look itself.

// A key leads from a hash to a row: to an event by its connector and dedupe key, part is then
// its day; or to a dispatch by its correlation key, part is then correlation keys.
type key struct{ part, hash, id int64 }

// correlation keys is the part of the keys of dispatches. Days are above it.
const correlations int64 = 0

const (
	// shelfBits of a hash choose its shelf.
	shelfBits  = 9
	shelfCount = 1 << shelfBits
	// keysHeld is how many keys stay in memory: 3 MB.
	keysHeld = 1 << 17
	// keysAtOnce is how many a moving statement takes.
	keysAtOnce = 32
)

// keys are the shelves and how far their moving is.
type keys struct {
	known   *filter // of the shelves and the table
	shelves [shelfCount][]key
	held    int
	limit   int // beyond which shelves are moved
	next    int // shelf to move next
	sorted  []key
	begun   ids // newest numbers when the present round over the shelves began

	group struct { // what the open transaction did
		added []uint16 // shelf of each new key
		moved []uint16
		gone  int // keys on the shelves moved
		next  int
		begun ids
	}
}

func shelfOf(hash int64) uint16 { return uint16(uint64(hash) >> (64 - shelfBits)) }

// add makes a new row known under the hash to this transaction and all after it.
func (k *keys) add(part, hash, id int64) {
	k.known.add(hash)
	at := shelfOf(hash)
	k.shelves[at] = append(k.shelves[at], key{part, hash, id})
	k.held++
	k.group.added = append(k.group.added, at)
}

// open begins a transaction.
func (k *keys) open() {
	k.group.added, k.group.moved, k.group.gone = k.group.added[:0], k.group.moved[:0], 0
	k.group.next, k.group.begun = k.next, k.begun
}

// settle ends a transaction that is on disk.
func (k *keys) settle() {
	k.held -= k.group.gone
	for _, at := range k.group.moved {
		k.shelves[at] = k.shelves[at][:0]
	}
}

// undo ends a transaction that was rolled back.
func (k *keys) undo() {
	for _, at := range k.group.added {
		k.shelves[at] = k.shelves[at][:len(k.shelves[at])-1]
	}
	k.held -= len(k.group.added)
	k.next, k.begun = k.group.next, k.group.begun
}

// addOld makes a row known that is not new. Only rows behind the mark are read again after a
// crash, so its key goes to the table at once.
func (t *tx) addOld(part, hash, id int64) error {
	if slices.Contains(t.keys.shelves[shelfOf(hash)], key{part, hash, id}) {
		return nil // the row is behind the mark
	}
	t.keys.known.add(hash)
	if _, err := t.exec(stInsertKey, part, hash, id); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	return nil
}

// shelved calls each with the rows whose keys are in memory.
func (k *keys) shelved(hash int64, each func(part, id int64) error) error {
	for _, one := range k.shelves[shelfOf(hash)] {
		if one.hash == hash {
			if err := each(one.part, one.id); err != nil {
				return err
			}
		}
	}
	return nil
}

// moveKeys moves shelves in turn until the memory holds no more than it should. After a crash
// that can be many, so it takes only some more than the group brought.
func (t *tx) moveKeys() error {
	k := &t.keys
	left := k.held - k.group.gone - k.limit
	for most := 2*len(k.group.added) + k.limit/shelfCount; left > 0 && most > 0; {
		n, err := t.moveShelf(k.next)
		if err != nil {
			return err
		}
		left, most = left-n, most-max(n, 1)
		if k.next++; k.next < shelfCount {
			continue
		}
		if err := t.markKeyed(k.begun); err != nil {
			return err
		}
		k.next, k.begun = 0, t.ids
	}
	return nil
}

// moveAllKeys empties the memory.
func (t *tx) moveAllKeys() error {
	for at := range shelfCount {
		if _, err := t.moveShelf(at); err != nil {
			return err
		}
	}
	return nil
}

// finishKeys leaves the next start nothing to read again.
func (t *tx) finishKeys() error {
	if err := t.moveAllKeys(); err != nil {
		return err
	}
	return t.markKeyed(t.ids)
}

// moveShelf puts the keys of a shelf into the table and says how many there were.
func (t *tx) moveShelf(at int) (int, error) {
	k := &t.keys
	if slices.Contains(k.group.moved, uint16(at)) {
		return 0, nil
	}
	k.sorted = append(k.sorted[:0], k.shelves[at]...) // a copy: undo takes from the end
	slices.SortFunc(k.sorted, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.hash, b.hash), cmp.Compare(a.id, b.id))
	})
	args := make([]any, 0, 3*keysAtOnce)
	for left := k.sorted; len(left) > 0; {
		st, n := stInsertKey, 1
		if len(left) >= keysAtOnce {
			st, n = stInsertKeys, keysAtOnce
		}
		args = args[:0]
		for _, one := range left[:n] {
			args = append(args, one.part, one.hash, one.id)
		}
		if _, err := t.exec(st, args...); err != nil {
			return 0, fmt.Errorf("keys: %w", err)
		}
		left = left[n:]
	}
	k.group.moved, k.group.gone = append(k.group.moved, uint16(at)), k.group.gone+len(k.sorted)
	return len(k.sorted), nil
}

// Counters up to whose rows every key is in the table.
const (
	eventsKeyed     = "keyed/events"
	dispatchesKeyed = "keyed/dispatches"
)

func (t *tx) markKeyed(upTo ids) error {
	_, err := t.exec(stSetCount, eventsKeyed, upTo.event)
	if err == nil {
		_, err = t.exec(stSetCount, dispatchesKeyed, upTo.dispatch)
	}
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	return nil
}

// keysPage is how many rows are read at once for their keys.
const keysPage = 1 << 15

// loadKeys reads the keys of the rows after the mark: few after a clean end, up to twice
// keysHeld after a crash, all of them where the table is new.
func (s *Store) loadKeys(ctx context.Context) error {
	k := &s.writer.keys
	k.limit = keysHeld
	var events, dispatches int64
	err := s.rows(ctx, `SELECT name, value FROM counters WHERE name = ?1 OR name = ?2`, []any{eventsKeyed, dispatchesKeyed}, func(r *row) error {
		switch name := r.text(); name {
		case eventsKeyed:
			events = r.int()
		case dispatchesKeyed:
			dispatches = r.int()
		}
		return nil
	})
	if err == nil {
		err = s.loadPages(ctx, events, s.writer.ids.event, `SELECT day, hash, id, connector, content_key FROM events WHERE id > ?1 AND id <= ?2`, func(r *row) error {
			day, hash, id := r.int(), r.int(), r.int()
			s.writer.days.add(day)
			k.add(day, hash, id)
			if connector, key := r.text(), r.text(); key != "" {
				k.add(day, contentHash(connector, key, s.hash), id)
			}
			return nil
		})
	}
	if err == nil {
		err = s.loadPages(ctx, dispatches, s.writer.ids.dispatch, `SELECT id, correlation, trigger_name, correlation_key, phone FROM dispatches
			WHERE id > ?1 AND id <= ?2 AND event_id <> 0`, func(r *row) error {
			id, correlation, trigger, key, phone := r.int(), r.int(), r.text(), r.text(), r.text()
			k.add(correlations, correlation, id)
			if key != "" {
				k.add(correlations, s.hash(trigger, "", phone), id)
			}
			return nil
		})
	}
	k.begun = s.writer.ids
	if err != nil {
		return fmt.Errorf("load the keys: %w", err)
	}
	return nil
}

// loadPages reads the rows from one number to another, and makes room in memory when they are too many.
func (s *Store) loadPages(ctx context.Context, from, to int64, query string, each func(*row) error) error {
	for ; from < to; from += keysPage {
		s.writer.keys.open()
		if err := s.rows(ctx, query, []any{from, min(from+keysPage, to)}, each); err != nil {
			return err
		}
		if s.writer.keys.held > 3*keysHeld {
			if err := s.writer.runGroup([]*waiting{{run: (*tx).moveAllKeys}}); err != nil {
				return err
			}
		}
	}
	return nil
}
