package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// patience bounds one exchange; a server that is slower is broken, not slow.
const patience = 20 * time.Second

// A wire is one connection of the client: it writes requests as they are and reads of each
// answer only what tells where it ends and whether it is good.
type wire struct {
	conn net.Conn
	buf  []byte
}

func dial(ctx context.Context, addr string) (*wire, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &wire{conn: conn, buf: make([]byte, 4<<10)}, nil
}

// exchange sends one request and waits for the end of its answer. Any answer outside 2xx is
// an error: a figure must not count what was refused.
func (w *wire) exchange(request []byte) error {
	if _, err := w.conn.Write(request); err != nil {
		return err
	}
	filled := 0
	for {
		n, err := w.conn.Read(w.buf[filled:])
		filled += n
		if end, size, ok := answerEnd(w.buf[:filled]); ok {
			return w.finish(filled, end, size)
		}
		if err != nil {
			return fmt.Errorf("answer cut short: %w", err)
		}
		if filled == len(w.buf) {
			return errors.New("the answer's head is too long")
		}
	}
}

// finish reads what is left of an answer whose head ends at end and whose body has size bytes.
func (w *wire) finish(filled, end, size int) error {
	head := w.buf[:end]
	if len(head) < len("HTTP/1.1 200") || head[9] != '2' {
		return fmt.Errorf("answered %q", firstLine(w.buf[:filled]))
	}
	if size < 0 {
		return fmt.Errorf("the answer does not say how long it is: %q", head)
	}
	if rest := end + size - filled; rest > 0 {
		if _, err := io.CopyN(io.Discard, w.conn, int64(rest)); err != nil {
			return fmt.Errorf("answer cut short: %w", err)
		}
	}
	return nil
}

var headEnd, lengthName = []byte("\r\n\r\n"), []byte("\r\nContent-Length: ")

// answerEnd finds where an answer's head ends and how long its body is: -1 when it does not
// say, as in a chunked one.
func answerEnd(answer []byte) (end, size int, ok bool) {
	at := bytes.Index(answer, headEnd)
	if at < 0 {
		return 0, 0, false
	}
	end = at + len(headEnd)
	start := bytes.Index(answer[:end], lengthName)
	if start < 0 {
		return end, -1, true
	}
	digits, _, _ := bytes.Cut(answer[start+len(lengthName):end], headEnd[:2])
	size, err := strconv.Atoi(string(digits))
	if err != nil {
		return end, -1, true
	}
	return end, size, true
}

func firstLine(answer []byte) []byte {
	line, _, _ := bytes.Cut(answer, headEnd[:2])
	_, body, _ := bytes.Cut(answer, headEnd)
	return append(append(bytes.Clone(line), ' '), body...)
}

// A barrage is many requests over some connections at a time, each connection sending its
// next request when the last one is answered.
type barrage struct {
	addr     string
	conns    int
	requests *volley
	again    bool // start over when all requests are used up; else the barrage ends there
	duration time.Duration
	gate     chan struct{} // when not nil, each request takes a token first
}

// A tally is what a barrage brought.
type tally struct {
	answered int
	waits    latencies // sorted
}

// fire runs the barrage to its end: the duration, the last request, or ctx, which is no error.
func (b barrage) fire(ctx context.Context) (tally, error) {
	wires, err := dialAll(ctx, b.addr, b.conns)
	if err != nil {
		return tally{}, err
	}
	defer closeAll(wires)
	ctx, cancel := context.WithTimeout(ctx, b.duration)
	defer cancel()
	began := time.Now()
	stop := began.Add(b.duration)
	var next atomic.Int64
	waits := make([]latencies, b.conns)
	errs := make([]error, b.conns)
	var all sync.WaitGroup
	for i, w := range wires {
		waits[i] = make(latencies, 0, b.requests.len()/b.conns*2)
		all.Go(func() {
			for {
				if b.gate != nil {
					select {
					case b.gate <- struct{}{}:
					case <-ctx.Done():
						return
					}
				}
				n := int(next.Add(1)) - 1
				start := time.Now()
				if (n >= b.requests.len() && !b.again) || start.After(stop) || ctx.Err() != nil {
					return
				}
				if errs[i] = w.exchange(b.requests.at(n % b.requests.len())); errs[i] != nil {
					return
				}
				waits[i] = append(waits[i], time.Since(start))
			}
		})
	}
	all.Wait()
	var t tally
	if err := errors.Join(errs...); err != nil {
		return t, err
	}
	t.waits = slices.Concat(waits...)
	t.answered = len(t.waits)
	slices.Sort(t.waits)
	return t, nil
}

func dialAll(ctx context.Context, addr string, n int) ([]*wire, error) {
	wires := make([]*wire, 0, n)
	for range n {
		w, err := dial(ctx, addr)
		if err == nil {
			err = w.conn.SetDeadline(time.Now().Add(patience + time.Minute))
		}
		if err != nil {
			closeAll(wires)
			return nil, err
		}
		wires = append(wires, w)
	}
	return wires, nil
}

func closeAll(wires []*wire) {
	for _, w := range wires {
		w.conn.Close()
	}
}
