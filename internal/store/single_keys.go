package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/keyindex"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
	"github.com/nudgewire/nudgewire/internal/store/tally"
)

// keysAtOnce is how many keys a statement inserts, and partsAtOnce how many parts one searches: the days of the usual window, which are
// two more than it has.
const (
	keysAtOnce  = 32
	partsAtOnce = 9
)

var (
	// A key that was flushed once already may be flushed again after a crash.
	insertKeySQL  = engine.SQL(insertKeys(1))
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

// A keyTable is the table keys in a transaction.
type keyTable struct{ *Tx }

// Insert implements keyindex.Table.
func (t keyTable) Insert(keys []key) error {
	args := make([]any, 0, 3*keysAtOnce)
	for len(keys) > 0 {
		insert, n := insertKeySQL, 1
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
func (t keyTable) Find(first, last, hash int64, each func(int64)) (err error) {
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
	return Wrap(err, "find a key")
}

func (w *singleWriter) find(t *Tx, first, last, hash int64, ids []int64) ([]int64, error) {
	return w.keys.Find(keyTable{t}, first, last, hash, ids)
}

// remember keeps a new row's key in memory. Only rows above the mark are read again after a crash, so the key of
// an older row goes to the table at once.
func (w *singleWriter) remember(t *Tx, k key, fresh bool) error {
	if !fresh && !w.writer.bare {
		return w.keys.RememberOld(keyTable{t}, k)
	}
	w.keys.Remember(k)
	return nil
}

// sweeping and swept have another filter made, which the walk fills.
func (w *singleWriter) sweeping(*Tx) (kept func(hash int64)) { return w.keys.Sweep() }

func (w *singleWriter) swept(*Tx) { w.keys.Swept() }

// flushKeys moves keys to the table before a commit, where memory holds too many.
func (w *singleWriter) flushKeys(t *Tx) error {
	return w.keys.Flush(keyTable{t}, func() error {
		err := t.markFlushed(&w.begun)
		w.begun = w.ids
		return err
	})
}

// flushAll moves all keys to the table.
func (w *singleWriter) flushAll(t *Tx) error { return w.keys.FlushAll(keyTable{t}) }

// flushForGood leaves the next start nothing to read again.
func (w *singleWriter) flushForGood(t *Tx) error {
	if err := w.flushAll(t); err != nil {
		return err
	}
	return t.markFlushed(&w.ids)
}

func (t *Tx) markFlushed(upTo *numbers.Newest) error {
	err := t.Put(tally.SetCountSQL, numbers.EventsKeyed, upTo[numbers.Events])
	if err == nil {
		err = t.Put(tally.SetCountSQL, numbers.MessagesKeyed, upTo[numbers.Messages])
	}
	return Wrap(err, "keys")
}

// loadKeys reads the keys of the rows above the mark: few after a clean end, up to twice
// keyindex.DefaultLimit after a crash, all of them where the table is new.
func (w *singleWriter) loadKeys(ctx context.Context, s *Store) error {
	marks := map[string]int64{}
	err := s.Rows(ctx, `SELECT name, value FROM counters WHERE name = ?1 OR name = ?2`, []any{numbers.EventsKeyed, numbers.MessagesKeyed}, func(r *engine.Row) error {
		name := r.Text()
		marks[name] = r.Int()
		return nil
	})
	if err == nil {
		err = w.loadPages(ctx, s, marks[numbers.EventsKeyed], w.ids[numbers.Events], `SELECT received_at, hash, id, connector, content_key, phone FROM events WHERE id > ?1 AND id <= ?2`, func(r *engine.Row) error {
			day, hash, id := r.Int()/dayMicros, r.Int(), r.Int()
			w.keys.Remember(key{Part: day, Hash: hash, ID: id})
			if connector, content := r.Text(), r.Text(); content != "" {
				w.keys.Remember(key{Part: day, Hash: contentHash(connector, content, s.hash), ID: id})
			}
			if phone := r.Phone(); phone != "" && !phone.IsMasked() {
				w.keys.Remember(key{Part: phonesOfEvents, Hash: phoneHash(phone, s.hash), ID: id})
			}
			return nil
		})
	}
	if err == nil {
		err = w.loadPages(ctx, s, marks[numbers.MessagesKeyed], w.ids[numbers.Messages], `SELECT id, correlation, trigger_name, correlation_key, phone, other_keys FROM messages
			WHERE id > ?1 AND id <= ?2 AND event_id <> 0`, func(r *engine.Row) error {
			id, correlation, trigger, text, phone := r.Int(), r.Int(), r.Text(), r.Text(), r.Text()
			w.keys.Remember(key{Part: correlations, Hash: correlation, ID: id})
			if text != "" {
				w.keys.Remember(key{Part: correlations, Hash: s.hash(trigger, "", phone), ID: id})
			}
			for _, other := range otherKeys(r.Text()) {
				w.keys.Remember(key{Part: correlations, Hash: s.hash(trigger, other, ""), ID: id})
			}
			return nil
		})
	}
	w.begun = w.ids
	if err != nil {
		return fmt.Errorf("load the keys: %w", err)
	}
	return nil
}

// loadPages reads the rows from one number to another, and makes room in memory when they are too many.
func (w *singleWriter) loadPages(ctx context.Context, s *Store, from, to int64, query string, each func(*engine.Row) error) error {
	for ; from < to; from += keyindex.PageSize {
		w.keys.Begin()
		if err := s.Rows(ctx, query, []any{from, min(from+keyindex.PageSize, to)}, each); err != nil {
			return err
		}
		if w.keys.Held() > 3*keyindex.DefaultLimit {
			if err := w.writer.runBatch([]*commit.Operation[*Tx]{{Run: w.flushAll}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// filling is the goroutine that reads the table into the filter. Its zero value was never started.
type filling struct {
	stop context.CancelFunc
	done chan struct{}
}

func (w *singleWriter) startFilling(ctx context.Context, s *Store) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	w.filling = filling{stop, make(chan struct{})}
	go func() {
		defer close(w.filling.done)
		w.keys.Fill(ctx, func(ctx context.Context, after key) ([]key, error) {
			return List(ctx, s, `SELECT part, hash, id FROM keys WHERE (part, hash, id) > (?1, ?2, ?3) ORDER BY part, hash, id LIMIT ?4`,
				[]any{after.Part, after.Hash, after.ID, keyindex.PageSize}, func(r *engine.Row) (key, error) { return key{Part: r.Int(), Hash: r.Int(), ID: r.Int()}, r.Err })
		})
	}()
}

// stopFilling waits until nobody reads any more, wherever the reading is.
func (w *singleWriter) stopFilling() {
	w.filling.stop()
	<-w.filling.done
}

// KeepCorrelation stores the key of a message: it may be in memory alone, and once the row has none no start reads it from there again.
func (t *Tx) KeepCorrelation(correlation, id int64) error {
	return t.Put(insertKeySQL, correlations, correlation, id)
}
