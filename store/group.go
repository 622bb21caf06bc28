package store

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// maxGroup is how many operations share one commit at the most: enough to hide the fsync,
// few enough that the first of them does not wait long for the last.
const maxGroup = 512

// A lane orders the operations that wait. Outcomes of sends go before new events: they are
// as few as there are workers, and one that is late is a claim that lapses.
type lane int

const (
	laneWork   lane = iota // claims, outcomes, polls, people: never refused
	laneIngest             // events and refusals: bounded, because strangers send them
)

// An op is one operation as it is run inside a group's transaction.
//
// It may be run more than once: when a group fails it is rolled back and each op is run again alone. So it starts
// by forgetting what an earlier run left in its captured results. What it finds out without
// having written (a claim that was lost, say) it keeps in such a result and returns nil; an
// error means that its writes must not stay, and costs the whole group a second run.
type op func(*tx) error

// A runner runs ops as one transaction: all of them on disk, or none and an error.
type runner interface {
	runGroup(ops []*waiting) error
}

// waiting is one caller's operation on its way through the front.
type waiting struct {
	run   op
	lane  lane
	taken bool // guarded by front.mu: the flusher has it
	err   error
	done  chan struct{} // holds one token when err is set
}

// A front is the group commit: callers queue an op and wait, one flusher takes those that wait
// and runs them as one transaction, while the next ones gather. See gather for when it takes them.
//
// The other design, a transaction for each caller under a lock, pays an fsync each: two
// orders of magnitude at 64 callers (BenchmarkAcceptOneCommitEach).
type front struct {
	run runner
	max int // ingest ops that may wait

	mu      sync.Mutex
	lanes   [2][]*waiting
	closed  bool
	groups  uint64
	ops     uint64
	events  [2]int        // ingest ops in each of the last two groups
	quorum  int           // of ingest ops, which the flusher waits for; 0 for none
	wake    chan struct{} // holds a token when the flusher should look
	stopped chan struct{}

	timer *time.Timer // of await; the flusher's
	pool  sync.Pool
}

func newFront(r runner, limit int) *front {
	f := &front{run: r, max: limit, wake: make(chan struct{}, 1), stopped: make(chan struct{}), timer: time.NewTimer(patience)}
	f.pool.New = func() any { return &waiting{done: make(chan struct{}, 1)} }
	go f.flush()
	return f
}

// do hands run to the next group and returns when that group's commit is on disk. A ctx that
// ends before the flusher took the op withdraws it; after that it is waited for, because a
// caller that does not know whether its write happened can do nothing right.
func (f *front) do(ctx context.Context, l lane, run op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := f.pool.Get().(*waiting)
	w.run, w.lane, w.taken, w.err = run, l, false, nil

	f.mu.Lock()
	switch {
	case f.closed:
		f.mu.Unlock()
		return ErrClosed
	case l == laneIngest && len(f.lanes[l]) >= f.max:
		f.mu.Unlock()
		return ErrOverloaded
	}
	f.lanes[l] = append(f.lanes[l], w)
	enough := f.enough()
	f.mu.Unlock()
	if enough {
		f.poke()
	}

	select {
	case <-w.done:
	case <-ctx.Done():
		if f.withdraw(w) {
			return ctx.Err()
		}
		<-w.done
	}
	err := w.err
	w.run = nil
	f.pool.Put(w)
	return err
}

// ended reports whether it takes no more.
func (f *front) ended() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}

func (f *front) poke() {
	select {
	case f.wake <- struct{}{}:
	default: // one token is enough: the flusher takes all
	}
}

// withdraw takes w out of its queue; false when the flusher was faster.
func (f *front) withdraw(w *waiting) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w.taken {
		return false
	}
	q := f.lanes[w.lane]
	for i := range q {
		if q[i] == w {
			f.lanes[w.lane] = append(q[:i], q[i+1:]...)
			return true
		}
	}
	return false
}

