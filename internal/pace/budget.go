package pace

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// A Class is a kind of request. Classes share one budget; see Budget for how.
type Class uint8

// The classes of request.
const (
	Send       Class = iota // asks for a message
	Urgent                  // asks for a message that goes before other sends
	MostUrgent              // asks for a message that goes before those
	Poll                    // asks how a message fares
	Upload                  // hands over a file of a campaign
	classes
)

// A kind is requests that meet trouble together, because they go to the same address.
type kind uint8

const (
	sends kind = iota
	polls
	uploads
	kinds
)

func (c Class) kind() kind {
	switch c {
	case Poll:
		return polls
	case Upload:
		return uploads
	default:
		return sends
	}
}

const (
	// MaxPause bounds how long one Retry-After may hold everything: a service that asks for a
	// day is asked again after five minutes.
	MaxPause = 5 * time.Minute

	// pollTurn: while both classes wait, every pollTurn-th request is a poll, 12.5 %.
	pollTurn = 8

	floorRate   = 1.0         // requests per second that adaptation never goes below
	minBase     = 20.0        // a quiet moment's rate says nothing about what the service bears
	riseEvery   = time.Second // between two steps up
	riseSteps   = 20          // steps from nothing to the full rate
	openAgain   = 2           // times the rate that met trouble, after which there is no limit again
	burstWindow = 0.01        // seconds of requests that may leave together

	soon = 250 * time.Millisecond // what leaves within it may go on waiting when the rate is cut
)

// ErrTooLate is the end of a wait that could not be over in time.
var ErrTooLate = errors.New("no room in the rate budget in time")

// A Budget is the one allowance for all requests to one service.
//
// All classes draw on the same rate. While sends and polls both wait, sends get seven of
// every eight requests, the most urgent ones first, and polls the eighth; while only sends or only
// polls wait they get all. So a backlog of sends cannot stop the polls, nor a backlog of polls
// hold a send for longer than one request.
//
// Each kind of request (sends, polls, uploads) has a pace of its own beside that, which adapts to
// what that kind meets: an address that answers questions badly says nothing of the one that takes
// messages. Slow (429, 5xx, no connection) halves it, down to one a second, and
// Retry-After holds the kind until then; Took raises it again by a twentieth of the full
// rate each second. Where no rate is configured there is nothing to wait for until trouble
// comes; then the busiest of the last seconds stands in for the configured rate, and the limit
// goes away again at twice that.
//
// Waiters are kept in queues of our own and granted from a rate.Limiter that is never
// reserved ahead: a reservation made by a poll could not be given to a send that comes later.
//
// A Budget has no goroutine and needs no closing, unless its rate is shared with other processes: see Share.
type Budget struct {
	paces   [kinds]pace
	granted [classes]atomic.Uint64
	now     func() time.Time // see ByClock

	mu         sync.Mutex
	configured float64       // requests per second; 0 is no limit
	limiter    *rate.Limiter // of the configured rate
	shared     *shared       // where that rate is one of many processes; nil where it is ours alone
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
	b := &Budget{limiter: rate.NewLimiter(rate.Inf, 1), now: time.Now}
	for k := range b.paces {
		b.paces[k].limiter = rate.NewLimiter(rate.Inf, 1)
		b.paces[k].healthy.Store(true)
	}
	b.SetRate(perSecond)
	return b
}

// ByClock has the times that the Budget is given, and gives, be those of another clock than the machine's. Call it before the first request.
func (b *Budget) ByClock(now func() time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = now
}

// SetRate replaces the configured rate, also while requests wait; 0 or less is no limit. What
// was learned from trouble stays where it is lower than the new rate.
func (b *Budget) SetRate(perSecond float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	b.configured = max(0, perSecond)
	limit(b.limiter, b.configured, now)
	if b.shared != nil {
		b.shared.setRate(b.configured)
	}
	for k := range b.paces {
		if p := &b.paces[k]; !p.healthy.Load() && b.configured > 0 {
			p.base = b.configured
			p.rate = min(p.rate, b.configured)
		}
	}
	b.apply(now)
}

// Configured is the rate that was set, requests per second; 0 is no limit.
func (b *Budget) Configured() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.configured
}

