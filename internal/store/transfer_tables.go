package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"
)

// A ledgerTable is a table that both engines have, as the file says it.
type ledgerTable struct {
	name    string
	columns []string
	texts   []bool // which columns are texts
	key     []string
}

// of is the columns for a statement.
func (t *ledgerTable) list() string { return strings.Join(t.columns, ", ") }

// readTables lists what moves. What only PostgreSQL has is of processes that run, and of nobody else.
func readTables(ctx context.Context, file pool) (out []ledgerTable, err error) {
	err = scanNames(ctx, file, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> '`+goose.DefaultTablename+`' ORDER BY name`, func(name string) {
		out = append(out, ledgerTable{name: name})
	})
	for i := 0; i < len(out) && err == nil; i++ {
		t := &out[i]
		err = scanNames(ctx, file, `SELECT name || ' ' || type FROM pragma_table_info('`+t.name+`') ORDER BY cid`, func(both string) {
			name, kind, _ := strings.Cut(both, " ")
			t.columns, t.texts = append(t.columns, name), append(t.texts, kind == "TEXT")
		})
		if err == nil {
			err = scanNames(ctx, file, `SELECT name FROM pragma_table_info('`+t.name+`') WHERE pk > 0 ORDER BY pk`, func(name string) { t.key = append(t.key, name) })
		}
	}
	return out, Wrap(err, "which tables there are")
}

func scanNames(ctx context.Context, q querier, query string, each func(string)) (err error) {
	rows, err := q.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		each(name)
	}
	return rows.Err()
}

// The counters of one place alone: which data it is, how far its keys are written, what its file has to do, what was moved.
const (
	numbersPrefix = "numbers/"
	movedAt       = "moved/at"
	movedTo       = "moved/to"
	expectedAt    = "expected/at"
)

// stays reports whether a row is of its own place, and does not move.
func (t *ledgerTable) stays(row []any) bool {
	switch t.name {
	case "counts":
	case "console_sessions", "console_links": // whoever had signed in does so anew
		return true
	default:
		return false
	}
	name, _ := row[0].(string)
	return name == rewriteDue || slices.ContainsFunc([]string{"instance/", "keyed/", "moved/", "expected/", numbersPrefix}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// A rowReader reads a table, row by row.
type rowReader struct {
	table *ledgerTable
	next  func() bool
	close func() error
	err   func() error
	scan  func(...any) error
	row   []any
	into  []any
	fail  error
}

func (t *ledgerTable) read(ctx context.Context, q querier, order bool) (*rowReader, error) {
	query := `SELECT ` + t.list() + ` FROM ` + t.name
	if order && len(t.key) > 0 {
		query += ` ORDER BY ` + strings.Join(t.key, ", ")
	}
	rows, err := q.QueryContext(ctx, query) //nolint:rowserrcheck,sqlclosecheck // end does both
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.name, err)
	}
	r := &rowReader{table: t, next: rows.Next, close: rows.Close, err: rows.Err, scan: rows.Scan, row: make([]any, len(t.columns)), into: make([]any, len(t.columns))}
	for i := range r.row {
		r.into[i] = &r.row[i]
	}
	return r, nil
}

// Next goes to the next row that moves.
func (r *rowReader) Next() bool {
	for r.fail == nil && r.next() {
		if r.fail = r.scan(r.into...); r.fail != nil {
			return false
		}
		for i, v := range r.row {
			if b, bytes := v.([]byte); bytes && r.table.texts[i] {
				r.row[i] = string(b)
			}
		}
		if !r.table.stays(r.row) {
			return true
		}
	}
	return false
}

func (r *rowReader) end() error { return errors.Join(r.fail, r.err(), r.close()) }

// A digest is of all rows of a table, in whatever order.
type digest struct {
	rows int64
	sum  [2]uint64
}

func (d *digest) add(row []any) error {
	var b []byte
	for _, v := range row {
		switch v := v.(type) {
		case int64:
			b = binary.AppendVarint(append(b, 'i'), v)
		case string:
			b = append(binary.AppendUvarint(append(b, 't'), uint64(len(v))), v...)
		case []byte:
			b = append(binary.AppendUvarint(append(b, 'b'), uint64(len(v))), v...)
		default:
			return fmt.Errorf("a value of the kind %T", v)
		}
	}
	h := sha256.Sum256(b)
	d.rows++
	d.sum[0] += binary.BigEndian.Uint64(h[:])
	d.sum[1] += binary.BigEndian.Uint64(h[8:])
	return nil
}

// progressEvery is after how many rows somebody is told.
const progressEvery = 1 << 13

// compare reads a table back and holds it against what was read of the other side.
func (done *Transferred) compare(ctx context.Context, q querier, t *ledgerTable, want digest, tell func(string, int64)) error {
	r, err := t.read(ctx, q, false)
	if err != nil {
		return err
	}
	var got digest
	for r.Next() {
		if r.fail = got.add(r.row); got.rows%progressEvery == 0 {
			tell("compare "+t.name, got.rows)
		}
	}
	if err := r.end(); err != nil {
		return fmt.Errorf("read %s back: %w", t.name, err)
	}
	if got != want {
		return fmt.Errorf("%s is not the same on both sides: %d rows were read, and %d are there; nothing was moved", t.name, want.rows, got.rows)
	}
	done.Tables = append(done.Tables, TransferredTable{t.name, got.rows, fmt.Sprintf("%016x%016x", got.sum[0], got.sum[1])})
	return nil
}

// counted are the counters that grow with a sequence. What a file keeps under numbersPrefix is how far its numbers were ahead of them
// when it was made of another engine, which gives numbers in blocks: so a number is never given twice, also where all rows have left.
var counted = [sequenceCount]string{eventIDs: `'events'`, messageIDs: `'messages', 'messages_of_uploads'`, rejectedIDs: `'requests_rejected'`, runIDs: `''`, outgoingIDs: `''`}

// stored finds the newest number of each sequence that a row has.
var stored = [sequenceCount]string{
	eventIDs:    `SELECT coalesce(max(id), 0) AS n FROM events`,
	messageIDs:  `SELECT coalesce(max(id), 0) AS n FROM messages`,
	rejectedIDs: `SELECT coalesce(max(id), 0) AS n FROM rejected_requests`,
	runIDs:      `SELECT coalesce(max(id), 0) AS n FROM runs`,
	outgoingIDs: `SELECT coalesce(max(id), 0) AS n FROM webhooks_out`,
}

// numbersOf finds out how far each sequence is, by the rows and the counters.
func numbersOf(ctx context.Context, q querier) (out [sequenceCount]int64, err error) {
	for of := range sequenceCount {
		query := fmt.Sprintf(`SELECT max(n) FROM (%s UNION ALL SELECT coalesce(sum(value), 0) FROM counters WHERE name IN ('%s%d', %s)) AS newest`, stored[of], numbersPrefix, of, counted[of])
		if out[of], err = readNumber(ctx, q, query); err != nil {
			return out, fmt.Errorf("newest numbers: %w", err)
		}
	}
	return out, nil
}

func readNumber(ctx context.Context, q querier, query string) (n int64, err error) {
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
