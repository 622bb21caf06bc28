package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	tablesRate  = 200       // webhooks a second while tables are watched
	tablesOld   = 1_000_000 // finished messages from before
	tablesTimes = 10        // how often they are looked at
)

// watchTables runs one node over PostgreSQL with every room at work, beside a history of finished messages, and shows what becomes
// of the tables: rows that are dead until a vacuum takes them, sizes, vacuums. The older half of the history is so old that retention
// removes it meanwhile.
func (l *lab) watchTables(ctx context.Context, out io.Writer, lasts time.Duration, old int) (err error) {
	at, err := l.place(ctx, l.dir, 1, dueBeside(old))
	if err == nil {
		err = l.onServer(ctx, "round_"+strconv.Itoa(l.made), fmt.Sprintf("UPDATE messages SET created_at = created_at - %d, updated_at = updated_at - %[1]d, claimed_at = claimed_at - %[1]d WHERE state = 'accepted' AND id <= %d",
			(500*24*time.Hour).Microseconds(), old/2))
	}
	if err == nil { // those rows were changed by no daemon
		err = l.onServer(ctx, "round_"+strconv.Itoa(l.made), "VACUUM FULL ANALYZE messages")
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.dropDatabases(context.WithoutCancel(ctx))) }()
	var done atomic.Int64
	d, err := l.start(ctx, at, everything, func(what outcome) {
		if what == delivered {
			done.Add(1)
		}
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	fmt.Fprintf(out, "One node, %d webhooks a second for %v beside %s finished messages, each sent and asked about\n\n", tablesRate, lasts, number(float64(old)))
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "after\tanswers p50 ms\tp99 ms\tdelivered\ttable\trows\tdead\tMB\tindexes MB\tdue index MB\tvacuums\tHOT")
	began := time.Now()
	for range tablesTimes {
		got, err := l.post(ctx, load{addrs: d.addrs, conns: openConns, rate: tablesRate, duration: lasts / tablesTimes})
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		states, err := tableStates(ctx, at.storage)
		if err != nil {
			return err
		}
		waits := percentiles(got.waits)
		head := fmt.Sprintf("%v\t%s\t%s\t%d", time.Since(began).Round(time.Second), number(waits[0]), number(waits[1]), done.Load())
		for _, s := range states {
			fmt.Fprintf(t, "%s\t%s\n", head, s)
			head = "\t\t\t"
		}
	}
	return t.Flush()
}

// tableStates are lines about the tables whose rows change.
func tableStates(ctx context.Context, dsn string) (out []string, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }() // nothing was written
	rows, err := conn.Query(ctx, `SELECT relname, n_live_tup, n_dead_tup, pg_table_size(relid), pg_indexes_size(relid),
			CASE relname WHEN 'messages' THEN pg_relation_size('messages_due') ELSE 0 END, autovacuum_count,
			CASE n_tup_upd WHEN 0 THEN 0 ELSE 100 * n_tup_hot_upd / n_tup_upd END
		FROM pg_stat_user_tables WHERE n_tup_upd + n_tup_del > 50
		ORDER BY relname`)
	if err != nil {
		return nil, err
	}
	out, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (string, error) {
		var name string
		var live, dead, size, indexes, due, vacuums, hot int64
		err := r.Scan(&name, &live, &dead, &size, &indexes, &due, &vacuums, &hot)
		mb := func(n int64) string { return strconv.FormatFloat(float64(n)/1e6, 'f', 2, 64) }
		return fmt.Sprintf("%s\t%d\t%d\t%s\t%s\t%s\t%d\t%d %%", name, live, dead, mb(size), mb(indexes), mb(due), vacuums, hot), err
	})
	return out, err
}
