// Package claims is the loop of every room that takes due work out of the store: it sleeps until
// something falls due, claims as many rows as there is room for in one commit, and hands them to a
// fixed number of workers. What the work is, it does not know.
package claims

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/backoff"
	"github.com/nudgewire/nudgewire/internal/pace"
)

// LookAgain bounds the sleep of a loop that knows of nothing due: another process may have stored
// something and told nobody here.
const LookAgain = 10 * time.Second

// Options say what a Loop claims. Claim and Next must be set.
type Options[T any] struct {
	// Claim takes up to so many items of each lane. Fewer than asked for means that no more is due.
	Claim func(ctx context.Context, n Lanes) ([]T, error)
	// Next is when something of those lanes falls due next, past or future; ok is false when nothing waits.
	Next func(ctx context.Context, of [MaxLanes]bool) (at time.Time, ok bool, err error)
	// Lane says which lane an item belongs to, from 0, the most urgent; nil is 0, always.
	Lane func(item *T) int
	// Room is what the rate lets go soon, and when to ask again if that is nothing; nil is no bound.
	Room func() (n int, again time.Time)
	// Halted lists the troubles that keep claims back at present; nil is none, ever.
	Halted func() []Halt
	// Probe takes at most one item of those lanes, to see whether the trouble is over that keeps them back. It must be set where Halted is.
	Probe func(ctx context.Context, of [MaxLanes]bool) ([]T, error)
	// Ask may do something else in place of a claim, such as a question to the service, and then
	// returns true; nil is never.
	Ask func(ctx context.Context, now time.Time) bool

	Seats   Lanes // how many items of a lane and of those behind it may be in hand until Seat.Called, by lane
	Workers int   // for those and for items whose outcome is being stored
	Jitter  func() float64
	Now     func() time.Time // the clock that all these times are by; nil is time.Now
	Log     *zap.Logger
	What    string // what is claimed, for the log: "messages"
}

// Halt is trouble that keeps claims of some lanes back. Once Until has come, one item of them at a time is claimed to see
// whether the trouble is over.
type Halt struct {
	Lanes [MaxLanes]bool
	Until time.Time
}

// A Loop claims and hands out. Make it with New.
type Loop[T any] struct {
	Options[T]
	alarm   *pace.Alarm
	holding holding
}

// New makes a Loop.
func New[T any](o Options[T]) *Loop[T] {
	if o.Now == nil {
		o.Now = time.Now
	}
	l := &Loop[T]{Options: o, alarm: pace.NewAlarm(o.Now)}
	l.holding.seats, l.holding.workers, l.holding.ring = o.Seats, o.Workers, l.alarm.Ring
	return l
}

// Wake tells that something falls due at the given time. It never blocks; a time that has passed
// leads to a claim at once.
func (l *Loop[T]) Wake(at time.Time) { l.alarm.At(at) }

// Ring makes the loop look again at what kept it from claiming.
func (l *Loop[T]) Ring() { l.alarm.Ring() }

// InHand is how many items are claimed and not worked off.
func (l *Loop[T]) InHand() int { return l.holding.hands([MaxLanes]bool{true, true, true}) }

// Run claims and hands out to work until ctx is done, and returns when the last work has ended. Claims
// are committed with committing, which must outlive ctx: what nobody waited for is claimed all the same.
func (l *Loop[T]) Run(ctx, committing context.Context, work func(item *T, seat *Seat)) {
	hands := make(chan T, l.Workers)
	var workers sync.WaitGroup
	for number := range l.Workers {
		workers.Go(func() {
			seat := Seat{Number: number, holding: &l.holding}
			for item := range hands {
				seat.takeLane(l.lane(&item))
				work(&item, &seat)
				seat.free()
			}
		})
	}
	l.feed(ctx, committing, hands)
	close(hands)
	workers.Wait()
}

func (l *Loop[T]) lane(item *T) int {
	if l.Lane == nil {
		return 0
	}
	return l.Lane(item)
}

// lanes is how many lanes the loop has.
func (l *Loop[T]) lanes() int {
	if l.Lane == nil {
		return 1
	}
	return MaxLanes
}

// knowledge is what the loop knows about the store without asking.
type knowledge struct {
	due  [MaxLanes]bool // something may be due in the lane
	full [MaxLanes]bool // the last claim got all that it asked for of the lane: there is more
	next time.Time      // nothing else is due before in the lanes that nothing keeps back; zero when that is not known
}

// all notes that something may be due in each lane.
func (k *knowledge) all(lanes int) {
	for lane := range lanes {
		k.due[lane] = true
	}
}

// A task is what the loop does next: claim n, claim one as a probe, look when something falls due next, or sleep.
type task struct {
	n       Lanes
	probe   *Halt
	foresee bool
	until   time.Time
}

// feed claims what is due until ctx is done. It is the only one that claims, so that one commit takes
// as many rows as there is room for by then.
func (l *Loop[T]) feed(ctx, committing context.Context, hands chan<- T) {
	var k knowledge
	k.all(l.lanes())
	for failures := 0; ctx.Err() == nil; {
		now := l.Now()
		if l.Ask != nil && l.Ask(ctx, now) {
			continue
		}
		l.look(&k, now)
		free := l.free()
		do := l.next(&k, now, free)
		var err error
		switch {
		case do.probe != nil:
			err = l.probe(committing, &k, do.probe, hands)
		case do.n != (Lanes{}):
			err = l.claim(committing, &k, do.n, hands)
		case do.foresee:
			err = l.foresee(committing, &k, free)
		default:
			l.alarm.Sleep(ctx, do.until)
		}
		if err == nil {
			failures = 0
			continue
		}
		failures++
		pause := backoff.Next(failures, 50*time.Millisecond, 10*time.Second, l.Jitter())
		l.Log.Error("claiming "+l.What, zap.Error(err), zap.Duration("again_in", pause))
		backoff.Sleep(ctx, pause)
	}
}

