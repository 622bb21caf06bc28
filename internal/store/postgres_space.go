package store

import (
	"context"

	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// postgresSpace is what the database takes on its server, which gives room back by itself (autovacuum).
func (s *Store) postgresSpace(ctx context.Context) (v Space, err error) {
	err = s.Rows(ctx, `SELECT pg_database_size(current_database())`, nil, func(r *engine.Row) error { v.File, v.Gives, v.OnServer = r.Int(), true, true; return r.Err })
	return v, Wrap(err, "space of the database")
}
