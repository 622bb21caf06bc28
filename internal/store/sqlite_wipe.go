package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/nudgewire/nudgewire/internal/phones"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/place"
	"github.com/nudgewire/nudgewire/internal/store/tally"
)

// What a row held is overwritten with it (secure_delete), but SQLite leaves copies in the free room of pages when it moves rows
// between them, and the log holds old pages until it begins anew. So after forgetting the log is emptied into the
// database, and the whole file is written anew. A large file is searched first: only where a number still stands, which a copy of a
// compressed row need not show, it is written anew, too.

// maxRewrite is the size of a file, in bytes, that is written anew at once: a second or two in which nothing else is written. A larger
// one waits for the next start.
const maxRewrite = 256 << 20

// RewriteLater notes that the file is to be written anew, so that nothing that was removed is left between the rows. A server does so by itself.
func (s *Store) RewriteLater(t *Tx) error {
	if s.file == nil {
		return nil
	}
	return t.Put(tally.SetCountSQL, place.RewriteDue, int64(1))
}

// rewriteIfDue writes the file anew where the process before did not come to it. Nobody else has it open.
func rewriteIfDue(ctx context.Context, c engine.Connector) (err error) {
	db := c.Single()
	defer func() { err = errors.Join(err, db.Close()) }()
	var due int
	err = db.QueryRowContext(ctx, `SELECT coalesce(max(value), 0) FROM counters WHERE name = ?1`, place.RewriteDue).Scan(&due)
	if err != nil || due == 0 {
		return err
	}
	if err := engine.RewriteFile(ctx, db); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `UPDATE counts SET value = 0 WHERE name = ?1`, place.RewriteDue)
	return err
}

// WipeDue reports whether what forgetting left between the rows is still to be cleared away.
func (s *Store) WipeDue(ctx context.Context) (due bool, err error) {
	err = s.Rows(ctx, `SELECT value FROM counters WHERE name = ?1`, []any{place.RewriteDue}, func(r *engine.Row) error {
		due = r.Int() != 0
		return r.Err
	})
	return due, Wrap(err, "what forgetting left")
}

// Wipe clears away what forgetting leaves between the rows of a file. waits says why it cannot be done now, "" when it is. On a
// server it does nothing: there VACUUM does, which the server calls by itself.
func (s *Store) Wipe(ctx context.Context, find *phones.Finder) (waits string, err error) {
	if s.file == nil {
		return "", nil
	}
	db := s.file.more.Single()
	defer func() { err = errors.Join(err, db.Close()) }()
	path := s.Marks.Data
	if err := engine.EmptyLog(ctx, db); err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("the size of the database: %w", err)
	}
	if info.Size() <= maxRewrite {
		err = engine.RewriteFile(ctx, db)
	} else if holds, searching := fileHolds(path, find); holds || searching != nil {
		return fmt.Sprintf("the next start, when the file is written anew: it is larger than %d MB", maxRewrite>>20), searching
	}
	if err != nil {
		return "", err
	}
	return "", s.Write(ctx, commit.LaneWork, func(t *Tx) error {
		return t.Put(tally.SetCountSQL, place.RewriteDue, int64(0))
	})
}

// fileHolds reports whether a number stands in a file, in one piece.
func fileHolds(path string, find *phones.Finder) (holds bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("search the database: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	const overlap = 32 // longer than a number
	room := make([]byte, 1<<20+overlap)
	kept := 0
	for {
		n, err := io.ReadFull(f, room[kept:])
		if find.Holds(room[:kept+n]) {
			return true, nil
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("search the database: %w", err)
		}
		kept = copy(room, bytes.Clone(room[kept+n-overlap:kept+n]))
	}
}
