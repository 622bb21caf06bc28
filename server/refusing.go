package server

import (
	"sync/atomic"
	"time"
)

// refusesFor is how long a webhook that could not be stored speaks for those to come, where none is stored after it.
const refusesFor = time.Minute

// refusing is the last webhook that could not be stored, until one is. A disk that is nearly full takes the small write of a
// look at it, and no webhook.
type refusing struct{ last atomic.Pointer[notStored] }

type notStored struct {
	at  time.Time
	err error
}

func (r *refusing) now(at time.Time, err error) { r.last.Store(&notStored{at, err}) }

func (r *refusing) over() {
	if r.last.Load() != nil {
		r.last.Store(nil)
	}
}

// lately is why the last webhook was not stored; nil when it was, or when that is long ago.
func (r *refusing) lately(now time.Time) error {
	if last := r.last.Load(); last != nil && now.Sub(last.at) < refusesFor {
		return last.err
	}
	return nil
}
