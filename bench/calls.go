package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/store"
)

// sendsContest measures a backlog of due dispatches being sent: claimed, called, and their
// outcome with the message on disk.
func sendsContest(bound float64) *contest {
	return sends(figure{name: "sends from a backlog, 64 workers", unit: "sends/s", base: figO, bound: bound}, atOnce)
}

// ruledContest is sendsContest with rules that let everything go.
func ruledContest(bound float64) *contest {
	return sends(figure{name: "sends, with rules", unit: "sends/s", base: figO, bound: bound}, atOnce.withRules())
}

func sends(f figure, p plan) *contest {
	return drainContest(f, p,
		map[string]columns{"dispatches": dispatches.with(unsent)},
		func(done func(good bool)) store.Observer {
			return store.Observer{Finished: func(a nudgewire.Attempt) { done(a.State == nudgewire.StateAccepted && a.Message.Tracked()) }}
		})
}

// pollsContest measures messages that are due being asked about, each until its status is on disk.
func pollsContest(bound float64) *contest {
	return drainContest(figure{name: "status polls, 64 workers", unit: "polls/s", base: figP, bound: bound}, atOnce,
		map[string]columns{"dispatches": dispatches, "messages": messages.with(unasked)},
		func(done func(good bool)) store.Observer {
			return store.Observer{Polled: func(p nudgewire.Poll) { done(p.Final && p.Status == nudgewire.StatusDelivered) }}
		})
}

// drainContest measures how fast a daemon does what is due in a fixture of l.backlog copied rows.
// watch calls done for each outcome.
func drainContest(f figure, p plan, tables map[string]columns, watch func(done func(good bool)) store.Observer) *contest {
	return &contest{
		figures: []figure{f},
		measure: func(ctx context.Context, l *lab, dir string) ([]reading, error) {
			if err := l.multiply(ctx, dir, l.backlog, tables); err != nil {
				return nil, err
			}
			var left, bad atomic.Int64
			left.Store(int64(l.backlog))
			drained := make(chan struct{})
			began := time.Now()
			d, err := l.start(ctx, dir, p, watch(func(good bool) {
				if !good {
					bad.Add(1)
				}
				if left.Add(-1) == 0 {
					close(drained)
				}
			}))
			if err != nil {
				return nil, err
			}
			select {
			case <-drained:
			case <-ctx.Done():
			case <-time.After(2 * time.Minute):
			}
			took := time.Since(began)
			if err = ctx.Err(); err == nil && left.Load()+bad.Load() > 0 {
				err = fmt.Errorf("of %d, %d are not done after %v and %d did not end well", l.backlog, left.Load(), took, bad.Load())
			}
			return []reading{{value: float64(l.backlog) / took.Seconds()}}, errors.Join(err, d.stop())
		},
	}
}

const (
	// underWay is how many messages may be between their webhook and their delivery: enough to
	// keep every room busy for more than the second after which a message is asked about.
	underWay = 16_384

	// settle is how long everything runs on after the first message before it is counted.
	settle = 1500 * time.Millisecond
)

// wholeContest measures the main job with every room at work: webhooks arrive, are stored and
// due at once, are sent, and are followed until they are delivered.
func wholeContest(bound float64) *contest { return wholeBy("everything at once", bound, everything) }

// ruledWholeContest is wholeContest with rules that let everything go.
func ruledWholeContest(bound float64) *contest {
	return wholeBy("everything at once, with rules", bound, everything.withRules())
}

func wholeBy(name string, bound float64, p plan) *contest {
	return &contest{
		figures: []figure{{name: name, unit: "messages/s", base: figO, bound: bound}},
		measure: func(ctx context.Context, l *lab, dir string) ([]reading, error) {
			rate, err := whole(ctx, l, dir, p)
			return []reading{{value: rate}}, err
		},
	}
}

func whole(ctx context.Context, l *lab, dir string, p plan) (rate float64, err error) {
	gate := make(chan struct{}, underWay)
	var delivered atomic.Int64
	var once sync.Once
	first := make(chan struct{}) // closed when the first message is delivered
	d, err := l.start(ctx, dir, p, store.Observer{Polled: func(p nudgewire.Poll) {
		if p.Final && p.Status == nudgewire.StatusDelivered {
			delivered.Add(1)
			once.Do(func() { close(first) })
			<-gate
		}
	}})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	posting, enough := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := l.post(posting, load{addr: d.addr, conns: conns, duration: 2*patience + l.duration, gate: gate})
		ended <- err
	}()
	select {
	case <-first:
		time.Sleep(settle)
		from, began := delivered.Load(), time.Now()
		time.Sleep(max(l.duration, time.Second)) // messages come to their end in waves of a second
		rate = float64(delivered.Load()-from) / time.Since(began).Seconds()
	case <-time.After(patience):
		err = errors.New("no message was delivered")
	}
	enough()
	return rate, errors.Join(err, <-ended)
}
