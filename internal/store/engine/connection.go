package engine

import "database/sql/driver"

// A Connection is what runs the statements of one writer.
type Connection interface {
	Session
	// Begin opens a transaction.
	Begin() error
	// Commit puts it on disk. An error is that nothing was written, unless it is an *UnknownError.
	Commit() error
	// Rollback undoes it, and does no harm where it has ended by itself.
	Rollback()
	// Committed is called after a commit and its hooks, before anybody is answered. An error is an answer for all.
	Committed() error
	// Close is called once, after the last transaction.
	Close() error
}

// A Session runs prepared statements in the open transaction.
type Session interface {
	// Exec says how many rows it changed.
	Exec(s *Statement, args []driver.NamedValue) (changed int64, err error)
	// Put may run the statement later, but before the next that is no put, and before the commit. Its error may come there.
	Put(s *Statement, args []driver.NamedValue) error
	// Query calls each on every row, which is good until each returns.
	Query(s *Statement, args []driver.NamedValue, each func(*Row) error) error
	// QueryMany is query for each of all, which are about different rows: each is called with the place of its arguments. Where a
	// statement is a way to another machine they go together.
	QueryMany(s *Statement, all [][]driver.NamedValue, each func(i int, r *Row) error) error
}
