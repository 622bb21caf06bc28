package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Rows are found by what a sender or a shop chose: a dedupe key, a cart. The hash of such a text falls anywhere, and an
// index over it is written all over: one page for almost each new row, in the log and again at the checkpoint. So new
// keys are collected in a memtable, in segments by the first bits of their hash, and flushed to the table one
// segment at a time: neighbours there, hundreds of them to a few pages. This is a log-structured merge tree with one
// level and no compaction.
//
// A key says no more than the row that it leads to, so after a crash the keys that were not flushed are read from the
// rows again (loadKeys): those of the rows above the numbers that were newest when the last full round over all
// segments began. A transaction that is rolled back takes its keys along.

const (
	// segmentBits of a hash choose its segment.
	segmentBits  = 9
	segmentCount = 1 << segmentBits
	// memtableKeys is how many keys stay in memory: 3 MB.
	memtableKeys = 1 << 17
	// keysAtOnce is how many keys a statement inserts.
	keysAtOnce = 32
)

// A memtable is the segments, and how far their flushing is.
type memtable struct {
	segments [segmentCount][]key
	held     int
	limit    int // beyond which segments are flushed
	next     int // segment to flush next
	sorted   []key
	begun    [sequenceCount]int64 // newest numbers when the present round over the segments began

	group struct { // what the open transaction did
		added   []uint16 // segment of each new key
		flushed []uint16
		gone    int // keys of the flushed segments
		next    int
		begun   [sequenceCount]int64
	}
}

func segmentOf(hash int64) uint16 { return uint16(uint64(hash) >> (64 - segmentBits)) }

func (m *memtable) add(k key) {
	at := segmentOf(k.hash)
	m.segments[at] = append(m.segments[at], k)
	m.held++
	m.group.added = append(m.group.added, at)
}

// open begins a transaction.
func (m *memtable) open() {
	m.group.added, m.group.flushed, m.group.gone = m.group.added[:0], m.group.flushed[:0], 0
	m.group.next, m.group.begun = m.next, m.begun
}

// settle ends a transaction that is on disk.
func (m *memtable) settle() {
	m.held -= m.group.gone
	for _, at := range m.group.flushed {
		m.segments[at] = m.segments[at][:0]
	}
}

// undo ends a transaction that was rolled back.
func (m *memtable) undo() {
	for _, at := range m.group.added {
		m.segments[at] = m.segments[at][:len(m.segments[at])-1]
	}
	m.held -= len(m.group.added)
	m.next, m.begun = m.group.next, m.group.begun
}

// days is the range of days that have events, so that few are searched where the data is young.
type days struct{ first, last int64 }

func (d *days) add(day int64) {
	if d.first == 0 || day < d.first {
		d.first = day
	}
	d.last = max(d.last, day)
}

// A key that was flushed once already may be flushed again after a crash.
var insertKeySQL = statementOf(insertKeys(1))

// remember adds a new row's key to the memtable. Only rows above the mark are read again after a crash, so the key of
// an older row goes to the table at once.
// insertKeys takes n keys at once.
func insertKeys(n int) string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf("(?%d, ?%d, ?%d)", 3*i+1, 3*i+2, 3*i+3)
	}
	return `INSERT INTO keys (part, hash, id) VALUES ` + strings.Join(rows, ", ") + ` ON CONFLICT DO NOTHING`
}

func (w *singleWriter) remember(t *tx, k key, fresh bool) error {
	if fresh {
		w.addKey(k)
		return nil
	}
	if slices.Contains(w.keys.segments[segmentOf(k.hash)], k) {
		return nil // the row is above the mark
	}
	w.learn(k.hash)
	if err := t.put(insertKeySQL, k.part, k.hash, k.id); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	return nil
}

func (w *singleWriter) addKey(k key) {
	if k.part != correlations {
		w.days.add(k.part)
	}
	w.learn(k.hash)
	w.keys.add(k)
}

// partsAtOnce is how many parts one statement searches: the days of the usual window, which are two more than it has.
const partsAtOnce = 9

var (
	findKeySQL  = statementOf(`SELECT id FROM keys WHERE part = ?1 AND hash = ?2`)
	findKeysSQL = statementOf(`SELECT id FROM keys WHERE part IN (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) AND hash = ?10`)
)

func (w *singleWriter) find(t *tx, first, last, hash int64, ids []int64) ([]int64, error) {
	if !w.known.mayContain(hash) {
		return ids, nil
	}
	for _, k := range w.keys.segments[segmentOf(hash)] {
		if k.hash == hash && k.part >= first && k.part <= last {
			ids = append(ids, k.id)
		}
	}
	if first > tombstones {
		first, last = max(first, w.days.first), min(last, w.days.last)
	}
	each := func(r *row) error { ids = append(ids, r.int()); return nil }
	var err error
	for ; first < last && err == nil; first += partsAtOnce {
		var in [partsAtOnce]int64
		for i := range in {
			in[i] = min(first+int64(i), last)
		}
		err = t.query(findKeysSQL, each, in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7], in[8], hash)
	}
	if first == last && err == nil {
		err = t.query(findKeySQL, each, first, hash)
	}
	if err != nil {
		return nil, fmt.Errorf("find a key: %w", err)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil // a restart may have put a key into the table that is in memory, too
}

