package store

import (
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// An Observer is called with what was just committed, by the goroutine whose commit it was and before
// that one goes on: what the observer is slow at, the daemon is slow at. A nil function is not called.
type Observer struct {
	// Accepted gets an event that waits for a look-up twice: with Plan.Later when it is stored, and
	// when it is planned.
	Accepted func(messaging.Plan, messaging.Receipt)
	Rejected func(messaging.RejectedRequest)
	Finished func(messaging.Attempt)
	Polled   func(messaging.Poll)

	// Committed gets each commit: how many operations shared it and how long it took, from the begin of the transaction
	// until it was on disk. The writer waits for it.
	Committed func(operations int, took time.Duration)

	Run  func(messaging.Run)  // a run that was stored or moved on
	Part func(messaging.Part) // a part that is on its way, or whose upload ended
}

// observe calls the observer with what was committed, unless err says that it was not.
func observe[T any](err error, observer func(T), what T) error {
	if err == nil && observer != nil {
		observer(what)
	}
	return err
}
