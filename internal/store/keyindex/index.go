// Package keyindex leads from the hash of a text to the rows that have it, where an ordinary index would cost most of
// what a row costs.
//
// A row is found by what a sender or a shop chose: a dedupe key, a cart, a phone. The hash of such a text falls
// anywhere, and an index over it is written all over: one page for almost each new row, in the log and again at the
// checkpoint. Beside 2,000,000 stored events that is two thirds of all webhooks a second (5,500 for 17,800; 6,000 with
// indexes of 8-byte hashes and four times the cache). So new keys are collected in memory, in segments by the first
// bits of their hash, and go to their table one segment at a time: neighbours there, hundreds of them to a few pages.
// This is a log-structured merge tree with one level and no compaction. In front of it a filter knows which hashes are
// surely new (filter.go), which is the usual answer.
//
// Remember and Find are all that operations use. The caller tells where a transaction begins and ends, for what it
// remembered and then undid. A key says no more than its row does: after a crash the caller remembers again what it
// reads from the rows that are newer than the last whole round of flushing.
//
// An Index belongs to one goroutine, but for Fill.
package keyindex

import (
	"cmp"
	"slices"
)

// A Key leads from a hash to a row. Part is what the row is: a kind of rows, or the day of an event, so that the keys of
// one day lie on few pages of the table.
type Key struct{ Part, Hash, ID int64 }

// Compare orders keys as their table does.
func Compare(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Part, b.Part), cmp.Compare(a.Hash, b.Hash), cmp.Compare(a.ID, b.ID))
}

// A Table is where keys lie that are not in memory.
type Table interface {
	// Insert adds keys, in order. One that is there already is no error.
	Insert(keys []Key) error
	// Find calls each with the rows of a hash in the parts from first to last.
	Find(first, last, hash int64, each func(id int64)) error
}

const (
	// segmentBits of a hash choose its segment.
	segmentBits  = 9
	segmentCount = 1 << segmentBits
	// DefaultLimit is how many keys stay in memory: 3 MB.
	DefaultLimit = 1 << 17

	smallMost  = 1 << 15 // keys of a small index, beyond which its filter knows too little
	smallLimit = 1 << 20 // 25 MB
)

// An Index is the keys in memory, how far their flushing is, and the filter.
type Index struct {
	Limit int  // of keys in memory, beyond which segments are flushed
	empty bool // its table has no keys, surely
	grows int  // with so many keys in memory a small index gets another filter; 0 is never, see Small

	ranges      int64 // parts below it are kinds, and asked for one at a time; those above are days
	first, last int64 // of the days that have keys; 0 for none
	segments    [segmentCount][]Key
	held        int
	next        int // segment to flush next
	sorted      []Key

	known *filter // of memory and table
	fresh *filter // takes its place once a sweep has filled it; nil while there is none

	open struct { // what the open transaction did
		added       []uint16 // segment of each new key
		flushed     []uint16
		gone        int // keys of the flushed segments
		next        int
		first, last int64
	}
}

// New makes an index. Parts from ranges on are days, of which the table has those from first to last (0 for none).
func New(ranges, first, last int64) *Index {
	return &Index{Limit: DefaultLimit, ranges: ranges, first: first, last: last, known: newFilter(filterWords)}
}

// Small is the index, not used yet and with an empty table, of data that is mostly little and that no crash matters to: with a filter for few keys,
// which is replaced should there be many, and with room for as many as are cheaper in memory than in their table.
func (x *Index) Small() *Index {
	x.known, x.grows, x.empty, x.Limit = newFilter(smallWords), smallMost, true, smallLimit
	return x
}

// grow gives a small index another filter. All keys are in memory still: one that has keys in its table keeps its filter (insert), since another
// would know nothing of these.
func (x *Index) grow() {
	if !x.Filled() {
		return
	}
	x.grows = 0
	x.sweep(filterWords)
	x.Swept()
}

// Held is how many keys are in memory.
func (x *Index) Held() int { return x.held }

// Days are the first and the last day that has keys; 0 for none.
func (x *Index) Days() (first, last int64) { return x.first, x.last }

func segmentOf(hash int64) uint16 { return uint16(uint64(hash) >> (64 - segmentBits)) }

