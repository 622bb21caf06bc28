package store

import (
	"context"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// maxBatch is how many operations share one commit at the most: enough to hide the fsync,
// few enough that the first of them does not wait long for the last.
const maxBatch = 512

// A lane orders the operations that wait. Outcomes of sends go before new events: they are
// as few as there are workers, and one that is late is a claim that lapses.
type lane int

const (
	laneWork   lane = iota // claims, outcomes, polls, people: never refused
	laneIngest             // events and rejected requests: bounded, because strangers send them
)

// An op is one operation as it is run inside a batch's transaction.
//
// It may be run more than once: when a batch fails it is rolled back and each op is run again alone.
// So it starts by forgetting what an earlier run left in its captured results. What it finds out
// without having written (a claim that was lost, say) it keeps in such a result and returns nil; an
// error means that its writes must not stay, and costs the whole batch a second run.
type op func(*tx) error

// A runner runs ops as one transaction: all of them on disk, or none and an error.
type runner interface {
	runBatch(ops []*waiting) error
}

// timed tells how long each commit took, and of how many operations it was.
type timed struct {
	runner
	tell func(operations int, took time.Duration)
}

func (t timed) runBatch(ops []*waiting) error {
	began := time.Now()
	err := t.runner.runBatch(ops)
	if err == nil {
		t.tell(len(ops), time.Since(began))
	}
	return err
}

// waiting is one caller's operation on its way through the group commit.
type waiting struct {
	run   op
	lane  lane
	taken bool // guarded by groupCommit.mu: the flusher has it
	err   error
	done  chan struct{} // holds one token when err is set
}

// A groupCommit lets callers share commits: each queues an op and waits, and one flusher takes all
// that waits, runs it as one transaction, and meanwhile the next batch gathers. It never waits for
// company: who comes alone is committed at once (decision 17).
//
// The other design, a transaction for each caller under a lock, pays an fsync each: a tenth and
// less of the throughput at 64 callers (BenchmarkAcceptOneCommitEach).
type groupCommit struct {
	run runner
	max int // ingest ops that may wait

	mu      sync.Mutex
	lanes   [2][]*waiting
	closed  bool
	batches uint64
	ops     uint64
	wake    chan struct{} // holds a token when the flusher should look
	stopped chan struct{}
	pool    sync.Pool
}

func newGroupCommit(r runner, limit int) *groupCommit {
	g := &groupCommit{run: r, max: limit, wake: make(chan struct{}, 1), stopped: make(chan struct{})}
	g.pool.New = func() any { return &waiting{done: make(chan struct{}, 1)} }
	go g.flush()
	return g
}

// do hands run to the next batch and returns when that is on disk. A ctx that ends before the
// flusher took the op withdraws it; after that it is waited for, because a caller that does not
// know whether its write happened can do nothing right.
func (g *groupCommit) do(ctx context.Context, l lane, run op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := g.pool.Get().(*waiting)
	w.run, w.lane, w.taken, w.err = run, l, false, nil

	g.mu.Lock()
	switch {
	case g.closed:
		g.mu.Unlock()
		return ErrClosed
	case l == laneIngest && len(g.lanes[l]) >= g.max:
		g.mu.Unlock()
		return ErrOverloaded
	}
	g.lanes[l] = append(g.lanes[l], w)
	g.mu.Unlock()
	g.poke()

	select {
	case <-w.done:
	case <-ctx.Done():
		if g.withdraw(w) {
			return ctx.Err()
		}
		<-w.done
	}
	err := w.err
	w.run = nil
	g.pool.Put(w)
	return err
}

// ended reports whether it takes no more.
func (g *groupCommit) ended() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

func (g *groupCommit) poke() {
	select {
	case g.wake <- struct{}{}:
	default: // one token is enough: the flusher takes all
	}
}

// withdraw takes w out of its queue; false when the flusher was faster.
func (g *groupCommit) withdraw(w *waiting) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.taken {
		return false
	}
	q := g.lanes[w.lane]
	i := slices.Index(q, w)
	g.lanes[w.lane] = slices.Delete(q, i, i+1)
	return true
}

// take moves the next batch from the queues into batch: all that waits now, and no more than maxBatch.
func (g *groupCommit) take(batch []*waiting) (_ []*waiting, closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for l := range g.lanes {
		q := g.lanes[l]
		n := min(len(q), maxBatch-len(batch))
		batch = append(batch, q[:n]...)
		rest := copy(q, q[n:])
		clear(q[rest:])
		g.lanes[l] = q[:rest]
	}
	for _, w := range batch {
		w.taken = true
	}
	if len(batch) > 0 {
		g.batches++
		g.ops += uint64(len(batch))
	}
	return batch, g.closed
}

// flush is the flusher: it ends when it is closed and nothing waits any more.
func (g *groupCommit) flush() {
	defer close(g.stopped)
	batch := make([]*waiting, 0, maxBatch)
	for {
		var closed bool
		batch, closed = g.take(batch[:0])
		if len(batch) == 0 {
			if closed {
				return
			}
			<-g.wake
			continue
		}
		g.commit(batch)
		clear(batch)
	}
}

// commit runs batch and answers its members.
func (g *groupCommit) commit(batch []*waiting) {
	err := g.run.runBatch(batch)
	switch {
	case err == nil:
	case len(batch) == 1:
		batch[0].err = err
	default:
		// Somebody's row is bad, or the disk is. Alone, each learns its own truth.
		for i := range batch {
			if err := g.run.runBatch(batch[i : i+1]); err != nil {
				batch[i].err = err
			}
		}
	}
	for _, w := range batch {
		w.done <- struct{}{}
	}
}

// close takes no more, waits until all that was taken is on disk, and ends the flusher.
func (g *groupCommit) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.poke()
	<-g.stopped
}

// Stats is the state of the group commit.
type Stats struct {
	Queued     int    // events and rejected requests that wait for a batch
	QueuedWork int    // other operations that wait
	Limit      int    // Queued beyond which callers get ErrOverloaded
	Batches    uint64 // taken so far
	Operations uint64 // operations in them
}

func (g *groupCommit) stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	return Stats{
		Queued: len(g.lanes[laneIngest]), QueuedWork: len(g.lanes[laneWork]), Limit: g.max,
		Batches: g.batches, Operations: g.ops,
	}
}

// contain runs one op and turns its panic into an error, so that it costs its own caller an
// answer and nobody else anything.
func contain(run op, t *tx) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return run(t)
}
