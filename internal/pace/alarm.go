package pace

import (
	"context"
	"math"
	"sync/atomic"
	"time"
)

// An Alarm remembers the earliest of the times it was given and wakes one sleeper then. It is
// how a commit that made work due reaches the loop that does the work, without a queue
// between them: ten thousand calls of At are one wake-up.
//
// Times to come are remembered only as their minimum. Whoever takes a planned time therefore
// looks up the following one where the work is stored; that is not needed for a time that had
// already come when it was given.
type Alarm struct {
	now     func() time.Time
	due     atomic.Bool
	planned atomic.Int64 // Unix nanoseconds; never when none was given
	ring    chan struct{}
}

const never = math.MaxInt64

// NewAlarm makes an Alarm without a time. Times are by the clock now.
func NewAlarm(now func() time.Time) *Alarm {
	a := &Alarm{now: now, ring: make(chan struct{}, 1)}
	a.planned.Store(never)
	return a
}

// At asks for a wake-up at t, or at once when t has come. It never blocks and may be called
// from any goroutine.
func (a *Alarm) At(t time.Time) {
	if !t.After(a.now()) {
		if !a.due.Load() { // a flag that is up has rung
			a.due.Store(true)
			a.Ring()
		}
		return
	}
	at := int64(never - 1)
	if t.Year() < 2262 { // beyond, nanoseconds overflow
		at = t.UnixNano()
	}
	for {
		was := a.planned.Load()
		if at >= was {
			return // whoever gave was has rung
		}
		if a.planned.CompareAndSwap(was, at) {
			a.Ring()
			return
		}
	}
}

// Ring ends the present Sleep, or the next one, without giving a time: something else that
// the sleeper looks at has changed.
func (a *Alarm) Ring() {
	select {
	case a.ring <- struct{}{}:
	default:
	}
}

// Take forgets what has come by now: due is a time that had come when it was given, planned one
// that lay ahead then. Call it before looking at the work itself, because what is given
// after Take rings anew.
func (a *Alarm) Take(now time.Time) (due, planned bool) {
	due = a.due.Load() && a.due.Swap(false)
	at := a.planned.Load()
	for at != never && at <= now.UnixNano() {
		if a.planned.CompareAndSwap(at, never) {
			return due, true
		}
		at = a.planned.Load()
	}
	return due, false
}

// Sleep returns when ctx is done, at until, at the earliest planned time, or at a ring. One
// sleeper at a time.
func (a *Alarm) Sleep(ctx context.Context, until time.Time) {
	now := a.now()
	wait := until.Sub(now)
	if at := a.planned.Load(); at != never {
		wait = min(wait, time.Unix(0, at).Sub(now))
	}
	if wait <= 0 {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-a.ring:
	case <-timer.C:
	}
}
