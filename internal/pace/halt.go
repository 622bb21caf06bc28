package pace

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/nudgewire/nudgewire/internal/backoff"
)

// The pauses of a Halt: the first, and the longest.
const (
	haltFirst = 5 * time.Second
	haltMost  = 5 * time.Minute
)

// A Halt holds a caller back while every request is refused for the same reason, such as a
// bad key. After a pause one request goes out as a probe; the pause doubles with each refusal
// and ends with the first request that is not refused. The zero value is not halted; asking
// it costs one atomic load.
type Halt struct {
	on atomic.Bool // the rest matters only while it is set

	mu       sync.Mutex
	until    time.Time
	struckAt time.Time
	strikes  int
	why      string
}

// Strike notes a refusal of a request begun at began, and says when the next probe may go and
// whether this is the first refusal since the halt was last lifted. Refusals of requests that
// were on their way at the last strike are of the same wave and change nothing.
func (h *Halt) Strike(began, now time.Time, why string) (until time.Time, first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.on.Load() && !began.After(h.struckAt) {
		return h.until, false
	}
	h.strikes++
	h.struckAt, h.why = now, why
	h.until = now.Add(backoff.Next(h.strikes, haltFirst, haltMost, 0))
	h.on.Store(true)
	return h.until, h.strikes == 1
}

// Lift ends the halt and reports whether there was one.
func (h *Halt) Lift() bool {
	if !h.on.Load() {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.on.Swap(false)
	h.until, h.struckAt, h.strikes, h.why = time.Time{}, time.Time{}, 0, ""
	return was
}

// State says until when no request may go, and whether from then on only a probe may.
func (h *Halt) State(now time.Time) (until time.Time, probe bool) {
	if !h.on.Load() {
		return time.Time{}, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.until, h.on.Load() && !now.Before(h.until)
}

// Why is what the last Strike was told; "" while nothing is halted.
func (h *Halt) Why() string {
	if !h.on.Load() {
		return ""
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.why
}
