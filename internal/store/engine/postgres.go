package engine

import (
	"cmp"
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/nudgewire/nudgewire/internal/store/keyindex"
)

// Postgres is one connection to PostgreSQL that changes the data.
//
// What costs there is the way: so writes wait until something is asked or the transaction ends, and what many ask goes as
// one statement (postgres_sets.go). A group of webhooks that nobody has seen before takes two ways: begin, lock and look up all their keys;
// write all their rows and commit.
type Postgres struct {
	connect func(context.Context) (*pgx.Conn, error)
	conn    *pgx.Conn // nil while there is none

	forms []serverForm
	sets  []*setForm // by the numbers of statements; nil for one that never went for many

	began     bool // BEGIN was sent
	xid       uint64
	puts      []puts
	keys      keyCache
	downSince time.Time // of the connection; zero while it is up or was not tried
	down      error
	refused   *atomic.Pointer[Refusal] // the newest, of all writers of the process; nil where nobody asks
}

// puts are executions of one statement that wait.
type puts struct {
	s   *Statement
	all [][]any
}

// A serverForm is a statement as PostgreSQL gets it, the same for all connections.
type serverForm struct {
	one   string // in its words
	table string // that it changes
	plain bool   // it looks at no other rows
}

// formsOfServer are those of all statements, by their numbers.
var formsOfServer = sync.OnceValue(func() []serverForm {
	all := make([]serverForm, len(statements))
	for i, s := range statements {
		f := &all[i]
		f.one = s.OnServer()
		f.table, f.plain = touches(f.one)
	}
	return all
})

// NewPostgres writes by connections that connect opens. refused has the newest refusal; nil where nobody asks.
func NewPostgres(connect func(context.Context) (*pgx.Conn, error), refused *atomic.Pointer[Refusal]) *Postgres {
	return &Postgres{connect: connect, refused: refused, forms: formsOfServer(), sets: make([]*setForm, len(statements))}
}

// Conn is its connection, for who looks at the server as a writer does; nil while there is none.
func (e *Postgres) Conn() *pgx.Conn { return e.conn }

// Waiting is how many statements wait for the next question, those that go as a set counted once.
func (e *Postgres) Waiting() int { return len(e.puts) }

// Close ends the connection.
func (e *Postgres) Close() error {
	if e.conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return e.conn.Close(ctx)
}

// MaxPostgresBatch is how many operations share a transaction at the most. Each locks about four hashes, and a server has room for
// some thousand locks of all that write to it (max_locks_per_transaction times max_connections).
const MaxPostgresBatch = 64

// roundFor bounds one way there and back. The server ends a statement sooner (statement_timeout); this is for one that
// does not answer at all.
const roundFor = 30 * time.Second

// Begin makes sure of a connection; BEGIN goes with what is asked first.
func (e *Postgres) Begin() error {
	e.began, e.xid, e.puts = false, 0, e.puts[:0]
	e.keys.clear()
	if e.conn != nil && !e.conn.IsClosed() {
		return nil
	}
	if e.down != nil && time.Since(e.downSince) < connectAgain {
		return e.down
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectFor)
	defer cancel()
	conn, err := e.connect(ctx)
	if Collided(err) {
		return err // the server serves
	}
	if err != nil {
		e.down, e.downSince = &OutageError{err}, time.Now()
		return e.down
	}
	e.conn, e.down = conn, nil
	return nil
}

const (
	connectFor   = 5 * time.Second
	connectAgain = 500 * time.Millisecond
)

// Commit sends what waits, and COMMIT. Where its answer is lost it finds out what became of it: an *OutageError is that nothing was written.
func (e *Postgres) Commit() error {
	if !e.began && len(e.puts) == 0 {
		return nil // nothing was asked
	}
	if !e.began { // or a commit whose answer is lost would have no number to ask by
		if err := e.ask(func(*pgx.Batch) {}); err != nil {
			return err
		}
	}
	err := e.round(func(b *pgx.Batch) { queue(b, "COMMIT", nil, nil) })
	if e.lost(err) {
		return e.outcome(err)
	}
	return e.trouble(err)
}

// Rollback ends the transaction, or with the connection the server does.
func (e *Postgres) Rollback() {
	if e.conn == nil || e.conn.IsClosed() || !e.began {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectFor)
	defer cancel()
	if _, err := e.conn.Exec(ctx, "ROLLBACK"); err != nil {
		_ = e.conn.Close(ctx) // the server ends the transaction
	}
}

// Committed has nothing to ask: what the server confirmed is on its disk.
func (e *Postgres) Committed() error { return nil }

// lost reports whether an error is that of the connection, not of a statement.
func (e *Postgres) lost(err error) bool {
	return err != nil && e.conn.IsClosed()
}

// trouble makes an *OutageError of what keeps everybody from writing.
func (e *Postgres) trouble(err error) error {
	if err == nil {
		return nil
	}
	if e.refused != nil && refusesWrites(err) {
		e.refused.Store(&Refusal{err, time.Now()})
	}
	if e.conn.IsClosed() || outage(err) {
		return &OutageError{err}
	}
	return err
}

