package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/nudgewire/nudgewire/internal/store/keyindex"
)

func (w *singleWriter) allocate(_ *Tx, of sequence, n int64) (first int64, err error) {
	first = w.ids[of] + 1
	w.ids[of] += n
	return first, nil
}

// resume finds out where the numbers go on. The counters remember what was given out even
// after the newest rows were cleared away; a number is never given twice.
func (w *singleWriter) resume(ctx context.Context, s *Store) error {
	var first, last int64 // days
	for _, q := range []struct {
		sql  string
		into *int64
	}{
		{`SELECT coalesce(min(part), 0) FROM keys WHERE part >= ?1`, &first},
		{`SELECT coalesce(max(part), 0) FROM keys WHERE part >= ?1`, &last},
	} {
		if err := s.reads.Scan(ctx, q.sql, []any{firstDay}, q.into); err != nil {
			return fmt.Errorf("resume: %w", err)
		}
	}
	w.keys = keyindex.New(firstDay, first, last)
	if s.scratch {
		w.keys = w.keys.Small()
	}
	var err error
	w.ids, err = NewestNumbers(ctx, s.reads)
	return err
}

// Numbers are the newest of each sequence.
type Numbers [sequenceCount]int64

// sequences are how numbers are given: the table that has them, what PostgreSQL calls the sequence and how many it gives at once, as the schema
// says (people see the numbers of runs, so these have no gaps), and the counters that grow with it. What a file keeps under numbersPrefix is
// how far its numbers were ahead of them when it was made of another engine, which gives numbers in blocks: so a number is never given twice,
// also where all rows have left.
var sequences = [sequenceCount]struct {
	table, name string
	block       int64
	counters    string
}{
	eventIDs:    {"events", "event_numbers", 4096, `'events'`},
	messageIDs:  {"messages", "message_numbers", 4096, `'messages', 'messages_of_uploads'`},
	rejectedIDs: {"rejected_requests", "rejected_numbers", 1024, `'requests_rejected'`},
	runIDs:      {"runs", "run_numbers", 1, `''`},
	outgoingIDs: {"webhooks_out", "outgoing_numbers", 4096, `''`},
}

// NewestNumbers finds out how far each sequence is, by the rows and the counters.
func NewestNumbers(ctx context.Context, q Querier) (out Numbers, err error) {
	for of, s := range sequences {
		query := fmt.Sprintf(`SELECT max(n) FROM (SELECT coalesce(max(id), 0) AS n FROM %s UNION ALL SELECT coalesce(sum(value), 0) FROM counters WHERE name IN ('%s%d', %s)) AS newest`,
			s.table, numbersPrefix, of, s.counters)
		if out[of], err = readNumber(ctx, q, query); err != nil {
			return out, fmt.Errorf("newest numbers: %w", err)
		}
	}
	return out, nil
}

func readNumber(ctx context.Context, q Querier, query string) (n int64, err error) {
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

// KeepNumbers notes how far the sequences were ahead of what was counted, and that every key is in its table.
func KeepNumbers(ctx context.Context, to *sql.DB, last Numbers) error {
	set := map[string]int64{eventsKeyed: last[eventIDs], messagesKeyed: last[messageIDs]}
	for of, n := range last {
		known, err := readNumber(ctx, to, `SELECT coalesce(sum(value), 0) FROM counters WHERE name IN (`+sequences[of].counters+`)`)
		if err != nil {
			return fmt.Errorf("newest numbers: %w", err)
		}
		set[numbersPrefix+strconv.Itoa(of)] = max(0, n-known)
	}
	for name, n := range set {
		if _, err := to.ExecContext(ctx, `INSERT INTO counts (name, writer, value) VALUES (?1, 0, ?2) ON CONFLICT (name, writer) DO UPDATE SET value = excluded.value`, name, n); err != nil {
			return fmt.Errorf("newest numbers: %w", err)
		}
	}
	return nil
}

// GoOnBehind has the sequences go on behind what was given.
func (s *ServerToMove) GoOnBehind(ctx context.Context, last Numbers) error {
	for of, q := range sequences {
		if err := s.Exec(ctx, `SELECT setval('`+q.name+`', $1::bigint, false)`, last[of]+1); err != nil {
			return fmt.Errorf("newest numbers: %w", err)
		}
	}
	return nil
}

// Given is how far the sequences are, whole blocks of them.
func (s *ServerToMove) Given(ctx context.Context) (last Numbers, err error) {
	for of, q := range sequences {
		if err := s.Conn.QueryRowContext(ctx, `SELECT CASE WHEN is_called THEN last_value + $1::bigint - 1 ELSE last_value - 1 END FROM `+q.name, q.block).Scan(&last[of]); err != nil {
			return last, fmt.Errorf("newest numbers: %w", err)
		}
	}
	return last, nil
}
