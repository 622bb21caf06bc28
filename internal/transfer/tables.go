package transfer

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/place"
)

// A ledgerTable is a table that both engines have, as the file says it.
type ledgerTable struct {
	name    string
	columns []string
	texts   []bool // which columns are texts
	key     []string
}

// list is the columns for a statement.
func (t *ledgerTable) list() string { return strings.Join(t.columns, ", ") }

// readTables lists what moves. What only PostgreSQL has is of processes that run, and of nobody else.
func readTables(ctx context.Context, file engine.Querier) (out []ledgerTable, err error) {
	rows, err := file.QueryContext(ctx, `SELECT t.name, c.name, c.type = 'TEXT', c.pk FROM sqlite_master t, pragma_table_info(t.name) c
		WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND t.name <> '`+goose.DefaultTablename+`' ORDER BY t.name, c.cid`)
	if err != nil {
		return nil, fmt.Errorf("which tables there are: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() && err == nil {
		var table, column string
		var text bool
		var place int
		err = rows.Scan(&table, &column, &text, &place)
		if len(out) == 0 || out[len(out)-1].name != table {
			out = append(out, ledgerTable{name: table})
		}
		t := &out[len(out)-1]
		t.columns, t.texts = append(t.columns, column), append(t.texts, text)
		if place > 0 {
			t.key = append(t.key, make([]string, max(0, place-len(t.key)))...)
			t.key[place-1] = column
		}
	}
	return out, store.Wrap(errors.Join(err, rows.Err()), "which tables there are")
}

// stays reports whether a row is of its own place, and does not move.
func (t *ledgerTable) stays(row []any) bool {
	switch t.name {
	case "counts":
		name, _ := row[0].(string)
		return place.IsOfOnePlace(name)
	case "console_sessions", "console_links": // whoever had signed in does so anew
		return true
	case "cuts", "cut_changes": // no part is being cut while data move
		return true
	}
	return false
}

// A rowReader reads a table, row by row.
type rowReader struct {
	table *ledgerTable
	rows  *sql.Rows
	row   []any
	into  []any
	fail  error
}

func (t *ledgerTable) read(ctx context.Context, q engine.Querier, order bool) (*rowReader, error) {
	query := `SELECT ` + t.list() + ` FROM ` + t.name
	if order && len(t.key) > 0 {
		query += ` ORDER BY ` + strings.Join(t.key, ", ")
	}
	rows, err := q.QueryContext(ctx, query) //nolint:rowserrcheck // end does
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.name, err)
	}
	r := &rowReader{table: t, rows: rows, row: make([]any, len(t.columns)), into: make([]any, len(t.columns))}
	for i := range r.row {
		r.into[i] = &r.row[i]
	}
	return r, nil
}

// Next goes to the next row that moves.
func (r *rowReader) Next() bool {
	for r.fail == nil && r.rows.Next() {
		if r.fail = r.rows.Scan(r.into...); r.fail != nil {
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

// Err is what ended it before its time.
func (r *rowReader) Err() error { return errors.Join(r.fail, r.rows.Err()) }

func (r *rowReader) end() error { return errors.Join(r.Err(), r.rows.Close()) }

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
func (o *Options) compare(ctx context.Context, q engine.Querier, t *ledgerTable, want digest, done *Result) error {
	r, err := t.read(ctx, q, false)
	if err != nil {
		return err
	}
	var got digest
	for r.Next() {
		if r.fail = got.add(r.row); got.rows%progressEvery == 0 {
			o.Progress("compare "+t.name, got.rows)
		}
	}
	if err := r.end(); err != nil {
		return fmt.Errorf("read %s back: %w", t.name, err)
	}
	if got != want {
		return fmt.Errorf("%s is not the same on both sides: %d rows were read, and %d are there; nothing was moved", t.name, want.rows, got.rows)
	}
	done.Tables = append(done.Tables, Table{t.name, got.rows, fmt.Sprintf("%016x%016x", got.sum[0], got.sum[1])})
	return nil
}
