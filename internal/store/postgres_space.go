package store

import "context"

// postgresSpace is what the database takes on its server, which gives room back by itself (autovacuum).
func (s *Store) postgresSpace(ctx context.Context) (v Space, err error) {
	err = s.rows(ctx, `SELECT pg_database_size(current_database())`, nil, func(r *row) error { v.File, v.Gives, v.OnServer = r.int(), true, true; return r.err })
	return v, wrap(err, "space of the database")
}