// flushKeys flushes segments in turn until the memory holds no more than it should. After a crash
// that can be many, so it takes only some more than the transaction brought.
func (w *singleWriter) flushKeys(t *tx) error {
	m := &w.keys
	left := m.held - m.group.gone - m.limit
	for budget := 2*len(m.group.added) + m.limit/segmentCount; left > 0 && budget > 0; {
		n, err := m.flush(t, m.next)
		if err != nil {
			return err
		}
		left, budget = left-n, budget-max(n, 1)
		if m.next++; m.next < segmentCount {
			continue
		}
		if err := t.markFlushed(&m.begun); err != nil {
			return err
		}
		m.next, m.begun = 0, w.ids
	}
	return nil
}

// flushAll empties the memtable.
func (w *singleWriter) flushAll(t *tx) error {
	for at := range segmentCount {
		if _, err := w.keys.flush(t, at); err != nil {
			return err
		}
	}
	return nil
}

// flushForGood leaves the next start nothing to read again.
func (w *singleWriter) flushForGood(t *tx) error {
	if err := w.flushAll(t); err != nil {
		return err
	}
	return t.markFlushed(&w.ids)
}

var insertKeysSQL = statementOf(insertKeys(keysAtOnce))

// flush puts the keys of a segment into the table and says how many there were.
func (m *memtable) flush(t *tx, at int) (int, error) {
	if slices.Contains(m.group.flushed, uint16(at)) {
		return 0, nil
	}
	m.sorted = append(m.sorted[:0], m.segments[at]...) // a copy: undo takes from the end
	slices.SortFunc(m.sorted, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.hash, b.hash), cmp.Compare(a.id, b.id))
	})
	args := make([]any, 0, 3*keysAtOnce)
	for left := m.sorted; len(left) > 0; {
		st, n := insertKeySQL, 1
		if len(left) >= keysAtOnce {
			st, n = insertKeysSQL, keysAtOnce
		}
		args = args[:0]
		for _, k := range left[:n] {
			args = append(args, k.part, k.hash, k.id)
		}
		if err := t.put(st, args...); err != nil {
			return 0, fmt.Errorf("keys: %w", err)
		}
		left = left[n:]
	}
	m.group.flushed, m.group.gone = append(m.group.flushed, uint16(at)), m.group.gone+len(m.sorted)
	return len(m.sorted), nil
}

// Counters up to whose rows every key is in the table.
const (
	eventsKeyed     = "keyed/events"
	dispatchesKeyed = "keyed/dispatches"
)

func (t *tx) markFlushed(upTo *[sequenceCount]int64) error {
	err := t.put(setCountSQL, eventsKeyed, upTo[eventIDs])
	if err == nil {
		err = t.put(setCountSQL, dispatchesKeyed, upTo[dispatchIDs])
	}
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	return nil
}

// keysPage is how many rows are read at once for their keys.
const keysPage = 1 << 15

// loadKeys reads the keys of the rows above the mark: few after a clean end, up to twice
// memtableKeys after a crash, all of them where the table is new.
func (w *singleWriter) loadKeys(ctx context.Context, s *Store) error {
	w.keys.limit = memtableKeys
	marks := map[string]int64{}
	err := s.rows(ctx, `SELECT name, value FROM counters WHERE name = ?1 OR name = ?2`, []any{eventsKeyed, dispatchesKeyed}, func(r *row) error {
		name := r.text()
		marks[name] = r.int()
		return nil
	})
	if err == nil {
		err = w.loadPages(ctx, s, marks[eventsKeyed], w.ids[eventIDs], `SELECT day, hash, id, connector, content_key FROM events WHERE id > ?1 AND id <= ?2`, func(r *row) error {
			day, hash, id := r.int(), r.int(), r.int()
			w.addKey(key{day, hash, id})
			if connector, content := r.text(), r.text(); content != "" {
				w.addKey(key{day, contentHash(connector, content, s.hash), id})
			}
			return nil
		})
	}
	if err == nil {
		err = w.loadPages(ctx, s, marks[dispatchesKeyed], w.ids[dispatchIDs], `SELECT id, correlation, trigger_name, correlation_key, phone, other_keys FROM dispatches
			WHERE id > ?1 AND id <= ?2 AND event_id <> 0`, func(r *row) error {
			id, correlation, trigger, text, phone := r.int(), r.int(), r.text(), r.text(), r.text()
			w.addKey(key{correlations, correlation, id})
			if text != "" {
				w.addKey(key{correlations, s.hash(trigger, "", phone), id})
			}
			for _, other := range otherKeys(r.text()) {
				w.addKey(key{correlations, s.hash(trigger, other, ""), id})
			}
			return nil
		})
	}
	w.keys.begun = w.ids
	if err != nil {
		return fmt.Errorf("load the keys: %w", err)
	}
	return nil
}

// loadPages reads the rows from one number to another, and makes room in memory when they are too many.
func (w *singleWriter) loadPages(ctx context.Context, s *Store, from, to int64, query string, each func(*row) error) error {
	for ; from < to; from += keysPage {
		w.keys.open()
		if err := s.rows(ctx, query, []any{from, min(from+keysPage, to)}, each); err != nil {
			return err
		}
		if w.keys.held > 3*memtableKeys {
			if err := w.writer.runBatch([]*waiting{{run: w.flushAll}}); err != nil {
				return err
			}
		}
	}
	return nil
}
