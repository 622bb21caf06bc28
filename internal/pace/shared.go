package pace

import (
	"context"
	"time"
)

// A Lessor keeps the rate of an account for all processes that call the service by it.
type Lessor interface {
	// Lease books the times of n requests, one each every, behind all that were booked before. It ends soon, with an error
	// where the times cannot be had.
	Lease(ctx context.Context, n int, every time.Duration) (Lease, error)
}

// A Lease is n times at which a request may leave.
type Lease struct {
	First time.Time // by the clock of the lessor
	Clock time.Time // what that clock said while the lease was made
}

const (
	leaseFor   = 100 * time.Millisecond // at most, where that is time for more than one request
	leaseAhead = 100 * time.Millisecond // before the last lease ends the next is asked for
	leaseAgain = 250 * time.Millisecond // after an error
	leaseWait  = time.Second            // for an answer
	lateMost   = time.Second            // how long a time is good for, where requests are far apart
)

// shared is the part of a rate that this process has leased. The Budget's lock guards it.
//
// All processes book times in one line, each request a time of its own, so that those that have much to send take turns, one that is
// alone has the whole rate, and nobody has to know how many there are. A time that passes is gone. So a process that does not
// reach the lessor any more stops when it has used or missed its times.
type shared struct {
	lessor Lessor
	wake   chan struct{}

	every time.Duration // between two requests
	held  []span        // in the order of time
	got   int           // how many the last of them had
	ended time.Time     // when the last of all leases was over, or will be
	hint  int           // how many times somebody wants who does not wait yet

	offset  time.Duration // our clock minus the lessor's
	known   bool          // offset is
	part    float64       // of all times, how many were ours, while we wanted all
	failed  bool          // the last question
	changed uint64        // counts changes of the rate: leases of an earlier one are void
}

// A span is leased times.
type span struct {
	next time.Time
	n    int
}

func (s *span) ends(every time.Duration) time.Time { return s.next.Add(time.Duration(s.n) * every) }

// Share makes the configured rate one that is leased. Call it once, before the first request. Run has to run.
func (b *Budget) Share(from Lessor) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shared = &shared{lessor: from, wake: make(chan struct{}, 1), part: 1}
	b.shared.setRate(b.configured)
}

// Run asks for leases until ctx is done. A Budget that is not shared needs none.
func (b *Budget) Run(ctx context.Context) error {
	s := b.shared
	if s == nil {
		<-ctx.Done()
		return nil
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
		}
		for b.lease(ctx) != nil {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(leaseAgain):
			}
		}
	}
}

// lease asks for one lease, if one is wanted.
func (b *Budget) lease(ctx context.Context) error {
	s := b.shared
	b.mu.Lock()
	began := b.now()
	n, every, of := s.want(max(b.waiting(began), s.hint), began), s.every, s.changed
	s.hint = 0
	b.mu.Unlock()
	if n == 0 {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, leaseWait)
	defer cancel()
	l, err := s.lessor.Lease(asking, n, every)
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	s.failed = err != nil
	if err == nil && of == s.changed {
		s.add(l, n, began, now)
	}
	b.pump(now)
	return err
}

func (s *shared) setRate(perSecond float64) {
	s.every, s.held, s.got, s.ended = 0, nil, 0, time.Time{}
	s.changed++
	if perSecond > 0 {
		s.every = time.Duration(float64(time.Second) / perSecond)
	}
}

// good is how long after its time a request may still leave.
func (s *shared) good() time.Duration {
	return max(min(s.every, lateMost), time.Duration(burstWindow*float64(time.Second)))
}

// want is how many times are to be leased now, for so many requests that wait.
func (s *shared) want(waiting int, now time.Time) int {
	s.forget(now)
	if s.every == 0 || waiting == 0 || len(s.held) > 0 && s.held[len(s.held)-1].ends(s.every).Sub(now) > leaseAhead {
		return 0
	}
	most := max(1, int(leaseFor/s.every))
	return min(most, max(waiting, 2*s.got))
}

// asks wakes Run where a lease is wanted.
func (s *shared) asks(waiting int, now time.Time) {
	if s.want(waiting, now) > 0 {
		s.hint = waiting
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// add takes in a lease of n times that was asked for at began and had at now.
func (s *shared) add(l Lease, n int, began, now time.Time) {
	// The lessor's clock was read between the two: that bounds what lies between the clocks, and the bounds meet over time.
	least, most := began.Sub(l.Clock), now.Sub(l.Clock)
	if !s.known || s.offset > most {
		s.offset = most
	}
	s.offset, s.known = max(s.offset, least), true
	first := now.Add(l.First.Sub(l.Clock) + s.offset - most)
	s.part = 1
	if len(s.held) > 0 {
		took := time.Duration(n) * s.every
		gap := max(0, first.Sub(s.held[len(s.held)-1].ends(s.every)))
		s.part = float64(took) / float64(took+gap)
	}
	s.held, s.got = append(s.held, span{first, n}), n
	s.ended = first.Add(time.Duration(n) * s.every)
}

// forget drops the times that have passed.
func (s *shared) forget(now time.Time) {
	oldest := now.Add(-s.good())
	for len(s.held) > 0 {
		one := &s.held[0]
		if passed := oldest.Sub(one.next); passed > 0 {
			gone := min(one.n, int((passed+s.every-1)/s.every))
			one.next, one.n = one.next.Add(time.Duration(gone)*s.every), one.n-gone
		}
		if one.n > 0 {
			return
		}
		s.held = s.held[1:]
	}
	s.held, s.got = nil, 0
}

// take uses one time, if there is one.
func (s *shared) take(now time.Time) bool {
	if s.forget(now); len(s.held) == 0 || s.held[0].next.After(now) {
		return false
	}
	one := &s.held[0]
	one.next, one.n = one.next.Add(s.every), one.n-1
	return true
}

// opens is when n requests may leave, by what is known, counted from from.
func (s *shared) opens(from time.Time, n float64) time.Time {
	at := s.ended
	switch {
	case len(s.held) > 0:
		at = s.held[0].next
	case s.failed:
		at = from.Add(2 * leaseAgain)
	}
	if at = at.Add(time.Duration((n - 1) * float64(s.every))); at.Before(from) {
		return from
	}
	return at
}

// till is how many requests may leave between two times, by what is known.
func (s *shared) till(from, end time.Time) (n float64) {
	if len(s.held) == 0 && s.failed {
		return 0
	}
	for i := range s.held {
		one := &s.held[i]
		if left := end.Sub(one.next); left >= 0 {
			n += min(float64(one.n), 1+float64(left)/float64(s.every))
		}
	}
	behind := from
	if s.ended.After(from) {
		behind = s.ended
	}
	if left := end.Sub(behind); left >= 0 {
		n += s.part * (1 + float64(left)/float64(s.every))
	}
	if n < 1 && len(s.held) == 0 && !s.ended.After(end) {
		return 1
	}
	return n
}
