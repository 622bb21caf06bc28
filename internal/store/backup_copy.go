package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// A copy of the data is made by SQLite's own VACUUM INTO: one moment of it, while others write, without what was
// deleted, in the words that both drivers know. A read of that length keeps the log from being moved into the database, so the log
// grows meanwhile; nobody waits. What the flusher still has in memory is the same as after a crash: each new key repeats
// what its row says, and a start reads those rows again.

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

// Schema is the version of the data that this program writes.
func Schema() int64 { return schemaVersion(steps) }

// copySetup is for a connection that only copies.
var copySetup = []string{"PRAGMA busy_timeout = 10000", "PRAGMA cache_size = -4096", "PRAGMA temp_store = MEMORY"}

// CopyTo writes the data behind dsn, as it is at one moment, into a new database at path, beside a daemon or without one.
// It is not synced. Errors: fs.ErrNotExist where there is no data; DiskTrouble knows those of the disk.
func CopyTo(ctx context.Context, dsn, path string) (err error) {
	from, err := FilePath(dsn)
	if err != nil {
		return err
	}
	if err := cutOff(from); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: no data here yet: %w", from, err)
	}
	if err := emptied(from); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	// The last connection that is closed ends the log, and with it what shows that the log is damaged.
	if _, err := sqlite.FaultBeside(from); err != nil {
		return err
	}
	db, err := openFile(from, copySetup)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, `VACUUM INTO ?1`, path)
	if code, _ := sqlite.Code(err); code == sqlite.NotData { // not by a look at the file: it may be a daemon's own (see guard)
		return fmt.Errorf("%s: %w", from, sqlite.ErrNotData)
	}
	if err != nil {
		return fmt.Errorf("copy the database: %w", errors.Join(ctx.Err(), err))
	}
	return nil
}

// openFile opens a database by one connection, which is set up by the statements.
func openFile(path string, setup []string) (*sql.DB, error) {
	drv, err := sqliteDriver()
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(&connector{driver: drv, uri: sqliteURI(path), setup: setup})
	db.SetMaxOpenConns(1)
	return db, nil
}

// InspectCopy reads a copy at path that nobody else has open: first whether all of it is whole, by every page and index,
// then what it holds. Errors: ErrNotData.
func InspectCopy(ctx context.Context, path string) (c Copied, err error) {
	if err := sqlite.LooksWhole(path); err != nil {
		return c, err
	}
	db, err := openFile(path, append(copySetup, "PRAGMA query_only = 1"))
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
		{&newest, newestKnown},
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
	c.Newest = Moment(newest)
	last := db.QueryRowContext(ctx, `SELECT coalesce(max(id), 0), coalesce((SELECT hash FROM audit ORDER BY id DESC LIMIT 1), '') FROM audit`)
	if err := last.Scan(&c.AuditEntry, &c.AuditHash); err != nil {
		return c, fmt.Errorf("the audit of the copy: %w", err)
	}
	return c, nil
}

// Hold keeps everybody else from writing to the data behind dsn until release. Errors: a *LockedError.
func Hold(dsn string) (release func() error, err error) {
	path, err := FilePath(dsn)
	if err != nil {
		return nil, err
	}
	return HoldFile(path + ".lock")
}

// HoldFile is Hold by a lock file of its own, which whoever holds it may remove. Whoever dies lets go.
func HoldFile(path string) (release func() error, err error) {
	for {
		l, err := sqlite.TakeLock(path)
		if err != nil {
			return nil, err
		}
		if l.IsAt(path) {
			return l.Release, nil
		}
		// It was removed after it was opened: another one may hold the one that is there now.
		if err := l.Release(); err != nil {
			return nil, err
		}
	}
}
