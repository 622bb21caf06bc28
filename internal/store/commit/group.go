package commit

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// MaxBatch is how many operations share one commit at the most: enough to hide the fsync,
// few enough that the first of them does not wait long for the last.
const MaxBatch = 512

// A Lane orders the operations that wait. Outcomes of sends go before new events: they are
// as few as there are workers, and one that is late is a claim that lapses.
type Lane int

const (
	LaneWork   Lane = iota // claims, outcomes, polls, people: never refused
	LaneIngest             // events and rejected requests: bounded, because strangers send them
	LaneRows               // rows of lists, 512 at a time: they are long, so that each batch takes one
	laneAlone              // of LaneWork what must run after all of its kind that came before; Do chooses it

	laneCount
)

// A Set is a kind of operations of which all that wait run together, on the facts that are read for all of them at once. Its members
// have different keys, so that no two mean the same row; 0 is none. Run leaves in a member's Err what it found out without having
// written for it (a claim that was lost, say); an error of Run costs the whole batch a second run, where each is alone.
type Set[T any] struct {
	Run func(t T, members []*Operation[T]) error
}

// A Runner runs operations as one transaction: all of them on disk, or none and an error.
type Runner[T any] func(ops []*Operation[T]) error

// Timed tells how long each commit took, and of how many operations it was.
func (r Runner[T]) Timed(tell func(operations int, took time.Duration)) Runner[T] {
	return func(ops []*Operation[T]) error {
		began := time.Now()
		err := r(ops)
		if err == nil {
			tell(len(ops), time.Since(began))
		}
		return err
	}
}

// An Operation is what one caller wants written: something that is run inside a batch's transaction, or a member of a set.
//
// It may be run more than once: when a batch fails it is rolled back and each operation is run again alone. So it starts by forgetting what
// an earlier run left in its captured results. What it finds out without having written (a claim that was lost, say) it keeps in such a
// result and returns nil; an error means that its writes must not stay, and costs the whole batch a second run, unless it is a NoWrite.
type Operation[T any] struct {
	Run    func(T) error // nil for a member of a set
	Set    *Set[T]
	Key    int64
	Member any
	Err    error // what came of it

	lane  Lane
	taken bool          // guarded by Group.mu: the flusher has it
	done  chan struct{} // holds one token when Err is set
}

// A Group lets callers share commits: each queues an operation and waits, and a flusher takes all
// that waits, runs it as one transaction, and meanwhile the next batch gathers. It never waits for
// others: who comes alone is committed at once (decision 1). There is one flusher for each runner. Where there are many,
// the first alone runs what is of no set, one after the other in the order in which it came, and events have batches of their own:
// they lock keys and then rows, and what has rows already would wait for their keys in a circle.
//
// The other design, a transaction for each caller under a lock, pays an fsync each: a tenth and
// less of the throughput at 64 callers (BenchmarkAcceptOneCommitEach).
type Group[T any] struct {
	max  int // of LaneIngest that may wait
	most int // operations in a batch

	mu      sync.Mutex
	lanes   [laneCount][]*Operation[T]
	closed  bool
	batches uint64
	ops     uint64
	idle    []bool          // flushers that wait for a token
	events  []bool          // flushers whose last batch was of events
	wake    []chan struct{} // one for each of them
	stopped sync.WaitGroup
	pool    sync.Pool
}

func NewGroup[T any](limit, most int, runners ...Runner[T]) *Group[T] {
	g := &Group[T]{max: limit, most: most}
	g.pool.New = func() any { return &Operation[T]{done: make(chan struct{}, 1)} }
	for range runners {
		g.wake, g.idle, g.events = append(g.wake, make(chan struct{}, 1)), append(g.idle, false), append(g.events, false)
	}
	for i, r := range runners {
		g.stopped.Go(func() { g.flush(i, r) })
	}
	return g
}

// Do hands an operation to the next batch and returns when that is on disk. A ctx that ends before the
// flusher took the operation withdraws it; after that it is waited for, because a caller that does not
// know whether its write happened can do nothing right. Those of LaneIngest can: whoever sent the event comes again, and then it is
// known. They go with ErrUnanswered, and what run has captured is the flusher's from then on.
func (g *Group[T]) Do(ctx context.Context, l Lane, o Operation[T]) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if l == LaneWork && o.Set == nil {
		l = laneAlone
	}
	w := g.pool.Get().(*Operation[T])
	o.lane, o.done = l, w.done
	*w = o

	g.mu.Lock()
	switch {
	case g.closed:
		g.mu.Unlock()
		return ErrClosed
	case l == LaneIngest && len(g.lanes[l]) >= g.max:
		g.mu.Unlock()
		return ErrOverloaded
	}
	g.lanes[l] = append(g.lanes[l], w)
	g.poke(l == laneAlone)
	g.mu.Unlock()

	select {
	case <-w.done:
	case <-ctx.Done():
		if g.withdraw(w) {
			return ctx.Err()
		}
		if l == LaneIngest {
			return ErrUnanswered
		}
		<-w.done
	}
	err := w.Err
	w.Run, w.Member = nil, nil
	g.pool.Put(w)
	return err
}

