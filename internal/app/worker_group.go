package app

import (
	"context"
	"sync"
)

// A workerGroup is a part whose members come and go while it runs: rooms that there is one of for each account.
// It ends when its ctx does, or with the first member that ends by itself.
type workerGroup struct {
	mu      sync.Mutex
	ctx     context.Context // nil before run
	early   []*worker       // that came before run
	closed  bool
	members sync.WaitGroup
	failed  chan error
}

// A worker runs until its ctx is done.
type worker struct {
	run    func(ctx context.Context) error
	ctx    context.Context
	cancel context.CancelFunc
	ended  chan struct{} // closed at its end
}

func newWorkerGroup() *workerGroup { return &workerGroup{failed: make(chan error, 1)} }

// run is the part.
func (c *workerGroup) run(ctx context.Context) (err error) {
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	c.mu.Lock()
	c.ctx = own
	for _, m := range c.early {
		c.begin(m)
	}
	c.early = nil
	c.mu.Unlock()
	select {
	case <-ctx.Done():
	case err = <-c.failed:
		cancel()
	}
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.members.Wait()
	return err
}

// join adds a worker, which begins when the group does.
func (c *workerGroup) join(run func(ctx context.Context) error) *worker {
	m := &worker{run: run, ended: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		close(m.ended)
	case c.ctx == nil:
		c.early = append(c.early, m)
	default:
		c.begin(m)
	}
	return m
}

// begin starts a member; c.mu is held.
func (c *workerGroup) begin(m *worker) {
	m.ctx, m.cancel = context.WithCancel(c.ctx)
	c.members.Go(func() {
		defer close(m.ended)
		if err := m.run(m.ctx); err != nil || m.ctx.Err() == nil {
			select {
			case c.failed <- err:
			default:
			}
		}
	})
}

// leave tells a member to end; m.ended says when it has.
func (c *workerGroup) leave(m *worker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.cancel != nil {
		m.cancel()
		return
	}
	for i, early := range c.early {
		if early == m {
			c.early = append(c.early[:i], c.early[i+1:]...)
			close(m.ended)
			return
		}
	}
}
