package store

import (
	"context"
	"database/sql"
)

// A pool is the connections that only read.
type pool struct {
	*sql.DB
	dialect dialect
}

func (p pool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return p.DB.QueryContext(ctx, p.dialect.sql(query), args...)
}

func (p pool) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return p.DB.QueryRowContext(ctx, p.dialect.sql(query), args...)
}
