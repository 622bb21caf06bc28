package sender

import (
	"context"
	"math"
)

// slots are the calls that may be under way. Marketing takes general ones; an urgent dispatch
// takes whichever comes free first, a reserved one or a general one.
type slots struct{ general, reserved chan struct{} }

func newSlots(general, reserved int) slots {
	return slots{make(chan struct{}, general), make(chan struct{}, reserved)}
}

// reserve is how many of concurrency slots marketing cannot fill.
func reserve(concurrency int, share float64) int {
	if concurrency < 2 {
		return 0
	}
	return min(max(1, int(math.Round(share*float64(concurrency)))), concurrency-1)
}

// take waits for a slot and returns the lane to give it back to; nil means that ctx ended, or that
// enough was closed.
func (s slots) take(ctx context.Context, urgent bool, enough <-chan struct{}) chan struct{} {
	if ctx.Err() != nil {
		return nil
	}
	if !urgent {
		select {
		case s.general <- struct{}{}:
			return s.general
		case <-ctx.Done():
			return nil
		case <-enough:
			return nil
		}
	}
	select {
	case s.reserved <- struct{}{}:
		return s.reserved
	case s.general <- struct{}{}:
		return s.general
	case <-ctx.Done():
		return nil
	case <-enough:
		return nil
	}
}
