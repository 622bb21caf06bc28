package lists

import (
	"context"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/nudgewire/nudgewire/internal/units"
)

// A sqlSource is the result of one query, in a session that cannot write. SQLite comes under
// the driver name "sqlite3", which package store registers.
type sqlSource struct {
	kind    string // for people: "postgres crm on db.example.com"
	query   string
	timeout time.Duration
	connect func() (*sql.DB, error)
	prepare func(ctx context.Context, c *sql.Conn, timeout time.Duration) error
	ask     func(ctx context.Context, raw any, query string) (driver.Rows, error) // raw is the driver's connection
	words   func(error) error                                                     // what a driver says, for people
}

// newSQL is what all databases have in common.
func newSQL(o Origin) *sqlSource {
	s := &sqlSource{query: o.Query, timeout: o.Timeout.D(), ask: askDriver, words: func(err error) error { return err }}
	if s.timeout <= 0 {
		s.timeout = 15 * time.Minute
	}
	return s
}

func openMySQL(o Origin, _ string) (Source, error) {
	s := newSQL(o)
	config, err := mysql.ParseDSN(o.MySQL.Reveal())
	if err != nil {
		return nil, &wordError{"is not the address of a MySQL database", "write user:password@tcp(host:3306)/name"}
	}
	config.MultiStatements = false
	config.AllowAllFiles = false
	config.InterpolateParams = false
	if config.TLSConfig == "" && config.TLS == nil {
		config.TLSConfig = "preferred"
	}
	if config.TLS != nil && config.TLS.MinVersion == 0 {
		config.TLS.MinVersion = tls.VersionTLS12
	}
	if config.Timeout == 0 {
		config.Timeout = 30 * time.Second
	}
	s.kind = "mysql " + config.DBName + " on " + config.Addr
	s.connect = func() (*sql.DB, error) {
		connector, err := mysql.NewConnector(config)
		if err != nil {
			return nil, err
		}
		return sql.OpenDB(connector), nil
	}
	s.prepare = prepareMySQL
	return s, nil
}

func openSQLite(o Origin, folder string) (Source, error) {
	s := newSQL(o)
	path := inFolder(folder, o.SQLite)
	s.kind = "sqlite " + filepath.Base(path)
	s.connect = func() (*sql.DB, error) {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err // SQLite's own words are "unable to open database file"
		}
		if !info.Mode().IsRegular() { // it would wait for a pipe
			return nil, &wordError{"is no file", "name the file of the database"}
		}
		return sql.Open("sqlite3", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro&_query_only=true&_pragma=query_only(1)")
	}
	s.prepare = func(ctx context.Context, c *sql.Conn, _ time.Duration) error {
		if err := c.Raw(limitSQLite); err != nil {
			return err
		}
		_, err := c.ExecContext(ctx, "BEGIN")
		return err
	}
	return s, nil
}

// limitSQLite bounds a value and a row, which SQLite would else read into memory up to a GB.
func limitSQLite(raw any) error {
	const lengthOfValues = 0 // SQLITE_LIMIT_LENGTH
	if c, ok := raw.(interface{ SetLimit(id, to int) int }); ok {
		c.SetLimit(lengthOfValues, longestLine)
	}
	return nil
}