// Wait returns nil when a request of class c may leave. It returns ctx's error when ctx ends
// first, and ErrTooLate as soon as it knows that the request cannot leave until by; a zero by
// means no hurry.
func (b *Budget) Wait(ctx context.Context, c Class, by time.Time) error {
	if b.paces[c.kind()].open.Load() {
		b.grant(c, b.now())
		return nil
	}
	w, err := b.enter(c, by)
	if w == nil {
		return err
	}
	var late <-chan time.Time
	if !by.IsZero() {
		timer := time.NewTimer(by.Sub(b.now()))
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

// enter puts a request into the queue; a nil waiter means that there was nothing to
// wait for, and err says how that ended.
func (b *Budget) enter(c Class, by time.Time) (*waiter, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, p := b.now(), &b.paces[c.kind()]
	if !by.IsZero() && (by.Before(p.pausedTill) || by.Before(now)) {
		return nil, ErrTooLate
	}
	if b.configured == 0 && p.rate == 0 && !now.Before(p.pausedTill) {
		p.open.Store(true) // a pause without a limit has ended
	}
	if !b.sendsWait() && len(b.queue[Poll]) == 0 && p.lets(now) && b.allows(now) {
		p.limiter.AllowN(now, 1)
		b.turn(c)
		b.grant(c, now)
		return nil, nil
	}
	w := &waiter{by: by, done: make(chan error, 1)}
	b.queue[c] = append(b.queue[c], w)
	b.pump(now)
	return w, nil
}

// leave takes a request out of the queue because of err. A grant that came at the same moment is
// kept: it is spent, and the caller may as well use it.
func (b *Budget) leave(c Class, w *waiter, err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case got := <-w.done:
		return got
	default:
	}
	b.queue[c] = slices.DeleteFunc(b.queue[c], func(one *waiter) bool { return one == w })
	return err
}

// pump grants what may leave at now and sets the timer for the rest. The lock is held.
func (b *Budget) pump(now time.Time) {
	for {
		b.dropLate(now)
		c, ok := b.next(now)
		if !ok || !b.allows(now) {
			break
		}
		b.paces[c.kind()].limiter.AllowN(now, 1) // next has seen that there is room
		b.turn(c)
		b.grant(c, now)
		b.release(c, nil)
	}
	if b.shared != nil {
		b.shared.asks(b.waiting(now), now)
	}
	var first time.Time
	for c := range b.queue {
		if len(b.queue[c]) == 0 || b.leases() && len(b.shared.held) == 0 && b.paces[Class(c).kind()].lets(now) {
			continue // nobody waits, or for a lease, which comes by itself
		}
		if at := b.opensAt(Class(c), now, 1); first.IsZero() || at.Before(first) {
			first = at
		}
	}
	if first.IsZero() {
		return
	}
	wait := max(first.Sub(now), time.Microsecond)
	if b.timer == nil {
		b.timer = time.AfterFunc(wait, b.tick)
	} else {
		b.timer.Reset(wait)
	}
}

// dropLate sends away those at the head of a queue whose time has passed.
func (b *Budget) dropLate(now time.Time) {
	for c := range b.queue {
		for len(b.queue[c]) > 0 {
			if by := b.queue[c][0].by; by.IsZero() || !by.Before(now) {
				break
			}
			b.release(Class(c), ErrTooLate)
		}
	}
}

// release ends the wait of the first in a queue with err.
func (b *Budget) release(c Class, err error) {
	b.queue[c][0].done <- err
	b.queue[c][0] = nil
	b.queue[c] = b.queue[c][1:]
}

func (b *Budget) tick() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pump(b.now())
}

// next is the class whose turn it is among those that wait and whose own pace lets one go.
func (b *Budget) next(now time.Time) (c Class, ok bool) {
	may := func(c Class) bool { return len(b.queue[c]) > 0 && b.paces[c.kind()].lets(now) }
	poll, send := may(Poll), may(MostUrgent) || may(Urgent) || may(Send) || may(Upload)
	switch {
	case poll && (b.sends >= pollTurn-1 || !send):
		return Poll, true
	case may(MostUrgent):
		return MostUrgent, true
	case may(Urgent):
		return Urgent, true
	case may(Send):
		return Send, true
	default:
		return Upload, may(Upload)
	}
}

// leases reports whether the configured rate has to be leased.
func (b *Budget) leases() bool { return b.shared != nil && b.configured > 0 }

