package engine

import (
	"database/sql/driver"
	"slices"
)

// A Tx runs statements in the open transaction of a connection. One value serves all transactions of its connection, one after the other, so
// that its room is made once.
type Tx struct {
	At   int64 // one moment for the whole transaction, microseconds
	on   Session
	args []driver.NamedValue
}

// NewTx runs statements on a connection.
func NewTx(on Session) *Tx { return &Tx{on: on} }

// bind puts args into the one argument list. Values are int64, string or []byte: the types
// that every driver takes as they are.
func (t *Tx) bind(args []any) []driver.NamedValue {
	t.args = t.args[:0]
	for i, a := range args {
		t.args = append(t.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return t.args
}

// Exec runs a statement that returns no rows and says how many it changed.
func (t *Tx) Exec(s *Statement, args ...any) (changed int64, err error) {
	return t.on.Exec(s, t.bind(args))
}

// Put is exec where nobody asks how many rows there were.
func (t *Tx) Put(s *Statement, args ...any) error { return t.on.Put(s, t.bind(args)) }

// Query runs a statement and calls each on every row. The row is good until each returns; a
// statement must not be run again inside its own query.
func (t *Tx) Query(s *Statement, each func(*Row) error, args ...any) error {
	return t.on.Query(s, t.bind(args), each)
}

// QueryMany runs a statement for each of all, which are about different rows, and calls each with the place of its arguments and each
// of their rows.
func (t *Tx) QueryMany(s *Statement, all [][]any, each func(i int, r *Row) error) error {
	bound := make([][]driver.NamedValue, len(all))
	for i, args := range all {
		bound[i] = slices.Clone(t.bind(args))
	}
	return t.on.QueryMany(s, bound, each)
}

// ExecMany runs a statement for each of rows, and nobody asks how many it changed.
func (t *Tx) ExecMany(s *Statement, rows [][]any) error {
	for _, args := range rows {
		if err := t.Put(s, args...); err != nil {
			return err
		}
	}
	return nil
}

// ExecAll runs a statement that ends in a list of rowsAtOnce ids, as often as it takes.
func (t *Tx) ExecAll(s *Statement, ids []int64, args ...any) error {
	own := len(args)
	if s.one != nil && len(ids) == 1 {
		return t.Put(s.one, append(args, ids[0])...)
	}
	for some := range slices.Chunk(ids, RowsAtOnce) {
		args = args[:own]
		for _, id := range some {
			args = append(args, id)
		}
		for len(args) < own+RowsAtOnce {
			args = append(args, some[0]) // a set: once more changes nothing
		}
		if err := t.Put(s, args...); err != nil {
			return err
		}
	}
	return nil
}
