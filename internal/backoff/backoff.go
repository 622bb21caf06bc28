// Package backoff says how long to wait before trying again, and waits. Whether another attempt is
// right is the caller's matter.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Next is the pause after the attempt-th failure, counted from 1: base, doubled by every
// further one, never more than most. jitter, from 0 up to but not including 1, takes up to
// half of the pause away, so that many who failed together do not come back together.
//
// A base that is not positive means no pause. A most below base counts as base.
func Next(attempt int, base, most time.Duration, jitter float64) time.Duration {
	if base <= 0 {
		return 0
	}
	pause := base
	for i := 1; i < attempt && pause < most; i++ {
		if pause > most/2 {
			pause = most
			break
		}
		pause *= 2
	}
	return pause - time.Duration(jitter*float64(pause/2))
}

// Jitter is a random number for Next, from 0 up to but not including 1. Spreading load needs
// no secrecy, so it is the fast generator; it may be called from many goroutines.
func Jitter() float64 { return rand.Float64() }

// Sleep waits for d, or until ctx is done.
func Sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
