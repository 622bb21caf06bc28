package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// A sqliteEngine is the one connection that changes the data, with its statements prepared once.
//
// It talks to the driver and not through database/sql, whose locks, conversions and
// bookkeeping cost as much as SQLite's own work on statements this small.
type sqliteEngine struct {
	conn  driver.Conn
	stmts []prepared // by the numbers of statements
	dest  []driver.Value

	checkpoints *checkpointer
	guard       *sqlite.Guard
	unguarded   bool // of scratch data: nobody takes it away
	gone        bool // the last batch met a guard that said no
	changes     int  // since the last checkpoint
}

type prepared struct {
	driver.Stmt
	exec    driver.StmtExecContext
	query   driver.StmtQueryContext
	columns int // 0 until it was asked once
}

// openSQLiteEngine prepares every statement on a new connection.
func openSQLiteEngine(c driver.Connector) (*sqliteEngine, error) {
	conn, err := c.Connect(context.Background())
	if err != nil {
		return nil, err
	}
	e := &sqliteEngine{conn: conn, stmts: make([]prepared, len(statements)), dest: make([]driver.Value, 64)}
	for i, s := range statements {
		if s.sql == "" {
			continue
		}
		stmt, err := conn.Prepare(sqliteDialect.sql(s.sql))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("prepare %q: %w", s.sql, err), e.close())
		}
		exec, canExec := stmt.(driver.StmtExecContext)
		query, canQuery := stmt.(driver.StmtQueryContext)
		e.stmts[i] = prepared{stmt, exec, query, 0}
		if !canExec || !canQuery {
			return nil, errors.Join(fmt.Errorf("driver statement %T takes no context", stmt), e.close())
		}
	}
	return e, nil
}

// close ends the log: the last connection moves what is in it into the database. Of a log that was cut off that would be zeros, so where
// the data is damaged the connection is left to the end of the process, and the next start finds the files as they are.
func (e *sqliteEngine) close() error {
	if e.guard != nil && sqlite.Damaged(e.guard.Check()) {
		return e.checkpoints.close()
	}
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

// begin begins a transaction. While the data is not where it was opened it is a *GoneError, and a *DamagedError once it is damaged:
// nothing is written then, or a claim would be made and given to nobody.
func (e *sqliteEngine) begin() error {
	if e.gone || e.guard.IsDamaged() {
		if err := e.guard.Check(); err != nil {
			return err
		}
		e.gone = false
	}
	err := e.put(beginSQL, nil)
	if err != nil {
		// A rollback that failed leaves its transaction open; end it and try once more.
		e.rollback()
		err = e.put(beginSQL, nil)
	}
	return err
}

var commitSQL = SQL(`COMMIT`)

func (e *sqliteEngine) commit() error { return e.put(commitSQL, nil) }

var rollbackSQL = SQL(`ROLLBACK`)

// rollback has nothing to do where SQLite did it by itself (a full disk).
func (e *sqliteEngine) rollback() { _ = e.put(rollbackSQL, nil) }

func (e *sqliteEngine) committed() error {
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

// exec runs a statement. The context is never a caller's: an interrupt would roll back the whole batch.
func (e *sqliteEngine) exec(s *Statement, args []driver.NamedValue) (changed int64, err error) {
	e.changes++
	res, err := e.stmts[s.number].exec.ExecContext(context.Background(), args)
	if err != nil {
		return 0, e.guard.Saw(err)
	}
	return res.RowsAffected()
}

func (e *sqliteEngine) put(s *Statement, args []driver.NamedValue) error {
	e.changes++
	_, err := e.stmts[s.number].exec.ExecContext(context.Background(), args)
	return e.guard.Saw(err)
}

func (e *sqliteEngine) query(s *Statement, args []driver.NamedValue, each func(*Row) error) (err error) {
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

func (e *sqliteEngine) queryMany(s *Statement, all [][]driver.NamedValue, each func(i int, r *Row) error) error {
	for i := range all {
		if err := e.query(s, all[i], func(r *Row) error { return each(i, r) }); err != nil {
			return err
		}
	}
	return nil
}
