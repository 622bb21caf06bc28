package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/nudgewire/nudgewire/internal/store/schema"
)

// Check reads a backup whole: every file against its SHA-256, the database by every page and index. The database is unpacked
// into the system's folder of temporary files meanwhile. Errors: a *FileError.
func Check(ctx context.Context, path string, progress func(doing string, done, all int64)) (r Report, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return r, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return r, err
	}
	work, err := os.MkdirTemp("", "nudgewire-check-")
	if err != nil {
		return r, fmt.Errorf("folder of temporary files: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	o := Options{Progress: progress}
	copied := filepath.Join(work, entryDatabase)
	m, err := read(ctx, path, func(name string, _ int64, from io.Reader) error {
		if name != entryDatabase {
			return nil
		}
		return unpack(copied, from)
	}, o.counter("reading", info.Size()))
	if err != nil {
		return r, err
	}
	if err := holds(ctx, path, copied, m); err != nil {
		return r, err
	}
	return Report{Path: path, Bytes: info.Size(), Manifest: m, Checked: time.Now().UTC()}, nil
}

// holds checks an unpacked database, and that this program can use it.
func holds(ctx context.Context, path, copied string, m Manifest) error {
	c, err := inspect(ctx, copied)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return &FileError{path, "holds a database that is not whole: " + err.Error(), anotherHint}
	case c.Schema > schema.Version():
		return &FileError{path, fmt.Sprintf("holds data of version %d, and this nudgewire knows version %d: it was made by nudgewire %s", c.Schema, schema.Version(), m.Version), "use that version, or a newer one"}
	}
	return nil
}

// unpack writes a file for its owner alone, and returns once it is on disk.
func unpack(path string, from io.Reader) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Sync(), f.Close())
}
