package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// defaultLimit is the length of a list whose filter names none.
const defaultLimit = 50

// A Select is one SELECT being put together: conditions are joined by AND, and their
// arguments are numbered in the order in which they come.
type Select struct {
	where []string
	Args  []any
}

// And adds a condition; each "?" in it is the next of args.
func (q *Select) And(condition string, args ...any) {
	for _, a := range args {
		q.Args = append(q.Args, a)
		condition = strings.Replace(condition, "?", "\x00"+strconv.Itoa(len(q.Args)), 1)
	}
	q.where = append(q.where, strings.ReplaceAll(condition, "\x00", "?"))
}

// When adds a condition where it applies.
func (q *Select) When(applies bool, condition string, args ...any) {
	if applies {
		q.And(condition, args...)
	}
}

// SQL is the whole statement.
func (q *Select) SQL(columns, from, order string, limit int) string {
	var b strings.Builder
	b.WriteString("SELECT " + columns + " FROM " + from)
	for i, w := range q.where {
		b.WriteString([]string{" WHERE ", " AND "}[min(i, 1)])
		b.WriteString(w)
	}
	if order != "" {
		b.WriteString(" ORDER BY " + order)
	}
	if limit > 0 {
		b.WriteString(" LIMIT " + strconv.Itoa(limit))
	}
	return b.String()
}

// longestRead bounds a read: while it lasts, the log of the database only grows. Whatever is longer goes in pages.
const longestRead = 2 * time.Minute

// LogSize is how long the log of the database is, in bytes; 0 where that is not known.
func LogSize(dsn string) int64 {
	info, err := os.Stat(Path(dsn) + "-wal")
	if err != nil {
		return 0
	}
	return info.Size()
}

// errLongRead says what ended a read.
var errLongRead = errors.New("the read took too long and was ended, because the log of the database grows meanwhile; ask for less")

// List is what scan makes of each row of a read.
func List[T any](ctx context.Context, s *Store, query string, args []any, scan func(*Row) (T, error)) (out []T, err error) {
	err = s.Rows(ctx, query, args, func(r *Row) error {
		one, err := scan(r)
		out = append(out, one)
		return err
	})
	return out, err
}

// Number and text read a row of one column.
func Number[T ~int64](r *Row) (T, error) { n := r.Int(); return T(n), r.Err }
func Text(r *Row) (string, error)        { s := r.Text(); return s, r.Err }

// Rows runs a read of at most longestRead and calls each on every row.
func (s *Store) Rows(ctx context.Context, query string, args []any, each func(*Row) error) error {
	return s.rowsWithin(ctx, longestRead, query, args, each)
}

func (s *Store) rowsWithin(ctx context.Context, most time.Duration, query string, args []any, each func(*Row) error) error {
	bound, cancel := context.WithTimeoutCause(ctx, most, errLongRead)
	defer cancel()
	err := s.walk(bound, query, args, each)
	if err != nil && ctx.Err() == nil && bound.Err() != nil {
		return errors.Join(context.Cause(bound), err)
	}
	return err
}

// walk runs a read that takes as long as it takes.
func (s *Store) walk(ctx context.Context, query string, args []any, each func(*Row) error) (err error) {
	rows, err := s.reads.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	r := Row{values: make([]driver.Value, len(columns))}
	into := make([]any, len(columns))
	for i := range into {
		into[i] = &r.values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		r.next = 0
		if err := each(&r); err != nil {
			return err
		}
		if r.Err != nil {
			return r.Err
		}
	}
	return s.reads.guard.Saw(rows.Err())
}

// Earliest reads one time; ok is false when there is no row.
func (s *Store) Earliest(ctx context.Context, query string, args ...any) (at time.Time, ok bool, err error) {
	var us int64
	err = s.reads.scan(ctx, query, args, &us)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, false, nil
	}
	return Moment(us), err == nil, err
}

// sinceSlack is how much later a row may have got its number than its time says: the clock is
// read when a request comes, the number given when it is stored.
const sinceSlack = time.Minute

// firstFrom is a number from which on every row of table has a time at or after until.
func (s *Store) firstFrom(ctx context.Context, table, column string, until time.Time) (int64, error) {
	return s.FirstSince(ctx, table, column, until.Add(2*sinceSlack))
}

// FirstSince is a number before which no row of table has a time at or after since. Numbers
// grow with time, so it is found by halving and needs no index on the time.
func (s *Store) FirstSince(ctx context.Context, table, column string, since time.Time) (int64, error) {
	var low, high sql.NullInt64
	err := s.reads.scan(ctx, `SELECT (SELECT min(id) FROM `+table+`), (SELECT max(id) FROM `+table+`)`, nil, &low, &high)
	if err != nil || !low.Valid {
		return 0, err
	}
	probe := `SELECT ` + column + ` FROM ` + table + ` WHERE id >= ?1 ORDER BY id LIMIT 1`
	want := Micro(since.Add(-sinceSlack))
	lo, hi := low.Int64, high.Int64+1
	for lo < hi {
		mid := lo + (hi-lo)/2
		var at int64
		if err := s.reads.scan(ctx, probe, []any{mid}, &at); err != nil {
			return 0, err
		}
		if at < want {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, nil
}

// In is an SQL list of numbers, which need no placeholders. An empty one, which only SQLite
// takes, is a list of a number that no row has.
func In[T ~int64](ids []T) string {
	if len(ids) == 0 {
		return "(0)"
	}
	b := []byte{'('}
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return string(append(b, ')'))
}

// perList is how many numbers go into one list.
const perList = 500

// eventsOf finds the newest events of a phone below a number (0 is no bound), newest first, at most limit of them.
func (s *Store) eventsOf(ctx context.Context, phone messaging.Phone, below messaging.EventID, limit int) (found []messaging.EventID, err error) {
	ids, err := s.keyedEvents(ctx, []messaging.Phone{phone})
	if err != nil {
		return nil, err
	}
	slices.Reverse(ids)
	for some := range slices.Chunk(ids, perList) {
		var q Select
		q.And("id IN " + In(some))
		q.And("phone = ?", string(phone))
		q.When(below > 0, "id < ?", int64(below))
		more, err := List(ctx, s, q.SQL("id", "events", "id DESC", limit-len(found)), q.Args, Number[messaging.EventID])
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
	ids, err = s.keyed(ctx, phonesOfEvents, hashes...)
	if err == nil && s.commits == nil && s.file != nil { // what a process that ended in a crash had in memory stands in no table
		list, args := ListOf(phones)
		var more []int64
		more, err = List(ctx, s, `SELECT id FROM events WHERE id > (SELECT coalesce(max(value), 0) FROM counters WHERE name = '`+eventsKeyed+`') AND phone IN (`+list+`)`, args, Number[int64])
		ids = append(ids, more...)
		slices.Sort(ids)
	}
	return slices.Compact(ids), err
}

// keyed are the numbers of rows that hashes lead to, ascending. Another text may have the same hash: the caller compares the rows.
func (s *Store) keyed(ctx context.Context, part int64, hashes ...int64) (ids []int64, err error) {
	if s.commits == nil {
		ids, err = List(ctx, s, fmt.Sprintf(`SELECT id FROM keys WHERE part = %d AND hash IN %s`, part, In(hashes)), nil, Number[int64])
	} else {
		err = s.Write(ctx, LaneWork, func(t *Tx) (err error) {
			ids = ids[:0]
			for i := 0; i < len(hashes) && err == nil; i++ {
				ids, err = t.peers.find(t, part, part, hashes[i], ids)
			}
			return err
		})
	}
	slices.Sort(ids)
	return slices.Compact(ids), err
}
