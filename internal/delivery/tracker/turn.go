package tracker

import (
	"context"
	"errors"

	"github.com/nudgewire/nudgewire/internal/claims"
)

// ErrHalted says that the service refuses the key, so that nothing is asked but by probes.
var ErrHalted = errors.New("questions are halted")

// Turn asks about each message whose turn it is by Options.Now, one after the other, and returns when no look is due: for whoever steps the
// clock, in the place of Run. It makes no early checks, and ends nothing by the clock alone that a look would not end.
func (t *Tracker) Turn(ctx context.Context) (asked int, err error) {
	for {
		if t.halt.On() {
			return asked, ErrHalted
		}
		got, err := t.Store.ClaimPolls(ctx, t.Now(), t.Lease, ahead*t.Concurrency)
		if err != nil || len(got) == 0 {
			return asked, err
		}
		for i := range got {
			t.work(ctx, ctx, ctx, &got[i], &claims.Seat{})
		}
		asked += len(got)
	}
}
