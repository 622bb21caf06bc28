package peers

import (
	"context"
	"fmt"

	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/keyindex"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
)

// Keyed are rows that have keys. A start reads them again where the table need not have these.
type Keyed struct {
	Of    numbers.Sequence
	Query string // reads those with a number above ?1 and up to ?2
	Keys  func(r *engine.Row, remember func(Key)) error
}

// marks are the counters up to whose rows every key is in the table.
var marks = map[numbers.Sequence]string{numbers.Events: numbers.EventsKeyed, numbers.Messages: numbers.MessagesKeyed}

// loadKeys reads the keys of the rows above the marks: few after a clean end, up to twice
// keyindex.DefaultLimit after a crash, all of them where the table is new.
func (w *Single) loadKeys(ctx context.Context, all []Keyed) error {
	flushed := map[string]int64{}
	err := w.Reads.Rows(ctx, `SELECT name, value FROM counters WHERE name = ?1 OR name = ?2`, []any{numbers.EventsKeyed, numbers.MessagesKeyed}, func(r *engine.Row) error {
		name := r.Text()
		flushed[name] = r.Int()
		return nil
	})
	for _, rows := range all {
		if err == nil {
			err = w.loadPages(ctx, flushed[marks[rows.Of]], w.ids[rows.Of], &rows)
		}
	}
	w.begun = w.ids
	if err != nil {
		return fmt.Errorf("load the keys: %w", err)
	}
	return nil
}

// loadPages reads the rows from one number to another, and makes room in memory when they are too many.
func (w *Single) loadPages(ctx context.Context, from, to int64, rows *Keyed) error {
	for ; from < to; from += keyindex.PageSize {
		w.Keys.Begin()
		each := func(r *engine.Row) error { return rows.Keys(r, w.Keys.Remember) }
		if err := w.Reads.Rows(ctx, rows.Query, []any{from, min(from+keyindex.PageSize, to)}, each); err != nil {
			return err
		}
		if w.Keys.Held() > 3*keyindex.DefaultLimit {
			if err := w.Write(w.FlushAll); err != nil {
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

func (w *Single) startFilling(ctx context.Context) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	w.filling = filling{stop, make(chan struct{})}
	go func() {
		defer close(w.filling.done)
		w.Keys.Fill(ctx, func(ctx context.Context, after Key) ([]Key, error) {
			var page []Key
			err := w.Reads.Rows(ctx, `SELECT part, hash, id FROM keys WHERE (part, hash, id) > (?1, ?2, ?3) ORDER BY part, hash, id LIMIT ?4`,
				[]any{after.Part, after.Hash, after.ID, keyindex.PageSize}, func(r *engine.Row) error {
					page = append(page, Key{Part: r.Int(), Hash: r.Int(), ID: r.Int()})
					return r.Err
				})
			return page, err
		})
	}()
}

// StopFilling waits until nobody reads any more, wherever the reading is.
func (w *Single) StopFilling() {
	w.filling.stop()
	<-w.filling.done
}

// Filled is closed once the filter has the keys of the table, or nobody reads them any more.
func (w *Single) Filled() <-chan struct{} { return w.filling.done }