// look takes in what the alarm and the clock say.
func (l *Loop[T]) look(k *knowledge, now time.Time) {
	due, planned := l.alarm.Take(now)
	reached := !k.next.IsZero() && !now.Before(k.next)
	if due || planned || reached {
		k.all(l.lanes())
	}
	if planned || reached {
		// The alarm keeps only the earliest time: later ones are in the store alone.
		k.next = time.Time{}
	}
}

// A freedom is which lanes nothing keeps back, and the troubles that do.
type freedom struct {
	lanes [MaxLanes]bool
	halts []Halt
}

func (l *Loop[T]) free() (f freedom) {
	for lane := range l.lanes() {
		f.lanes[lane] = true
	}
	if l.Halted == nil {
		return f
	}
	f.halts = l.Halted()
	for _, halt := range f.halts {
		for lane := range halt.Lanes {
			f.lanes[lane] = f.lanes[lane] && !halt.Lanes[lane]
		}
	}
	return f
}

// next is what to do now; where that is nothing, until is when to look again at the latest. What it
// waits for is named to the workers before it is counted: a seat that comes free in between rings in
// vain, which is better than unheard.
func (l *Loop[T]) next(k *knowledge, now time.Time, free freedom) (do task) {
	l.holding.expect(Lanes{}, false, false)
	do.until = now.Add(LookAgain)
	for i := range free.halts {
		halt := &free.halts[i]
		switch {
		case !both(k.due, halt.Lanes):
		case halt.Until.After(now):
			do.until = earlier(do.until, halt.Until)
		default: // one item at a time shows whether the trouble is over
			l.holding.expect(Lanes{}, false, true)
			if l.holding.hands(halt.Lanes) == 0 {
				return task{probe: halt}
			}
		}
	}
	probing := l.holding.probing.Load()
	if !both(k.due, free.lanes) {
		do.foresee = k.next.IsZero() && free.lanes != [MaxLanes]bool{}
		do.until = earlier(do.until, k.next)
		return do
	}
	rate := l.Seats[0]
	if l.Room != nil {
		var again time.Time
		if rate, again = l.Room(); rate == 0 {
			do.until = earlier(do.until, again)
			return do
		}
	}
	// With a backlog in a lane and most of its seats taken, a claim can wait until it is worth its
	// commit: there is more in hand than may be under way.
	var enough Lanes
	for lane := range enough {
		if k.due[lane] && free.lanes[lane] {
			enough[lane] = l.worth(k.full[lane])
		}
	}
	l.holding.expect(enough, true, probing)
	idle, room := l.holding.idle(), l.holding.room(rate)
	var want [MaxLanes]bool
	for lane := range want {
		room[lane] = min(room[lane], idle[0])
		want[lane] = enough[lane] > 0 && idle[lane] >= enough[lane] && (lane == 0 || room[lane] > 0)
	}
	if do.n = quota(l.Seats, l.holding.taken.now(), want, k.full, room); do.n != (Lanes{}) {
		l.holding.expect(Lanes{}, false, probing)
	}
	return do
}

// both reports whether the two have a lane in common.
func both(a, b [MaxLanes]bool) bool {
	for lane := range a {
		if a[lane] && b[lane] {
			return true
		}
	}
	return false
}

// worth is how many rows make a claim worth its commit: one, or with a backlog a quarter of the seats.
func (l *Loop[T]) worth(backlog bool) int {
	if !backlog {
		return 1
	}
	return max(1, l.Seats[0]/4)
}

func earlier(a, b time.Time) time.Time {
	if b.IsZero() || a.Before(b) {
		return a
	}
	return b
}

// claim takes items from the store and hands them to the workers.
func (l *Loop[T]) claim(ctx context.Context, k *knowledge, n Lanes, hands chan<- T) error {
	items, err := l.Claim(ctx, n)
	if err != nil {
		return err
	}
	got := l.hand(items, hands)
	for lane := range n {
		if n[lane] > 0 {
			k.due[lane] = got[lane] >= n[lane]
			k.full[lane] = k.due[lane]
		}
	}
	return nil
}

// probe takes one item that shows whether a trouble is over.
func (l *Loop[T]) probe(ctx context.Context, k *knowledge, halt *Halt, hands chan<- T) error {
	items, err := l.Probe(ctx, halt.Lanes)
	if err != nil {
		return err
	}
	if l.hand(items, hands); len(items) > 0 {
		return nil
	}
	for lane := range halt.Lanes {
		k.due[lane] = k.due[lane] && !halt.Lanes[lane] // until something falls due there
	}
	return nil
}

// hand gives items to the workers, and says how many there were of each lane.
func (l *Loop[T]) hand(items []T, hands chan<- T) (got Lanes) {
	for i := range items {
		lane := l.lane(&items[i])
		got[lane]++
		l.holding.begin(lane)
		hands <- items[i]
	}
	return got
}

// foresee asks the store when something falls due next in the lanes that nothing keeps back.
func (l *Loop[T]) foresee(ctx context.Context, k *knowledge, free freedom) error {
	asked := l.Now()
	at, ok, err := l.Next(ctx, free.lanes)
	if err != nil {
		return err
	}
	k.next = asked.Add(LookAgain)
	if ok && at.Before(k.next) {
		k.next = at
	}
	return nil
}
