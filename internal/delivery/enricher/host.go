package enricher

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// hosts holds the pace at which each connector may ask each host, and the pauses that hosts
// asked for.
type hosts struct {
	mu  sync.Mutex
	all map[string]*host
}

type host struct {
	mu     sync.Mutex
	pace   *rate.Limiter
	paused time.Time // until then nothing is asked
}

func (h *hosts) of(connector, name string, perSecond float64) *host {
	limit := rate.Inf
	if perSecond > 0 {
		limit = rate.Limit(perSecond)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil {
		h.all = map[string]*host{}
	}
	key := connector + "\x00" + name
	one, ok := h.all[key]
	if !ok {
		one = &host{pace: rate.NewLimiter(limit, 1)}
		h.all[key] = one
	}
	if one.pace.Limit() != limit { // a reload
		one.pace.SetLimit(limit)
	}
	return one
}

// maxQueue is how long a look-up waits for its turn; beyond it the look-up goes back to
// the store, so that it does not wait with a lease running.
const maxQueue = 10 * time.Second

// enter waits for the next turn at the host. A wait that is longer than is good is not begun:
// then it returns how long it would be.
func (h *host) enter(ctx context.Context, now time.Time) (wait time.Duration, err error) {
	h.mu.Lock()
	paused := h.paused
	h.mu.Unlock()
	if d := paused.Sub(now); d > 0 {
		return d, nil
	}
	turn := h.pace.ReserveN(now, 1)
	d := turn.DelayFrom(now)
	if d > maxQueue {
		turn.CancelAt(now)
		return d, nil
	}
	if d <= 0 {
		return 0, nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return 0, nil
	case <-ctx.Done():
		turn.Cancel()
		return 0, ctx.Err()
	}
}

func (h *host) pause(until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if until.After(h.paused) {
		h.paused = until
	}
}
