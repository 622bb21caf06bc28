package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// perSecondMost is how many fresh webhooks are prepared for a second. A machine that takes
// more ends its round early, which changes no rate.
const perSecondMost = 40_000

// ingestContest measures webhooks that are verified, mapped, planned and on disk, over conns
// connections. All of them plan a reminder for later, so nothing is sent meanwhile.
func ingestContest(conns int, need, aim float64) *contest {
	name := fmt.Sprintf("ingest, %d connections", conns)
	p50, p99 := name+": answer p50", name+": answer p99"
	rate := figure{name: name, unit: "events/s", base: figJ, need: need, aim: aim}
	return &contest{
		name: name, figures: []figure{rate, {name: p50, unit: "ms"}, {name: p99, unit: "ms"}},
		round: func(ctx context.Context, l *lab) (sample, error) {
			rate, waits, err := ingest(ctx, l, name, conns, false)
			return sample{name: rate, p50: plain(waits.ms(0.5)), p99: plain(waits.ms(0.99))}, err
		},
	}
}

// naiveContest is ingest with a commit for each event, to show what the group commit brings.
func naiveContest() *contest {
	const name = "naive: one commit per event, 64 connections"
	return &contest{
		name: name, figures: []figure{{name: name, unit: "events/s", base: figJ}},
		round: func(ctx context.Context, l *lab) (sample, error) {
			rate, _, err := ingest(ctx, l, name, baseConns, true)
			return sample{name: rate}, err
		},
	}
}

func ingest(ctx context.Context, l *lab, name string, conns int, oneByOne bool) (rate reading, waits latencies, err error) {
	folder, remove, err := l.folder("ingest")
	if err != nil {
		return rate, nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	v, err := l.webhooks.volley(int(perSecondMost * l.duration.Seconds()))
	if err != nil {
		return rate, nil, err
	}
	r, err := startRig(ctx, l, rigOptions{folder: folder, wait: "45m", oneByOne: oneByOne})
	if err != nil {
		return rate, nil, err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	w, err := l.open(name)
	if err != nil {
		return rate, nil, err
	}
	t, err := barrage{addr: r.addr, conns: conns, requests: v, duration: l.duration}.fire(ctx)
	rate, closing := w.close(t.answered)
	if err := errors.Join(err, closing); err != nil {
		return rate, nil, err
	}
	return rate, t.waits, mustHold(ctx, r, t.answered)
}

// mustHold checks that the store holds a dispatch for every webhook answered: a figure of
// what was refused or forgotten would mean nothing.
func mustHold(ctx context.Context, r *rig, events int) error {
	due, ok, err := r.store.NextDue(ctx)
	if err != nil {
		return err
	}
	if events > 0 && (!ok || time.Until(due) < 40*time.Minute) {
		return errors.New("the webhooks were answered, but no reminder waits")
	}
	return nil
}
