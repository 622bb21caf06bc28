package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
)

// A part runs until its ctx is done, and then returns nil once it holds nothing any more.
type part struct {
	name string
	run  func(ctx context.Context) error
}

// A stop ends within thirty seconds, whatever something waits for: a list, a look-up, a receiver, the service, the database.
const (
	// inTurn is how long parts are stopped one after the other. Those that are left then are told at once, and their graces run side
	// by side.
	inTurn = 5 * time.Second
	// stopTime is when the process ends without those that have not ended. All that was answered is stored, and the next start
	// settles what was under way, as after a crash.
	stopTime = 28 * time.Second
)

// Bound has exit called when a stop takes too long, from a start that hangs to the closing of the data. ctx is done when the stop
// begins; ended says that it is over.
func Bound(ctx context.Context, log *zap.Logger, exit func(code int)) (ended func()) {
	over := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		late := time.NewTimer(stopTime)
		defer late.Stop()
		select {
		case <-over:
		case <-late.C:
			log.Error("the stop took too long; the process ends without what it waits for, and the next start settles that as after a crash",
				zap.Duration("after", stopTime))
			exit(1)
		}
	})
	return func() { stop(); close(over) }
}

// runParts starts the parts in order and keeps them until ctx is done or one of them ends by
// itself. Then it stops them one after the other, last started first, each waited for; from inTurn on, all that are left at once. The
// error is the first trouble; a stop that was asked for is none. stopping is called when the stop begins, with the part
// that ended by itself, if that is why; slow with the parts that take more than their turn.
func runParts(ctx context.Context, parts []part, stopping func(ended string, err error), slow func(names []string)) error {
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
	late := time.NewTimer(inTurn)
	defer late.Stop()
	for i := len(all) - 1; i >= 0; i-- {
		r := all[i]
		r.stop()
		select {
		case <-r.done:
		case <-late.C: // once
			names := []string{r.name}
			for _, other := range all[:i] {
				other.stop()
				names = append(names, other.name)
			}
			slow(names)
			<-r.done
		}
		if r.err != nil && first == nil {
			first = fmt.Errorf("stop %s: %w", r.name, r.err)
		}
	}
	return first
}

// errEndedEarly marks a part that returned though nobody had asked it to stop.
var errEndedEarly = errors.New("ended by itself")
