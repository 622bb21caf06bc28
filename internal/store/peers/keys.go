package peers

import (
	"fmt"
	"strings"

	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/keyindex"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
	"github.com/nudgewire/nudgewire/internal/store/tally"
)

// A Key leads from a hash to a row: to an event by its connector and dedupe key, Part is then its day; to a
// message by its correlation key, Part is then Correlations; to the tombstones of a correlation key, Part is then
// Tombstones and the number 0; or to an event by its phone, or by what people search it by and by its order (see package contacts).
type Key = keyindex.Key

// The parts that are no days. Days are above them.
const (
	Correlations int64 = iota
	Tombstones
	PhonesOfEvents
	WordsOfEvents

	FirstDay
)

// TombstoneHash is another hash than the one that leads to the messages of the same correlation key.
func TombstoneHash(correlation int64) int64 { return ^correlation }

// keysAtOnce is how many keys a statement inserts, and partsAtOnce how many parts one searches: the days of the usual window, which are
// two more than it has.
const (
	keysAtOnce  = 32
	partsAtOnce = 9
)

var (
	// InsertKeySQL stores a key. One that was flushed already may be flushed again after a crash.
	InsertKeySQL  = engine.SQL(insertKeys(1))
	insertKeysSQL = engine.SQL(insertKeys(keysAtOnce))
	findKeySQL    = engine.SQL(`SELECT id FROM keys WHERE part = ?1 AND hash = ?2`)
	findKeysSQL   = engine.SQL(`SELECT id FROM keys WHERE part IN (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) AND hash = ?10`)
)

func insertKeys(n int) string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf("(?%d, ?%d, ?%d)", 3*i+1, 3*i+2, 3*i+3)
	}
	return `INSERT INTO keys (part, hash, id) VALUES ` + strings.Join(rows, ", ") + ` ON CONFLICT DO NOTHING`
}

// A table is the table keys in a transaction.
type table struct{ *engine.Tx }

// Insert implements keyindex.Table.
func (t table) Insert(keys []Key) error {
	args := make([]any, 0, 3*keysAtOnce)
	for len(keys) > 0 {
		insert, n := InsertKeySQL, 1
		if len(keys) >= keysAtOnce {
			insert, n = insertKeysSQL, keysAtOnce
		}
		args = args[:0]
		for _, k := range keys[:n] {
			args = append(args, k.Part, k.Hash, k.ID)
		}
		if err := t.Put(insert, args...); err != nil {
			return fmt.Errorf("keys: %w", err)
		}
		keys = keys[n:]
	}
	return nil
}

// Find implements keyindex.Table.
func (t table) Find(first, last, hash int64, each func(int64)) (err error) {
	found := func(r *engine.Row) error { each(r.Int()); return r.Err }
	for ; first < last && err == nil; first += partsAtOnce {
		args := make([]any, partsAtOnce, partsAtOnce+1)
		for i := range args {
			args[i] = min(first+int64(i), last)
		}
		err = t.Query(findKeysSQL, found, append(args, hash)...)
	}
	if first == last && err == nil {
		err = t.Query(findKeySQL, found, first, hash)
	}
	if err != nil {
		return fmt.Errorf("find a key: %w", err)
	}
	return nil
}

// Find implements Coordinator.
func (w *Single) Find(t *engine.Tx, first, last, hash int64, ids []int64) ([]int64, error) {
	return w.Keys.Find(table{t}, first, last, hash, ids)
}

// Remember keeps a new row's key in memory. Only rows above the mark are read again after a crash, so the key of
// an older row goes to the table at once.
func (w *Single) Remember(t *engine.Tx, k Key, fresh bool) error {
	if !fresh && !w.Bare {
		return w.Keys.RememberOld(table{t}, k)
	}
	w.Keys.Remember(k)
	return nil
}

// Sweeping has another filter made, which the walk fills.
func (w *Single) Sweeping() (kept func(hash int64)) { return w.Keys.Sweep() }

// Swept implements Coordinator.
func (w *Single) Swept() { w.Keys.Swept() }

// flushKeys moves keys to the table before a commit, where memory holds too many.
func (w *Single) flushKeys(t *engine.Tx) error {
	return w.Keys.Flush(table{t}, func() error {
		err := markFlushed(t, &w.begun)
		w.begun = w.ids
		return err
	})
}

// FlushAll moves all keys to the table.
func (w *Single) FlushAll(t *engine.Tx) error { return w.Keys.FlushAll(table{t}) }

// FlushForGood leaves the next start nothing to read again.
func (w *Single) FlushForGood(t *engine.Tx) error {
	if err := w.FlushAll(t); err != nil {
		return err
	}
	return markFlushed(t, &w.ids)
}

func markFlushed(t *engine.Tx, upTo *numbers.Newest) error {
	err := t.Put(tally.SetCountSQL, numbers.EventsKeyed, upTo[numbers.Events])
	if err == nil {
		err = t.Put(tally.SetCountSQL, numbers.MessagesKeyed, upTo[numbers.Messages])
	}
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	return nil
}

// Keep stores the key of a row: it may be in memory alone, and once the row has none no start reads it from there again.
func Keep(t *engine.Tx, k Key) error { return t.Put(InsertKeySQL, k.Part, k.Hash, k.ID) }
