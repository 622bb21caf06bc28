package store

import (
	"sync/atomic"
	"time"
)

// passedFor is how long a claim trusts what earlier ones passed over. It bounds how late an
// expired dispatch that is halted is dropped.
const passedFor = int64(time.Minute / time.Microsecond)

// passed is, for each lane, a due time before which every waiting dispatch is halted, so that
// a backlog of them is walked once and not at each claim. It only spares work: zero is right at
// any time. Whatever is left waiting before it puts it back.
type passed struct {
	at    [2]atomic.Int64
	since [2]int64 // by the claims' clock; of the flusher alone
}

func (p *passed) from(lane, now int64) int64 {
	if now-p.since[lane] >= passedFor || now < p.since[lane] {
		p.at[lane].Store(0)
		p.since[lane] = now
	}
	return p.at[lane].Load()
}

// on takes in what a claim found from the mark on: the earliest, or nothing that is due.
func (p *passed) on(lane, now int64, found []claimed) {
	at := now
	if len(found) > 0 {
		at = micro(found[0].DueAt)
	}
	p.at[lane].Store(at)
}

func (p *passed) back(at int64) {
	for l := range p.at {
		if p.at[l].Load() > at {
			p.at[l].Store(at)
		}
	}
}
