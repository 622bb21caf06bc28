package nodes

import (
	"sync"
	"sync/atomic"
	"time"
)

// A Clock is what times are made by, and what stored ones are compared with. Where processes of several machines share a server it is the
// server's: what that said last, and what has passed here since. So all of them agree, whatever their machines say (decision 5). On a
// file it is the machine's. It never goes back while a process lives that has a server: where that says less than before, as another
// one may that takes over, the clock goes at half the pace until they meet.
type Clock struct {
	Machine func() time.Time
	reading sync.Mutex
	known   atomic.Pointer[reading] // nil where no server was asked
}

// A reading is what a server said.
type reading struct {
	at    time.Time     // here; only what has passed since counts, so a machine that is put right changes nothing
	there time.Time     // at the server by then
	ahead time.Duration // how much more had been said here by then
}

// Now is the time by what is known.
func (c *Clock) Now() time.Time {
	r := c.known.Load()
	if r == nil {
		return c.Machine()
	}
	passed := max(0, c.Machine().Sub(r.at))
	return r.there.Add(passed + max(0, r.ahead-passed/2))
}

// Learn takes in what the server said to a question that was asked at began and has just been answered. It said so some time between the
// two: a time within that is as good as any, and stays.
func (c *Clock) Learn(began, said time.Time) {
	c.reading.Lock()
	defer c.reading.Unlock()
	at := c.Machine()
	r := reading{at: at, there: said}
	if c.known.Load() != nil {
		latest := said.Add(at.Sub(began))
		switch now := c.Now(); {
		case now.After(latest):
			r.there, r.ahead = latest, now.Sub(latest)
		case !now.Before(said):
			return
		}
	}
	c.known.Store(&r)
}
