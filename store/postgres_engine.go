package store

import (
	"cmp"
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
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
// What costs there is the way: so writes wait until something is asked or the transaction ends, and operations that may
// run at the same time ask at the same time. A group of webhooks that nobody has seen before takes two ways: begin, lock
// and look up all their keys; write all their rows and commit.
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
	s   *statement
	all [][]any
}

// An ask is what an operation waits for. Locks are hashes that are locked and looked up before anything else is asked; with try only
// those that nobody has.
type ask struct {
	s       *statement
	args    []any
	query   bool
	locks   []int64
	finds   []int64
	try     bool
	changed int64
	rows    [][]driver.Value
}

// first is the number that is asked about; 0 where it is about something else.
func (a *ask) first() int64 {
	if len(a.args) == 0 {
		return 0
	}
	n, _ := a.args[0].(int64)
	return n
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
		if err := e.round(nil, ""); err != nil {
			return e.trouble(err)
		}
	}
	err := e.round(nil, "COMMIT")
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

func (e *postgresEngine) exec(s *statement, args []driver.NamedValue) (int64, error) {
	a := ask{s: s, args: values(args)}
	err := e.trouble(e.round([]*ask{&a}, ""))
	return a.changed, err
}

func (e *postgresEngine) query(s *statement, args []driver.NamedValue, each func(*row) error) error {
	a := ask{s: s, args: values(args), query: true}
	if err := e.trouble(e.round([]*ask{&a}, "")); err != nil {
		return err
	}
	return a.each(each)
}

func (a *ask) each(each func(*row) error) error {
	for _, v := range a.rows {
		r := row{values: v}
		if err := each(&r); err != nil {
			return err
		}
		if r.err != nil {
			return r.err
		}
	}
	return nil
}

