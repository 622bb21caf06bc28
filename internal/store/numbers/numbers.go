// Package numbers gives the rows of events, messages, rejected requests, runs and what is told outside their numbers: a number is never given
// twice, also where the newest rows were cleared away, or the data moved to another engine. numbers.go has what was given, blocks.go
// what a process takes for itself where others write, too.
package numbers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// A Sequence is a table whose rows have numbers.
type Sequence int

const (
	Events Sequence = iota
	Messages
	Rejected
	Runs
	Outgoing

	sequenceCount
)

// Block is how many numbers a server gives at once.
func (of Sequence) Block() int64 { return sequences[of].block }

// Newest is the newest number of each sequence.
type Newest [sequenceCount]int64

// sequences are how numbers are given: the table that has them, what PostgreSQL calls the sequence and how many it gives at once, as the schema
// says (people see the numbers of runs, so these have no gaps), and the counters that grow with it. What a file keeps under Prefix is
// how far its numbers were ahead of them when it was made of another engine, which gives numbers in blocks: so a number is never given twice,
// also where all rows have left.
var sequences = [sequenceCount]struct {
	table, name string
	block       int64
	counters    string
}{
	Events:   {"events", "event_numbers", 4096, `'events'`},
	Messages: {"messages", "message_numbers", 4096, `'messages', 'messages_of_uploads'`},
	Rejected: {"rejected_requests", "rejected_numbers", 1024, `'requests_rejected'`},
	Runs:     {"runs", "run_numbers", 1, `''`},
	Outgoing: {"webhooks_out", "outgoing_numbers", 4096, `''`},
}

// Find finds out how far each sequence is, by the rows and the counters.
func Find(ctx context.Context, q engine.Querier) (out Newest, err error) {
	for of, s := range sequences {
		query := fmt.Sprintf(`SELECT max(n) FROM (SELECT coalesce(max(id), 0) AS n FROM %s UNION ALL SELECT coalesce(sum(value), 0) FROM counters WHERE name IN ('%s%d', %s)) AS newest`,
			s.table, Prefix, of, s.counters)
		if out[of], err = readNumber(ctx, q, query); err != nil {
			return out, fmt.Errorf("newest numbers: %w", err)
		}
	}
	return out, nil
}

func readNumber(ctx context.Context, q engine.Querier, query string) (n int64, err error) {
	rows, err := q.QueryContext(ctx, query)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := rows.Scan(&n); err != nil {
			return 0, err
		}
	}
	return n, rows.Err()
}

// Keep notes how far the sequences were ahead of what was counted, and that every key is in its table.
func Keep(ctx context.Context, to *sql.DB, last Newest) error {
	set := map[string]int64{EventsKeyed: last[Events], MessagesKeyed: last[Messages]}
	for of, n := range last {
		known, err := readNumber(ctx, to, `SELECT coalesce(sum(value), 0) FROM counters WHERE name IN (`+sequences[of].counters+`)`)
		if err != nil {
			return fmt.Errorf("newest numbers: %w", err)
		}
		set[Prefix+strconv.Itoa(of)] = max(0, n-known)
	}
	for name, n := range set {
		if _, err := to.ExecContext(ctx, `INSERT INTO counts (name, writer, value) VALUES (?1, 0, ?2) ON CONFLICT (name, writer) DO UPDATE SET value = excluded.value`, name, n); err != nil {
			return fmt.Errorf("newest numbers: %w", err)
		}
	}
	return nil
}

// GoOnBehind has the sequences go on behind what was given.
func GoOnBehind(ctx context.Context, server *sql.Conn, last Newest) error {
	for of, q := range sequences {
		if _, err := server.ExecContext(ctx, `SELECT setval('`+q.name+`', $1::bigint, false)`, last[of]+1); err != nil { //nolint:gosec // the names are those above
			return fmt.Errorf("newest numbers: %w", err)
		}
	}
	return nil
}

// Given is how far the sequences are, whole blocks of them.
func Given(ctx context.Context, server *sql.Conn) (last Newest, err error) {
	for of, q := range sequences {
		if err := server.QueryRowContext(ctx, `SELECT CASE WHEN is_called THEN last_value + $1::bigint - 1 ELSE last_value - 1 END FROM `+q.name, q.block).Scan(&last[of]); err != nil {
			return last, fmt.Errorf("newest numbers: %w", err)
		}
	}
	return last, nil
}

// Prefix is that of the counters that Keep writes; the number of the sequence follows.
const Prefix = "numbers/"

// Counters up to whose rows every key is in the table.
const (
	EventsKeyed   = "keyed/events"
	MessagesKeyed = "keyed/messages"
)
