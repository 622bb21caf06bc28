package sender

import (
	"context"
	"math"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// slots are the calls that may be under way. Marketing takes general ones; utility takes whichever comes free first, a reserved one or
// a general one, and authentication also one of its own.
type slots struct{ general, reserved, own chan struct{} }

func newSlots(concurrency, reserved, own int) slots {
	return slots{make(chan struct{}, concurrency-reserved), make(chan struct{}, reserved-own), make(chan struct{}, own)}
}

// reserve is how many of concurrency slots marketing cannot fill, and how many of those are for authentication alone.
func reserve(concurrency int, share float64) (reserved, own int) {
	if concurrency < 3 {
		return concurrency - 1, 0
	}
	reserved = min(max(2, int(math.Round(share*float64(concurrency)))), concurrency-1)
	return reserved, reserved / 2
}

// waitForSlot waits for a slot and returns where to give it back to; nil means that ctx ended, or that
// enough was closed.
func (s slots) waitForSlot(ctx context.Context, lane int, enough <-chan struct{}) chan struct{} {
	if ctx.Err() != nil {
		return nil
	}
	own, reserved := s.own, s.reserved // of a nil one nothing comes
	switch messaging.Lanes[lane] {
	case messaging.Marketing:
		own, reserved = nil, nil
	case messaging.Utility:
		own = nil
	}
	select {
	case own <- struct{}{}:
		return own
	default:
	}
	select {
	case own <- struct{}{}:
		return own
	case reserved <- struct{}{}:
		return reserved
	case s.general <- struct{}{}:
		return s.general
	case <-ctx.Done():
		return nil
	case <-enough:
		return nil
	}
}
