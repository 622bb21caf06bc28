package claims

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// FlushTimeout is how long after the grace what calls left may take to be stored.
const FlushTimeout = 5 * time.Second

// ErrRunning refuses a second Run at the same time.
var ErrRunning = errors.New("it is running already")

// A Service is what runs beside others from the start of a daemon to its stop: the sender, the tracker, the enricher and the outbox.
type Service struct{ running atomic.Bool }

// Run runs parts until ctx is done, which means: begin nothing more. A part returns when all that it has begun is at its end, and Run when all
// parts have returned. Neither calls nor commits end with ctx: a call cut half-way may have reached the phone, and a claim whose commit
// nobody waited for would end in doubt without a call. So calling is done a grace after ctx, and recording FlushTimeout after that.
func (s *Service) Run(ctx context.Context, grace time.Duration, parts ...func(calling, recording context.Context)) error {
	if !s.running.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer s.running.Store(false)
	calling, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	recording, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	var running sync.WaitGroup
	for _, part := range parts {
		running.Go(func() { part(calling, recording) })
	}
	<-ctx.Done()
	defer time.AfterFunc(grace, cut).Stop()
	defer time.AfterFunc(grace+FlushTimeout, leave).Stop()
	running.Wait()
	return nil
}
