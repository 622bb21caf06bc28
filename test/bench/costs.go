package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"
)

// A cost is what some events or messages took. Processor time says more than a rate on a machine that others use, too.
type cost struct {
	n            int
	node, server time.Duration // of processors
	log, stored  int64         // bytes
}

// costCases are what costs are measured over: how many nodes, and how many finished messages are there before.
var costCases = []struct {
	name  string
	nodes int
	old   int
}{
	{"SQLite", onSQLite, 0},
	{"PostgreSQL, 1 node", 1, 0},
	{"PostgreSQL, 3 nodes", 3, 0},
	{"PostgreSQL, 1 node, beside 1,000,000", 1, 1_000_000},
}

// writeCosts measures each case whose name matches over webhooks, sends and polls, and writes them as a table. With PostgreSQL alone it
// also inserts the rows of webhooks, and their keys alone, as R does.
func (l *lab) writeCosts(ctx context.Context, out io.Writer, only *regexp.Regexp) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "where\twhat\thow many\tnode µs\tserver µs\tlog bytes\tstored bytes")
	write := func(where, what string, c cost) {
		n := int64(c.n)
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%d\n", where, what, n, c.node.Microseconds()/n, c.server.Microseconds()/n, c.log/n, c.stored/n)
	}
	for _, c := range costCases {
		if !only.MatchString(c.name) {
			continue
		}
		for _, what := range []outcome{planned, sent, delivered} {
			dir, err := os.MkdirTemp(l.dir, "costs-")
			if err != nil {
				return err
			}
			got, err := l.cost(ctx, dir, c.nodes, c.old, what)
			if err := errors.Join(err, l.dropDatabases(context.WithoutCancel(ctx)), os.RemoveAll(dir)); err != nil {
				return fmt.Errorf("costs of %s: %w", c.name, err)
			}
			write(c.name, costNames[what], got)
			if err := t.Flush(); err != nil { // it takes long
				return err
			}
		}
	}
	for _, table := range []string{"", "keys"} {
		name := "PostgreSQL, raw"
		if !only.MatchString(name) {
			continue
		}
		got, err := l.rawCost(ctx, table)
		if err != nil {
			return fmt.Errorf("costs of rows: %w", err)
		}
		write(name, cmp.Or(table, "webhook"), got)
	}
	return t.Flush()
}

var costNames = map[outcome]string{planned: "webhook", sent: "send", delivered: "poll"}

// cost has daemons in processes of their own work, and looks at what that took.
func (l *lab) cost(ctx context.Context, dir string, nodes, old int, what outcome) (c cost, err error) {
	f, p := nothing, later
	switch what {
	case sent:
		f, p = fixture{name: "due", rows: l.backlog / 4, tables: map[string]columns{"messages": messages.with(unsent)}}, atOnce
	case delivered:
		f = fixture{name: "asked", rows: l.backlog / 4, tables: map[string]columns{"messages": messages.with(unasked)}}
	}
	if old > 0 {
		f = besides(f, old)
	}
	at, err := l.place(ctx, dir, nodes, f)
	if err != nil {
		return c, err
	}
	at.outside = true
	before, err := l.used(ctx, at)
	if err != nil {
		return c, err
	}
	var done, failed atomic.Int64
	end := make(chan struct{})
	d, err := l.start(ctx, at, p, func(got outcome) {
		switch {
		case got == bad:
			failed.Add(1)
		case got == what && done.Add(1) == int64(l.backlog/4) && what != planned:
			close(end)
		}
	})
	if err != nil {
		return c, err
	}
	if what == planned {
		_, err = l.post(ctx, load{addrs: d.addrs, conns: conns, duration: 4 * l.duration})
	} else {
		select {
		case <-end:
		case <-ctx.Done():
			err = ctx.Err()
		case <-time.After(4 * time.Minute):
			err = errors.New("it does not end")
		}
	}
	for _, pid := range d.pids {
		took, e := processorTime(pid, false)
		c.node, err = c.node+took, errors.Join(err, e)
	}
	if err := errors.Join(err, d.stop()); err != nil {
		return c, err
	}
	after, err := l.used(ctx, at)
	c.n, c.server, c.log, c.stored = int(done.Load()), after.server-before.server, after.log-before.log, after.stored-before.stored
	if err == nil && failed.Load() > 0 {
		err = fmt.Errorf("%d of %d did not end well", failed.Load(), c.n)
	}
	return c, err
}

