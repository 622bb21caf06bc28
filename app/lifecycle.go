package app

import (
	"context"
	"errors"
	"fmt"
)

// A part runs until its ctx is done, and then returns nil once it holds nothing any more.
type part struct {
	name string
	run  func(ctx context.Context) error
}

// runParts starts the parts in order and keeps them until ctx is done or one of them ends by
// itself. Then it stops them one after the other, last started first, each waited for. The
// error is the first trouble; a stop that was asked for is none. stopping is called when the stop begins, with the part
// that ended by itself, if that is why.
func runParts(ctx context.Context, parts []part, stopping func(ended string, err error)) error {
	type running struct {
		part
		stop context.CancelFunc
		done chan struct{}
		err  error
	}
	ended := make(chan *running, len(parts))
	all := make([]*running, len(parts))
	for i, p := range parts {
		// A part must not see ctx end by itself: its turn to stop comes when those that feed
		// it have stopped.
		own, stop := context.WithCancel(context.WithoutCancel(ctx))
		r := &running{part: p, stop: stop, done: make(chan struct{})}
		all[i] = r
		go func() {
			defer func() { close(r.done); ended <- r }()
			r.err = r.run(own)
		}()
	}
	var first error
	select {
	case <-ctx.Done():
		stopping("", nil)
	case r := <-ended:
		first = fmt.Errorf("%s: %w", r.name, errors.Join(r.err, errEndedEarly))
		stopping(r.name, r.err)
	}
	for i := len(all) - 1; i >= 0; i-- {
		r := all[i]
		r.stop()
		<-r.done
		if r.err != nil && first == nil {
			first = fmt.Errorf("stop %s: %w", r.name, r.err)
		}
	}
	return first
}

// errEndedEarly marks a part that returned though nobody had asked it to stop.
var errEndedEarly = errors.New("ended by itself")
