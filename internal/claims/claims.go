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
	// Next is when something falls due next, past or future; ok is false when nothing waits.
	Next func(ctx context.Context) (at time.Time, ok bool, err error)
	// Urgent says which lane an item belongs to; nil is urgent, always.
	Urgent func(item *T) bool
	// Room is what the rate lets go soon, and when to ask again if that is nothing; nil is no bound.
	Room func() (n int, again time.Time)
	// Halted says whether trouble keeps claims back; nil is never.
	Halted func() Halt
	// Ask may do something else in place of a claim, such as a question to the service, and then
	// returns true; nil is never.
	Ask func(ctx context.Context, now time.Time) bool

	Seats   Lanes // how many may be in hand until Seat.Called: Urgent is all, Marketing those that marketing may fill
	Workers int   // for those and for items whose outcome is being stored
	Jitter  func() float64
	Log     *zap.Logger
	What    string // what is claimed, for the log: "dispatches"
}

// Halt is trouble that keeps claims back. Once Until has come, one item at a time is claimed to see
// whether the trouble is over.
type Halt struct {
	Is         bool
	Until      time.Time
	UrgentPass bool // only marketing is kept back
}

// A Loop claims and hands out. Make it with New.
type Loop[T any] struct {
	Options[T]
	alarm   *pace.Alarm
	holding holding
}

// New makes a Loop.
func New[T any](o Options[T]) *Loop[T] {
	l := &Loop[T]{Options: o, alarm: pace.NewAlarm()}
	l.holding.seats, l.holding.workers, l.holding.ring = o.Seats, o.Workers, l.alarm.Ring
	return l
}

// Wake tells that something falls due at the given time. It never blocks; a time that has passed
// leads to a claim at once.
func (l *Loop[T]) Wake(at time.Time) { l.alarm.At(at) }

// Ring makes the loop look again at what kept it from claiming.
func (l *Loop[T]) Ring() { l.alarm.Ring() }

// InHand is how many items are claimed and not worked off.
func (l *Loop[T]) InHand() int { return l.holding.hands() }

// Run claims and hands out to work until ctx is done, and returns when the last work has ended. Claims
// are committed with committing, which must outlive ctx: what nobody waited for is claimed all the same.
func (l *Loop[T]) Run(ctx, committing context.Context, work func(item *T, seat *Seat)) {
	hands := make(chan T, l.Workers)
	var workers sync.WaitGroup
	for number := range l.Workers {
		workers.Go(func() {
			seat := Seat{Number: number, holding: &l.holding}
			for item := range hands {
				seat.take(l.urgent(&item))
				work(&item, &seat)
				seat.free()
			}
		})
	}
	l.feed(ctx, committing, hands)
	close(hands)
	workers.Wait()
}

func (l *Loop[T]) urgent(item *T) bool { return l.Urgent == nil || l.Urgent(item) }

// knowledge is what the loop knows about the store without asking.
type knowledge struct {
	urgent, marketing bool      // something may be due in the lane
	full              bool      // the last claim got all urgent ones that it asked for: there are more
	backlog           bool      // the same of marketing
	next              time.Time // nothing else is due before; zero when that is not known
}

// feed claims what is due until ctx is done. It is the only one that claims, so that one commit takes
// as many rows as there is room for by then.
func (l *Loop[T]) feed(ctx, committing context.Context, hands chan<- T) {
	k := knowledge{urgent: true, marketing: l.Urgent != nil}
	for failures := 0; ctx.Err() == nil; {
		now := time.Now()
		if l.Ask != nil && l.Ask(ctx, now) {
			continue
		}
		l.look(&k, now)
		n, until := l.quota(&k, now)
		var err error
		switch {
		case n.Urgent+n.Marketing > 0:
			err = l.claim(committing, &k, n, hands)
		case !k.urgent && !k.marketing && k.next.IsZero():
			err = l.foresee(committing, &k)
		default:
			l.alarm.Sleep(ctx, until)
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
		k.urgent, k.marketing = true, l.Urgent != nil
	}
	if planned || reached {
		// The alarm keeps only the earliest time: later ones are in the store alone.
		k.next = time.Time{}
	}
}

// quota is what to claim now; when that is nothing, until is when to look again at the latest. What it
// waits for is named to the workers before it is counted: a seat that comes free in between rings in
// vain, which is better than unheard.
func (l *Loop[T]) quota(k *knowledge, now time.Time) (n Lanes, until time.Time) {
	l.holding.expect(Lanes{}, false)
	until = now.Add(LookAgain)
	var halt Halt
	if l.Halted != nil {
		halt = l.Halted()
	}
	ahead := halt.Is && halt.Until.After(now)
	if ahead {
		until = earlier(until, halt.Until)
	}
	marketing := k.marketing
	switch {
	case !k.urgent && !k.marketing:
		return Lanes{}, earlier(until, k.next)
	case !halt.Is:
	case halt.UrgentPass && k.urgent:
		marketing = false
	case ahead:
		return Lanes{}, halt.Until
	default: // one item at a time shows whether the trouble is over
		l.holding.expect(Lanes{Urgent: l.Seats.Urgent}, false)
		if l.holding.hands() > 0 {
			return Lanes{}, until
		}
		return quota(Lanes{1, 1}, Lanes{}, k.urgent, k.marketing, k.full, Lanes{1, 1}), until
	}
	rate := l.Seats.Urgent
	if l.Room != nil {
		var again time.Time
		if rate, again = l.Room(); rate == 0 {
			return Lanes{}, again
		}
	}
	// With a backlog in a lane and most of its seats taken, a claim can wait until it is worth its
	// commit: there is more in hand than may be under way.
	var enough Lanes
	if k.urgent {
		enough.Urgent = l.worth(k.full)
	}
	if marketing {
		enough.Marketing = l.worth(k.backlog)
	}
	l.holding.expect(enough, true)
	idle, room := l.holding.idle(), l.holding.room(rate)
	room.Urgent, room.Marketing = min(room.Urgent, idle.Urgent), min(room.Marketing, idle.Urgent)
	n = quota(l.Seats, l.holding.now(),
		k.urgent && idle.Urgent >= enough.Urgent, marketing && idle.Marketing >= enough.Marketing && room.Marketing > 0,
		k.full, room)
	if n.Urgent+n.Marketing > 0 {
		l.holding.expect(Lanes{}, false)
	}
	return n, until
}

// worth is how many rows make a claim worth its commit: one, or with a backlog a quarter of the seats.
func (l *Loop[T]) worth(backlog bool) int {
	if !backlog {
		return 1
	}
	return max(1, l.Seats.Urgent/4)
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
	var got Lanes
	for i := range items {
		urgent := l.urgent(&items[i])
		if urgent {
			got.Urgent++
		} else {
			got.Marketing++
		}
		l.holding.begin(urgent)
		hands <- items[i]
	}
	if n.Urgent > 0 {
		k.urgent = got.Urgent >= n.Urgent
		k.full = k.urgent
	}
	if n.Marketing > 0 {
		k.marketing = got.Marketing >= n.Marketing
		k.backlog = k.marketing
	}
	return nil
}

// foresee asks the store when something falls due next.
func (l *Loop[T]) foresee(ctx context.Context, k *knowledge) error {
	asked := time.Now()
	at, ok, err := l.Next(ctx)
	if err != nil {
		return err
	}
	k.next = asked.Add(LookAgain)
	if ok && at.Before(k.next) {
		k.next = at
	}
	return nil
}