// rawCost inserts as R does, rows of all tables or of one.
func (l *lab) rawCost(ctx context.Context, table string) (c cost, err error) {
	at, err := l.place(ctx, l.dir, 1, nothing)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, l.dropDatabases(context.WithoutCancel(ctx))) }()
	all, err := l.sample(ctx, at)
	if err != nil {
		return c, err
	}
	each := rawBatch
	if table != "" {
		i := slices.IndexFunc(all, func(s sample) bool { return s.table == table })
		all = all[i : i+1]
		each = len(all[0].rows)
	}
	before, err := l.used(ctx, at)
	if err != nil {
		return c, err
	}
	began := time.Now()
	batches, err := insertBatches(ctx, at.storage, all, func() bool { return time.Since(began) < 4*l.duration })
	if err != nil {
		return c, err
	}
	after, err := l.used(ctx, at)
	return cost{int(batches) * each, 0, after.server - before.server, after.log - before.log, after.stored - before.stored}, err
}

// besides is a fixture with so many finished messages before what is due.
func besides(f fixture, old int) fixture {
	change := columns{}
	for name, value := range f.tables["messages"] {
		if value != messages[name] {
			change[name] = value
		}
	}
	all := map[string]columns{"messages": messages.with(newest(old, change))}
	return fixture{name: fmt.Sprintf("%s_beside_%d", f.name, old), rows: old + f.rows, tables: all}
}

// used is what was used so far: of the server's processors and its log, and of room.
func (l *lab) used(ctx context.Context, at place) (c cost, err error) {
	if !at.onServer() {
		for _, end := range []string{"", "-wal"} {
			if info, err := os.Stat(data(at.dir) + end); err == nil {
				c.stored += info.Size()
			}
		}
		return c, nil
	}
	conn, err := pgx.Connect(ctx, at.storage)
	if err != nil {
		return c, err
	}
	defer func() { _ = conn.Close(ctx) }() // nothing was written
	if err := conn.QueryRow(ctx, `SELECT (pg_current_wal_lsn() - '0/0')::bigint, pg_database_size(current_database())`).Scan(&c.log, &c.stored); err != nil {
		return c, err
	}
	c.server, err = processorTime(l.server.PID(), true)
	return c, err
}

// processorTime is how long a process has run on processors, as Linux counts it, in hundredths of a second; with all that it started.
func processorTime(pid int, family bool) (all time.Duration, err error) {
	fields, err := statOf(pid)
	if err != nil {
		return 0, fmt.Errorf("processor time: %w", err)
	}
	all = ticks(fields[11]) + ticks(fields[12])
	if !family {
		return all, nil
	}
	all += ticks(fields[13]) + ticks(fields[14]) // of those that ended
	children, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, folder := range children {
		child, err := strconv.Atoi(filepath.Base(folder))
		if err != nil {
			continue
		}
		// One that ended meanwhile is counted above the next time.
		if fields, err := statOf(child); err == nil && fields[1] == strconv.Itoa(pid) {
			all += ticks(fields[11]) + ticks(fields[12])
		}
	}
	return all, nil
}

// statOf are the fields of a process behind its name, from its state on.
func statOf(pid int) ([]string, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 15 {
		return nil, errors.New("the system does not tell")
	}
	return fields, nil
}

func ticks(field string) time.Duration {
	n, _ := strconv.ParseInt(field, 10, 64) // the kernel wrote it
	return time.Duration(n) * 10 * time.Millisecond
}
