package store

import (
	"context"
	"database/sql"

	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// A pool is the connections that only read.
type pool struct {
	*sql.DB
	dialect dialect
	guard   *sqlite.Guard // nil where the data is no file, or is only read
}

func (p pool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := p.DB.QueryContext(ctx, p.dialect.sql(query), args...)
	return rows, p.guard.Saw(err)
}

// scan reads the first row of a query; sql.ErrNoRows where there is none.
func (p pool) scan(ctx context.Context, query string, args []any, into ...any) error {
	return p.guard.Saw(p.DB.QueryRowContext(ctx, p.dialect.sql(query), args...).Scan(into...))
}
