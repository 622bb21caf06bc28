package lists

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/nudgewire/nudgewire/internal/pgaddress"
)

func openPostgres(o Origin, _ string) (Source, error) {
	s := newSQL(o)
	config, err := pgaddress.Parse(o.Postgres.Reveal())
	if no, ok := errors.AsType[*pgaddress.FileError](err); ok {
		return nil, &wordError{"names a file that cannot be used: " + no.Error(), "name a regular file that this user may read"}
	}
	if err != nil {
		return nil, &wordError{"is not the address of a PostgreSQL database", "write postgres://user:password@host:5432/name"} // the text may hold a password
	}
	if config.RuntimeParams == nil {
		config.RuntimeParams = map[string]string{}
	}
	// A second behind the limit on this side, which knows the words for it. The server's own
	// is for the session that this process could not end.
	limit := s.timeout + time.Second
	for name, value := range map[string]string{
		"default_transaction_read_only": "on",
		"application_name":              "nudgewire",
		"statement_timeout":             strconv.FormatInt(min(limit.Milliseconds(), math.MaxInt32), 10),
		"client_encoding":               "UTF8", // a role or database may prefer another
		"DateStyle":                     "ISO",
	} {
		for given := range config.RuntimeParams { // names know no case, and the server takes either of two
			if strings.EqualFold(given, name) {
				delete(config.RuntimeParams, given)
			}
		}
		config.RuntimeParams[name] = value
	}
	config.MaxProtocolMessageBodyLen = longestLine // of a row
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 30 * time.Second
	}
	// Given up, the query ends at the server, too, rather than when it next has a row to send.
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: 5 * time.Second}
	}
	s.kind = "postgres " + config.Database + " on " + config.Host
	s.connect = func() (*sql.DB, error) { return stdlib.OpenDB(*config), nil }
	s.prepare = func(ctx context.Context, c *sql.Conn, _ time.Duration) error {
		_, err := c.ExecContext(ctx, "BEGIN TRANSACTION READ ONLY")
		return err
	}
	s.ask = askPostgres
	s.words = func(err error) error { return postgresWords(err, "") }
	return s, nil
}

// askPostgres begins the query past package stdlib, which would have the values in the types of
// Go: a time without a zone would be given one, a moment would lose its fraction of a second
// and the zone of the session, midnight its time, and a float4 would gain digits. The extended protocol, whatever the address asks for,
// refuses a second statement, which could end the transaction that only reads.
func askPostgres(ctx context.Context, raw any, query string) (driver.Rows, error) {
	c, ok := raw.(*stdlib.Conn)
	if !ok {
		return nil, fmt.Errorf("the driver is a %T, which cannot run a query", raw)
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &postgresRows{query: query, cancel: cancel, read: c.Conn().PgConn().ExecParams(ctx, query, nil, nil, nil, nil)}
	for _, f := range r.read.FieldDescriptions() {
		r.names, r.types = append(r.names, f.Name), append(r.types, f.DataTypeOID)
	}
	// The first row now: a query that fails before it fails in Open, where nothing has begun.
	if r.ahead = r.read.NextRow(); !r.ahead {
		if err := r.end(); !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	return r, nil
}

// postgresRows are the rows as the server writes them in text.
type postgresRows struct {
	query  string
	cancel context.CancelFunc
	read   *pgconn.ResultReader
	names  []string
	types  []uint32
	ahead  bool // a row is read and not given out
	ended  error
}

// Columns are the names that the query gives its columns.
func (r *postgresRows) Columns() []string { return r.names }

// Next gives out one row.
func (r *postgresRows) Next(row []driver.Value) error {
	if !r.ahead && (r.ended != nil || !r.read.NextRow()) {
		return r.end()
	}
	r.ahead = false
	for i, v := range r.read.Values() {
		row[i] = nil
		if v != nil {
			row[i] = postgresCell(r.types[i], v)
		}
	}
	return nil
}

// end is how the result ended: io.EOF behind its last row.
func (r *postgresRows) end() error {
	if r.ended == nil {
		_, err := r.read.Close()
		r.cancel()
		if r.ended = io.EOF; err != nil {
			r.ended = postgresWords(err, r.query)
		}
	}
	return r.ended
}

// Close ends the query. Without the word to the server, closing would read all its rows.
func (r *postgresRows) Close() error {
	r.cancel()
	_ = r.end() // Next has said what there was to say, and who closes before the end asks for no more
	return nil
}

// postgresCell writes a value as the other sources do: true for t, a number without an
// exponent, and RFC 3339 for a moment, in the time zone of the session. All else, days, times
// without a zone, amounts, JSON and arrays, is as the server writes it.
func postgresCell(oid uint32, v []byte) string {
	switch oid {
	case pgtype.BoolOID:
		return strconv.FormatBool(bytes.Equal(v, []byte("t")))
	case pgtype.Float4OID, pgtype.Float8OID:
		bits := 64
		if oid == pgtype.Float4OID {
			bits = 32
		}
		if f, err := strconv.ParseFloat(string(v), bits); err == nil && !math.IsInf(f, 0) {
			return strconv.FormatFloat(f, 'f', -1, bits)
		}
	case pgtype.TimestamptzOID:
		const wide = len("2006-01-02 15:04:05+00")
		if len(v) < wide || v[10] != ' ' || v[len(v)-1] == 'C' {
			break // infinity, a year of five digits, or BC
		}
		at := string(v[:10]) + "T" + string(v[11:])
		if sign := at[len(at)-3]; sign == '+' || sign == '-' {
			at += ":00"
		}
		return at
	}
	return string(v)
}

// postgresWords says what a server or the way to it reports, in one line. The whole error
// stays within reach.
func postgresWords(err error, query string) error {
	if bad, ok := errors.AsType[*pgconn.PgError](err); ok {
		text := bad.Message
		if at := placeIn(query, int(bad.Position)); at != "" {
			text += " at " + at + " of the query"
		}
		if strings.HasPrefix(bad.Code, "28") {
			text += "; see to the user and the password in source.postgres"
		} else if bad.Hint != "" {
			text += "; " + bad.Hint
		}
		return &databaseError{text, err}
	}
	if failed, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		text := failed.Unwrap().Error()
		if way, ok := errors.AsType[*net.OpError](err); ok {
			text = way.Error()
		}
		lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\t' })
		return &databaseError{"no connection: " + strings.Join(lines, "; "), err}
	}
	return err
}

// placeIn is where the character with a number, from 1 on, stands in a text.
func placeIn(text string, n int) string {
	runes := []rune(text)
	if n < 1 || n > len(runes)+1 {
		return ""
	}
	before := string(runes[:n-1])
	column := len([]rune(before[strings.LastIndex(before, "\n")+1:])) + 1
	return fmt.Sprintf("line %d, character %d", strings.Count(before, "\n")+1, column)
}

// A databaseError is an error of a driver in other words.
type databaseError struct {
	text string
	err  error
}

func (e *databaseError) Error() string { return e.text }

// Unwrap is the driver's own.
func (e *databaseError) Unwrap() error { return e.err }
