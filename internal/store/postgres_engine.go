package store

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
)

// A postgresEngine is one connection to PostgreSQL that changes the data.
//
// What costs there is the way: so writes wait until something is asked or the transaction ends, and what is asked about many rows goes as
// one statement. A group of webhooks that nobody has seen before takes two ways: begin, lock and look up all their keys; write all their
// rows and commit.
type postgresEngine struct {
	connect func(context.Context) (*pgx.Conn, error)
	conn    *pgx.Conn // nil while there is none

	forms []serverForm
	sets  []*setForm // by the numbers of statements
	tried []bool     // whether it has one

	began     bool // BEGIN was sent
	xid       uint64
	first     []firstAsk // what goes along with BEGIN
	puts      []puts
	keys      keyCache
	downSince time.Time // of the connection; zero while it is up or was not tried
	down      error
	refused   *atomic.Pointer[refusal] // the newest, of all writers of the process; nil where nobody asks
}

// A firstAsk is a question that nobody waits for.
type firstAsk struct {
	sql  string
	read func(pgx.Rows) error
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
	list  listForm
}

// formsOfServer are those of all statements, by their numbers.
var formsOfServer = sync.OnceValue(func() []serverForm {
	all := make([]serverForm, len(statements))
	for i, s := range statements {
		f := &all[i]
		f.one = postgresDialect.sql(cmp.Or(s.postgres, s.sql))
		f.table, f.plain = touches(f.one)
		f.list = asList(f.one)
	}
	return all
})

func newPostgresEngine(connect func(context.Context) (*pgx.Conn, error)) *postgresEngine {
	return &postgresEngine{connect: connect, forms: formsOfServer(), sets: make([]*setForm, len(statements)), tried: make([]bool, len(statements))}
}

func (e *postgresEngine) close() error {
	if e.conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return e.conn.Close(ctx)
}

// maxPostgresBatch is how many operations share a transaction at the most. Each locks about four hashes, and a server has room for
// some thousand locks of all that write to it (max_locks_per_transaction times max_connections).
const maxPostgresBatch = 64

// roundFor bounds one way there and back. The server ends a statement sooner (statement_timeout); this is for one that
// does not answer at all.
const roundFor = 30 * time.Second

