package store

import (
	"sync/atomic"
	"time"
)

// lowWaterFor is how long a claim trusts what earlier ones left behind. It bounds how late an
// expired dispatch that is halted is dropped.
const lowWaterFor = int64(time.Minute / time.Microsecond)

// lowWater is the low-water mark of claims: for each lane a due time before which every waiting dispatch is halted, so
// that a backlog of them is walked once and not at each claim. It only saves work: zero is right at any
// time, and nil is always zero. Times are microseconds.
type lowWater struct {
	at, since [2]atomic.Int64 // since is by the claims' clock
}

// from is the mark of a lane.
func (w *lowWater) from(lane, now int64) int64 {
	if w == nil || w.old(lane, now) {
		return 0
	}
	return w.at[lane].Load()
}

func (w *lowWater) old(lane, now int64) bool {
	since := w.since[lane].Load()
	return now-since >= lowWaterFor || now < since
}

// raise takes in what a claim found from the mark on: the earliest, or nothing that is due.
func (w *lowWater) raise(lane, now int64, found []claimed) {
	if w == nil {
		return
	}
	if w.old(lane, now) {
		w.since[lane].Store(now)
	}
	if len(found) > 0 {
		now = micro(found[0].DueAt)
	}
	w.at[lane].Store(now)
}

// lower is called for whatever is left waiting.
func (w *lowWater) lower(at int64) {
	if w == nil {
		return
	}
	for lane := range w.at {
		if w.at[lane].Load() > at {
			w.at[lane].Store(at)
		}
	}
}