// gather takes the next group, as soon as it is worth a commit.
//
// Callers come again when they were answered, so those that a commit releases are the next ones to
// wait. Taken at once, 64 of them ran in groups of 4 and 60 by turns: the four paid for a commit of their own, and while
// the sixty were written nobody was left to read and decide. So events wait until half of those in play are
// here, and the other half is read meanwhile (decision 17). Where groups are of one, one is enough.
//
// Work is another matter: one claim feeds many workers, so it waits for nobody who is not on his way already.
func (f *front) gather(group []*waiting) ([]*waiting, bool) {
	if !f.await() {
		f.letOthersCome()
	}
	return f.take(group)
}

// patience is how long events wait for company. A commit takes longer.
const patience = 300 * time.Microsecond

// await waits until half as many events are here as the last two groups held, and no longer than patience. It gives
// up, and says so, as soon as there is work.
func (f *front) await() bool {
	f.mu.Lock()
	f.quorum = (f.events[0] + f.events[1]) / 2
	enough := f.enough()
	f.mu.Unlock()
	if !enough {
		f.timer.Reset(patience)
		defer f.timer.Stop()
	}
	for !enough {
		select {
		case <-f.wake:
			f.mu.Lock()
			enough = f.enough()
			f.mu.Unlock()
		case <-f.timer.C:
			enough = true
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.quorum = 0
	return len(f.lanes[laneWork]) == 0
}

// enough says whether the flusher need not wait for more to come. Its caller holds mu.
func (f *front) enough() bool {
	return len(f.lanes[laneIngest]) >= f.quorum || len(f.lanes[laneWork]) > 0 || f.closed
}

// letOthersCome lets everybody go first who can run now, until nobody new came for some turns. That is no delay where
// nobody is (a turn is a tenth of a microsecond then), and makes the group larger where there are many.
func (f *front) letOthersCome() {
	for before, idle := 0, 0; idle < idleTurns && before < maxGroup; {
		runtime.Gosched()
		f.mu.Lock()
		n := len(f.lanes[laneWork]) + len(f.lanes[laneIngest])
		f.mu.Unlock()
		if n == before {
			idle++
		}
		before = n
	}
}

// idleTurns is how many turns without anybody new end the coming. Four were best when events came this way, too; for
// work alone, one and four are the same within the noise.
const idleTurns = 4

// take moves the next group from the queues into group.
func (f *front) take(group []*waiting) (_ []*waiting, closed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var taken [len(f.lanes)]int
	for l := range f.lanes {
		q := f.lanes[l]
		n := min(len(q), maxGroup-len(group))
		taken[l] = n
		group = append(group, q[:n]...)
		rest := copy(q, q[n:])
		clear(q[rest:])
		f.lanes[l] = q[:rest]
	}
	for _, w := range group {
		w.taken = true
	}
	if len(group) > 0 {
		f.groups++
		f.ops += uint64(len(group))
		f.events = [2]int{f.events[1], taken[laneIngest]}
	}
	return group, f.closed
}

// flush is the flusher: it ends when the front is closed and nothing waits any more.
func (f *front) flush() {
	defer close(f.stopped)
	group := make([]*waiting, 0, maxGroup)
	for {
		var closed bool
		group, closed = f.gather(group[:0])
		if len(group) == 0 {
			if closed {
				return
			}
			<-f.wake
			continue
		}
		f.commit(group)
		clear(group)
	}
}

// commit runs group and answers its members.
func (f *front) commit(group []*waiting) {
	err := f.run.runGroup(group)
	switch {
	case err == nil:
	case len(group) == 1:
		group[0].err = err
	default:
		// Somebody's row is bad, or the disk is. Alone, each learns its own truth.
		for i := range group {
			group[i].err = f.run.runGroup(group[i : i+1])
		}
	}
	for _, w := range group {
		w.done <- struct{}{}
	}
}

// close takes no more, waits until all that was taken is on disk, and ends the flusher.
func (f *front) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.poke()
	<-f.stopped
}

// Stats is the state of the group-commit front.
type Stats struct {
	Queued     int    // events and refusals that wait for a group
	QueuedWork int    // other operations that wait
	Limit      int    // Queued beyond which callers get ErrOverloaded
	Groups     uint64 // groups taken so far
	Operations uint64 // operations in them
}

func (f *front) stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Stats{
		Queued: len(f.lanes[laneIngest]), QueuedWork: len(f.lanes[laneWork]), Limit: f.max,
		Groups: f.groups, Operations: f.ops,
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
