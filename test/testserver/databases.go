//go:build unix

package testserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Databases are of one server, which starts with the first of them, for all tests of a package. TestMain ends it by Exit.
type Databases struct {
	once   sync.Once
	server *Postgres
	err    error

	mu   sync.Mutex
	used []string // DSNs that a test has done with
}

// New is the DSN of a database that is empty and a test's own. The test is skipped where the machine has no PostgreSQL.
func (d *Databases) New(t testing.TB) (dsn string) {
	t.Helper()
	d.once.Do(func() {
		d.server, d.err = StartPostgres(context.Background(), "fsync=off", "full_page_writes=off", "max_connections=200")
	})
	if errors.Is(d.err, ErrMissing) {
		t.Skip(d.err)
	}
	if d.err != nil {
		t.Fatal(d.err)
	}
	dsn, err := d.fresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.used = append(d.used, dsn)
	})
	return dsn
}

// fresh is an empty database: one that a test has done with, or a new one, which takes a hundred times as long to make. What the
// schema itself stores stays.
func (d *Databases) fresh(ctx context.Context) (dsn string, err error) {
	d.mu.Lock()
	if n := len(d.used); n > 0 {
		dsn, d.used = d.used[n-1], d.used[:n-1]
	}
	d.mu.Unlock()
	if dsn == "" {
		return d.server.NewDatabase(ctx)
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return "", err
	}
	_, err = conn.Exec(ctx, `DO $$ DECLARE one record; BEGIN
		FOR one IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('goose_db_version', 'forgotten_key') LOOP
			EXECUTE format('DELETE FROM %I', one.tablename);
		END LOOP;
		FOR one IN SELECT sequencename FROM pg_sequences WHERE schemaname = 'public' AND sequencename LIKE '%_numbers' LOOP
			EXECUTE format('ALTER SEQUENCE %I RESTART', one.sequencename);
		END LOOP;
	END $$`)
	return dsn, errors.Join(err, conn.Close(ctx))
}

// Exit stops the server and ends the process of the tests, with code unless that fails.
func (d *Databases) Exit(code int) {
	if d.server != nil {
		if err := d.server.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
