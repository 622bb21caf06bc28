package pace

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nudgewire/nudgewire/internal/backoff"
)

// A Halt holds a caller back while requests are of no use for a cause that is not theirs, such as a
// bad key. After a pause one request goes out as a probe; the pause doubles with each
// refusal and ends with the first request that is not refused. The zero value is not halted; asking
// it costs one atomic load.
//
// Where several processes call the same account, a Keeper has the halt of all of them. What is learned here holds here at once,
// and is told by the next Tell; what others told comes by Look. Who wants to probe takes a turn, which one process at a time has, and
// which ends by itself: a process that dies with it delays the others, and no more.
type Halt struct {
	// Heard is told when another process halts, or lets go on: is is zero then. It is called without a lock, and must be quick. Nil is nobody.
	Heard func(was, is Halted)

	on atomic.Bool // the rest matters only while it is set

	mu      sync.Mutex
	now     Halted
	changed time.Time // requests begun by then say nothing of how things are since

	keeper Keeper
	kept   Halted    // what it was said to keep, or was heard to keep, last
	said   *Halted   // what it is being told
	untold bool      // now is not what it keeps
	turn   time.Time // until when probes are ours; zero where they are not
}

// A Cause is why a caller is held back, and how long its pauses are.
type Cause struct {
	Name       string // for programs
	First, Max time.Duration
	Marks
}

// Marks are what else all processes have to know of a halt.
type Marks struct {
	ByStatus bool // it was told by the status of a message that had been accepted
	Asked    bool // a question was answered well since the last refusal
}

// Halted is the state of a Halt; zero while it is not halted.
type Halted struct {
	Cause   string
	Why     string // in words, as of the last strike
	Since   time.Time
	Until   time.Time // the next probe
	Strikes int
	Marks
}

// same reports whether two states are one: words alone make no other.
func (h Halted) same(other Halted) bool {
	h.Why = other.Why
	return h == other
}

// A Keeper keeps the halt of all processes that do the same at an account in the same way.
type Keeper interface {
	// Paused is what is kept as far as this process knows, zero for no halt. It asks nobody.
	Paused() Halted
	// Swap keeps to in the place of from, either of which may be zero, and reports whether from was kept. By its return Paused
	// knows what is kept. Times have microseconds.
	Swap(ctx context.Context, from, to Halted) (bool, error)
}

// longest bounds the wait for a probe that others told of: the clock may have been set back since.
const longest = 15 * time.Minute

// Share has k keep the halt, nil for nobody, and takes up what it keeps. Call it once, before the first request.
func (h *Halt) Share(k Keeper, now time.Time) {
	h.mu.Lock()
	h.keeper, h.kept, h.said, h.untold = k, Halted{}, nil, false
	h.notifyChange(h.look(now))
}

// Reset forgets the halt whatever was on its way, because the caller makes other requests from now on, and shares it with k.
func (h *Halt) Reset(k Keeper, now time.Time) {
	h.mu.Lock()
	h.lift(now)
	h.mu.Unlock()
	h.Share(k, now)
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
		h.now.Since = stamp(now)
	}
	h.now.Strikes++
	h.changed = now
	h.now.Cause, h.now.Why, h.now.Marks = cause.Name, why, cause.Marks
	h.now.Until = stamp(now.Add(backoff.Next(h.now.Strikes, cause.First, cause.Max, 0)))
	h.on.Store(true)
	h.turn, h.untold = time.Time{}, true
	return first, true
}

// stamp is a time as a Keeper keeps it.
func stamp(t time.Time) time.Time { return t.Truncate(time.Microsecond).UTC() }

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

func (h *Halt) lift(now time.Time) (was Halted) {
	was = h.now
	h.on.Store(false)
	h.now, h.changed, h.turn, h.untold = Halted{}, now, time.Time{}, true
	return was
}

// Retry makes the next probe due at once, and the pauses short again: a person says that something was done.
func (h *Halt) Retry(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.on.Load() {
		return
	}
	h.now.Until, h.now.Strikes, h.now.Asked = stamp(now), 0, false
	h.turn, h.untold = time.Time{}, true
}

