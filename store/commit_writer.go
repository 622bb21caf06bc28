package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nudgewire/nudgewire"
)

// A writer is the one connection that changes the data, with its statements prepared once.
//
// It talks to the driver and not through database/sql, whose locks, conversions and
// bookkeeping cost as much as SQLite's own work on statements this small. It belongs to the
// flusher alone and needs no lock.
type writer struct {
	conn  driver.Conn
	stmts [stmtCount]prepared
	args  []driver.NamedValue
	dest  []driver.Value

	peers coordinator
	// payloads and decisions of the open batch.
	payloads, decisions bundle
	said                []byte
	claimed             []int64 // by the statement that runs
	found, locked       []int64 // by tx.find and tx.lockPlans

	checkpoints *checkpointer
	guard       guard
	gone        bool         // the last batch met a guard that said no
	changes     int          // since the last checkpoint
	lastBlock   atomic.Int64 // when a contact was blocked last by this process, microseconds
	off         *recentOff
	marks       *phoneMarks
	rejected    rejected
	triggers    map[string]bool // that are in the table of their names; see dispatch_due.go
	calls       *calls
	restored    *atomic.Pointer[Restoration]
	onDoubt     func(*nudgewire.Dispatch) nudgewire.OnDoubt // see Options
	now         func() time.Time
	hooks       hooks
	tells       func(about, word string) []string // see Options; nil where nobody ever wants to know
	dues, polls waits                             // of the open batch
	outs        waits                             // of the open batch, by receiver
}

type prepared struct {
	driver.Stmt
	exec    driver.StmtExecContext
	query   driver.StmtQueryContext
	columns int
}

// hooks are called by the flusher after a commit, before its callers are answered.
type hooks struct {
	due, poll func(account string, at time.Time)
	lookup    func(time.Time)
	out       func(receiver string, at time.Time)
}

// openWriter prepares every statement on a new connection.
func openWriter(c driver.Connector, d dialect) (*writer, error) {
	conn, err := c.Connect(context.Background())
	if err != nil {
		return nil, err
	}
	w := &writer{
		triggers: map[string]bool{},
		conn:     conn, payloads: bundle{insert: stInsertPayloads}, decisions: bundle{insert: stInsertDecisions},
		args: make([]driver.NamedValue, 0, 64), dest: make([]driver.Value, 64),
	}
	for _, table := range statements {
		for i, s := range table {
			stmt, err := conn.Prepare(d.sql(s.sql))
			if err != nil {
				return nil, errors.Join(fmt.Errorf("prepare %q: %w", s.sql, err), w.close())
			}
			exec, canExec := stmt.(driver.StmtExecContext)
			query, canQuery := stmt.(driver.StmtQueryContext)
			w.stmts[i] = prepared{stmt, exec, query, s.columns}
			if !canExec || !canQuery {
				return nil, errors.Join(fmt.Errorf("driver statement %T takes no context", stmt), w.close())
			}
		}
	}
	return w, nil
}

func (w *writer) close() error {
	var errs []error
	for _, p := range w.stmts {
		if p.Stmt != nil {
			errs = append(errs, p.Close())
		}
	}
	return errors.Join(append(errs, w.conn.Close())...)
}

// A tx is one batch's transaction as its ops see it.
type tx struct {
	*writer
	at     int64 // one moment for the whole batch, microseconds
	counts [counterCount]int64
	lookup int64 // earliest time of a look-up left waiting; 0 for none
	seen   []lastSeen
	off    []calledOff
	noted  []noted

	named        map[string]int64 // see countNamed
	trimRejected bool             // see dispatch_rejected.go
	heard        map[string]heard // see error_texts.go
}

