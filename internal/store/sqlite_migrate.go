package store

import (
	"context"
	"database/sql"
	_ "embed" // schema.sql
	"fmt"

	"github.com/pressly/goose/v3"
)

// A step takes the schema from the version before to its own, in SQL with the marks of a dialect.
type step struct {
	version int64
	sql     string
}

//go:embed schema.sql
var firstSchema string

// steps lead to the schema of this version, in order. schema.sql is the first as long as nothing was released; what changes tables
// after that is a step behind it, and a released step is never edited again.
var steps = []step{{1, firstSchema}}

// Schema is the version of the data that this program writes.
func Schema() int64 { return schemaVersion(steps) }

// schemaVersion is the last of the steps.
func schemaVersion(steps []step) int64 { return steps[len(steps)-1].version }

// migrate brings the schema behind db to the last of the steps. Each is one transaction, so a crash leaves the old version or the new
// one. The SQL passes through the dialect, which is why the steps are Go and not files that goose reads itself.
func migrate(ctx context.Context, db *sql.DB, d dialect, steps []step) error {
	var all []*goose.Migration
	for _, one := range steps {
		up := &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, d.schema(one.sql))
			return err
		}}
		all = append(all, goose.NewGoMigration(one.version, up, nil))
	}
	provider, err := goose.NewProvider(d.goose, db, nil, goose.WithGoMigrations(all...), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	found, err := provider.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	if newest := schemaVersion(steps); found > newest {
		return &NewerSchemaError{Found: found, Known: newest}
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	return nil
}

// checkSchema reports whether a reader can understand the data behind db, without changing it.
func checkSchema(ctx context.Context, db pool) error {
	var found sql.NullInt64
	err := db.scan(ctx, "SELECT max(version_id) FROM "+goose.DefaultTablename+" WHERE is_applied", nil, &found)
	if err != nil {
		return fmt.Errorf("no nudgewire data here: %w", err)
	}
	if newest := schemaVersion(steps); found.Int64 != newest {
		return &NewerSchemaError{Found: found.Int64, Known: newest}
	}
	return nil
}
