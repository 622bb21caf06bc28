package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/calls"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/nodes"
	"github.com/nudgewire/nudgewire/internal/store/tally"
)

// A writer runs one transaction after the other, on one connection. It belongs to one flusher alone and needs no lock.
type writer struct {
	*shared
	engine engine.Connection
	tx     *engine.Tx // on it
	peers  coordinator

	batch             // the open one
	foreseen foreseen // by acceptAll
	scratch
	triggers map[string]bool // that are in the table of their names; see message_due.go
}

// shared is what the writers of one store have in common.
type shared struct {
	lastBlock  atomic.Int64 // when a contact was blocked last by this process, microseconds
	recent     recentOff
	marks      erasureHashes
	calls      calls.File
	beat       nodes.Heartbeat
	counted    tally.Known
	auditWrote atomic.Pointer[auditEnd]                   // by this process; nil for nothing yet
	renames    atomic.Pointer[[]Rename]                   // see rename.go; nil before they were read
	restored   atomic.Pointer[Restoration]                // the newest; nil for none, and where it is only read
	onDoubt    func(*messaging.Message) messaging.OnDoubt // see Options
	points     func(account string, c messaging.Category, phone messaging.Phone) float64
	clock      nodes.Clock
	now        func() time.Time // the clock's, or Options.Now
	hooks      hooks
	tells      func(about, word string) []string // see Options; nil where nobody ever wants to know
	bare       bool                              // what only people read is not written: counts, and what tells that an event is not read yet
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
	*engine.Tx
	*writer
}

// scratch is the room that operations use again and again.
type scratch struct {
	claimed       []int64 // by the statement that runs
	found, locked []int64 // by tx.find and tx.lockPlans
}

// A batch is what the operations of one transaction add up, and what is told after it.
type batch struct {
	tally    tally.Tally
	outgoing outgoing
	cuts     cutNotes
	audits   auditNotes

	off         []cancelRequest
	lookup      int64 // earliest time of a look-up left waiting; 0 for none
	dues, polls waits
}

// begin makes the batch empty, and keeps its room.
func (b *batch) begin() {
	b.tally.Begin()
	b.outgoing.begin()
	b.cuts = b.cuts[:0]
	b.audits = auditNotes{}
	b.off, b.lookup, b.dues, b.polls = nil, 0, b.dues[:0], b.polls[:0]
}

func newWriter(s *shared, e engine.Connection) *writer {
	return &writer{
		shared: s, engine: e, triggers: map[string]bool{}, tx: engine.NewTx(e),
		batch: batch{tally: tally.New(&s.counted)},
	}
}

// runBatch implements runner.
func (w *writer) runBatch(ops []*waiting) (err error) {
	w.batch.begin()
	w.tx.At = engine.Micro(w.now())
	t := Tx{w.tx, w}
	if err := w.peers.begin(&t); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	err = runAll(&t, ops)
	if err == nil { // never after an error: SQLite may have ended the transaction by itself
		err = t.writeNoted()
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
