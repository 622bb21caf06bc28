package scheduler

import (
	"context"
	"time"
)

// maxAhead is how many rows of a run wait to be sent before more are handed over: enough for
// a minute at a common rate, few enough that a pause or cancel finds the others at home.
const maxAhead = 1024

// room waits until few enough rows of the run wait to be sent, so that they are handed over no faster
// than they leave.
func (w *working) room(ctx context.Context) error {
	for {
		waiting, err := w.Store.Backlog(ctx, w.run.ID)
		if err != nil || waiting <= maxAhead {
			return err
		}
		if err := w.keep(ctx); err != nil {
			return err
		}
		if err := w.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}
