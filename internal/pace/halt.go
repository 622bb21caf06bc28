package pace

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/nudgewire/nudgewire/internal/backoff"
)

// A Halt holds a caller back while requests are of no use for a cause that is not theirs, such as a
// bad key. After a pause one request goes out as a probe; the pause doubles with each
// refusal and ends with the first request that is not refused. The zero value is not halted; asking
// it costs one atomic load.
type Halt struct {
	on atomic.Bool // the rest matters only while it is set

	mu      sync.Mutex
	now     Halted
	changed time.Time // requests begun by then say nothing of how things are since
	strikes int
}

// A Cause is why a caller is held back, and how long its pauses are.
type Cause struct {
	Name       string // for programs
	First, Max time.Duration
}

// Halted is the state of a Halt; zero while it is not halted.
type Halted struct {
	Cause Cause
	Why   string // in words, as of the last strike
	Since time.Time
	Until time.Time // the next probe
}

// Strike notes a refusal of a request begun at began, and says whether it is the first since the halt
// was last lifted, and whether it counted. Refusals of requests that
// were on their way at the last strike, or at the last lift, are of that wave and change nothing.
func (h *Halt) Strike(began, now time.Time, cause Cause, why string) (first, counted bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.changed.IsZero() && !began.After(h.changed) {
		return false, false
	}
	if first = !h.on.Load(); first {
		h.now.Since = now
	}
	h.strikes++
	h.changed = now
	h.now.Cause, h.now.Why, h.now.Until = cause, why, now.Add(backoff.Next(h.strikes, cause.First, cause.Max, 0))
	h.on.Store(true)
	return first, true
}

// Lift ends the halt for a request begun at began that was not refused, and says what it was; ok is
// false when there was none, and for a request that was on its way at the last strike.
func (h *Halt) Lift(began, now time.Time) (was Halted, ok bool) {
	if !h.on.Load() {
		return Halted{}, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.on.Load() || !began.After(h.changed) {
		return Halted{}, false
	}
	return h.lift(now), true
}

// Reset ends the halt whatever was on its way: the caller makes other requests from now on.
func (h *Halt) Reset(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lift(now)
}

func (h *Halt) lift(now time.Time) (was Halted) {
	was = h.now
	h.on.Store(false)
	h.now, h.changed, h.strikes = Halted{}, now, 0
	return was
}

// Hold puts the next probe off: the last one has no answer yet that would tell.
func (h *Halt) Hold(until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.on.Load() && until.After(h.now.Until) {
		h.now.Until = until
	}
}

// State is the state of the halt: ok is false while nothing is halted.
func (h *Halt) State() (now Halted, ok bool) {
	if !h.on.Load() {
		return Halted{}, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now, h.on.Load()
}

// After reports whether a request begun at began left after the last strike or lift.
func (h *Halt) After(began time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return began.After(h.changed)
}