// prepareMySQL makes the session one that can only read, and begins a transaction in it. The two families of servers name the
// limit of a statement differently; whichever does not know its name says so, and the context
// bounds the query all the same.
func prepareMySQL(ctx context.Context, c *sql.Conn, timeout time.Duration) error {
	for _, limit := range []string{
		fmt.Sprintf("SET SESSION max_execution_time = %d", timeout.Milliseconds()),
		fmt.Sprintf("SET SESSION max_statement_time = %d", int64(timeout.Seconds())+1),
	} {
		if _, err := c.ExecContext(ctx, limit); err == nil {
			break
		} else if bad, ok := errors.AsType[*mysql.MySQLError](err); !ok || bad.Number != unknownVariable {
			return err
		}
	}
	// The session before the transaction: a statement such as CREATE TABLE ends the transaction by
	// itself and would run after it.
	// A server may cut every result at so many rows, without a word.
	if _, err := c.ExecContext(ctx, "SET SESSION sql_select_limit = 18446744073709551615"); err != nil {
		if bad, ok := errors.AsType[*mysql.MySQLError](err); !ok || bad.Number != unknownVariable {
			return err
		}
	}
	for _, statement := range []string{"SET SESSION TRANSACTION READ ONLY", "START TRANSACTION READ ONLY"} {
		if _, err := c.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

const unknownVariable = 1193 // ER_UNKNOWN_SYSTEM_VARIABLE

// String names the database, without user and password.
func (s *sqlSource) String() string { return s.kind }

// Open begins the query. The rows are taken from the driver itself: package database/sql
// would convert and lock for each cell, which costs more than reading it.
func (s *sqlSource) Open(ctx context.Context) (_ Rows, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, &awayError{fmt.Errorf("the query took longer than %s", units.Duration(s.timeout))})
	r := &sqlRows{ctx: ctx, cancel: cancel, name: s.kind}
	r.closers = append(r.closers, func() error { cancel(); return nil })
	defer func() {
		if err != nil {
			err = errors.Join(r.explain(err), r.Close())
		}
	}()
	db, err := s.connect()
	if err != nil {
		return nil, err
	}
	r.closers = append(r.closers, db.Close)
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, s.words(err)
	}
	r.closers = append(r.closers, conn.Close)
	if err := s.prepare(ctx, conn, s.timeout); err != nil {
		return nil, s.words(err)
	}
	err = conn.Raw(func(raw any) (err error) {
		r.rows, err = s.ask(ctx, raw, s.query)
		return err
	})
	if err != nil {
		return nil, err
	}
	r.closers = append(r.closers, func() error {
		if err := r.rows.Close(); !r.failed {
			return err
		}
		return nil // drivers repeat what Next has said
	})
	r.header = r.rows.Columns()
	r.values = make([]driver.Value, len(r.header))
	r.row = make(Row, len(r.header))
	return r, nil
}

// askDriver begins the query in the way that all drivers have in common.
func askDriver(ctx context.Context, raw any, query string) (driver.Rows, error) {
	q, ok := raw.(driver.QueryerContext)
	if !ok {
		return nil, errors.New("the driver cannot run a query")
	}
	return q.QueryContext(ctx, query, nil)
}

type sqlRows struct {
	ctx     context.Context // one query, bounded by it from Open to Close
	cancel  context.CancelFunc
	name    string
	rows    driver.Rows
	header  []string
	values  []driver.Value
	row     Row
	n       int64
	failed  bool           // Next ended with more than the end of the rows
	ended   bool           // Next came to the end of the rows
	closers []func() error // in the order of opening
}

// Header are the names that the query gives its columns.
func (r *sqlRows) Header() []string { return r.header }

// Next reads one row of the result.
func (r *sqlRows) Next() (Row, int64, error) {
	if r.n&0xff == 0 && r.ctx.Err() != nil {
		return nil, r.n, r.explain(r.ctx.Err())
	}
	if err := r.rows.Next(r.values); err != nil {
		if errors.Is(err, io.EOF) {
			r.ended = true
			if r.ctx.Err() != nil { // a driver may end an interrupted result quietly
				return nil, r.n, r.explain(r.ctx.Err())
			}
			return nil, r.n, io.EOF
		}
		r.failed = true
		return nil, r.n, r.explain(fmt.Errorf("after %s: %w", units.Count(r.n, "row"), err))
	}
	r.n++
	size := 0
	for i, v := range r.values {
		r.row[i] = cellOf(v)
		size += len(r.row[i])
	}
	if size > longestLine {
		r.failed = true
		return nil, r.n, r.explain(fmt.Errorf("%d: %w; select fewer or shorter columns", r.n, errLongLine))
	}
	return r.row, r.n, nil
}

// explain names the source, and the limit where that is what ended it.
func (r *sqlRows) explain(err error) error {
	switch ended := r.ctx.Err(); {
	case errors.Is(ended, context.DeadlineExceeded):
		err = context.Cause(r.ctx)
	case ended != nil:
		err = ended // in a server's words a user asked for it
	}
	return within(r.name, err)
}

// Close ends the session; nothing is committed, as nothing was written.
func (r *sqlRows) Close() error {
	if !r.ended {
		// Given up: a driver would read what is left of the result to its end, which may take for ever.
		r.failed = true
		r.cancel()
	}
	var errs []error
	for i := len(r.closers) - 1; i >= 0; i-- {
		if err := r.closers[i](); err != nil && !errors.Is(err, driver.ErrBadConn) && !errors.Is(err, sql.ErrConnDone) {
			errs = append(errs, err)
		}
	}
	r.closers = nil
	return errors.Join(errs...)
}

// cellOf writes a value of a database as a list would: a number with all its digits, a day
// without a time as a day.
func cellOf(v driver.Value) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		return string(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	case time.Time:
		if v.Hour() == 0 && v.Minute() == 0 && v.Second() == 0 && v.Nanosecond() == 0 {
			return v.Format(time.DateOnly)
		}
		return v.Format(time.RFC3339)
	default:
		return fmt.Sprint(v)
	}
}
