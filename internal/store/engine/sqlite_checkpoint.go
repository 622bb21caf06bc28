package engine

import (
	"context"
	"database/sql/driver"
	"sync"
	"sync/atomic"
)

// A checkpoint moves what the log holds into the database, so that the log can begin anew.
// SQLite does that inside the commit that made the log long: for 40 ms nobody was answered,
// ten times a second at full load. Here a connection of its own does it while the flusher goes
// on. What was written meanwhile is a small rest, and only that is moved between two batches:
// the log cannot begin anew while it holds anything.
//
// Errors are not reported: a checkpoint that did not happen costs nothing but a longer log,
// the next one is due soon, and a disk that is full makes the next write fail.

// checkpointEvery is after how many changes a checkpoint is due: 6 to 8 MB of log at full load. Four
// times as many, and a quarter, were slower: a long log leaves the processor's and the disk's own memory, and
// of a short one the same pages are moved again and again.
const checkpointEvery = 4_000

// checkpointNow waits for nobody.
const checkpointNow = "PRAGMA wal_checkpoint(PASSIVE)"

type checkpointer struct {
	conn driver.Conn
	due  chan struct{} // holds a token when a checkpoint is due
	mu   sync.Mutex    // one checkpoint at a time by conn
	rest atomic.Bool   // what was written meanwhile is to be moved by the flusher
	done chan struct{}
}

func newCheckpointer(c Connector) (*checkpointer, error) {
	conn, err := c.Connect(context.Background())
	if err != nil {
		return nil, err
	}
	p := &checkpointer{conn: conn, due: make(chan struct{}, 1), done: make(chan struct{})}
	go p.run()
	return p, nil
}

func (p *checkpointer) run() {
	defer close(p.done)
	for range p.due {
		p.now()
	}
}

// now makes a checkpoint and waits for it.
func (p *checkpointer) now() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if execOn(p.conn, checkpointNow) == nil {
		p.rest.Store(true)
	}
}

func (p *checkpointer) poke() {
	select {
	case p.due <- struct{}{}:
	default: // one is due already, or under way
	}
}

// close waits for a checkpoint that is under way.
func (p *checkpointer) close() error {
	close(p.due)
	<-p.done
	return p.conn.Close()
}

// checkpoint is the flusher's part, after a commit.
func (e *SQLite) checkpoint() {
	if e.checkpoints == nil {
		return
	}
	if e.changes >= checkpointEvery {
		e.changes = 0
		e.checkpoints.poke()
	}
	if !e.open && e.checkpoints.rest.CompareAndSwap(true, false) {
		_ = execOn(e.conn, checkpointNow)
	}
}
