package webhooks

import (
	"sync/atomic"
	"time"
)

// failureCountsFor is how long a webhook that could not be stored speaks for those to come, where none is stored after it.
const failureCountsFor = time.Minute

// storeFailures is the last webhook that could not be stored, until one is. A disk that is nearly full takes the small write of a
// look at it, and no webhook.
type storeFailures struct{ last atomic.Pointer[storeFailure] }

type storeFailure struct {
	at  time.Time
	err error
}

func (r *storeFailures) now(at time.Time, err error) { r.last.Store(&storeFailure{at, err}) }

func (r *storeFailures) over() {
	if r.last.Load() != nil {
		r.last.Store(nil)
	}
}

// lately is why the last webhook was not stored; nil when it was, or when that is long ago.
func (r *storeFailures) lately(now time.Time) error {
	if last := r.last.Load(); last != nil && now.Sub(last.at) < failureCountsFor {
		return last.err
	}
	return nil
}
