package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// A Pool is the connections that only read.
type Pool struct {
	*sql.DB
	dialect Dialect
	guard   *sqlite.Guard // nil where the data is no file, or is only read
	before  func() error  // see After; nil is nothing
}

// After is the pool with something that is done before each read.
func (p Pool) After(before func() error) Pool {
	p.before = before
	return p
}

// QueryContext is that of the pool, in the words of its engine, for as long as it takes.
func (p Pool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if p.before != nil {
		if err := p.before(); err != nil {
			return nil, err
		}
	}
	rows, err := p.DB.QueryContext(ctx, p.dialect.SQL(query), args...)
	return rows, p.guard.Saw(err)
}

// Scan reads the first row of a query; sql.ErrNoRows where there is none.
func (p Pool) Scan(ctx context.Context, query string, args []any, into ...any) error {
	if p.before != nil {
		if err := p.before(); err != nil {
			return err
		}
	}
	return p.guard.Saw(p.DB.QueryRowContext(ctx, p.dialect.SQL(query), args...).Scan(into...))
}

// longestRead bounds a read: while it lasts, the log of the database only grows. Whatever is longer goes in pages.
const longestRead = 2 * time.Minute

// ErrLongRead says what ended a read.
var ErrLongRead = errors.New("the read took too long and was ended, because the log of the database grows meanwhile; ask for less")

// Number reads a row of one column that is a number.
func Number[T ~int64](r *Row) (T, error) { n := r.Int(); return T(n), r.Err }

// Text reads a row of one column that is a text.
func Text(r *Row) (string, error) { s := r.Text(); return s, r.Err }

// Rows runs a read of at most longestRead and calls each on every row.
func (p Pool) Rows(ctx context.Context, query string, args []any, each func(*Row) error) error {
	return p.RowsWithin(ctx, longestRead, query, args, each)
}

// RowsWithin is Rows with another bound.
func (p Pool) RowsWithin(ctx context.Context, most time.Duration, query string, args []any, each func(*Row) error) error {
	bound, cancel := context.WithTimeoutCause(ctx, most, ErrLongRead)
	defer cancel()
	err := p.Walk(bound, query, args, each)
	if err != nil && ctx.Err() == nil && bound.Err() != nil {
		return errors.Join(context.Cause(bound), err)
	}
	return err
}

// Walk runs a read that takes as long as it takes.
func (p Pool) Walk(ctx context.Context, query string, args []any, each func(*Row) error) (err error) {
	rows, err := p.QueryContext(ctx, query, args...)
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
	return p.guard.Saw(rows.Err())
}

// Earliest reads one time; ok is false when there is no row.
func (p Pool) Earliest(ctx context.Context, query string, args ...any) (at time.Time, ok bool, err error) {
	var us int64
	err = p.Scan(ctx, query, args, &us)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, false, nil
	}
	return Moment(us), err == nil, err
}

// sinceSlack is how much later a row may have got its number than its time says: the clock is
// read when a request comes, the number given when it is stored.
const sinceSlack = time.Minute

// FirstFrom is a number from which on every row of table has a time at or after until.
func (p Pool) FirstFrom(ctx context.Context, table, column string, until time.Time) (int64, error) {
	return p.FirstSince(ctx, table, column, until.Add(2*sinceSlack))
}

// FirstSince is a number before which no row of table has a time at or after since. Numbers
// grow with time, so it is found by halving and needs no index on the time.
func (p Pool) FirstSince(ctx context.Context, table, column string, since time.Time) (int64, error) {
	var low, high sql.NullInt64
	err := p.Scan(ctx, `SELECT (SELECT min(id) FROM `+table+`), (SELECT max(id) FROM `+table+`)`, nil, &low, &high)
	if err != nil || !low.Valid {
		return 0, err
	}
	probe := `SELECT ` + column + ` FROM ` + table + ` WHERE id >= ?1 ORDER BY id LIMIT 1`
	want := Micro(since.Add(-sinceSlack))
	lo, hi := low.Int64, high.Int64+1
	for lo < hi {
		mid := lo + (hi-lo)/2
		var at int64
		if err := p.Scan(ctx, probe, []any{mid}, &at); err != nil {
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

// Check reads all the data and joins what is damaged in its structure.
func (p Pool) Check(ctx context.Context) error {
	var faults []error
	err := p.Walk(ctx, p.dialect.check, nil, func(r *Row) error {
		if words := r.Text(); words != "ok" {
			faults = append(faults, errors.New(words))
		}
		return nil
	})
	return errors.Join(append(faults, err)...)
}

// MostReaders is how many connections of a pool are open at the same time.
const MostReaders = 4

func openPool(db *sql.DB, d Dialect, guard *sqlite.Guard) Pool {
	db.SetMaxOpenConns(MostReaders)
	db.SetMaxIdleConns(MostReaders)
	return Pool{DB: db, dialect: d, guard: guard}
}

// A Querier is a side that rows are read from.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}
