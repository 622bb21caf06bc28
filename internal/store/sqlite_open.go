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
	e.guard, e.unguarded = f.guard, o.Scratch
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

// A copy of the data is made by SQLite's own VACUUM INTO: one moment of it, while others write, without what was
// deleted, in the words that both drivers know. A read of that length keeps the log from being moved into the database, so the log
// grows meanwhile; nobody waits. What the flusher still has in memory is the same as after a crash: each new key repeats
// what its row says, and a start reads those rows again.

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
	db, err := OpenFile(from, "PRAGMA busy_timeout = 10000", "PRAGMA cache_size = -4096", "PRAGMA temp_store = MEMORY")
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

// OpenFile opens a database by one connection, which is set up by the statements.
func OpenFile(path string, setup ...string) (*sql.DB, error) {
	drv, err := sqliteDriver()
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(&connector{driver: drv, uri: sqliteURI(path), setup: setup})
	db.SetMaxOpenConns(1)
	return db, nil
}

// Hold keeps everybody else from writing to the data behind dsn until release. Errors: a *LockedError.
func Hold(dsn string) (release func() error, err error) {
	path, err := FilePath(dsn)
	if err != nil {
		return nil, err
	}
	return sqlite.Hold(path + ".lock")
}
