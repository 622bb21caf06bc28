package store

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/nodes"
)

// A clock is what times are made by, and what stored ones are compared with. Where processes of several machines share a server it is the
// server's: what that said last, and what has passed here since. So all of them agree, whatever their machines say (decision 5). On a
// file it is the machine's. It never goes back while a process lives that has a server: where that says less than before, as another
// one may that takes over, the clock goes at half the pace until they meet.
type clock struct {
	machine func() time.Time
	reading sync.Mutex
	known   atomic.Pointer[reading] // nil where no server was asked
}

// A reading is what a server said.
type reading struct {
	at    time.Time     // here; only what has passed since counts, so a machine that is put right changes nothing
	there time.Time     // at the server by then
	ahead time.Duration // how much more had been said here by then
}

func (c *clock) now() time.Time {
	r := c.known.Load()
	if r == nil {
		return c.machine()
	}
	passed := max(0, c.machine().Sub(r.at))
	return r.there.Add(passed + max(0, r.ahead-passed/2))
}

// learn takes in what the server said to a question that was asked at began and has just been answered. It said so some time between the
// two: a time within that is as good as any, and stays.
func (c *clock) learn(began, said time.Time) {
	c.reading.Lock()
	defer c.reading.Unlock()
	at := c.machine()
	r := reading{at: at, there: said}
	if c.known.Load() != nil {
		latest := said.Add(at.Sub(began))
		switch now := c.now(); {
		case now.After(latest):
			r.there, r.ahead = latest, now.Sub(latest)
		case !now.Before(said):
			return
		}
	}
	c.known.Store(&r)
}

// Now is the time that stored times are compared with: the server's where several processes may share the data, else the machine's.
func (s *Store) Now() time.Time { return s.now() }

// readClock asks the server for the time, before anything is compared with it. Heartbeats go on with that.
func (s *Store) readClock(ctx context.Context) error {
	var said int64
	began := s.clock.machine()
	err := s.reads.QueryRowContext(ctx, `SELECT `+nodes.Now).Scan(&said)
	if err == nil {
		s.clock.learn(began, engine.Moment(said))
	}
	return err
}