// put keeps the statement until something is asked. It joins others of its kind where nothing in between touches their table.
func (e *postgresEngine) put(s *statement, args []driver.NamedValue) error {
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
			out[i] = clean(v)
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

// clean is a text as PostgreSQL keeps it.
func clean(text string) string {
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// run runs the operations in their order, but those together that may run at the same time.
func (e *postgresEngine) run(t *tx, ops []*waiting) error {
	for len(ops) > 0 {
		n := 1
		if kind := ops[0].company.kind; kind != noCompany {
			keys := map[int64]bool{ops[0].company.key: true}
			for n < len(ops) && ops[n].company.kind == kind && (ops[n].company.key == 0 || !keys[ops[n].company.key]) {
				keys[ops[n].company.key] = true
				n++
			}
		}
		some := ops[:n]
		// In one order everywhere, or two transactions could wait for each other's rows.
		slices.SortStableFunc(some, func(a, b *waiting) int { return cmp.Compare(a.company.key, b.company.key) })
		if err := e.beside(t, n, func(t *tx, i int) error { return some[i].runIn(t) }); err != nil {
			return err
		}
		ops = ops[n:]
	}
	return nil
}

// A fiber is one of several things that run at the same time: a coroutine, which stops where it asks.
type fiber struct {
	engine *postgresEngine
	yield  func(*ask) bool
	next   func() (*ask, bool)
	stop   func()
	err    error
	parked *ask // its locks are another's
	held   []int64
}

var errStopped = errors.New("another operation of the batch failed")

func (f *fiber) ask(a *ask) error {
	if !f.yield(a) {
		return errStopped
	}
	return nil
}

func (f *fiber) exec(s *statement, args []driver.NamedValue) (int64, error) {
	a := ask{s: s, args: values(args)}
	err := f.ask(&a)
	return a.changed, err
}

func (f *fiber) put(s *statement, args []driver.NamedValue) error { return f.engine.put(s, args) }

func (f *fiber) query(s *statement, args []driver.NamedValue, each func(*row) error) error {
	a := ask{s: s, args: values(args), query: true}
	if err := f.ask(&a); err != nil {
		return err
	}
	return a.each(each)
}

// beside runs n things at the same time. What has locked a key is ended before another goes on that needs it.
func (e *postgresEngine) beside(t *tx, n int, each func(t *tx, i int) error) error {
	if n == 1 {
		return each(t, 0)
	}
	fibers := make([]*fiber, n)
	for i := range fibers {
		f := &fiber{engine: e}
		f.next, f.stop = iter.Pull(func(yield func(*ask) bool) {
			f.yield = yield
			f.err = each(&tx{t.writer, &scratch{}, f}, i)
		})
		fibers[i] = f
	}
	defer func() {
		for _, f := range fibers {
			f.stop()
		}
	}()
	owners := map[int64]*fiber{}
	for live := fibers; len(live) > 0; {
		var asks []*ask
		var locks, finds []int64
		left := live[:0:0]
		for _, f := range live {
			a := f.parked
			if a == nil {
				var more bool
				if a, more = f.next(); !more {
					if f.err != nil {
						return f.err
					}
					for _, hash := range f.held {
						delete(owners, hash)
					}
					continue
				}
			}
			left = append(left, f)
			f.parked = nil
			if a.locks == nil {
				asks = append(asks, a)
				continue
			}
			locks, finds = append(locks, a.locks...), append(finds, a.finds...)
			for _, hash := range a.locks {
				if o := owners[lockOf(hash)]; o != nil && o != f {
					f.parked = a
				}
			}
			if f.parked == nil {
				for _, hash := range a.locks {
					if id := lockOf(hash); owners[id] == nil {
						owners[id] = f
						f.held = append(f.held, id)
					}
				}
			}
		}
		live = left
		if locks = e.keys.fresh(locks); len(locks) > 0 || e.keys.asks(finds) {
			asks = append(asks, &ask{locks: locks, finds: finds})
		}
		if len(asks) == 0 {
			continue
		}
		if err := e.trouble(e.round(asks, "")); err != nil {
			return err
		}
	}
	return nil
}

// round sends what waits and what is asked, and reads the answers. last, if any, is a statement after all others.
func (e *postgresEngine) round(asks []*ask, last string) error {
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
	groups := map[*statement][]*ask{}
	var order []*statement
	for _, a := range asks {
		if a.locks != nil || a.finds != nil {
			e.addLocks(&b, a)
			continue
		}
		if groups[a.s] == nil {
			order = append(order, a.s)
		}
		groups[a.s] = append(groups[a.s], a)
	}
	for _, s := range order {
		if err := e.addAsks(ctx, &b, s, groups[s]); err != nil {
			return err
		}
	}
	if last != "" {
		b.add(last, nil, nil)
	}
	e.began = true
	return b.send(ctx)
}

// form is the statement for many; nil where there is none.
func (e *postgresEngine) form(ctx context.Context, s *statement) (*setForm, error) {
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

func (e *postgresEngine) addAsks(ctx context.Context, b *batchOf, s *statement, asks []*ask) error {
	if len(asks) > 1 {
		form, err := e.form(ctx, s)
		if err != nil {
			return err
		}
		slices.SortStableFunc(asks, func(a, b *ask) int { return cmp.Compare(a.first(), b.first()) }) // rows are locked in this order
		all := make([][]any, len(asks))
		for i, a := range asks {
			all[i] = a.args
		}
		var arrays []any
		set := false
		if form != nil && form.counts && len(form.rounds(all)) == 1 {
			arrays, set = form.arrays(all)
		}
		if set {
			b.add(form.sql, arrays, func(rows pgx.Rows) error {
				for rows.Next() {
					v, err := scanValues(rows)
					if err != nil {
						return err
					}
					a := asks[v[0].(int64)-1]
					if a.query {
						a.rows = append(a.rows, v[1:])
					} else {
						a.changed++
					}
				}
				return nil
			})
			return nil
		}
	}
	for _, a := range asks {
		b.add(e.forms[s.number].one, a.args, func(rows pgx.Rows) error {
			for rows.Next() {
				v, err := scanValues(rows)
				if err != nil {
					return err
				}
				a.rows = append(a.rows, v)
			}
			rows.Close()
			a.changed = rows.CommandTag().RowsAffected()
			return nil
		})
	}
	return nil
}

// addLocks locks hashes in ascending order, so that two transactions never wait for each other, and then looks up what they
// lead to: a statement of its own, which sees what was committed before it got the locks.
func (e *postgresEngine) addLocks(b *batchOf, a *ask) {
	switch {
	case len(a.locks) == 0:
	case a.try:
		b.add(`SELECT h, pg_try_advisory_xact_lock(h)::int FROM unnest($1::bigint[]) AS h`, []any{a.locks}, func(rows pgx.Rows) error {
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
		b.add(`SELECT count(pg_advisory_xact_lock(h)) FROM unnest($1::bigint[]) AS h`, []any{a.locks}, nil)
	}
	finds := e.keys.unknown(a.finds)
	if len(finds) == 0 {
		return
	}
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