// runBatch implements runner.
func (w *writer) runBatch(ops []*waiting) (err error) {
	if w.gone { // until then nothing is written, or a claim would be made and given to nobody
		if err := w.guard.check(); err != nil {
			return err
		}
		w.gone = false
	}
	t := tx{writer: w, at: micro(w.now())}
	w.dues, w.polls, w.outs = w.dues[:0], w.polls[:0], w.outs[:0]
	w.payloads.clear()
	w.decisions.clear()
	if err := w.peers.begin(&t); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	for _, o := range ops {
		if err = contain(o.run, &t); err != nil {
			break
		}
	}
	for _, write := range [...]func(*tx) error{(*tx).writeNoted, (*tx).writeBundles, (*tx).writeCounts, (*tx).writeLastSeen, (*tx).trimRejections, (*tx).writeErrorTexts} {
		if err == nil { // never after an error: SQLite may have ended the transaction by itself
			err = write(&t)
		}
	}
	if err = w.peers.settle(&t, err); err != nil {
		clear(w.triggers)
		return err
	}
	w.off.add(t.off)
	w.checkpoint()
	w.dues.tell(w.hooks.due)
	w.polls.tell(w.hooks.poll)
	w.outs.tell(w.hooks.out)
	if t.lookup != 0 && w.hooks.lookup != nil {
		w.hooks.lookup(moment(t.lookup))
	}
	// Last: what is answered was on disk, under its name, when it was answered.
	err = w.guard.check()
	w.gone = err != nil
	return err
}

// leavesDue notes that a dispatch of an account now waits for at.
func (t *tx) leavesDue(account string, at int64) {
	t.dues.note(account, at, t.at)
	t.peers.lowWater().lower(account, at)
}

// leavesPoll notes that a message of an account now waits to be asked about.
func (t *tx) leavesPoll(account string, at int64) {
	if at != 0 {
		t.polls.note(account, at, t.at)
	}
}

// waits are the earliest times that something waits for, by account.
type waits []wait

// A wait has two times, because whoever hears that something is due already does not look for what comes
// after it: a sequence whose first step is due at once has its second one in the same commit.
type wait struct {
	account   string
	at, ahead int64 // the earliest, and the earliest that is to come; 0 for none of these
}

func (w *waits) note(account string, at, now int64) {
	ahead := int64(0)
	if at > now {
		ahead = at
	}
	for i := range *w {
		if one := &(*w)[i]; one.account == account {
			one.at = min(one.at, at)
			if ahead != 0 && (one.ahead == 0 || ahead < one.ahead) {
				one.ahead = ahead
			}
			return
		}
	}
	*w = append(*w, wait{account, at, ahead})
}

func (w waits) tell(hook func(account string, at time.Time)) {
	if hook == nil {
		return
	}
	for _, one := range w {
		hook(one.account, moment(one.at))
		if one.ahead > one.at {
			hook(one.account, moment(one.ahead))
		}
	}
}

// bind puts args into the one argument list. Values are int64, string or []byte: the types
// that every driver takes as they are.
func (w *writer) bind(args []any) []driver.NamedValue {
	w.args = w.args[:0]
	for i, a := range args {
		w.args = append(w.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return w.args
}

// exec runs a statement that returns no rows and says how many it changed. The context is
// never a caller's: an interrupt would roll back the whole batch.
func (w *writer) exec(s stmt, args ...any) (changed int64, err error) {
	w.changes++
	res, err := w.stmts[s].exec.ExecContext(context.Background(), w.bind(args))
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// rowsAtOnce is how many rows a statement of execAll changes: it saves a third of what a row costs.
const rowsAtOnce = 16

// execAll runs a statement that ends in a list of rowsAtOnce ids, as often as it takes.
func (w *writer) execAll(s stmt, ids []int64, args ...any) error {
	own := len(args)
	for some := range slices.Chunk(ids, rowsAtOnce) {
		args = args[:own]
		for _, id := range some {
			args = append(args, id)
		}
		for len(args) < own+rowsAtOnce {
			args = append(args, some[0]) // a set: once more changes nothing
		}
		if _, err := w.exec(s, args...); err != nil {
			return err
		}
	}
	return nil
}

// query runs a statement and calls each on every row. The row is good until each returns; a
// statement must not be run again inside its own query.
func (w *writer) query(s stmt, each func(*row) error, args ...any) (err error) {
	rows, err := w.stmts[s].query.QueryContext(context.Background(), w.bind(args))
	if err != nil {
		return err
	}
	defer func() {
		if e := rows.Close(); err == nil {
			err = e
		}
	}()
	r := row{values: w.dest[:w.stmts[s].columns]}
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
		if r.err != nil {
			return r.err
		}
	}
}
