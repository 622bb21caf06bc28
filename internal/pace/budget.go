package pace

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// A Class is a kind of request. Classes share one budget; see Budget for how.
type Class uint8

// The classes of request.
const (
	Send   Class = iota // asks for a message
	Urgent              // asks for a message that goes before other sends
	Poll                // asks how a message fares
	classes
)

const (
	// MaxPause bounds how long one Retry-After may hold everything: a service that asks for a
	// day is asked again after five minutes.
	MaxPause = 5 * time.Minute

	// pollTurn: while both classes wait, every pollTurn-th request is a poll, 12.5 %.
	pollTurn = 8

	floorRate   = 1.0         // requests per second that adaptation never goes below
	leastBase   = 20.0        // a quiet moment's rate says nothing about what the service bears
	riseEvery   = time.Second // between two steps up
	riseSteps   = 20          // steps from nothing to the full rate
	openAgain   = 2           // times the rate that met trouble, after which there is no limit again
	burstWindow = 0.01        // seconds of requests that may leave together
)

// ErrTooLate is the end of a wait that could not be over in time.
var ErrTooLate = errors.New("no room in the rate budget in time")

// A Budget is the one allowance for all requests to one service.
//
// All classes draw on the same rate. While sends and polls both wait, sends get seven of
// every eight requests, urgent ones first, and polls the eighth; while only sends or only
// polls wait they get all. So a backlog of sends cannot stop the polls, nor a backlog of polls
// hold a send for longer than one request.
//
// The rate adapts. Slow (429, 5xx, no connection) halves it, down to one a second, and
// Retry-After holds everything until then; Took raises it again by a twentieth of the full
// rate each second. Where no rate is configured there is nothing to wait for until trouble
// comes; then the busiest of the last seconds stands in for the configured rate, and the limit
// goes away again at twice that.
//
// Waiters are kept in two queues of our own and granted from a rate.Limiter that is never
// reserved ahead: a reservation made by a poll could not be given to a send that comes later.
//
// A Budget has no goroutine and needs no closing.
type Budget struct {
	open    atomic.Bool // no limit and no pause: Wait takes no lock
	healthy atomic.Bool // the rate is whole: Took takes no lock
	granted [classes]atomic.Uint64
	meter   meter

	mu         sync.Mutex
	configured float64 // requests per second; 0 is no limit
	base       float64 // what the rate rises back to
	rate       float64 // now; 0 is no limit
	limiter    *rate.Limiter
	pausedTill time.Time
	lastCut    time.Time
	lastRise   time.Time
	cuts       uint64
	queue      [classes][]*waiter
	sends      int // granted since the last poll, at most pollTurn-1
	timer      *time.Timer
}

type waiter struct {
	by   time.Time  // zero for no hurry
	done chan error // of capacity 1; nil is the grant
}

// NewBudget makes a Budget of perSecond requests; 0 or less is no limit.
func NewBudget(perSecond float64) *Budget {
	b := &Budget{limiter: rate.NewLimiter(rate.Inf, 1)}
	b.healthy.Store(true)
	b.SetRate(perSecond)
	return b
}

// SetRate replaces the configured rate, also while requests wait; 0 or less is no limit. What
// was learned from trouble stays where it is lower than the new rate.
func (b *Budget) SetRate(perSecond float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.configured = max(0, perSecond)
	if b.healthy.Load() {
		b.rate = b.configured
	} else if b.configured > 0 {
		b.base = b.configured
		b.rate = min(b.rate, b.configured)
	}
	b.apply(time.Now())
}

// Wait returns nil when a request of class c may leave. It returns ctx's error when ctx ends
// first, and ErrTooLate as soon as it knows that the request cannot leave until by; a zero by
// means no hurry.
func (b *Budget) Wait(ctx context.Context, c Class, by time.Time) error {
	if b.open.Load() {
		b.grant(c, time.Now())
		return nil
	}
	w, err := b.enter(c, by)
	if w == nil {
		return err
	}
	var late <-chan time.Time
	if !by.IsZero() {
		timer := time.NewTimer(time.Until(by))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case err = <-w.done:
		return err
	case <-ctx.Done():
		err = ctx.Err()
	case <-late:
		err = ErrTooLate
	}
	return b.leave(c, w, err)
}

// enter takes a request's place in the queue; a nil waiter means that there was nothing to
// wait for, and err says how that ended.
func (b *Budget) enter(c Class, by time.Time) (*waiter, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if !by.IsZero() && (by.Before(b.pausedTill) || by.Before(now)) {
		return nil, ErrTooLate
	}
	if b.rate == 0 && !now.Before(b.pausedTill) {
		b.open.Store(true) // a pause without a limit has ended
	}
	if _, others := b.next(); !others && b.allow(now) {
		b.turn(c)
		b.grant(c, now)
		return nil, nil
	}
	w := &waiter{by: by, done: make(chan error, 1)}
	b.queue[c] = append(b.queue[c], w)
	b.pump(now)
	return w, nil
}

