package lists

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/nudgewire/nudgewire/internal/units"
)

// A vigil bounds one reading over a network: as a whole, and by how long nothing comes. A server that stalls
// would else keep its place, and the lists of others from being read, until the time for the whole is over.
// Closing the source ends it.
type vigil struct {
	ctx  context.Context // one reading, bounded by it from Open to Close
	idle time.Duration
	end  context.CancelCauseFunc
	stop context.CancelFunc
}

func (o *Origin) vigil(ctx context.Context) *vigil {
	timeout, idle := o.Timeout.D(), o.Idle.D()
	if timeout <= 0 {
		timeout = 15 * time.Minute
	}
	if idle <= 0 {
		idle = time.Minute
	}
	v := &vigil{idle: idle}
	ctx, v.end = context.WithCancelCause(ctx)
	v.ctx, v.stop = context.WithTimeoutCause(ctx, timeout, &awayError{fmt.Errorf("took longer than %s", units.Duration(timeout))})
	return v
}

func (v *vigil) close() {
	v.stop()
	v.end(nil)
}

// while bounds one step in which something has to come.
func (v *vigil) while(step func() error) error {
	t := time.AfterFunc(v.idle, func() {
		v.end(&awayError{&wordError{
			fmt.Sprintf("nothing came for %s, so the reading was ended", units.Duration(v.idle)),
			"the other side stalls: run the job again later, or set source.idle higher where it is only slow",
		}})
	})
	defer t.Stop()
	return v.explain(step())
}

// explain is what ended the reading, where that was a bound or a person; else err.
func (v *vigil) explain(err error) error {
	if cause := context.Cause(v.ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// A watchedBody fails when nothing comes. It needs what is read to end with the vigil's context.
type watchedBody struct {
	io.ReadCloser
	vigil *vigil
}

func (b watchedBody) Read(p []byte) (n int, err error) {
	err = b.vigil.while(func() (err error) {
		n, err = b.ReadCloser.Read(p)
		return err
	})
	return n, err
}
