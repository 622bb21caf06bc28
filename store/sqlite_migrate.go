package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations lists the schema's versions in order. A released file is never edited again.
var migrations = []string{
	1:  "migrations/00001_ledger.sql",
	2:  "migrations/00002_lookups.sql",
	3:  "migrations/00003_runs.sql",
	4:  "migrations/00004_halts.sql",
	5:  "migrations/00005_afterwards.sql",
	6:  "migrations/00006_follow.sql",
	7:  "migrations/00007_paused_rows.sql",
	8:  "migrations/00008_messages_final.sql",
	9:  "migrations/00009_refresh_tokens.sql",
	10: "migrations/00010_ended_send.sql",
	11: "migrations/00011_due.sql",
	12: "migrations/00012_verdicts.sql",
	13: "migrations/00013_consent.sql",
	14: "migrations/00014_steps.sql",
	15: "migrations/00015_errors.sql",
	17: "migrations/00017_jobs.sql",
	18: "migrations/00018_accounts.sql",
	19: "migrations/00019_retry_classes.sql",
	20: "migrations/00020_trigger_windows.sql",
	66: "migrations/00066_held_runs.sql",
	21: "migrations/00021_retention.sql",
	23: "migrations/00023_restorations.sql",
	24: "migrations/00024_alerts.sql",
	25: "migrations/00025_webhooks_out.sql",
	29: "migrations/00029_forgotten_files.sql",
	30: "migrations/00030_run_waits.sql",
	31: "migrations/00031_once_state.sql",
	32: "migrations/00032_masked_phones.sql",
	34: "migrations/00034_files.sql",
	40: "migrations/00040_cluster.sql",
	43: "migrations/00043_rates.sql",
	42: "migrations/00042_notices.sql",
	54: "migrations/00054_account_pauses.sql",
	50: "migrations/00050_postgres_vacuum.sql",
	51: "migrations/00051_nodes_tell.sql",
	52: "migrations/00052_place.sql",
	53: "migrations/00053_runs_of_jobs.sql",
	55: "migrations/00055_tokens_audit.sql",
	56: "migrations/00056_hourly_counts.sql",
	58: "migrations/00058_approvals.sql",
	60: "migrations/00060_sent_as.sql",
	63: "migrations/00063_redactions.sql",
	78: "migrations/00078_allowed_again.sql",
	80: "migrations/00080_renames.sql",
	88: "migrations/00088_renames_notice.sql",
	89: "migrations/00089_run_source.sql",
	57: "migrations/00057_users.sql",
	69: "migrations/00069_lanes.sql",
	70: "migrations/00070_send_pauses.sql",
	71: "migrations/00071_lane_pauses.sql",
	72: "migrations/00072_other_keys.sql",
	75: "migrations/00075_unused.sql",
}

// migrate brings the schema behind db to this version. Each step is one transaction, so a
// crash leaves the old version or the new one. The SQL passes through the dialect, which is
// why the files are steps in Go and not read by goose itself.
func migrate(ctx context.Context, db *sql.DB, d dialect) error {
	var steps []*goose.Migration
	for version, name := range migrations {
		if name == "" {
			continue
		}
		text, err := migrationFiles.ReadFile(name)
		if err != nil {
			return fmt.Errorf("schema: %w", err)
		}
		up := &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, d.schema(string(text)))
			return err
		}}
		steps = append(steps, goose.NewGoMigration(int64(version), up, nil))
	}
	provider, err := goose.NewProvider(d.goose, db, nil,
		goose.WithGoMigrations(steps...), goose.WithDisableGlobalRegistry(true),
		goose.WithAllowOutofOrder(true)) // a step that was finished later than one of a higher number
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	found, err := provider.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	if newest := int64(len(migrations) - 1); found > newest {
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
	err := db.QueryRowContext(ctx, "SELECT max(version_id) FROM "+goose.DefaultTablename+" WHERE is_applied").Scan(&found)
	if err != nil {
		return fmt.Errorf("no nudgewire data here: %w", err)
	}
	if newest := int64(len(migrations) - 1); found.Int64 != newest {
		return &NewerSchemaError{Found: found.Int64, Known: newest}
	}
	return nil
}