// leave gives up a place in the queue because of err. A grant that came at the same moment is
// kept: it is spent, and the caller may as well use it.
func (b *Budget) leave(c Class, w *waiter, err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case got := <-w.done:
		return got
	default:
	}
	for i, one := range b.queue[c] {
		if one == w {
			b.queue[c] = append(b.queue[c][:i], b.queue[c][i+1:]...)
			break
		}
	}
	return err
}

// pump grants what may leave at now and sets the timer for the rest. The lock is held.
func (b *Budget) pump(now time.Time) {
	for {
		c, ok := b.next()
		if !ok {
			return
		}
		w := b.queue[c][0]
		late := !w.by.IsZero() && w.by.Before(now)
		if !late && !b.allow(now) {
			break
		}
		b.queue[c][0] = nil
		b.queue[c] = b.queue[c][1:]
		if late {
			w.done <- ErrTooLate
			continue
		}
		b.turn(c)
		b.grant(c, now)
		w.done <- nil
	}
	wait := max(b.opensAt(now, 1).Sub(now), time.Microsecond)
	if b.timer == nil {
		b.timer = time.AfterFunc(wait, b.tick)
	} else {
		b.timer.Reset(wait)
	}
}

func (b *Budget) tick() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pump(time.Now())
}

// next is the class whose turn it is among those that wait.
func (b *Budget) next() (c Class, ok bool) {
	polls := len(b.queue[Poll]) > 0
	switch {
	case polls && (b.sends >= pollTurn-1 || !b.sendsWait()):
		return Poll, true
	case len(b.queue[Urgent]) > 0:
		return Urgent, true
	default:
		return Send, len(b.queue[Send]) > 0
	}
}

func (b *Budget) sendsWait() bool { return len(b.queue[Send])+len(b.queue[Urgent]) > 0 }

func (b *Budget) turn(c Class) {
	if c == Poll {
		b.sends = 0
	} else {
		b.sends = min(b.sends+1, pollTurn-1)
	}
}

func (b *Budget) grant(c Class, now time.Time) {
	b.granted[c].Add(1)
	b.meter.add(now)
}

func (b *Budget) allow(now time.Time) bool {
	return !now.Before(b.pausedTill) && (b.rate == 0 || b.limiter.AllowN(now, 1))
}

// opensAt is when n requests will have room, counted from now.
func (b *Budget) opensAt(now time.Time, n float64) time.Time {
	from := now
	if b.pausedTill.After(from) {
		from = b.pausedTill
	}
	if b.rate == 0 {
		return from
	}
	missing := n - b.limiter.TokensAt(from)
	if missing <= 0 {
		return from
	}
	// Rounded up, or the timer would come a hair too early and find no token.
	return from.Add(time.Duration(math.Ceil(missing / b.rate * float64(time.Second))))
}

// apply makes the limiter and the fast paths say what rate and pausedTill say. The lock is held.
func (b *Budget) apply(now time.Time) {
	if b.rate > 0 {
		b.limiter.SetLimitAt(now, rate.Limit(b.rate))
		b.limiter.SetBurstAt(now, max(1, int(b.rate*burstWindow)))
	} else {
		b.limiter.SetLimitAt(now, rate.Inf)
	}
	b.open.Store(b.rate == 0 && !b.pausedTill.After(now))
	b.pump(now)
}

// Room is how many requests of class c may leave from now until window has passed, without
// counting off those that wait; while polls and sends both wait it is c's share. When n is 0,
// again says when to ask anew. A caller that fetches work only while there is room
// never holds work for longer than about window.
func (b *Budget) Room(c Class, window time.Duration) (n int, again time.Time) {
	if b.open.Load() {
		return math.MaxInt, time.Time{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	end, from := now.Add(window), now
	if b.pausedTill.After(from) {
		from = b.pausedTill
	}
	if from.After(end) {
		return 0, from
	}
	if b.rate == 0 {
		return math.MaxInt, time.Time{}
	}
	share := b.share(c)
	room := share * (max(0, b.limiter.TokensAt(from)) + b.rate*end.Sub(from).Seconds())
	// What is due by the sum of its parts must not fail by the last digit of the sum.
	if room += 1e-6; room >= 1 {
		return int(min(room, math.MaxInt32)), time.Time{}
	}
	again = b.opensAt(now, 1/share).Add(-window)
	if soonest := now.Add(time.Millisecond); again.Before(soonest) {
		again = soonest
	}
	return 0, again
}

// share is the part of the rate that class c gets at the least as the queues stand.
func (b *Budget) share(c Class) float64 {
	switch {
	case c == Poll && b.sendsWait():
		return 1.0 / pollTurn
	case c != Poll && len(b.queue[Poll]) > 0:
		return 1 - 1.0/pollTurn
	default:
		return 1
	}
}