// allows takes one request off the configured rate, if it has one left at now.
func (b *Budget) allows(now time.Time) bool {
	if b.leases() {
		return b.shared.take(now)
	}
	return b.limiter.AllowN(now, 1)
}

// waiting is how many wait for nothing but the configured rate.
func (b *Budget) waiting(now time.Time) (n int) {
	for c := range b.queue {
		if len(b.queue[c]) > 0 && b.paces[Class(c).kind()].lets(now) {
			n += len(b.queue[c])
		}
	}
	return n
}

func (b *Budget) sendsWait() bool {
	return len(b.queue[Send])+len(b.queue[Urgent])+len(b.queue[MostUrgent])+len(b.queue[Upload]) > 0
}

func (b *Budget) turn(c Class) {
	if c == Poll {
		b.sends = 0
	} else {
		b.sends = min(b.sends+1, pollTurn-1)
	}
}

func (b *Budget) grant(c Class, now time.Time) {
	b.granted[c].Add(1)
	b.paces[c.kind()].meter.add(now)
}

// opensAt is when n requests of class c will have room, counted from now: in the rate of all and in
// the pace of their kind.
func (b *Budget) opensAt(c Class, now time.Time, n float64) time.Time {
	p := &b.paces[c.kind()]
	from := p.notBefore(now)
	all, own := roomAt(b.limiter, b.configured, from, n), roomAt(p.limiter, p.rate, from, n)
	if b.leases() {
		all = b.shared.opens(from, n)
	}
	if own.After(all) {
		return own
	}
	return all
}

// roomAt is when a limiter of that rate will have n tokens, counted from from.
func roomAt(l *rate.Limiter, perSecond float64, from time.Time, n float64) time.Time {
	if perSecond == 0 {
		return from
	}
	missing := n - l.TokensAt(from)
	if missing <= 0 {
		return from
	}
	// Rounded up, or the timer would come a hair too early and find no token.
	return from.Add(time.Duration(math.Ceil(missing / perSecond * float64(time.Second))))
}

// limit makes a limiter let perSecond go; 0 is all.
func limit(l *rate.Limiter, perSecond float64, now time.Time) {
	if perSecond > 0 {
		l.SetLimitAt(now, rate.Limit(perSecond))
		l.SetBurstAt(now, max(1, int(perSecond*burstWindow)))
	} else {
		l.SetLimitAt(now, rate.Inf)
	}
}

// apply makes the limiters and the fast paths say what the paces say. The lock is held.
func (b *Budget) apply(now time.Time) {
	for k := range b.paces {
		p := &b.paces[k]
		limit(p.limiter, p.rate, now)
		p.open.Store(b.configured == 0 && p.rate == 0 && !p.pausedTill.After(now))
	}
	b.pump(now)
}

// Room is how many requests of class c may leave from now until window has passed, without
// counting off those that wait; while polls and sends both wait it is c's share. When n is 0,
// again says when to ask anew. A caller that fetches work only while there is room
// never holds work for longer than about window.
func (b *Budget) Room(c Class, window time.Duration) (n int, again time.Time) {
	p := &b.paces[c.kind()]
	if p.open.Load() {
		return math.MaxInt, time.Time{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	end, from := now.Add(window), p.notBefore(now)
	if from.After(end) {
		return 0, from
	}
	share := b.share(c)
	all := tokensTill(b.limiter, b.configured, from, end)
	if b.leases() {
		all = b.shared.till(from, end)
		if p.lets(now) { // whoever asks is about to send
			b.shared.asks(max(1, b.waiting(now)), now)
		}
	}
	room := min(share*all, tokensTill(p.limiter, p.rate, from, end))
	// What is due by the sum of its parts must not fail by the last digit of the sum.
	if room += 1e-6; room >= 1 {
		return int(min(room, math.MaxInt32)), time.Time{}
	}
	again = b.opensAt(c, now, 1/share).Add(-window)
	if soonest := now.Add(time.Millisecond); again.Before(soonest) {
		again = soonest
	}
	return 0, again
}

// tokensTill is how many a limiter of that rate lets go between two times.
func tokensTill(l *rate.Limiter, perSecond float64, from, end time.Time) float64 {
	if perSecond == 0 {
		return math.MaxInt32
	}
	return max(0, l.TokensAt(from)) + perSecond*end.Sub(from).Seconds()
}

// share is the part of the configured rate that class c gets at the least as the queues are.
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
