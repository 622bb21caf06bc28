package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/internal/pgaddress"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// Path is the file that dsn names, or, of a database on a server, what the names begin with of what a process notes for itself.
func Path(dsn string) string {
	if OnServer(dsn) {
		_, local, _ := strings.Cut(dsn, "#")
		return filepath.Join(local, "nudgewire")
	}
	path, err := FilePath(dsn)
	if err != nil {
		return dsn
	}
	return path
}

// Name is what the data behind dsn is called for people, without secrets: the path of a file, or server:port/database.
func Name(dsn string) string {
	if !OnServer(dsn) {
		return Path(dsn)
	}
	address, _, _ := strings.Cut(dsn, "#")
	cfg, err := pgaddress.Parse(address)
	if err != nil {
		return "a PostgreSQL database"
	}
	return "postgres://" + whereIs(cfg)
}

// A sqliteFile is what a store has of the file that its data is.
type sqliteFile struct {
	path  string
	lock  *sqlite.Lock
	guard *sqlite.Guard
	fault *sqlite.Fault // that the daemon will find at its next start; nil when this is the daemon
	more  connector     // opens one more connection, for what cannot be done on those that are open
}

// openFile opens the data of a file.
func (s *Store) openFile(ctx context.Context, o *Options) (err error) {
	path, err := FilePath(o.DSN)
	if err != nil {
		return err
	}
	defer func() { err = Wrap(err, "%s", path) }()
	s.marks.data, s.calls.path = path, path+".calls"
	drv, err := sqliteDriver()
	if err != nil {
		return err
	}
	f := &sqliteFile{path: path, more: connector{driver: drv, uri: sqliteURI(path)}}
	s.file = f
	if err := cutOff(path); err != nil {
		return err
	}
	if err := CopyCutOff(path); err != nil {
		return err
	}
	if err := emptied(path); err != nil {
		return err
	}
	if err := MovedAway(path, o.movingTo); err != nil {
		return err
	}
	if o.ReadOnly {
		return s.readFile(ctx, f)
	}
	if err := createFile(path); err != nil {
		return err
	}
	if f.lock, err = sqlite.TakeLock(path + ".lock"); err != nil {
		return err
	}
	fault, err := sqlite.FindFault(path, func() (bool, error) { return true, nil })
	if err != nil {
		return err
	}
	if err := f.more.prepare(ctx, path); err != nil {
		return err
	}
	if err := rewriteIfDue(ctx, f.more); err != nil {
		return err
	}
	if o.Scratch {
		f.more.setup = append(slices.Clone(f.more.setup), "PRAGMA synchronous = OFF")
	}
	e, err := openSQLiteEngine(&f.more)
	if err != nil {
		return err
	}
	s.writer = newWriter(&s.shared, e)
	if f.guard, err = sqlite.NewGuard(path); err != nil {
		return err
	}
	e.guard = f.guard
	if e.checkpoints, err = newCheckpointer(f.more); err != nil {
		return err
	}
	s.openReads(f.more)
	if err := s.resumeFile(ctx); err != nil {
		return err
	}
	if err := s.holdAll(ctx, path, fault); err != nil {
		return err
	}
	if err := s.recognise(ctx, path); err != nil {
		return err
	}
	return nil
}

// resumeFile reads what the only process that writes goes on with.
func (s *Store) resumeFile(ctx context.Context) error {
	if err := s.marks.load(ctx, s); err != nil {
		return err
	}
	return openSingleWriter(ctx, s)
}

// readFile opens the data of a file beside a daemon that writes, or without one.
func (s *Store) readFile(ctx context.Context, f *sqliteFile) (err error) {
	if _, err := os.Stat(f.path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no data here yet; the daemon makes it when it first starts: %w", err)
	}
	if f.fault, err = sqlite.FaultBeside(f.path); err != nil {
		return err
	}
	s.openReads(f.more)
	if err := checkSchema(ctx, s.reads); err != nil {
		return err
	}
	if err := s.copyBeside(ctx, f.path); err != nil {
		return err
	}
	return s.marks.load(ctx, s)
}

func (s *Store) openReads(c connector) {
	c.setup = readerSetup
	s.reads = pool{sql.OpenDB(&c), sqliteDialect, s.file.guard}
	s.reads.SetMaxOpenConns(mostReaders)
	s.reads.SetMaxIdleConns(mostReaders)
}

// prepare brings the schema up to date on a connection of its own.
func (c *connector) prepare(ctx context.Context, path string) error {
	if err := layOut(c.driver, c.uri, path); err != nil {
		return err
	}
	c.setup = writerSetup
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(1)
	return errors.Join(migrate(ctx, db, sqliteDialect, steps), db.Close())
}

// Held is a *sqlite.LockedError while another process has the data behind dsn open for writing.
func Held(dsn string) error { return sqlite.Held(Path(dsn) + ".lock") }

// close gives the lock back. SQLite has closed the files before, or will not before the process ends, because they are damaged.
func (f *sqliteFile) close() error {
	var err error
	if f.guard != nil && !f.guard.IsDamaged() {
		err = f.guard.Close()
	}
	if f.lock != nil {
		err = errors.Join(err, f.lock.Release())
	}
	return err
}