// Remember adds the key of a new row.
func (x *Index) Remember(k Key) {
	if k.Part >= x.ranges {
		if x.first == 0 || k.Part < x.first {
			x.first = k.Part
		}
		x.last = max(x.last, k.Part)
	}
	if x.grows > 0 && x.held >= x.grows {
		x.grow()
	}
	x.learn(k.Hash)
	at := segmentOf(k.Hash)
	x.segments[at] = append(x.segments[at], k)
	x.held++
	x.open.added = append(x.open.added, at)
}

// RememberOld adds the key of a row that a crash would not have read again: it goes to the table at once.
func (x *Index) RememberOld(t Table, k Key) error {
	if slices.Contains(x.segments[segmentOf(k.Hash)], k) {
		return nil
	}
	x.learn(k.Hash)
	return x.insert(t, []Key{k})
}

// Find appends to ids the rows that a hash leads to in the parts from first to last, each once and in ascending order.
// Another text may have the same hash: the caller compares the rows.
func (x *Index) Find(t Table, first, last, hash int64, ids []int64) ([]int64, error) {
	if !x.known.mayContain(hash) {
		return ids, nil
	}
	for _, k := range x.segments[segmentOf(hash)] {
		if k.Hash == hash && k.Part >= first && k.Part <= last {
			ids = append(ids, k.ID)
		}
	}
	if first >= x.ranges {
		first, last = max(first, x.first), min(last, x.last)
	}
	if first <= last && !x.empty {
		if err := t.Find(first, last, hash, func(id int64) { ids = append(ids, id) }); err != nil {
			return nil, err
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil // after a crash a key may be in the table and in memory
}

// Begin begins a transaction.
func (x *Index) Begin() {
	x.open.added, x.open.flushed, x.open.gone = x.open.added[:0], x.open.flushed[:0], 0
	x.open.next, x.open.first, x.open.last = x.next, x.first, x.last
}

// Commit ends a transaction that is on disk.
func (x *Index) Commit() {
	x.held -= x.open.gone
	for _, at := range x.open.flushed {
		x.segments[at] = x.segments[at][:0]
	}
}

// Rollback ends a transaction that was undone.
func (x *Index) Rollback() {
	for _, at := range x.open.added {
		x.segments[at] = x.segments[at][:len(x.segments[at])-1]
	}
	x.held -= len(x.open.added)
	x.next, x.first, x.last = x.open.next, x.open.first, x.open.last
}

// Flush moves segments in turn to the table, until the memory holds no more than its limit. After a crash that can be
// many, so it takes only some more than the transaction brought. round is called once all segments had their turn:
// every key that was remembered before the round began is in the table then.
func (x *Index) Flush(t Table, round func() error) error {
	left := x.held - x.open.gone - x.Limit
	for budget := 2*len(x.open.added) + x.Limit/segmentCount; left > 0 && budget > 0; {
		n, err := x.flush(t, x.next)
		if err != nil {
			return err
		}
		left, budget = left-n, budget-max(n, 1)
		if x.next++; x.next < segmentCount {
			continue
		}
		if err := round(); err != nil {
			return err
		}
		x.next = 0
	}
	return nil
}

// insert puts keys into the table.
func (x *Index) insert(t Table, keys []Key) error {
	x.grows, x.empty = 0, false
	return t.Insert(keys)
}

// FlushAll moves all keys to the table.
func (x *Index) FlushAll(t Table) error {
	for at := range segmentCount {
		if _, err := x.flush(t, at); err != nil {
			return err
		}
	}
	return nil
}

// flush moves the keys of a segment and says how many there were. They stay in memory until the commit.
func (x *Index) flush(t Table, at int) (int, error) {
	if slices.Contains(x.open.flushed, uint16(at)) || len(x.segments[at]) == 0 {
		return 0, nil
	}
	x.sorted = append(x.sorted[:0], x.segments[at]...) // a copy: Rollback takes from the end
	slices.SortFunc(x.sorted, Compare)
	if err := x.insert(t, x.sorted); err != nil {
		return 0, err
	}
	x.open.flushed, x.open.gone = append(x.open.flushed, uint16(at)), x.open.gone+len(x.sorted)
	return len(x.sorted), nil
}
