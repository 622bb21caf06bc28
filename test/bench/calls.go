package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Names of figures of SQLite that those of PostgreSQL are put in ratio to.
const (
	figSends = "sends from a backlog, 64 workers"
	figPolls = "status polls, 64 workers"
)

// sendsContest measures a backlog of due messages being sent: claimed, called, and their
// outcome with the message on disk.
func sendsContest(bound float64) *contest {
	return sends(figure{name: figSends, bases: []base{{name: figO, bound: bound}}}, onSQLite, atOnce)
}

// ruledContest is sendsContest with rules that let everything go.
func ruledContest(bound float64) *contest {
	return sends(figure{name: "sends, with rules", bases: []base{{name: figO, bound: bound}}}, onSQLite, atOnce.withRules())
}

func sends(f figure, nodes int, p plan) *contest {
	f.unit = "sends/s"
	return drainContest(f, nodes, p, sent, fixture{name: "due", tables: map[string]columns{"messages": messages.with(unsent)}})
}

// pollsContest measures messages that are due being asked about, each until its status is on disk.
func pollsContest(bound float64) *contest {
	return polls(figure{name: figPolls, bases: []base{{name: figP, bound: bound}}}, onSQLite)
}

func polls(f figure, nodes int) *contest {
	f.unit = "polls/s"
	return drainContest(f, nodes, atOnce, delivered,
		fixture{name: "asked", tables: map[string]columns{"messages": messages.with(unasked)}})
}

// drainContest measures how fast daemons do what is due in a fixture of l.backlog copied rows. Each must end as told.
func drainContest(f figure, nodes int, p plan, good outcome, due fixture) *contest {
	return &contest{
		figures: []figure{f},
		measure: func(ctx context.Context, l *lab, dir string) ([]reading, error) {
			due.rows = l.backlog
			if nodes != onSQLite {
				due.rows /= 4
			}
			at, err := l.place(ctx, dir, nodes, due)
			if err != nil {
				return nil, err
			}
			var left, failed atomic.Int64
			left.Store(int64(due.rows))
			drained := make(chan struct{})
			d, err := l.start(ctx, at, p, func(what outcome) {
				if what == bad {
					failed.Add(1)
				}
				if (what == good || what == bad) && left.Add(-1) == 0 {
					close(drained)
				}
			})
			if err != nil {
				return nil, err
			}
			select {
			case <-drained:
			case <-ctx.Done():
			case <-time.After(2 * time.Minute):
			}
			took := time.Since(d.began)
			if err = ctx.Err(); err == nil && left.Load()+failed.Load() > 0 {
				err = fmt.Errorf("of %d, %d are not done after %v and %d did not end well", due.rows, left.Load(), took, failed.Load())
			}
			return []reading{{value: float64(due.rows) / took.Seconds()}}, errors.Join(err, d.stop())
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
		figures: []figure{{name: name, unit: "messages/s", bases: []base{{name: figO, bound: bound}}}},
		measure: func(ctx context.Context, l *lab, dir string) ([]reading, error) {
			rate, err := whole(ctx, l, dir, p)
			return []reading{{value: rate}}, err
		},
	}
}

func whole(ctx context.Context, l *lab, dir string, p plan) (rate float64, err error) {
	gate := make(chan struct{}, underWay)
	var done atomic.Int64
	var once sync.Once
	first := make(chan struct{}) // closed when the first message is delivered
	d, err := l.start(ctx, place{dir: dir, storage: sqliteIn(dir), nodes: 1}, p, func(what outcome) {
		if what == delivered {
			done.Add(1)
			once.Do(func() { close(first) })
			<-gate
		}
	})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	posting, enough := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := l.post(posting, load{addrs: d.addrs, conns: conns, duration: 2*patience + l.duration, gate: gate})
		ended <- err
	}()
	select {
	case <-first:
		time.Sleep(settle)
		from, began := done.Load(), time.Now()
		time.Sleep(max(l.duration, time.Second)) // messages come to their end in waves of a second
		rate = float64(done.Load()-from) / time.Since(began).Seconds()
	case <-time.After(patience):
		err = errors.New("no message was delivered")
	}
	enough()
	return rate, errors.Join(err, <-ended)
}