// Ended reports whether it takes no more.
func (g *Group[T]) Ended() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// poke has a flusher look that has nothing to do; one that has looks again by itself. first says that it must be the first
// one. g.mu is held.
func (g *Group[T]) poke(first bool) {
	for i := range g.idle {
		if g.idle[i] {
			g.idle[i] = false
			g.wake[i] <- struct{}{}
			return
		}
		if first {
			return
		}
	}
}

// withdraw takes w out of its queue; false when the flusher was faster.
func (g *Group[T]) withdraw(w *Operation[T]) bool {
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

// takeBatch moves the next batch from the queues into batch: all that waits now, and no more than a batch may have. Where there is
// nothing, the flusher is idle from then on.
func (g *Group[T]) takeBatch(flusher int, batch []*Operation[T]) (_ []*Operation[T], closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	more := false
	its := g.turn(flusher)
	for _, l := range [laneCount]Lane{laneAlone, LaneWork, LaneIngest, LaneRows} {
		if l == laneAlone && flusher > 0 {
			continue
		}
		q := g.lanes[l]
		n := min(len(q), g.most-len(batch))
		switch {
		case !its[l]:
			n = 0
		case l == LaneRows:
			n = min(n, 1)
		}
		batch = append(batch, q[:n]...)
		rest := copy(q, q[n:])
		clear(q[rest:])
		g.lanes[l] = q[:rest]
		more = more || rest > 0 && l != laneAlone
	}
	for _, w := range batch {
		w.taken = true
	}
	if len(batch) > 0 {
		g.batches++
		g.ops += uint64(len(batch))
	}
	g.idle[flusher] = len(batch) == 0 && !g.closed
	if more {
		g.poke(false)
	}
	return batch, g.closed
}

// turn says which lanes the next batch of a flusher is of: all, where it is the only one. Of many each takes events and everything
// else by turns, where both wait. g.mu is held.
func (g *Group[T]) turn(flusher int) (its [laneCount]bool) {
	alone := len(g.wake) == 1
	work := len(g.lanes[LaneWork])+len(g.lanes[LaneRows]) > 0 || flusher == 0 && len(g.lanes[laneAlone]) > 0
	events := len(g.lanes[LaneIngest]) > 0 && (!work || !g.events[flusher])
	g.events[flusher] = events
	for l := range its {
		its[l] = alone || (Lane(l) == LaneIngest) == events
	}
	return its
}

// flush is a flusher: it ends when it is closed and nothing waits any more.
func (g *Group[T]) flush(number int, r Runner[T]) {
	batch := make([]*Operation[T], 0, g.most)
	for {
		var closed bool
		batch, closed = g.takeBatch(number, batch[:0])
		if len(batch) == 0 {
			if closed {
				return
			}
			<-g.wake[number]
			continue
		}
		Run(r, batch)
		for _, w := range batch {
			w.done <- struct{}{}
		}
		clear(batch)
	}
}

// An operation that others' transactions end is tried again after waits of random lengths, or the same ones meet once more.
const (
	collisionFirst = time.Millisecond // the longest of the first waits; each time they double
	collisionLast  = time.Second      // beyond which no more is tried
)

// Run runs operations as one transaction, or each alone where they cannot have one, and leaves with each what came of it.
func Run[T any](r Runner[T], batch []*Operation[T]) {
	err := r(batch)
	if _, out := errors.AsType[*engine.OutageError](err); out {
		err = r(batch) // nothing was written, and a server that was started anew takes a new connection
	}
	switch {
	case err == nil:
	case engine.ConcernsAll(err), sqlite.Damaged(err):
		for _, w := range batch {
			w.Err = err
		}
	case len(batch) == 1 && !engine.Collided(err):
		batch[0].Err = err
	default:
		// Somebody's row is bad, or the disk is. Alone, each learns its own truth.
		for i := range batch {
			err := r(batch[i : i+1])
			for wait := collisionFirst; engine.Collided(err) && wait < collisionLast; wait *= 2 {
				time.Sleep(rand.N(wait))
				err = r(batch[i : i+1])
			}
			if err != nil {
				batch[i].Err = err
			}
		}
	}
}

// Close takes no more, waits until all that was taken is on disk, and ends the flusher.
func (g *Group[T]) Close() {
	g.mu.Lock()
	g.closed = true
	for range g.idle {
		g.poke(false)
	}
	g.mu.Unlock()
	g.stopped.Wait()
}

// Stats is the state of the group commit.
type Stats struct {
	Queued     int    // events and rejected requests that wait for a batch
	QueuedWork int    // other operations that wait
	Limit      int    // Queued beyond which callers get ErrOverloaded
	Batches    uint64 // taken so far
	Operations uint64 // operations in them
}

func (g *Group[T]) Stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	return Stats{
		Queued: len(g.lanes[LaneIngest]), QueuedWork: len(g.lanes[LaneWork]) + len(g.lanes[laneAlone]), Limit: g.max,
		Batches: g.batches, Operations: g.ops,
	}
}
