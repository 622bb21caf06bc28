package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// A Copied is what a copy of the database holds.
type Copied struct {
	Schema  int64     `json:"schema"`
	Newest  time.Time `json:"newest,omitzero"` // when the newest thing happened that it knows of
	Events  int64     `json:"events"`
	Waiting int64     `json:"waiting"`
	Sending int64     `json:"sending"` // messages whose calls were under way, or about to begin
	InDoubt int64     `json:"in_doubt"`
	Runs    int64     `json:"open_runs"`

	AuditEntry int64  `json:"audit_entry"` // the number of the audit's last entry
	AuditHash  string `json:"audit_hash"`  // and its hash: audit verify --known
}

// inspect reads a copy at path that nobody else has open: first whether all of it is whole, by every page and index,
// then what it holds. Errors: sqlite.ErrNotData.
func inspect(ctx context.Context, path string) (c Copied, err error) {
	if err := sqlite.LooksWhole(path); err != nil {
		return c, err
	}
	db, err := engine.OpenFile(path, "PRAGMA busy_timeout = 10000", "PRAGMA cache_size = -4096", "PRAGMA temp_store = MEMORY", "PRAGMA query_only = 1")
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var words string
	if err := db.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&words); err != nil {
		return c, fmt.Errorf("check the copy: %w", err)
	}
	if words != "ok" {
		return c, fmt.Errorf("check the copy: %s", words)
	}
	var newest int64
	for _, q := range []struct {
		into *int64
		sql  string
	}{
		{&c.Schema, `SELECT coalesce(max(version_id), 0) FROM ` + goose.DefaultTablename + ` WHERE is_applied`},
		{&newest, store.NewestKnown},
		{&c.Events, `SELECT count(*) FROM events`},
		{&c.Waiting, `SELECT count(*) FROM messages WHERE state = 'waiting'`},
		{&c.Sending, `SELECT count(*) FROM messages WHERE state = 'sending'`},
		{&c.InDoubt, `SELECT count(*) FROM messages WHERE state = 'in_doubt'`},
		{&c.Runs, `SELECT count(*) FROM runs WHERE ended_at = 0`},
	} {
		if err := db.QueryRowContext(ctx, q.sql).Scan(q.into); err != nil {
			return c, fmt.Errorf("no nudgewire data in the copy: %w", err)
		}
	}
	c.Newest = engine.Moment(newest)
	last := db.QueryRowContext(ctx, `SELECT coalesce(max(id), 0), coalesce((SELECT hash FROM audit ORDER BY id DESC LIMIT 1), '') FROM audit`)
	if err := last.Scan(&c.AuditEntry, &c.AuditHash); err != nil {
		return c, fmt.Errorf("the audit of the copy: %w", err)
	}
	return c, nil
}
