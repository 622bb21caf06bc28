package store

import (
	"cmp"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/nodes"
)

// A writer runs one transaction after the other, on one connection. It belongs to one flusher alone and needs no lock.
type writer struct {
	*shared
	engine engine.Connection
	peers  coordinator

	batch             // the open one
	foreseen foreseen // by acceptAll
	scratch
	triggers map[string]bool // that are in the table of their names; see message_due.go
}

// shared is what the writers of one store have in common.
type shared struct {
	lastBlock   atomic.Int64 // when a contact was blocked last by this process, microseconds
	recent      recentOff
	marks       erasureHashes
	calls       calls
	beat        nodes.Heartbeat
	rejected    rejected
	auditWrote  atomic.Pointer[auditEnd] // by this process; nil for nothing yet
	hourKnown   hourKnown
	unusedKnown unusedKnown
	renames     atomic.Pointer[[]Rename]                   // see rename.go; nil before they were read
	restored    atomic.Pointer[Restoration]                // the newest; nil for none, and where it is only read
	onDoubt     func(*messaging.Message) messaging.OnDoubt // see Options
	points      func(account string, c messaging.Category, phone messaging.Phone) float64
	clock       clock
	now         func() time.Time // the clock's, or Options.Now
	hooks       hooks
	tells       func(about, word string) []string // see Options; nil where nobody ever wants to know
}

// hooks are called by the flusher after a commit, before its callers are answered.
type hooks struct {
	due, poll func(account string, at time.Time)
	lookup    func(time.Time)
	out       func(receiver string, at time.Time)
	pauses    func()
}

// A Tx is one batch's transaction as its ops see it.
type Tx struct {
	*writer
	session engine.Session
}

// scratch is the room that operations use again and again.
type scratch struct {
	args          []driver.NamedValue
	claimed       []int64 // by the statement that runs
	found, locked []int64 // by tx.find and tx.lockPlans
}

// A batch is what the operations of one transaction add up, and what is told after it.
type batch struct {
	At     int64 // one moment for the whole batch, microseconds
	counts [counterCount]int64
	lookup int64 // earliest time of a look-up left waiting; 0 for none
	seen   []lastSeen
	off    []cancelRequest
	noted  []noted

	named        map[string]int64  // see CountNamed
	hours        map[hourKey]int64 // see countHour
	unused       map[unusedKey]unused
	trimRejected bool                     // see message_rejected.go
	heard        map[string]errorTextSeen // see error_texts.go
	audited      []*AuditEntry
	changed      []contactChange // see run_cuts.go
	auditEnd     auditEnd

	dues, polls waits
	outs        waits // by receiver
}

// begin makes the batch empty, and keeps its room.
func (b *batch) begin(at int64) {
	clear(b.hours)
	clear(b.unused)
	*b = batch{At: at, hours: b.hours, unused: b.unused, changed: b.changed[:0], dues: b.dues[:0], polls: b.polls[:0], outs: b.outs[:0]}
}

func newWriter(s *shared, e engine.Connection) *writer {
	return &writer{
		shared: s, engine: e, triggers: map[string]bool{},
		batch: batch{unused: map[unusedKey]unused{}},
	}
}

// runBatch implements runner.
func (w *writer) runBatch(ops []*waiting) (err error) {
	w.batch.begin(engine.Micro(w.now()))
	t := Tx{w, w.engine}
	if err := w.peers.begin(&t); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	err = runAll(&t, ops)
	for _, write := range atEnd {
		if err == nil { // never after an error: SQLite may have ended the transaction by itself
			err = write(&t)
		}
	}
	if err = w.peers.settle(&t, err); err != nil {
		clear(w.triggers)
		return err
	}
	w.notifySubscribers()
	// Last: what is answered was on disk, under its name, when it was answered.
	return w.engine.Committed()
}

// runAll runs the operations of a batch, those of one set together.
func runAll(t *Tx, ops []*waiting) error {
	for len(ops) > 0 {
		n := together(ops)
		some := ops[:n]
		ops = ops[n:]
		if some[0].set == nil {
			if err := some[0].runIn(t); err != nil {
				return err
			}
			continue
		}
		// In one order everywhere, or two transactions could wait for each other's rows.
		slices.SortStableFunc(some, func(a, b *waiting) int { return cmp.Compare(a.key, b.key) })
		for _, o := range some {
			o.err = nil
		}
		if err := contain(func(t *Tx) error { return some[0].set.run(t, some) }, t); err != nil {
			return err
		}
	}
	return nil
}

// together moves to the front those of the operations that run together with the first, and says how many they are. Of one set with one
// key the second waits for the next turn; what is of no set passes nobody.
func together(ops []*waiting) (n int) {
	first := ops[0]
	if first.set == nil {
		return 1
	}
	var keys map[int64]bool
	for i, o := range ops {
		if o.set == nil {
			break
		}
		if o.set != first.set || keys[o.key] {
			continue
		}
		if o.key != 0 {
			if keys == nil {
				keys = map[int64]bool{}
			}
			keys[o.key] = true
		}
		copy(ops[n+1:i+1], ops[n:i])
		ops[n] = o
		n++
	}
	return n
}

// runIn runs the operation. One that changed nothing costs its batch nothing: only its caller gets the error.
func (o *waiting) runIn(t *Tx) error {
	o.err = nil
	err := contain(o.run, t)
	if _, same := errors.AsType[NoWrite](err); same {
		o.err, err = err, nil
	}
	return err
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

func (w waits) wakeWaiting(hook func(account string, at time.Time)) {
	if hook == nil {
		return
	}
	for _, one := range w {
		hook(one.account, engine.Moment(one.at))
		if one.ahead > one.at {
			hook(one.account, engine.Moment(one.ahead))
		}
	}
}

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
func (t *Tx) Exec(s *engine.Statement, args ...any) (changed int64, err error) {
	return t.session.Exec(s, t.bind(args))
}

// Put is exec where nobody asks how many rows there were.
func (t *Tx) Put(s *engine.Statement, args ...any) error { return t.session.Put(s, t.bind(args)) }

// Query runs a statement and calls each on every row. The row is good until each returns; a
// statement must not be run again inside its own query.
func (t *Tx) Query(s *engine.Statement, each func(*engine.Row) error, args ...any) error {
	return t.session.Query(s, t.bind(args), each)
}

// QueryMany runs a statement for each of all, which are about different rows, and calls each with the place of its arguments and each
// of their rows.
func (t *Tx) QueryMany(s *engine.Statement, all [][]any, each func(i int, r *engine.Row) error) error {
	bound := make([][]driver.NamedValue, len(all))
	for i, args := range all {
		bound[i] = slices.Clone(t.bind(args))
	}
	return t.session.QueryMany(s, bound, each)
}

// ExecMany runs a statement for each of rows, and nobody asks how many it changed.
func (t *Tx) ExecMany(s *engine.Statement, rows [][]any) error {
	for _, args := range rows {
		if err := t.Put(s, args...); err != nil {
			return err
		}
	}
	return nil
}

// ExecAll runs a statement that ends in a list of rowsAtOnce ids, as often as it takes.
func (t *Tx) ExecAll(s *engine.Statement, ids []int64, args ...any) error {
	own := len(args)
	for some := range slices.Chunk(ids, engine.RowsAtOnce) {
		args = args[:own]
		for _, id := range some {
			args = append(args, id)
		}
		for len(args) < own+engine.RowsAtOnce {
			args = append(args, some[0]) // a set: once more changes nothing
		}
		if err := t.Put(s, args...); err != nil {
			return err
		}
	}
	return nil
}
