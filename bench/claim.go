package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nudgewire/nudgewire"
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
func claimContest(bound float64) *contest {
	empty := "E  claim of 16, nothing else stored, p50"
	return &contest{
		once: true,
		figures: []figure{
			{name: empty, unit: "ms"},
			{name: "claim of 16 beside 5,000,000 finished, p50", unit: "ms", base: empty, bound: bound, atMost: true},
		},
		measure: func(ctx context.Context, l *lab, dir string) (_ []reading, err error) {
			var stores [2]*store.Store
			for i, finished := range []int{0, finishedRows} {
				folder := filepath.Join(dir, strconv.Itoa(finished))
				if err := errors.Join(os.Mkdir(folder, 0o700), l.dueBeside(ctx, folder, finished)); err != nil {
					return nil, err
				}
				if stores[i], err = store.Open(ctx, store.Options{DSN: "sqlite:" + data(folder), Settle: triggers.Settle}); err != nil {
					return nil, err
				}
				defer func() { err = errors.Join(err, stores[i].Close()) }()
			}
			var times [2][]time.Duration
			for range claimTimes {
				for i, s := range stores {
					began := time.Now()
					got, err := s.Claim(ctx, nudgewire.ClaimRequest{Owner: "bench", Now: began, Lease: time.Hour, Marketing: claimSize})
					times[i] = append(times[i], time.Since(began))
					if err == nil && len(got) != claimSize {
						err = fmt.Errorf("a claim brought %d dispatches, want %d", len(got), claimSize)
					}
					if err != nil {
						return nil, err
					}
				}
			}
			var out []reading
			for _, all := range times {
				waits := percentiles(all)
				out = append(out, reading{value: waits[0], waits: waits})
			}
			return out, nil
		},
	}
}

// dueBeside makes a store in dir with enough due dispatches for all claims and, before them, as
// many finished ones as told. The due ones are the newest, as they are in a store that grew.
func (l *lab) dueBeside(ctx context.Context, dir string, finished int) error {
	due := columns{"due_at": fmt.Sprintf("one.due_at + i - %d", finished+claimSize*claimTimes+1)}
	for name, value := range unsent {
		due[name] = fmt.Sprintf("CASE WHEN i <= %d THEN one.%s ELSE %s END", finished+1, name, value)
	}
	return l.multiply(ctx, dir, finished+claimSize*claimTimes, map[string]columns{"dispatches": dispatches.with(due)})
}
