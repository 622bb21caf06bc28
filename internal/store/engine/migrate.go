package engine

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/pressly/goose/v3"
)

// A Step takes the schema from the version before to its own, in SQL with the marks of a dialect.
type Step struct {
	Version int64
	SQL     string
}

// SchemaVersion is the last of the steps.
func SchemaVersion(steps []Step) int64 { return steps[len(steps)-1].Version }

// Migrate brings the schema behind db to the last of the steps. Each is one transaction, so a crash leaves the old version or the new
// one. The SQL passes through the dialect, which is why the steps are Go and not files that goose reads itself.
func Migrate(ctx context.Context, db *sql.DB, d Dialect, steps []Step) error {
	var all []*goose.Migration
	for _, one := range steps {
		up := &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, d.Schema(one.SQL))
			return err
		}}
		all = append(all, goose.NewGoMigration(one.Version, up, nil))
	}
	provider, err := goose.NewProvider(d.goose, db, nil, goose.WithGoMigrations(all...), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	found, err := provider.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	if newest := SchemaVersion(steps); found > newest {
		return &NewerSchemaError{Found: found, Known: newest}
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	return nil
}

// CheckSchema reports whether a reader can understand the data behind db, without changing it.
func CheckSchema(ctx context.Context, db Pool, steps []Step) error {
	var found sql.NullInt64
	err := db.Scan(ctx, "SELECT max(version_id) FROM "+goose.DefaultTablename+" WHERE is_applied", nil, &found)
	if err != nil {
		return fmt.Errorf("no nudgewire data here: %w", err)
	}
	if newest := SchemaVersion(steps); found.Int64 != newest {
		return &NewerSchemaError{Found: found.Int64, Known: newest}
	}
	return nil
}