// A Refusal is what a server that answers said to a write.
type Refusal struct {
	Err error
	At  time.Time
}

// refusesWrites reports whether a server answers and will refuse the next write, too: its disk is full, it is set to read only, or
// the role has not the rights.
func refusesWrites(err error) bool {
	e, is := errors.AsType[*pgconn.PgError](err)
	return is && (e.Code == "53100" || e.Code == "25006" || e.Code == "42501")
}

// outage reports whether the server says that it cannot serve anybody at present: it starts or stops, is a standby, or has no
// room.
func outage(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	switch e.Code[:2] {
	case "57", "58", "53", "08", "25": // operator intervention, system error, resources, connection, read-only transaction
		// But not a statement that took too long, one after an error, and no room for locks.
		return e.Code != "57014" && e.Code != "25P02" && e.Code != noRoomForLocks
	}
	return false
}

// resolveFor is how long a commit whose answer was lost is asked after.
const resolveFor = 20 * time.Second

// outcome finds out what became of a commit whose answer did not come.
func (e *Postgres) outcome(cause error) error {
	ctx, cancel := context.WithTimeout(context.Background(), resolveFor)
	defer cancel()
	timeline := e.conn.PgConn().CustomData()[timelineKey]
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		conn, err := e.connect(ctx)
		if err == nil {
			e.conn = conn
			if conn.PgConn().CustomData()[timelineKey] != timeline {
				return &UnknownError{cause} // a standby that took over gives the number to another transaction
			}
			var status *string
			err = conn.QueryRow(ctx, "SELECT pg_xact_status($1::text::xid8)", strconv.FormatUint(e.xid, 10)).Scan(&status)
			switch {
			case err != nil:
				if invalid, ok := errors.AsType[*pgconn.PgError](err); ok && invalid.Code == "22023" {
					return &OutageError{cause} // a number of the future: a standby took over that never had it
				}
			case status == nil:
			case *status == "committed":
				return nil
			case *status == "aborted":
				return &OutageError{cause}
			}
		}
		select {
		case <-ctx.Done():
			return &UnknownError{cause}
		case <-time.After(wait):
		}
	}
}

// Exec asks at once.
func (e *Postgres) Exec(s *Statement, args []driver.NamedValue) (changed int64, err error) {
	err = e.ask(func(b *pgx.Batch) {
		b.Queue(e.forms[s.number].one, values(args)...).Exec(func(tag pgconn.CommandTag) error { changed = tag.RowsAffected(); return nil })
	})
	return changed, err
}

// Query asks at once.
func (e *Postgres) Query(s *Statement, args []driver.NamedValue, each func(*Row) error) error {
	return e.QueryMany(s, [][]driver.NamedValue{args}, func(_ int, r *Row) error { return each(r) })
}

// QueryMany keeps the rows until all answers of the round are read: each may ask something itself.
func (e *Postgres) QueryMany(s *Statement, all [][]driver.NamedValue, each func(i int, r *Row) error) error {
	if len(all) == 0 {
		return nil
	}
	args := make([][]any, len(all))
	for i := range all {
		args[i] = values(all[i])
	}
	type answer struct {
		of  int
		row Row
	}
	var found []answer
	err := e.ask(func(b *pgx.Batch) {
		e.queueMany(b, s, args, func(i int, v []driver.Value) error { found = append(found, answer{i, Row{values: v}}); return nil })
	})
	for i := range found {
		if err == nil {
			err = each(found[i].of, &found[i].row)
		}
		if err == nil {
			err = found[i].row.Err
		}
	}
	return err
}

// Put keeps the statement until something is asked. It joins others of its kind where nothing in between touches their table.
func (e *Postgres) Put(s *Statement, args []driver.NamedValue) error {
	v := values(args)
	if e.forms[s.number].plain {
		for i := len(e.puts) - 1; i >= 0; i-- {
			p := &e.puts[i]
			if p.s == s {
				p.all = append(p.all, v)
				return nil
			}
			if e.forms[p.s.number].table == e.forms[s.number].table || !e.forms[p.s.number].plain {
				break
			}
		}
	}
	e.puts = append(e.puts, puts{s, [][]any{v}})
	return nil
}

// values copies arguments, because the caller uses their room again. PostgreSQL's texts have no zero byte.
func values(args []driver.NamedValue) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch v := a.Value.(type) {
		case string:
			out[i] = PostgresText(v)
		case int:
			out[i] = int64(v)
		case []byte:
			out[i] = slices.Clone(v)
		default:
			out[i] = v
		}
	}
	return out
}

