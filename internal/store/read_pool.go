package store

import (
	"context"
	"database/sql"
)

// A pool is the connections that only read.
type pool struct {
	*sql.DB
	dialect dialect
	guard   *guard // nil where the data is no file, or is only read
}

func (p pool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := p.DB.QueryContext(ctx, p.dialect.sql(query), args...)
	return rows, p.guard.saw(err)
}

// scan reads the first row of a query; sql.ErrNoRows where there is none.
func (p pool) scan(ctx context.Context, query string, args []any, into ...any) error {
	return p.guard.saw(p.DB.QueryRowContext(ctx, p.dialect.sql(query), args...).Scan(into...))
}
