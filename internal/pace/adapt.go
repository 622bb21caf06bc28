package pace

import "time"

// Slow tells that the service answered a request begun at began with 429 or 5xx, or could not
// be reached. The rate halves, once for all requests that were on their way at the time, and
// a positive retryAfter holds everything for that long, MaxPause at the most.
func (b *Budget) Slow(began time.Time, retryAfter time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if retryAfter > 0 {
		b.pause(now.Add(min(retryAfter, MaxPause)))
	}
	// A request that left before the last cut tells of the rate before it.
	if b.lastCut.IsZero() || began.After(b.lastCut) {
		b.cut(now)
	}
	b.apply(now)
}

// Took tells that the service answered a request in good health, whatever it said about the
// request itself.
func (b *Budget) Took() {
	if b.healthy.Load() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.healthy.Load() || now.Sub(b.lastRise) < riseEvery {
		return
	}
	b.lastRise = now
	b.rate += b.base / riseSteps
	switch {
	case b.configured > 0 && b.rate >= b.configured:
		b.rate = b.configured
		b.healthy.Store(true)
	case b.configured == 0 && b.rate >= openAgain*b.base:
		b.rate = 0
		b.healthy.Store(true)
	}
	b.apply(now)
}

// cut halves the rate. The lock is held.
func (b *Budget) cut(now time.Time) {
	if b.healthy.Load() {
		b.base = b.configured
		if b.configured == 0 {
			b.base = max(leastBase, b.meter.busiest(now))
		}
		b.rate = b.base
	}
	b.rate = max(b.rate/2, min(floorRate, b.base))
	b.lastCut, b.lastRise = now, now
	b.cuts++
	b.healthy.Store(false)
}

// pause holds everything until then, and sends away who cannot wait so long. The lock is held.
func (b *Budget) pause(until time.Time) {
	if !until.After(b.pausedTill) {
		return
	}
	b.pausedTill = until
	for c := range b.queue {
		stay := b.queue[c][:0]
		for _, w := range b.queue[c] {
			if !w.by.IsZero() && w.by.Before(until) {
				w.done <- ErrTooLate
			} else {
				stay = append(stay, w)
			}
		}
		clear(b.queue[c][len(stay):])
		b.queue[c] = stay
	}
}
