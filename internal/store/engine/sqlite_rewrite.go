package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// RewriteFile has SQLite write the whole file anew, while nothing else is written.
func RewriteFile(ctx context.Context, db *sql.DB) error {
	for _, statement := range []string{"PRAGMA temp_store = FILE", setIncrementalVacuum, "VACUUM"} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("write the database anew: %w", err)
		}
	}
	return EmptyLog(ctx, db)
}

// EmptyLog moves all of the log into the database and cuts it off. A reader that is under way keeps it from that for as long as it
// reads.
func EmptyLog(ctx context.Context, db *sql.DB) error {
	// Writers wait while it waits for readers, so it tries often and shortly.
	if _, err := db.ExecContext(ctx, "PRAGMA busy_timeout = 50"); err != nil {
		return fmt.Errorf("empty the log of the database: %w", err)
	}
	for range 100 {
		var busy, pages, moved int
		if err := db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved); err != nil {
			return fmt.Errorf("empty the log of the database: %w", err)
		}
		if busy == 0 {
			_, err := db.ExecContext(ctx, "PRAGMA busy_timeout = 10000")
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return errors.New("empty the log of the database: somebody reads it all the time; end other programs that have it open")
}
