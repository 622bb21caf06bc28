package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

const (
	figR = "R  rows of webhooks by a loop of pgx"

	mostNodes = 3 // daemons on one database

	// What a node over PostgreSQL must reach of the same over SQLite, and of R.
	floorWebhooks = 0.40
	floorSends    = 0.35
	floorPolls    = 0.40
	floorR        = 0.5
)

// noServer is a line of the report.
const noServer = "PostgreSQL is not on this machine (make setup brings it): its figures are left out.\n"

func needsServer(c *contest) bool { return c.server }

// postgresContests are webhooks, sends and polls over PostgreSQL. Server, nodes, senders of webhooks and messaging service
// share the machine.
func postgresContests(nodes int) []*contest {
	of := func(what, sqlite string, floor float64) figure {
		f := figure{name: postgresName(what, nodes), bases: []base{{name: sqlite, short: "SQLite"}}}
		if nodes == 1 {
			f.bases[0].bound = floor
		} else {
			f.bases = append(f.bases, base{name: postgresName(what, 1), short: "1 node"})
		}
		return f
	}
	webhooks := of("webhooks", closedName(conns), floorWebhooks)
	webhooks.bases = append(webhooks.bases, base{name: figR})
	if nodes == 1 {
		webhooks.bases[1].bound = floorR // the first is SQLite
	}
	all := []*contest{
		ingestContest(webhooks, nodes, load{conns: conns}),
		sends(of("sends", figSends, floorSends), nodes, atOnce),
		polls(of("status polls", figPolls, floorPolls), nodes),
	}
	for _, c := range all {
		c.server = true
	}
	return all
}

func postgresName(what string, nodes int) string {
	if nodes == 1 {
		return what + ", PostgreSQL, 1 node"
	}
	return fmt.Sprintf("%s, PostgreSQL, %d nodes", what, nodes)
}

// rawSerials are beyond those of webhooks that a daemon took.
const rawSerials = 50_000_000

// rawBatch is how many webhooks' rows are one transaction: as many as in a full group of a daemon.
const rawBatch = 64

// rawContest measures how fast PostgreSQL takes the rows that webhooks leave, when nobody asks it anything: rows that a daemon
// wrote, with new numbers, keys and phones, inserted by arrays, a transaction for rawBatch webhooks, each commit synced.
func rawContest(name string) *contest {
	return &contest{
		figures: []figure{{name: name, unit: "webhooks/s"}},
		server:  true,
		measure: func(ctx context.Context, l *lab, dir string) ([]reading, error) {
			at, err := l.place(ctx, dir, 1, nothing)
			if err != nil {
				return nil, err
			}
			sample, err := l.sample(ctx, at)
			if err != nil {
				return nil, err
			}
			began := time.Now()
			batches, err := insertBatches(ctx, at.storage, sample, func() bool { return time.Since(began) < l.duration })
			if err != nil {
				return nil, err
			}
			took := time.Since(began)
			return []reading{{value: float64(batches*rawBatch) / took.Seconds()}}, nil
		},
	}
}

// A sample is rows of one table that rawBatch webhooks left.
type sample struct {
	table  string
	insert string
	names  []string
	types  []uint32
	rows   [][]any
}

// sampled are the tables with rows of each webhook, and how to read those of the first rawBatch webhooks.
var sampled = []struct{ table, rows string }{
	{"events", "id <= (SELECT id FROM events ORDER BY id LIMIT 1 OFFSET $1 - 1)"},
	{"decisions", "event_id <= (SELECT id FROM events ORDER BY id LIMIT 1 OFFSET $1 - 1)"},
	{"messages", "id IN (SELECT id FROM messages ORDER BY id LIMIT $1)"},
	{"consents", "event_id <= (SELECT id FROM events ORDER BY id LIMIT 1 OFFSET $1 - 1)"},
	{"keys", "part > 0 AND id <= (SELECT id FROM events ORDER BY id LIMIT 1 OFFSET $1 - 1) OR part = 0 AND id <= (SELECT id FROM messages ORDER BY id LIMIT 1 OFFSET $1 - 1)"},
}