// begin makes sure of a connection; BEGIN goes with what is asked first.
func (e *postgresEngine) begin() error {
	e.began, e.xid, e.puts, e.first = false, 0, e.puts[:0], e.first[:0]
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
	if collided(err) {
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

func (e *postgresEngine) commit() error {
	if !e.began && len(e.puts) == 0 {
		return nil // nothing was asked
	}
	if !e.began { // or a commit whose answer is lost would have no number to ask by
		if err := e.round(nothingAsked); err != nil {
			return e.trouble(err)
		}
	}
	err := e.round(func(_ context.Context, b *batchOf) error { b.add("COMMIT", nil, nil); return nil })
	if e.lost(err) {
		return e.outcome(err)
	}
	return e.trouble(err)
}

func (e *postgresEngine) rollback() {
	if e.conn == nil || e.conn.IsClosed() || !e.began {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectFor)
	defer cancel()
	if _, err := e.conn.Exec(ctx, "ROLLBACK"); err != nil {
		_ = e.conn.Close(ctx) // the server ends the transaction
	}
}

func (e *postgresEngine) committed() error { return nil }

// lost reports whether an error is that of the connection, not of a statement.
func (e *postgresEngine) lost(err error) bool {
	return err != nil && e.conn.IsClosed()
}

// trouble makes an *OutageError of what keeps everybody from writing.
func (e *postgresEngine) trouble(err error) error {
	if err == nil {
		return nil
	}
	if e.refused != nil && refusesWrites(err) {
		e.refused.Store(&refusal{err, time.Now()})
	}
	if e.conn.IsClosed() || outage(err) {
		return &OutageError{err}
	}
	return err
}

// A refusal is what a server that answers said to a write.
type refusal struct {
	err error
	at  time.Time
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
func (e *postgresEngine) outcome(cause error) error {
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

func (e *postgresEngine) exec(s *Statement, args []driver.NamedValue) (changed int64, err error) {
	err = e.trouble(e.round(func(ctx context.Context, b *batchOf) error {
		b.add(e.forms[s.number].one, values(args), func(rows pgx.Rows) error {
			rows.Close()
			changed = rows.CommandTag().RowsAffected()
			return nil
		})
		return nil
	}))
	return changed, err
}

func (e *postgresEngine) query(s *Statement, args []driver.NamedValue, each func(*Row) error) error {
	var found [][]driver.Value
	err := e.trouble(e.round(func(_ context.Context, b *batchOf) error {
		b.add(e.forms[s.number].one, values(args), collect(&found))
		return nil
	}))
	if err != nil {
		return err
	}
	return readRows(found, each)
}

// collect keeps rows until all answers of a round are read.
func collect(found *[][]driver.Value) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		for rows.Next() {
			v, err := scanValues(rows)
			if err != nil {
				return err
			}
			*found = append(*found, v)
		}
		return nil
	}
}

func readRows(found [][]driver.Value, each func(*Row) error) error {
	for _, v := range found {
		r := Row{values: v}
		if err := each(&r); err != nil {
			return err
		}
		if r.Err != nil {
			return r.Err
		}
	}
	return nil
}

// queryMany sends the statement once, as a set, where it has one and no row is meant twice.
func (e *postgresEngine) queryMany(s *Statement, all [][]driver.NamedValue, each func(i int, r *Row) error) error {
	if len(all) == 0 {
		return nil
	}
	args := make([][]any, len(all))
	for i := range all {
		args[i] = values(all[i])
	}
	found := make([][][]driver.Value, len(all)) // by their place
	err := e.trouble(e.round(func(ctx context.Context, b *batchOf) error {
		form, err := e.form(ctx, s)
		if err != nil {
			return err
		}
		if len(all) > 1 && form != nil && form.counts && len(form.rounds(args)) == 1 {
			if arrays, ok := form.arrays(args); ok {
				b.add(form.sql, arrays, func(rows pgx.Rows) error {
					for rows.Next() {
						v, err := scanValues(rows)
						if err != nil {
							return err
						}
						i := v[0].(int64) - 1
						found[i] = append(found[i], v[1:])
					}
					return nil
				})
				return nil
			}
		}
		for i := range args {
			b.add(e.forms[s.number].one, args[i], collect(&found[i]))
		}
		return nil
	}))
	for i := range found {
		if err == nil {
			err = readRows(found[i], func(r *Row) error { return each(i, r) })
		}
	}
	return err
}

// put keeps the statement until something is asked. It joins others of its kind where nothing in between touches their table.
func (e *postgresEngine) put(s *Statement, args []driver.NamedValue) error {
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

// round sends what waits and what add asks, and reads the answers.
func (e *postgresEngine) round(add func(context.Context, *batchOf) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), roundFor)
	defer cancel()
	b := batchOf{conn: e.conn}
	if !e.began {
		b.add("BEGIN", nil, nil)
		b.add("SELECT pg_current_xact_id()::text", nil, func(rows pgx.Rows) error {
			for rows.Next() {
				var text string
				if err := rows.Scan(&text); err != nil {
					return err
				}
				if _, err := fmt.Sscan(text, &e.xid); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for _, f := range e.first {
		b.add(f.sql, nil, f.read)
	}
	e.first = e.first[:0]
	for i := range e.puts {
		if err := e.addPuts(ctx, &b, &e.puts[i]); err != nil {
			return err
		}
	}
	e.puts = e.puts[:0]
	if err := add(ctx, &b); err != nil {
		return err
	}
	e.began = true
	return b.send(ctx)
}

// nothingAsked is for a round that only sends what waits.
func nothingAsked(context.Context, *batchOf) error { return nil }

// form is the statement for many; nil where there is none.
func (e *postgresEngine) form(ctx context.Context, s *Statement) (*setForm, error) {
	if e.tried[s.number] {
		return e.sets[s.number], nil
	}
	about, err := e.conn.Prepare(ctx, e.forms[s.number].one, e.forms[s.number].one)
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", e.forms[s.number].one, err)
	}
	if form, ok := setOf(e.forms[s.number].one, about.ParamOIDs); ok {
		e.sets[s.number] = &form
	}
	e.tried[s.number] = true
	return e.sets[s.number], nil
}

func (e *postgresEngine) addPuts(ctx context.Context, b *batchOf, p *puts) error {
	if list := e.forms[p.s.number].list; list.sql != "" {
		for _, args := range list.joined(p.all) {
			b.add(list.sql, args, nil)
		}
		return nil
	}
	if len(p.all) > 1 {
		form, err := e.form(ctx, p.s)
		if err != nil {
			return err
		}
		if form != nil {
			for _, some := range form.rounds(p.all) {
				if arrays, ok := form.arrays(some); ok {
					b.add(form.sql, arrays, nil)
					continue
				}
				for _, args := range some {
					b.add(e.forms[p.s.number].one, args, nil)
				}
			}
			return nil
		}
	}
	for _, args := range p.all {
		b.add(e.forms[p.s.number].one, args, nil)
	}
	return nil
}

// lock locks hashes in ascending order, so that two transactions never wait for each other, and then looks up what finds
// lead to: a statement of its own, which sees what was committed before it got the locks. With try it takes those that nobody has.
func (e *postgresEngine) lock(locks, finds []int64, try bool) error {
	finds = e.keys.unknown(finds)
	if len(locks) == 0 && len(finds) == 0 {
		return nil
	}
	return e.trouble(e.round(func(_ context.Context, b *batchOf) error {
		switch {
		case len(locks) == 0:
		case try:
			b.add(`SELECT h, pg_try_advisory_xact_lock(h)::int FROM unnest($1::bigint[]) AS h`, []any{locks}, func(rows pgx.Rows) error {
				for rows.Next() {
					v, err := scanValues(rows)
					if err != nil {
						return err
					}
					if v[1].(int64) == 1 {
						e.keys.locked[v[0].(int64)] = true
					}
				}
				return nil
			})
		default:
			b.add(`SELECT count(pg_advisory_xact_lock(h)) FROM unnest($1::bigint[]) AS h`, []any{locks}, nil)
		}
		if len(finds) > 0 {
			b.add(`SELECT hash, part, id FROM keys WHERE hash = ANY ($1::bigint[])`, []any{finds}, func(rows pgx.Rows) error {
				for rows.Next() {
					v, err := scanValues(rows)
					if err != nil {
						return err
					}
					e.keys.add(key{Part: v[1].(int64), Hash: v[0].(int64), ID: v[2].(int64)})
				}
				return nil
			})
		}
		return nil
	}))
}

// A batchOf is statements that go there together.
type batchOf struct {
	conn  *pgx.Conn
	batch pgx.Batch
	reads []func(pgx.Rows) error
}

func (b *batchOf) add(sql string, args []any, read func(pgx.Rows) error) {
	b.batch.Queue(sql, args...)
	b.reads = append(b.reads, read)
}

func (b *batchOf) send(ctx context.Context) (err error) {
	results := b.conn.SendBatch(ctx, &b.batch)
	defer func() {
		if e := results.Close(); err == nil {
			err = e
		}
	}()
	for i, read := range b.reads {
		if read == nil {
			if _, err := results.Exec(); err != nil {
				return fmt.Errorf("%s: %w", short(b.batch.QueuedQueries[i].SQL), err)
			}
			continue
		}
		rows, err := results.Query()
		if err == nil {
			err = read(rows)
			rows.Close()
			if err == nil {
				err = rows.Err()
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", short(b.batch.QueuedQueries[i].SQL), err)
		}
	}
	return nil
}

// short is the beginning of a statement, for an error.
func short(sql string) string { return cut(strings.Join(strings.Fields(sql), " "), 60) }

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
