package store

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/calls"
	"github.com/nudgewire/nudgewire/internal/store/chain"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/erased"
	"github.com/nudgewire/nudgewire/internal/store/nodes"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
	"github.com/nudgewire/nudgewire/internal/store/outgoing"
	"github.com/nudgewire/nudgewire/internal/store/peers"
	"github.com/nudgewire/nudgewire/internal/store/spent"
	"github.com/nudgewire/nudgewire/internal/store/tally"
	"github.com/nudgewire/nudgewire/internal/store/waits"
)

// A writer runs one transaction after the other, on one connection. It belongs to one flusher alone and needs no lock.
type writer struct {
	*shared
	engine engine.Connection
	tx     *engine.Tx // on it
	peers  peers.Coordinator

	batch             // the open one
	foreseen foreseen // by acceptAll
	scratch
	triggers map[string]bool // that are in the table of their names; see message_due.go
}

// shared is what the writers of one store have in common.
type shared struct {
	lastBlock atomic.Int64 // when a contact was blocked last by this process, microseconds
	recent    recentOff
	Marks     erased.Hashes
	calls     calls.File
	beat      nodes.Heartbeat
	counted   tally.Known
	sums      spent.Sums
	Chain     chain.Known
	renames   atomic.Pointer[[]Rename]                   // see rename.go; nil before they were read
	restored  atomic.Pointer[Restoration]                // the newest; nil for none, and where it is only read
	onDoubt   func(*messaging.Message) messaging.OnDoubt // see Options
	points    func(account string, c messaging.Category, phone messaging.Phone) float64
	clock     nodes.Clock
	now       func() time.Time // the clock's, or Options.Now
	hooks     hooks
	tells     func(about, word string) []string // see Options; nil where nobody ever wants to know
	bare      bool                              // what only people read is not written: counts but those of points, and what tells that an event is not read yet
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
	outgoing outgoing.Notes
	cuts     cutNotes
	audits   chain.Notes

	off         []cancelRequest
	lookup      int64 // earliest time of a look-up left waiting; 0 for none
	dues, polls waits.Waits
}

// begin makes the batch empty, and keeps its room.
func (b *batch) begin() {
	b.tally.Begin()
	b.outgoing.Begin()
	b.cuts = b.cuts[:0]
	b.audits.Begin()
	b.off, b.lookup, b.dues, b.polls = nil, 0, b.dues[:0], b.polls[:0]
}

func newWriter(s *shared, e engine.Connection) *writer {
	return &writer{
		shared: s, engine: e, triggers: map[string]bool{}, tx: engine.NewTx(e),
		batch: batch{tally: tally.New(&s.counted)},
	}
}

// runBatch runs operations as one transaction.
func (w *writer) runBatch(ops []*commit.Operation[*Tx]) (err error) {
	w.batch.begin()
	w.tx.At = engine.Micro(w.now())
	t := Tx{w.tx, w}
	if err := w.peers.Begin(); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	err = commit.RunAll(&t, ops)
	if err == nil { // never after an error: SQLite may have ended the transaction by itself
		err = t.writeNoted()
	}
	if err = w.peers.Settle(t.Tx, err); err != nil {
		clear(w.triggers)
		return err
	}
	w.notifySubscribers()
	// Last: what is answered was on disk, under its name, when it was answered.
	return w.engine.Committed()
}

// runAlone runs one thing as a transaction, before others are handed over or after the last of them.
func (w *writer) runAlone(run func(*engine.Tx) error) error {
	return w.runBatch([]*commit.Operation[*Tx]{{Run: func(t *Tx) error { return run(t.Tx) }}})
}

// Lock keeps other transactions that lock one of these hashes from going on until this one ends.
func (t *Tx) Lock(hashes ...int64) error { return t.peers.Lock(t.Tx, hashes, nil) }

// allocate gives the next number.
func (t *Tx) allocate(of numbers.Sequence) (id int64, err error) {
	return t.peers.Allocate(t.Tx, of, 1)
}

// find is good until it is called again.
func (t *Tx) find(first, last, hash int64) (ids []int64, err error) {
	t.found, err = t.peers.Find(t.Tx, first, last, hash, t.found[:0])
	return t.found, err
}