// sample has a daemon take webhooks, and reads what they left.
func (l *lab) sample(ctx context.Context, at place) (out []sample, err error) {
	d, err := l.start(ctx, at, later, nil)
	if err != nil {
		return nil, err
	}
	for taken := 0; err == nil && ctx.Err() == nil && taken < rawBatch; {
		var t tally
		t, err = l.post(ctx, load{addrs: d.addrs, conns: conns, duration: warmUp})
		taken += len(t.waits)
	}
	if e := d.stop(); err == nil {
		err = e
	}
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, at.storage)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }() // nothing was written
	for _, from := range sampled {
		s := sample{table: from.table}
		rows, err := conn.Query(ctx, "SELECT * FROM "+from.table+" WHERE "+from.rows, rawBatch)
		if err != nil {
			return nil, err
		}
		columns, places := "", ""
		for i, f := range rows.FieldDescriptions() {
			kind, known := arrays[f.DataTypeOID]
			if !known {
				rows.Close()
				return nil, fmt.Errorf("%s.%s has a type that is not known here", from.table, f.Name)
			}
			s.names, s.types = append(s.names, f.Name), append(s.types, f.DataTypeOID)
			if i > 0 {
				columns, places = columns+", ", places+", "
			}
			columns, places = columns+f.Name, places+fmt.Sprintf("$%d::%s", i+1, kind)
		}
		s.insert = fmt.Sprintf("INSERT INTO %s (%s) SELECT * FROM unnest(%s)", from.table, columns, places)
		if s.rows, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) ([]any, error) { return r.Values() }); err != nil {
			return nil, err
		}
		if len(s.rows) == 0 {
			return nil, fmt.Errorf("webhooks left no %s", from.table)
		}
		out = append(out, s)
	}
	return out, nil
}

// arrays are those of the columns that these tables have.
var arrays = map[uint32]string{pgtype.Int8OID: "bigint[]", pgtype.TextOID: "text[]", pgtype.ByteaOID: "bytea[]"}

func insertBatches(ctx context.Context, dsn string, tables []sample, more func() bool) (batches int64, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(ctx) }()              // all was committed, or err says why not
	for first := true; first || more(); first = false { // one at least, however long the way to the server was
		batches++
		var b pgx.Batch
		b.Queue("BEGIN")
		for i := range tables {
			b.Queue(tables[i].insert, tables[i].anew(batches)...)
		}
		b.Queue("COMMIT")
		if err := conn.SendBatch(ctx, &b).Close(); err != nil {
			return batches, err
		}
	}
	return batches, nil
}

// anew is the rows as those of other webhooks, column by column.
func (s *sample) anew(batch int64) []any {
	phone := slices.Index(s.names, "phone")
	out := make([]any, len(s.names))
	for c, name := range s.names {
		switch s.types[c] {
		case pgtype.Int8OID:
			all := make([]int64, len(s.rows))
			for i, row := range s.rows {
				all[i] = anewNumber(name, row[c].(int64), batch)
			}
			out[c] = all
		case pgtype.TextOID:
			all := make([]string, len(s.rows))
			for i, row := range s.rows {
				if all[i] = row[c].(string); phone >= 0 { // decisions have none
					all[i] = anewText(all[i], row[phone].(string), rawSerials+batch*rawBatch+int64(i))
				}
			}
			out[c] = all
		default:
			all := make([][]byte, len(s.rows))
			for i, row := range s.rows {
				all[i] = row[c].([]byte)
			}
			out[c] = all
		}
	}
	return out
}

// anewNumber moves numbers of rows on, and spreads hashes as they are.
func anewNumber(column string, n, batch int64) int64 {
	switch column {
	case "id", "event_id":
		return n + batch*1_000_000
	case "hash", "correlation":
		return n ^ int64(uint64(batch)*0x9E3779B97F4A7C15)
	}
	return n
}

// anewText has the digits of another webhook where those of its own were: the phone ends with them.
func anewText(text, phone string, serial int64) string {
	return strings.ReplaceAll(text, phone[len(phoneHead):], fmt.Sprintf("%0*d", len(serialMark), serial%1e8))
}