// Hold puts the next probe off: the last one has no answer yet that would tell.
func (h *Halt) Hold(until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if until = stamp(until); h.on.Load() && until.After(h.now.Until) {
		h.now.Until, h.turn, h.untold = until, time.Time{}, true
	}
}

// Answered notes that a question was answered well.
func (h *Halt) Answered() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.on.Load() && !h.now.Asked {
		h.now.Asked, h.untold = true, true
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

// On reports whether something is halted.
func (h *Halt) On() bool { return h.on.Load() }

// After reports whether a request begun at began left after the last strike or lift.
func (h *Halt) After(began time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return began.After(h.changed)
}

// Turn reports whether a probe may leave here now.
func (h *Halt) Turn(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.on.Load() && now.Before(h.turn)
}

// Look takes up what others told.
func (h *Halt) Look(now time.Time) {
	h.mu.Lock()
	h.notifyChange(h.look(now))
}

// A change is what was heard of others.
type change struct{ was, is Halted }

// look takes up what is kept where another process changed it. What was learned here meanwhile, and not told, gives way: it will be
// learned again.
func (h *Halt) look(now time.Time) (heard *change) {
	if h.keeper == nil {
		return nil
	}
	kept := h.keeper.Paused()
	if kept.same(h.kept) || h.said != nil && kept.same(*h.said) {
		return nil
	}
	was := h.now
	h.kept, h.now, h.untold, h.turn = kept, kept, false, time.Time{}
	if most := stamp(now.Add(longest)); h.now.Until.After(most) {
		h.now.Until = most
	}
	h.on.Store(kept != Halted{})
	if was.Strikes != kept.Strikes || !was.Since.Equal(kept.Since) {
		h.changed = now
	}
	return &change{was, h.now}
}

// notifyChange gives the lock back and says what was heard; nil for nothing.
func (h *Halt) notifyChange(heard *change) {
	h.mu.Unlock()
	if heard != nil && h.Heard != nil {
		h.Heard(heard.was, heard.is)
	}
}

// Tell has the Keeper keep what was learned here. One goroutine calls it, and Try, again after an error.
func (h *Halt) Tell(ctx context.Context, now time.Time) error {
	h.mu.Lock()
	if !h.untold {
		h.mu.Unlock()
		return nil
	}
	to := h.now
	if !h.turn.IsZero() {
		to.Until = h.turn
	}
	_, err := h.swap(ctx, now, to)
	return err
}

// Try reports whether the next probe may leave here, now or within the given time: while nothing is halted, in a turn, and where a
// turn is free.
func (h *Halt) Try(ctx context.Context, now time.Time, within time.Duration) (bool, error) {
	h.mu.Lock()
	if !h.on.Load() || now.Before(h.turn) {
		h.mu.Unlock()
		return true, nil
	}
	if h.now.Until.After(now) {
		h.mu.Unlock()
		return false, nil
	}
	to := h.now
	to.Until = stamp(now.Add(within))
	return h.swap(ctx, now, to)
}

// swap begins with the lock, and gives it back. A Halt without a Keeper has what it wants.
func (h *Halt) swap(ctx context.Context, now time.Time, to Halted) (mine bool, err error) {
	keeper, from, before := h.keeper, h.kept, h.now
	if keeper != nil && (from != Halted{} || to != Halted{}) {
		h.said = &to
		h.mu.Unlock()
		mine, err = keeper.Swap(ctx, from, to)
		h.mu.Lock()
		h.said = nil
	} else {
		mine = true
	}
	if h.keeper != keeper { // another account, for all that it says
		h.mu.Unlock()
		return false, err
	}
	if mine && err == nil {
		h.kept = to
		if h.now == before {
			h.untold = false
			if to.Until.After(h.now.Until) {
				h.turn = to.Until
			}
		}
	}
	h.notifyChange(h.look(now))
	return mine && err == nil, err
}
