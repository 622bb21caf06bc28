package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/store"
	"github.com/nudgewire/nudgewire/triggers"
)

const (
	finishedRows = 5_000_000
	claimSize    = 16  // dispatches a claim
	claimTimes   = 400 // claims of each store
)

// claimContest measures how long a claim takes, its commit included, in a store that holds
// nothing but what is due and in one with finishedRows finished dispatches besides. The two
// are asked in turn.
func claimContest(most float64) *contest {
	empty := fmt.Sprintf("E  claim of %d, nothing else stored: p50", claimSize)
	full := fmt.Sprintf("claim of %d beside 5,000,000 finished: p50", claimSize)
	return &contest{
		name: "claim", once: true,
		figures: []figure{{name: empty, unit: "ms"}, {name: full, unit: "ms", base: empty, need: most, atMost: true}},
		round: func(ctx context.Context, l *lab) (sample, error) {
			times, err := claims(ctx, l)
			return sample{empty: plain(times[0].ms(0.5)), full: plain(times[1].ms(0.5))}, err
		},
	}
}

func claims(ctx context.Context, l *lab) (times [2]latencies, err error) {
	var stores [2]*store.Store
	for i, finished := range []int{0, finishedRows} {
		folder, remove, err := l.folder("claim")
		if err != nil {
			return times, err
		}
		defer func() { err = errors.Join(err, remove()) }()
		if err := dueBeside(ctx, l, folder, finished); err != nil {
			return times, err
		}
		if stores[i], err = store.Open(ctx, store.Options{DSN: "sqlite:" + data(folder), Settle: triggers.Settle}); err != nil {
			return times, err
		}
		defer func() { err = errors.Join(err, stores[i].Close()) }()
	}
	for range claimTimes {
		for i, s := range stores {
			began := time.Now()
			got, err := s.Claim(ctx, store.ClaimRequest{Owner: "bench", Now: began, Lease: time.Hour, Marketing: claimSize})
			if err != nil {
				return times, err
			}
			if len(got) != claimSize {
				return times, fmt.Errorf("a claim brought %d dispatches, want %d", len(got), claimSize)
			}
			times[i] = append(times[i], time.Since(began))
		}
	}
	slices.Sort(times[0])
	slices.Sort(times[1])
	return times, nil
}

// dueBeside fills folder with enough due dispatches for all claims and, before them, as many
// finished ones as told.
func dueBeside(ctx context.Context, l *lab, folder string, finished int) error {
	if err := seed(ctx, l, folder, waiting); err != nil {
		return err
	}
	// The first row is due as the daemon wrote it. The case is over i, so one statement makes
	// both kinds and the other due ones are the newest, as they are in a store that grew.
	kind := func(old, due string) string {
		return fmt.Sprintf("CASE WHEN i <= %d THEN %s ELSE %s END", finished+1, old, due)
	}
	all := finished + claimSize*claimTimes
	return multiply(ctx, data(folder), all, map[string]rows{"dispatches": dispatches.with(rows{
		"state":      kind("'accepted'", "'waiting'"),
		"attempt":    kind("1", "0"),
		"owner":      kind("'bench'", "''"),
		"claimed_at": kind("one.due_at", "0"),
		"due_at":     fmt.Sprintf("one.due_at + i - %d", all),
	})})
}
