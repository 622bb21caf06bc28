package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nudgewire/nudgewire"
)

const (
	// underWay is how many messages may be between their webhook and their delivery: enough
	// to keep every room busy, and a bound, because a daemon that only takes webhooks and
	// lets the rest pile up would look good here.
	underWay = 4096

	// firstLook is when a message is asked about, after it was accepted.
	firstLook = 100 * time.Millisecond

	// warmUp is how long everything runs on after the first message before it is counted.
	warmUp = 700 * time.Millisecond

	// wholePerSecond is how many webhooks are prepared for each second of everything at once.
	wholePerSecond = 15_000
)

// wholeContest measures the main job with every room at work: webhooks arrive, are stored and
// due at once, are sent, and are followed until they are delivered.
func wholeContest(need float64) *contest {
	const name = "everything at once"
	return &contest{
		name: name, figures: []figure{{name: name, unit: "messages/s", base: figO, need: need}},
		round: func(ctx context.Context, l *lab) (sample, error) {
			rate, err := whole(ctx, l, name)
			return sample{name: rate}, err
		},
	}
}

func whole(ctx context.Context, l *lab, name string) (rate reading, err error) {
	folder, remove, err := l.folder("whole")
	if err != nil {
		return rate, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	v, err := l.webhooks.volley(int(wholePerSecond * (warmUp + l.duration).Seconds()))
	if err != nil {
		return rate, err
	}
	gate := make(chan struct{}, underWay)
	var complete atomic.Int64
	var first sync.Once
	through := make(chan struct{}) // closed when the first message is
	r, err := startRig(ctx, l, rigOptions{folder: folder, firstPoll: firstLook, polled: func(p nudgewire.Poll) {
		if p.Final && p.Status == nudgewire.StatusDelivered {
			complete.Add(1)
			first.Do(func() { close(through) })
			<-gate
		}
	}})
	if err != nil {
		return rate, err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	var fired tally
	var firing error
	var client sync.WaitGroup
	posting, enough := context.WithCancel(ctx)
	defer enough()
	client.Go(func() {
		fired, firing = barrage{addr: r.addr, conns: baseConns, requests: v, duration: time.Minute, gate: gate}.fire(posting)
	})
	select {
	case <-through:
		time.Sleep(warmUp)
		rate, err = l.count(name, &complete)
	case <-time.After(patience):
		err = errors.New("no message came through")
	}
	enough()
	client.Wait()
	if err == nil && firing == nil && fired.answered == v.len() {
		err = errors.New("all webhooks were used up before the end")
	}
	return rate, errors.Join(err, firing)
}

// count is how fast n grows in the time of a measurement.
func (l *lab) count(name string, n *atomic.Int64) (reading, error) {
	w, err := l.open(name)
	if err != nil {
		return reading{}, err
	}
	from := n.Load()
	time.Sleep(l.duration)
	return w.close(int(n.Load() - from))
}
