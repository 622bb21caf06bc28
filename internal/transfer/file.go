package transfer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// fillRows is how many rows a transaction has.
const fillRows = 1 << 14

// fillTable writes what it reads into a file's table, in the order of the table, and compares.
func (o *Options) fillTable(ctx context.Context, to *sql.DB, from engine.Querier, t *ledgerTable, done *Result) (err error) {
	if _, err := to.ExecContext(ctx, `DELETE FROM `+t.name); err != nil { //nolint:gosec // a name of the schema; it may begin with rows
		return err
	}
	r, err := t.read(ctx, from, true)
	if err != nil {
		return err
	}
	var d digest
	marks := "(?" + strings.Repeat(", ?", len(t.columns)-1) + ")"
	statement := `INSERT INTO ` + t.name + ` (` + t.list() + `) VALUES ` + marks
	for more := true; more; {
		if more, err = fillSome(ctx, to, r, statement, &d); err != nil {
			break
		}
		o.Progress("copy "+t.name, d.rows)
	}
	if err := errors.Join(err, r.end()); err != nil {
		return fmt.Errorf("write %s: %w", t.name, err)
	}
	return o.compare(ctx, to, t, d, done)
}

// fillSome is one transaction of fillTable.
func fillSome(ctx context.Context, to *sql.DB, r *rowReader, statement string, d *digest) (more bool, err error) {
	tx, err := to.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	insert, err := tx.PrepareContext(ctx, statement)
	if err != nil {
		return false, errors.Join(err, tx.Rollback())
	}
	defer func() { err = errors.Join(err, insert.Close()) }()
	for n := 0; n < fillRows && err == nil; n++ {
		if more = r.Next(); !more {
			break
		}
		if err = d.add(r.row); err == nil {
			_, err = insert.ExecContext(ctx, r.row...)
		}
	}
	if err != nil {
		return false, errors.Join(err, tx.Rollback())
	}
	return more, tx.Commit()
}
