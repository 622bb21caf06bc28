package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

const (
	finishedRows = 5_000_000
	claimSize    = 16  // messages a claim
	claimTimes   = 400 // claims of each store
)

// claimContest measures how long a claim takes, its commit included, in a store that holds
// nothing but what is due and in one with finishedRows finished messages besides. The two
// are asked in turn.
func claimContest(nodes int, bound float64) *contest {
	empty, full := "E  claim of 16, nothing else stored, p50", "claim of 16 beside 5,000,000 finished, p50"
	if nodes != onSQLite {
		empty, full = "EP  claim of 16 on PostgreSQL, nothing else stored, p50", "claim of 16 on PostgreSQL beside 5,000,000 finished, p50"
	}
	return &contest{
		once:   true,
		server: nodes != onSQLite,
		figures: []figure{
			{name: empty, unit: "ms"},
			{name: full, unit: "ms", bases: []base{{name: empty, bound: bound}}, atMost: true},
		},
		measure: func(ctx context.Context, l *lab, dir string) (_ []reading, err error) {
			var stores [2]*store.Store
			for i, finished := range []int{0, finishedRows} {
				folder := filepath.Join(dir, strconv.Itoa(finished))
				if err := os.Mkdir(folder, 0o700); err != nil {
					return nil, err
				}
				due := dueBeside(finished)
				due.bare = true
				at, err := l.place(ctx, folder, nodes, due)
				if err != nil {
					return nil, err
				}
				if stores[i], err = store.Open(ctx, store.Options{DSN: at.dsn(), Settle: triggers.Settle}); err != nil {
					return nil, err
				}
				defer func() { err = errors.Join(err, stores[i].Close()) }()
			}
			var times [2][]time.Duration
			for range claimTimes {
				for i, s := range stores {
					began := time.Now()
					got, err := s.Claim(ctx, messaging.ClaimRequest{Owner: "bench", Now: began, Lease: time.Hour, Marketing: claimSize})
					times[i] = append(times[i], time.Since(began))
					if err == nil && len(got) != claimSize {
						err = fmt.Errorf("a claim brought %d messages, want %d", len(got), claimSize)
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

// dueBeside is a store with enough due messages for all claims and, before them, as
// many finished ones as told. The due ones are the newest, as they are in a store that grew.
func dueBeside(finished int) fixture {
	due := newest(finished, unsent)
	due["due_at"] = fmt.Sprintf("one.due_at + i - %d", finished+claimSize*claimTimes+1)
	return fixture{
		name: "beside_" + strconv.Itoa(finished), rows: finished + claimSize*claimTimes,
		tables: map[string]columns{"messages": messages.with(due)},
	}
}
