package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// openConns is how many connections an open loop has: so many that only a daemon far behind lets
// webhooks wait for one.
const openConns = 256

// warmUp is how long webhooks are posted before they are counted.
const warmUp = 200 * time.Millisecond

// closedContest measures webhooks that are verified, mapped, planned and on disk, in a closed loop.
// All of them plan a reminder for later, so nothing is sent meanwhile.
func closedContest(conns int, bound float64) *contest {
	return ingestContest(figure{name: closedName(conns), bases: []base{{name: figJ, bound: bound}}}, onSQLite, load{conns: conns})
}

func closedName(conns int) string { return fmt.Sprintf("webhooks, %d connections", conns) }

// openContest measures the same in an open loop.
func openContest(rate int) *contest {
	name := "webhooks, open loop at " + number(float64(rate)) + "/s"
	return ingestContest(figure{name: name, offered: rate}, onSQLite, load{conns: openConns, rate: rate})
}

func ingestContest(f figure, nodes int, o load) *contest {
	return ingestOver(f, o, func(ctx context.Context, l *lab, dir string) (place, error) { return l.place(ctx, dir, nodes, nothing) })
}

// ingestOver measures webhooks of a daemon whose data lies where over says.
func ingestOver(f figure, o load, over func(context.Context, *lab, string) (place, error)) *contest {
	f.unit = "webhooks/s"
	return &contest{
		figures: []figure{f},
		measure: func(ctx context.Context, l *lab, dir string) ([]reading, error) {
			at, err := over(ctx, l, dir)
			if err != nil {
				return nil, err
			}
			var reminders atomic.Int64
			d, err := l.start(ctx, at, later, func(what outcome) {
				if what == planned {
					reminders.Add(1)
				}
			})
			if err != nil {
				return nil, err
			}
			// Senders meet a daemon that runs for long, not the first requests after a start.
			warm, err := l.post(ctx, load{addrs: d.addrs, conns: o.conns, duration: warmUp})
			var t tally
			if err == nil {
				o.addrs, o.duration = d.addrs, l.duration
				t, err = l.post(ctx, o)
			}
			err = errors.Join(err, d.stop())
			if all, n := len(warm.waits)+len(t.waits), int(reminders.Load()); err == nil && n != all {
				err = fmt.Errorf("%d webhooks were answered 2xx, but %d reminders are stored", all, n)
			}
			return []reading{t.reading()}, err
		},
	}
}

// answerContest measures how long answers take at a constant rate, beside those of the bare handler. The bound is of their ratio.
func answerContest(rate int, bound float64) *contest {
	at := " at " + number(float64(rate)) + "/s, p99"
	bare := "A  bare handler, answer" + at
	daemon := ingestContest(figure{}, onSQLite, load{conns: openConns, rate: rate})
	return &contest{
		figures: []figure{{name: bare, unit: "ms", atMost: true}, {name: "webhook to answer" + at, unit: "ms", bases: []base{{name: bare, bound: bound}}, atMost: true}},
		measure: func(ctx context.Context, l *lab, dir string) ([]reading, error) {
			s := httptest.NewServer(http.HandlerFunc(verifyAndDecode))
			defer s.Close()
			t, err := l.post(ctx, load{addrs: []string{s.Listener.Addr().String()}, conns: openConns, rate: rate, duration: l.duration})
			if err != nil {
				return nil, err
			}
			got, err := daemon.measure(ctx, l, dir)
			if err != nil {
				return nil, err
			}
			both := []reading{t.reading(), got[0]}
			for i := range both {
				both[i].value = both[i].waits[1]
			}
			return both, nil
		},
	}
}

// calmRate is a busy day of a large shop, in webhooks a second.
const calmRate = 200

// callContest measures how long things take while there is little to do: from a webhook to its
// answer, and to the arrival of its call at the service. Bounds are in milliseconds.
func callContest(answer, call float64) *contest {
	at := " at " + strconv.Itoa(calmRate) + "/s, p50"
	return &contest{
		figures: []figure{
			{name: "webhook to answer" + at, unit: "ms", bound: answer, atMost: true},
			{name: "webhook to call" + at, unit: "ms", bound: call, atMost: true},
		},
		measure: func(ctx context.Context, l *lab, dir string) (_ []reading, err error) {
			o := load{conns: openConns, rate: calmRate, duration: l.duration, sent: &sync.Map{}}
			arrived := make(chan time.Duration, 2*calmRate*int(1+l.duration.Seconds()))
			called := func(serial int64) {
				if due, ok := o.sent.LoadAndDelete(serial); ok {
					arrived <- time.Since(due.(time.Time))
				}
			}
			l.service.called.Store(&called)
			defer l.service.called.Store(nil)
			d, err := l.start(ctx, place{dir: dir, storage: sqliteIn(dir), nodes: 1}, atOnce, nil)
			if err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, d.stop()) }()
			o.addrs = d.addrs
			t, err := l.post(ctx, o)
			if err != nil {
				return nil, err
			}
			var calls []time.Duration
			limit := time.After(patience)
			for len(calls) < len(t.waits) {
				select {
				case took := <-arrived:
					calls = append(calls, took)
				case <-limit:
					return nil, fmt.Errorf("%d webhooks led to %d calls", len(t.waits), len(calls))
				}
			}
			answers, toCall := t.reading(), percentiles(calls)
			answers.value = answers.waits[0]
			return []reading{answers, {value: toCall[0], waits: toCall}}, nil
		},
	}
}
