package engine

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// SQLite is the one connection that changes the data, with its statements prepared once.
//
// It talks to the driver and not through database/sql, whose locks, conversions and
// bookkeeping cost as much as SQLite's own work on statements this small.
type SQLite struct {
	conn  driver.Conn
	stmts []prepared // by the numbers of statements
	dest  []driver.Value

	checkpoints *checkpointer
	guard       *sqlite.Guard
	unguarded   bool // of scratch data: nobody takes it away
	gone        bool // the last batch met a guard that said no
	changes     int  // since the last checkpoint
	deferred    bool // see Defer
	open        bool // a transaction whose commits were put off
	lost        bool // what was put off was undone
}

type prepared struct {
	driver.Stmt
	exec    driver.StmtExecContext
	query   driver.StmtQueryContext
	columns int // 0 until it was asked once
}

// OpenSQLite prepares every statement on a new connection.
func OpenSQLite(c driver.Connector) (*SQLite, error) {
	conn, err := c.Connect(context.Background())
	if err != nil {
		return nil, err
	}
	e := &SQLite{conn: conn, stmts: make([]prepared, len(statements)), dest: make([]driver.Value, 64)}
	for i, s := range statements {
		if s.sql == "" {
			continue
		}
		stmt, err := conn.Prepare(SQLiteDialect.SQL(s.sql))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("prepare %q: %w", s.sql, err), e.Close())
		}
		exec, canExec := stmt.(driver.StmtExecContext)
		query, canQuery := stmt.(driver.StmtQueryContext)
		e.stmts[i] = prepared{stmt, exec, query, 0}
		if !canExec || !canQuery {
			return nil, errors.Join(fmt.Errorf("driver statement %T takes no context", stmt), e.Close())
		}
	}
	return e, nil
}

// Watch has a guard look after each commit from now on, but for data that nobody keeps, and a connection of c move the log into the database.
func (e *SQLite) Watch(c Connector, guard *sqlite.Guard, unguarded bool) (err error) {
	e.guard, e.unguarded = guard, unguarded
	e.checkpoints, err = newCheckpointer(c)
	return err
}

// KeepLog has what a checkpoint was too early for stay in the log until the next one.
func (e *SQLite) KeepLog() { e.checkpoints.rest.Store(false) }

// Conn is its connection, for what is no statement: a setting, a look at its state.
func (e *SQLite) Conn() driver.Conn { return e.conn }

// Run runs one statement without arguments, outside of a transaction or to make one.
func (e *SQLite) Run(statement string) error { return execOn(e.conn, statement) }

// Step runs a statement to its end that does some work for each row of its answer.
func (e *SQLite) Step(statement string) error { return stepThrough(e.conn, statement) }

// Checkpoint moves what the log holds into the database now, as far as readers let it.
func (e *SQLite) Checkpoint() { e.checkpoints.now() }

// Close ends the log: the last connection moves what is in it into the database. Of a log that was cut off that would be zeros, so where
// the data is damaged the connection is left to the end of the process, and the next start finds the files as they are.
func (e *SQLite) Close() error {
	if e.guard != nil && sqlite.Damaged(e.guard.Check()) {
		return e.checkpoints.close()
	}
	e.Undo()
	var errs []error
	if e.checkpoints != nil {
		errs = append(errs, e.checkpoints.close(), execOn(e.conn, "PRAGMA wal_checkpoint(TRUNCATE)"))
	}
	for _, p := range e.stmts {
		if p.Stmt != nil {
			errs = append(errs, p.Close())
		}
	}
	return errors.Join(append(errs, e.conn.Close())...)
}

var beginSQL = SQL(`{{begin}}`)

// Begin begins a transaction. While the data is not where it was opened it is a *GoneError, and a *DamagedError once it is damaged:
// nothing is written then, or a claim would be made and given to nobody.
func (e *SQLite) Begin() error {
	if e.gone || e.guard.IsDamaged() {
		if err := e.guard.Check(); err != nil {
			return err
		}
		e.gone = false
	}
	if e.open {
		return e.Put(savepointSQL, nil)
	}
	err := e.Put(beginSQL, nil)
	if err != nil {
		// A rollback that failed leaves its transaction open; end it and try once more.
		e.Rollback()
		err = e.Put(beginSQL, nil)
	}
	if err == nil && e.deferred {
		e.open = true
		err = e.Put(savepointSQL, nil)
	}
	return err
}

