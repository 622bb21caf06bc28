package tracker

import (
	"context"
	"errors"

	"github.com/nudgewire/nudgewire/internal/claims"
)

// ErrHalted says that the service refuses the key, so that nothing is asked but by probes.
var ErrHalted = errors.New("questions are halted")

// Turn claims looks that are due by Options.Now, as many as there is room for, and makes them one after the other: for whoever steps the
// clock, in the place of Run. It makes no early checks, and ends nothing by the clock alone that a look would not end.
func (t *Tracker) Turn(ctx context.Context) (asked int, err error) {
	if t.halt.On() {
		return 0, ErrHalted
	}
	got, err := t.Store.ClaimPolls(ctx, t.Now(), t.Lease, ahead*t.Concurrency)
	for i := range got {
		t.work(ctx, ctx, ctx, &got[i], &claims.Seat{})
	}
	return len(got), err
}
