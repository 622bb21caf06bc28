package store

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
	"github.com/nudgewire/nudgewire/internal/store/peers"
)

// defaultLimit is the length of a list whose filter names none.
const defaultLimit = 50

// LogSize is how long the log of the database is, in bytes; 0 where that is not known.
func LogSize(dsn string) int64 {
	info, err := os.Stat(engine.Path(dsn) + "-wal")
	if err != nil {
		return 0
	}
	return info.Size()
}

// List is what scan makes of each row of a read.
func List[T any](ctx context.Context, s *Store, query string, args []any, scan func(*engine.Row) (T, error)) (out []T, err error) {
	err = s.reads.Rows(ctx, query, args, func(r *engine.Row) error {
		one, err := scan(r)
		out = append(out, one)
		return err
	})
	return out, err
}

// Rows runs a read of at most two minutes and calls each on every row.
func (s *Store) Rows(ctx context.Context, query string, args []any, each func(*engine.Row) error) error {
	return s.reads.Rows(ctx, query, args, each)
}

// QueryContext reads rows for as long as it takes, while nobody writes: the log of the database grows meanwhile. Errors: a *DamagedError.
func (s *Store) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return s.reads.QueryContext(ctx, query, args...)
}

// Earliest reads one time; ok is false when there is no row.
func (s *Store) Earliest(ctx context.Context, query string, args ...any) (at time.Time, ok bool, err error) {
	return s.reads.Earliest(ctx, query, args...)
}

// FirstSince is a number before which no row of table has a time at or after since.
func (s *Store) FirstSince(ctx context.Context, table, column string, since time.Time) (int64, error) {
	return s.reads.FirstSince(ctx, table, column, since)
}

// eventsOf finds the newest events of a phone below a number (0 is no bound), newest first, at most limit of them.
func (s *Store) eventsOf(ctx context.Context, phone messaging.Phone, below messaging.EventID, limit int) (found []messaging.EventID, err error) {
	ids, err := s.keyedEvents(ctx, []messaging.Phone{phone})
	if err != nil {
		return nil, err
	}
	slices.Reverse(ids)
	for some := range slices.Chunk(ids, engine.PerList) {
		var q engine.Select
		q.And("id IN " + engine.In(some))
		q.And("phone = ?", string(phone))
		q.When(below > 0, "id < ?", int64(below))
		more, err := List(ctx, s, q.SQL("id", "events", "id DESC", limit-len(found)), q.Args, engine.Number[messaging.EventID])
		if found = append(found, more...); err != nil || len(found) >= limit {
			return found, err
		}
	}
	return found, nil
}

// keyedEvents are the numbers of events that phones lead to, ascending. As with keyed, the caller compares the rows.
func (s *Store) keyedEvents(ctx context.Context, phones []messaging.Phone) (ids []int64, err error) {
	hashes := make([]int64, len(phones))
	for i, phone := range phones {
		hashes[i] = phoneHash(phone, s.hash)
	}
	ids, err = s.keyed(ctx, peers.PhonesOfEvents, hashes...)
	if err == nil && s.commits == nil && s.file != nil { // what a process that ended in a crash had in memory stands in no table
		list, args := engine.ListOf(phones)
		var more []int64
		more, err = List(ctx, s, `SELECT id FROM events WHERE id > (SELECT coalesce(max(value), 0) FROM counters WHERE name = '`+numbers.EventsKeyed+`') AND phone IN (`+list+`)`, args, engine.Number[int64])
		ids = append(ids, more...)
		slices.Sort(ids)
	}
	return slices.Compact(ids), err
}

// keyed are the numbers of rows that hashes lead to, ascending. Another text may have the same hash: the caller compares the rows.
func (s *Store) keyed(ctx context.Context, part int64, hashes ...int64) (ids []int64, err error) {
	if s.commits == nil {
		ids, err = List(ctx, s, fmt.Sprintf(`SELECT id FROM keys WHERE part = %d AND hash IN %s`, part, engine.In(hashes)), nil, engine.Number[int64])
	} else {
		err = s.Write(ctx, commit.LaneWork, func(t *Tx) (err error) {
			ids = ids[:0]
			for i := 0; i < len(hashes) && err == nil; i++ {
				ids, err = t.peers.Find(t.Tx, part, part, hashes[i], ids)
			}
			return err
		})
	}
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// Check reads all the data and reports what is damaged in its structure. It takes about a
// second a gigabyte.
func (s *Store) Check(ctx context.Context) error {
	if err := s.reads.Check(ctx); err != nil {
		return fmt.Errorf("check the data: %w", err)
	}
	return nil
}
