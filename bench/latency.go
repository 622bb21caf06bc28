package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	calm      = 200 // events a second, a busy day of a large shop
	calmWires = 64  // connections, so that no request waits for another's answer
)

// latencyContest measures how long things take while there is little to do: from the first
// byte of a webhook to its answer, and to the arrival of its call at the service.
func latencyContest(needAnswer, needCall float64) *contest {
	name := fmt.Sprintf("at %d events/s", calm)
	p50, p99, call, call99 := name+": answer p50", name+": answer p99", name+": webhook to call p50", name+": webhook to call p99"
	return &contest{
		name: name, figures: []figure{
			{name: p50, unit: "ms", need: needAnswer, atMost: true},
			{name: p99, unit: "ms"},
			{name: call, unit: "ms", need: needCall, atMost: true},
			{name: call99, unit: "ms"},
		},
		round: func(ctx context.Context, l *lab) (sample, error) {
			answers, calls, err := latency(ctx, l, name)
			return sample{
				p50: plain(answers.ms(0.5)), p99: plain(answers.ms(0.99)), call: plain(calls.ms(0.5)), call99: plain(calls.ms(0.99)),
			}, err
		},
	}
}

func latency(ctx context.Context, l *lab, name string) (answers, calls latencies, err error) {
	folder, remove, err := l.folder("latency")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	n := max(1, int(calm*l.duration.Seconds()))
	v, err := l.webhooks.volley(n)
	if err != nil {
		return nil, nil, err
	}
	epoch := time.Now()
	began, called := make([]atomic.Int64, n), make([]atomic.Int64, n) // since epoch
	var left sync.WaitGroup                                           // calls yet to arrive
	left.Add(n)
	observe := func(phone []byte) {
		serial, ok := serialOf(phone)
		if at := serial - v.first; ok && at >= 0 && at < n && called[at].CompareAndSwap(0, int64(time.Since(epoch))) {
			left.Done()
		}
	}
	l.service.called.Store(&observe)
	defer l.service.called.Store(nil)

	r, err := startRig(ctx, l, rigOptions{folder: folder})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	wires, err := dialAll(ctx, r.addr, calmWires)
	if err != nil {
		return nil, nil, err
	}
	defer closeAll(wires)
	window, err := l.open(name)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		_, closing := window.close(n)
		err = errors.Join(err, closing)
	}()

	idle := make(chan *wire, len(wires))
	for _, w := range wires {
		idle <- w
	}
	answers = make(latencies, n)
	errs := make([]error, n)
	var asking sync.WaitGroup
	for i := range n {
		time.Sleep(time.Until(epoch.Add(time.Duration(i) * time.Second / calm)))
		w := <-idle
		asking.Go(func() {
			start := time.Now()
			began[i].Store(int64(start.Sub(epoch)))
			errs[i] = w.exchange(v.at(i))
			answers[i] = time.Since(start)
			idle <- w
		})
	}
	asking.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	if !within(patience, left.Wait) {
		return nil, nil, errors.New("not every webhook led to a call")
	}
	calls = make(latencies, n)
	for i := range n {
		calls[i] = time.Duration(called[i].Load() - began[i].Load())
	}
	slices.Sort(answers)
	slices.Sort(calls)
	return answers, calls, nil
}

// within reports whether wait returns in time. When it does not, it is left behind, as the
// run is about to end.
func within(d time.Duration, wait func()) bool {
	done := make(chan struct{})
	go func() { wait(); close(done) }()
	select {
	case <-done:
		return true
	case <-time.After(d):
		return false
	}
}