// PostgresText is a text as PostgreSQL keeps it.
func PostgresText(text string) string {
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// ask is round for all but a commit: what keeps everybody from writing is an *OutageError.
func (e *Postgres) ask(add func(*pgx.Batch)) error { return e.trouble(e.round(add)) }

// round sends what waits and what add asks, and reads the answers.
func (e *Postgres) round(add func(*pgx.Batch)) error {
	ctx, cancel := context.WithTimeout(context.Background(), roundFor)
	defer cancel()
	var b pgx.Batch
	if !e.began {
		queue(&b, "BEGIN", nil, nil)
		queue(&b, "SELECT pg_current_xact_id()::text", nil, func(v []driver.Value) (err error) {
			e.xid, err = strconv.ParseUint(v[0].(string), 10, 64)
			return err
		})
	}
	for _, p := range e.puts {
		e.queueMany(&b, p.s, p.all, func(int, []driver.Value) error { return nil })
	}
	e.puts = e.puts[:0]
	add(&b)
	e.began = true
	return e.conn.SendBatch(ctx, &b).Close()
}

// queueMany adds a statement for each of all: as a set where it has one and no row is meant twice.
func (e *Postgres) queueMany(b *pgx.Batch, s *Statement, all [][]any, row func(i int, v []driver.Value) error) {
	if len(all) > 1 {
		if e.sets[s.number] == nil {
			e.sets[s.number] = setOf(e.forms[s.number].one, all[0])
		}
		form := e.sets[s.number]
		if arrays, ok := form.arrays(all); ok {
			queue(b, form.sql, arrays, func(v []driver.Value) error { return row(int(v[0].(int64))-1, v[1:]) })
			return
		}
	}
	for i, args := range all {
		queue(b, e.forms[s.number].one, args, func(v []driver.Value) error { return row(i, v) })
	}
}

// queue adds a statement to what goes there together. Each row of its answer is given to row.
func queue(b *pgx.Batch, sql string, args []any, row func([]driver.Value) error) {
	b.Queue(sql, args...).Fn = func(results pgx.BatchResults) error {
		rows, err := results.Query()
		for err == nil && rows.Next() {
			var v []driver.Value
			if v, err = scanValues(rows); err == nil && row != nil {
				err = row(v)
			}
		}
		rows.Close()
		if err = cmp.Or(err, rows.Err()); err != nil {
			return fmt.Errorf("%s: %w", short(sql), err)
		}
		return nil
	}
}

// lock locks hashes in ascending order, so that two transactions never wait for each other, and then looks up what finds
// lead to: a statement of its own, which sees what was committed before it got the locks. With try it takes those that nobody has.
func (e *Postgres) lock(locks, finds []int64, try bool) error {
	finds = e.keys.unknown(finds)
	if len(locks) == 0 && len(finds) == 0 {
		return nil
	}
	return e.ask(func(b *pgx.Batch) {
		switch {
		case len(locks) == 0:
		case try:
			queue(b, `SELECT h, pg_try_advisory_xact_lock(h)::int FROM unnest($1::bigint[]) AS h`, []any{locks}, func(v []driver.Value) error {
				if v[1].(int64) == 1 {
					e.keys.locked[v[0].(int64)] = true
				}
				return nil
			})
		default:
			queue(b, `SELECT count(pg_advisory_xact_lock(h)) FROM unnest($1::bigint[]) AS h`, []any{locks}, nil)
		}
		if len(finds) > 0 {
			queue(b, `SELECT hash, part, id FROM keys WHERE hash = ANY ($1::bigint[])`, []any{finds}, func(v []driver.Value) error {
				e.keys.add(keyindex.Key{Part: v[1].(int64), Hash: v[0].(int64), ID: v[2].(int64)})
				return nil
			})
		}
	})
}

// short is the beginning of a statement, for an error.
func short(sql string) string {
	words := strings.Join(strings.Fields(sql), " ")
	return strings.ToValidUTF8(words[:min(len(words), 60)], "")
}

// scanValues reads a row as the drivers of SQLite give it.
func scanValues(rows pgx.Rows) ([]driver.Value, error) {
	raw := rows.RawValues()
	out := make([]driver.Value, len(raw))
	for i, f := range rows.FieldDescriptions() {
		b := raw[i]
		switch {
		case b == nil:
		case f.DataTypeOID == pgtype.Int8OID && f.Format == pgx.BinaryFormatCode:
			out[i] = int64(binary.BigEndian.Uint64(b))
		case f.DataTypeOID == pgtype.Int4OID && f.Format == pgx.BinaryFormatCode:
			out[i] = int64(int32(binary.BigEndian.Uint32(b)))
		case f.DataTypeOID == pgtype.ByteaOID && f.Format == pgx.BinaryFormatCode:
			out[i] = slices.Clone(b)
		case f.DataTypeOID == pgtype.TextOID, f.DataTypeOID == pgtype.VarcharOID, f.DataTypeOID == pgtype.UnknownOID:
			out[i] = string(b)
		default:
			return nil, fmt.Errorf("column %s has a type that is not known here (%d)", f.Name, f.DataTypeOID)
		}
	}
	return out, nil
}
