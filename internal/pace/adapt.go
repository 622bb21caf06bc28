package pace

import (
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// A pace is what was learned from trouble with one kind of request. All but the atomics is guarded by the
// Budget's lock.
type pace struct {
	open    atomic.Bool // no limit and no pause: Wait takes no lock
	healthy atomic.Bool // the rate is whole: Took takes no lock
	meter   meter

	base       float64 // what the rate rises back to
	rate       float64 // now; 0 is no limit of its own
	limiter    *rate.Limiter
	pausedTill time.Time
	lastCut    time.Time
	lastRise   time.Time
	cuts       uint64
}

// lets reports whether the pace lets a request go at now.
func (p *pace) lets(now time.Time) bool {
	return !now.Before(p.pausedTill) && (p.rate == 0 || p.limiter.TokensAt(now) >= 1)
}

// notBefore is now, or the end of a pause that is still to come.
func (p *pace) notBefore(now time.Time) time.Time {
	if p.pausedTill.After(now) {
		return p.pausedTill
	}
	return now
}

// Slow reports that the service answered a request of class c begun at began with 429 or 5xx, or could
// not be reached. The rate of that kind halves, once for all requests that were on their way at the
// time, and a positive retryAfter holds the kind for that long, MaxPause at the most. Whoever
// waits in a hurry and would not leave soon any more is sent away.
func (b *Budget) Slow(c Class, began time.Time, retryAfter time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, k := b.now(), c.kind()
	p := &b.paces[k]
	if retryAfter > 0 {
		b.pause(k, now.Add(min(retryAfter, MaxPause)))
	}
	// A request that left before the last cut tells of the rate before it.
	if p.lastCut.IsZero() || began.After(p.lastCut) {
		p.cut(b.configured, now)
		b.dismiss(k, max(1, int(p.rate*soon.Seconds())))
	}
	b.apply(now)
}

// Took reports that the service answered a request of class c in good health, whatever it said about
// the request itself. It reports whether that ended what Slow began.
func (b *Budget) Took(c Class) (whole bool) {
	p := &b.paces[c.kind()]
	if p.healthy.Load() {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if p.healthy.Load() || now.Sub(p.lastRise) < riseEvery {
		return false
	}
	p.lastRise = now
	p.rate += p.base / riseSteps
	if b.configured > 0 && p.rate >= b.configured || b.configured == 0 && p.rate >= openAgain*p.base {
		p.rate = 0
		p.healthy.Store(true)
	}
	b.apply(now)
	return p.healthy.Load()
}

// cut halves the rate.
func (p *pace) cut(configured float64, now time.Time) {
	if p.healthy.Load() {
		p.base = configured
		if configured == 0 {
			p.base = max(minBase, p.meter.busiest(now))
		}
		p.rate = p.base
	}
	p.rate = max(p.rate/2, min(floorRate, p.base))
	p.lastCut, p.lastRise = now, now
	p.cuts++
	p.healthy.Store(false)
}

// pause holds a kind until then, and sends away who cannot wait so long. The lock is held.
func (b *Budget) pause(k kind, until time.Time) {
	p := &b.paces[k]
	if !until.After(p.pausedTill) {
		return
	}
	p.pausedTill = until
	b.sendAwayOf(k, func(_ int, w *waiter) bool { return w.by.Before(until) })
}

// Dismiss sends away all requests of those classes that wait in a hurry: their callers know that they would not be made.
func (b *Budget) Dismiss(of ...Class) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range of {
		b.sendAway(c, func(int, *waiter) bool { return true })
	}
	b.pump(b.now())
}

// dismiss sends away those of each queue of a kind that wait in a hurry, behind the first keep. Polls
// lose nothing by waiting. The lock is held.
func (b *Budget) dismiss(k kind, keep int) {
	if k != polls {
		b.sendAwayOf(k, func(position int, _ *waiter) bool { return position >= keep })
	}
}

// sendAwayOf is sendAway for each class of a kind.
func (b *Budget) sendAwayOf(k kind, which func(int, *waiter) bool) {
	for c := range b.queue {
		if Class(c).kind() == k {
			b.sendAway(Class(c), which)
		}
	}
}

// sendAway ends the waits of a class that are in a hurry and that which names, by position and waiter.
func (b *Budget) sendAway(c Class, which func(int, *waiter) bool) {
	position := -1
	b.queue[c] = slices.DeleteFunc(b.queue[c], func(w *waiter) bool {
		position++
		gone := !w.by.IsZero() && which(position, w)
		if gone {
			w.done <- ErrTooLate
		}
		return gone
	})
}
