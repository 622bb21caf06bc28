package transfer

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/place"
)

// empty refuses a database that has data.
func empty(ctx context.Context, s *place.ServerToMove, tables []ledgerTable) error {
	for i := range tables {
		name := tables[i].name
		if name == "counts" {
			continue // totals say nothing of anybody; those that are here go
		}
		var rows bool
		if err := s.Conn.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM `+name+`)`).Scan(&rows); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if rows {
			return &place.TransferError{Words: "the database " + s.Where + " has data: there are rows in " + name, Hint: "name an empty database (CREATE DATABASE), or drop this one and make it anew"}
		}
	}
	return nil
}

// copyTable copies what is read of a table into the open transaction, and compares.
func (o *Options) copyTable(ctx context.Context, to *place.ServerToMove, from engine.Querier, t *ledgerTable, done *Result) error {
	r, err := t.read(ctx, from, false)
	if err != nil {
		return err
	}
	var d digest
	rows := &copyRows{rowReader: r, digest: &d, done: done, tell: o.Progress}
	if t.name == "counts" { // with the mark that the data is not here yet
		err = to.Exec(ctx, `DELETE FROM counts`)
	}
	if err == nil {
		err = to.Conn.Raw(func(driver any) error {
			_, err := driver.(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{t.name}, t.columns, rows)
			return err
		})
	}
	if err := errors.Join(err, r.end()); err != nil {
		return fmt.Errorf("write %s: %w", t.name, err)
	}
	o.Progress("copy "+t.name, d.rows)
	return o.compare(ctx, to.Conn, t, d, done)
}

// copyRows hands rows to COPY, in texts that PostgreSQL keeps.
type copyRows struct {
	*rowReader
	digest *digest
	done   *Result
	tell   func(string, int64)
}

// Values implements [pgx.CopyFromSource].
func (c *copyRows) Values() ([]any, error) {
	for i, v := range c.row {
		if text, is := v.(string); is {
			if kept := engine.PostgresText(text); kept != text {
				c.row[i] = kept
				c.done.Cleaned++
			}
		}
	}
	if err := c.digest.add(c.row); err != nil {
		return nil, err
	}
	if c.digest.rows%progressEvery == 0 {
		c.tell("copy "+c.table.name, c.digest.rows)
	}
	return c.row, nil
}
