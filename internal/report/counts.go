package report

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/tally"
)

// Counts is the ledger in numbers.
type Counts struct {
	// Totals since the data began, by the names in tally.CounterNames: events, messages_accepted, …
	Totals map[string]int64
	// What is alive now, counted in the partial indexes that hold just that.
	Waiting, Sending, InDoubt int64
	Deferred                  int64     // of those that wait: a rule put them off
	Tracking                  int64     // messages still asked about
	Lookups                   int64     // events that wait for what their webhook left out
	Awaiting                  int64     // runs that wait to be approved
	PartsInDoubt              int64     // of runs, whatever their state
	OldestDue                 time.Time // the earliest due time of all that waits; zero when nothing does
}

// Overdue is how long the oldest waiting message is past its time; 0 when none is.
func (c Counts) Overdue(now time.Time) time.Duration {
	if c.OldestDue.IsZero() {
		return 0
	}
	return max(0, now.Sub(c.OldestDue))
}

// Counts reads the totals and counts what is alive. History is never counted.
func (s Records) Counts(ctx context.Context) (c Counts, err error) {
	if c.Totals, err = s.Totals(ctx); err != nil {
		return c, err
	}
	for _, q := range []struct {
		into *int64
		sql  string
	}{
		{&c.Waiting, `SELECT count(*) FROM messages WHERE state = 'waiting'`},
		{&c.Deferred, `SELECT count(*) FROM messages WHERE state = 'waiting' AND first_due_at > 0`},
		{&c.Sending, `SELECT count(*) FROM messages WHERE state = 'sending'`},
		{&c.InDoubt, `SELECT count(*) FROM messages WHERE state = 'in_doubt'`},
		{&c.Tracking, `SELECT count(*) FROM messages WHERE next_poll_at > 0`},
		{&c.Lookups, `SELECT count(*) FROM lookups`},
		{&c.Awaiting, `SELECT count(*) FROM runs WHERE ended_at = 0 AND state = 'awaiting_approval'`},
		{&c.PartsInDoubt, `SELECT count(*) FROM parts WHERE state = 'in_doubt'`}, // a few rows a run
	} {
		if err := s.Rows(ctx, q.sql, nil, func(r *engine.Row) error { *q.into = r.Int(); return r.Err }); err != nil {
			return c, fmt.Errorf("count: %w", err)
		}
	}
	c.OldestDue, _, err = s.NextDue(ctx)
	return c, err
}

// named calls each for the counters whose names begin with a prefix, which ends in a slash, with the rest of the name: from the name on that is given.
func (s Records) named(ctx context.Context, from, prefix string, each func(rest string, value int64)) error {
	// The slash and what follows it in ASCII bound the names that begin with the prefix.
	return s.Rows(ctx, `SELECT name, value FROM counters WHERE name >= ?1 AND name < ?2`, []any{from, strings.TrimSuffix(prefix, "/") + "0"}, func(r *engine.Row) error {
		each(strings.TrimPrefix(r.Text(), prefix), r.Int())
		return nil
	})
}

// Totals reads the counters, by the names in tally.CounterNames; one that never counted is 0.
func (s Records) Totals(ctx context.Context) (map[string]int64, error) {
	totals := make(map[string]int64, len(tally.CounterNames()))
	for _, name := range tally.CounterNames() {
		totals[name] = 0
	}
	err := s.Rows(ctx, `SELECT name, value FROM counters WHERE name NOT LIKE '%/%'`, nil, func(r *engine.Row) error {
		name := r.Text()
		totals[name] = r.Int()
		return nil
	})
	return totals, store.Wrap(err, "counters")
}
