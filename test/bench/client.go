package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// patience bounds one exchange; a server that is slower is broken, not slow.
const patience = time.Minute

// A wire is one connection that posts webhooks. It writes requests that were made before: net/http's
// own client costs more than the servers under test and would hide them.
type wire struct {
	net.Conn
	in   *bufio.Reader
	hook *hook
	used time.Time // when it was dialed, or brought an answer
}

// idle is how long a connection lasts surely that asks nothing: a server closes one that asked nothing yet after five seconds.
const idle = 2 * time.Second

func dial(ctx context.Context, o load, addr string) (*wire, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &wire{conn, bufio.NewReader(conn), newHook(time.Now()), time.Now()}, conn.SetDeadline(time.Now().Add(o.duration + patience))
}

// exchange is post, over another connection where the server may have closed this one for its idleness.
func (w *wire) exchange(ctx context.Context, o load, serial int64) (status int, err error) {
	asked := time.Now()
	status, err = w.post(serial)
	if err != nil && asked.Sub(w.used) > idle {
		other, failed := dial(ctx, o, w.RemoteAddr().String())
		if failed != nil {
			return 0, errors.Join(err, failed)
		}
		_ = w.Close() // it failed
		w.Conn, w.in = other.Conn, other.in
		status, err = w.post(serial)
	}
	w.used = time.Now()
	return status, err
}

// post posts one webhook, reads its whole answer and returns the status.
func (w *wire) post(serial int64) (status int, err error) {
	if _, err := w.Write(w.hook.request(serial)); err != nil {
		return 0, err
	}
	resp, err := http.ReadResponse(w.in, nil)
	if err != nil {
		return 0, fmt.Errorf("read the answer: %w", err)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, errors.Join(err, resp.Body.Close())
}

// A load is webhooks that are posted over some connections at a time.
type load struct {
	addrs    []string // that share the connections
	conns    int
	duration time.Duration
	// rate is how many webhooks arrive a second, whatever the answers do. 0 is a closed loop: each
	// connection posts its next webhook when the last one was answered 2xx.
	rate int
	gate chan struct{} // in a closed loop: when not nil, each webhook takes a token first
	sent *sync.Map     // when not nil, gets the moment at which each webhook was due by its serial
}

// A tally is what a load brought.
type tally struct {
	posted  int
	waits   []time.Duration // of the answers 2xx, from the moment a webhook was due
	elapsed time.Duration   // until the last answer
}

// reading is the rate of the answers 2xx.
func (t tally) reading() reading {
	good := float64(len(t.waits))
	return reading{value: good / t.elapsed.Seconds(), waits: percentiles(t.waits), good: good / float64(t.posted)}
}

// post runs the load to its end: its duration, or ctx, which is no error.
func (l *lab) post(ctx context.Context, o load) (tally, error) {
	wires := make([]*wire, o.conns)
	for i := range wires {
		w, err := dial(ctx, o, o.addrs[i%len(o.addrs)])
		if err != nil {
			return tally{}, err
		}
		defer func() { _ = w.Close() }() // the connection that it has then
		wires[i] = w
	}
	posting, cancel := context.WithTimeout(ctx, o.duration)
	defer cancel()
	began := time.Now()
	next := o.closed(posting)
	var all sync.WaitGroup
	if o.rate > 0 {
		next = o.arrivals(ctx, &all, began)
	}
	tallies := make([]tally, o.conns)
	errs := make([]error, o.conns)
	for i, w := range wires {
		all.Go(func() { tallies[i], errs[i] = l.postAlong(ctx, o, w, next) })
	}
	all.Wait()
	t := tally{elapsed: time.Since(began)}
	for _, one := range tallies {
		t.posted += one.posted
		t.waits = append(t.waits, one.waits...)
	}
	err := errors.Join(errs...)
	if err == nil && t.posted == 0 {
		err = errors.New("no webhook was posted")
	}
	return t, err
}

// postAlong posts webhooks over one connection as long as next brings the moment of one.
func (l *lab) postAlong(ctx context.Context, o load, w *wire, next func() (time.Time, bool)) (t tally, err error) {
	for {
		due, ok := next()
		if !ok {
			return t, nil
		}
		serial := l.serial.Add(1)
		if o.sent != nil {
			o.sent.Store(serial, due)
		}
		status, err := w.exchange(ctx, o, serial)
		switch {
		case err != nil:
			return t, err
		case status/100 == 2:
			t.waits = append(t.waits, time.Since(due))
		case o.rate == 0:
			return t, fmt.Errorf("a webhook was answered %d", status)
		}
		t.posted++
	}
}

// closed brings the next webhook at once, until ctx is done.
func (o load) closed(ctx context.Context) func() (time.Time, bool) {
	return func() (time.Time, bool) {
		if o.gate != nil {
			select {
			case o.gate <- struct{}{}:
			case <-ctx.Done():
			}
		}
		return time.Now(), ctx.Err() == nil
	}
}

// arrivals hands out webhooks at a constant rate for the duration. One that finds no idle
// connection waits for it, and its time runs.
func (o load) arrivals(ctx context.Context, all *sync.WaitGroup, began time.Time) func() (time.Time, bool) {
	n := max(1, int(float64(o.rate)*o.duration.Seconds()))
	queue := make(chan time.Time, n)
	all.Go(func() {
		defer close(queue)
		for i := range n {
			due := began.Add(time.Duration(i) * time.Second / time.Duration(o.rate))
			if d := time.Until(due); d > 0 {
				sleep(d)
			}
			if ctx.Err() != nil {
				return
			}
			queue <- due
		}
	})
	return func() (time.Time, bool) {
		due, ok := <-queue
		return due, ok
	}
}