var commitSQL = SQL(`COMMIT`)

// Commit puts the transaction on disk.
func (e *SQLite) Commit() error {
	if !e.open {
		return e.Put(commitSQL, nil)
	}
	err := e.Put(releaseSQL, nil)
	if err == nil && e.changes >= checkpointEvery {
		err = e.Settle()
	}
	return err
}

var rollbackSQL = SQL(`ROLLBACK`)

// Rollback has nothing to do where SQLite did it by itself (a full disk).
func (e *SQLite) Rollback() {
	if !e.open {
		_ = e.Put(rollbackSQL, nil)
	} else if e.Put(undoSQL, nil) != nil || e.Put(releaseSQL, nil) != nil {
		e.lost = true
	}
}

// Of scratch data commits are put off, which cost more than what is committed: transactions are savepoints of one, which is committed when
// somebody is about to read by another connection, and when the log should be moved.
var (
	savepointSQL = SQL(`SAVEPOINT one`)
	releaseSQL   = SQL(`RELEASE one`)
	undoSQL      = SQL(`ROLLBACK TO one`)
)

// Defer has commits put off from now on. Whoever reads by another connection calls Settle before.
func (e *SQLite) Defer() { e.deferred = true }

// Settle commits what was put off.
func (e *SQLite) Settle() error {
	if !e.open {
		return nil
	}
	e.open = false
	err := e.Put(commitSQL, nil)
	e.lost = err != nil
	return err
}

// Lost reports whether commits that were put off came to nothing.
func (e *SQLite) Lost() bool { return e.lost }

// Undo leaves the data without what was put off and not settled.
func (e *SQLite) Undo() {
	if e.open {
		_ = e.Put(rollbackSQL, nil)
	}
	e.open, e.lost, e.deferred = false, false, false
}

// Committed asks the guard whether what was answered is where it was written, and has the log moved when it is long.
func (e *SQLite) Committed() error {
	if e.guard == nil {
		return nil // while it is opened
	}
	if !e.unguarded {
		if err := e.guard.Check(); err != nil {
			e.gone = true
			return err
		}
	}
	e.gone = false
	e.checkpoint()
	return nil
}

// Exec runs a statement. The context is never a caller's: an interrupt would roll back the whole batch.
func (e *SQLite) Exec(s *Statement, args []driver.NamedValue) (changed int64, err error) {
	e.changes++
	res, err := e.stmts[s.number].exec.ExecContext(context.Background(), args)
	if err != nil {
		return 0, e.guard.Saw(err)
	}
	return res.RowsAffected()
}

// Put runs a statement at once.
func (e *SQLite) Put(s *Statement, args []driver.NamedValue) error {
	e.changes++
	_, err := e.stmts[s.number].exec.ExecContext(context.Background(), args)
	return e.guard.Saw(err)
}

// Query runs a statement and gives each its rows as they come.
func (e *SQLite) Query(s *Statement, args []driver.NamedValue, each func(*Row) error) (err error) {
	rows, err := e.stmts[s.number].query.QueryContext(context.Background(), args)
	if err != nil {
		return e.guard.Saw(err)
	}
	defer func() {
		if closed := rows.Close(); err == nil {
			err = closed
		}
		err = e.guard.Saw(err)
	}()
	p := &e.stmts[s.number]
	if p.columns == 0 {
		p.columns = len(rows.Columns())
	}
	r := Row{values: e.dest[:p.columns]}
	for {
		if err := rows.Next(r.values); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
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
}

// QueryMany runs a statement for one after the other.
func (e *SQLite) QueryMany(s *Statement, all [][]driver.NamedValue, each func(i int, r *Row) error) error {
	for i := range all {
		if err := e.Query(s, all[i], func(r *Row) error { return each(i, r) }); err != nil {
			return err
		}
	}
	return nil
}
