package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/peers"
	"github.com/nudgewire/nudgewire/internal/store/place"
	"github.com/nudgewire/nudgewire/internal/store/schema"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// A sqliteFile is what a store has of the file that its data is.
type sqliteFile struct {
	path  string
	lock  *sqlite.Lock
	guard *sqlite.Guard
	fault *sqlite.Fault    // that the daemon will find at its next start; nil when this is the daemon
	more  engine.Connector // opens one more connection, for what cannot be done on those that are open
}

// openFile opens the data of a file.
func (s *Store) openFile(ctx context.Context, o *Options) (err error) {
	path, err := engine.FilePath(o.DSN)
	if err != nil {
		return err
	}
	defer func() { err = Wrap(err, "%s", path) }()
	s.Marks.Data, s.calls.Path = path, path+".calls"
	c, err := engine.NewConnector(path)
	if err != nil {
		return err
	}
	f := &sqliteFile{path: path, more: *c}
	s.file = f
	if err := place.CutOff(path); err != nil {
		return err
	}
	if err := place.CopyCutOff(path); err != nil {
		return err
	}
	if err := place.Emptied(path); err != nil {
		return err
	}
	if err := place.MovedAway(path, o.movingTo); err != nil {
		return err
	}
	if o.ReadOnly {
		return s.readFile(ctx, f)
	}
	if err := engine.CreateFile(path); err != nil {
		return err
	}
	if f.lock, err = sqlite.TakeLock(path + ".lock"); err != nil {
		return err
	}
	fault, err := sqlite.FindFault(path, func() (bool, error) { return true, nil })
	if err != nil {
		return err
	}
	if err := f.more.Prepare(ctx, path, schema.Steps); err != nil {
		return err
	}
	if err := rewriteIfDue(ctx, f.more); err != nil {
		return err
	}
	if o.Scratch {
		f.more = f.more.Unforced()
	}
	e, err := engine.OpenSQLite(&f.more)
	if err != nil {
		return err
	}
	s.writer = newWriter(&s.shared, e)
	if f.guard, err = sqlite.NewGuard(path); err != nil {
		return err
	}
	if err := e.Watch(f.more, f.guard, o.Scratch); err != nil {
		return err
	}
	s.reads = f.more.ReadPool(f.guard).After(s.stepped.beforeReads())
	s.Readers.Guard, s.Readers.Checkpoint = f.guard, e.Checkpoint
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
	if err := s.loadMarks(ctx); err != nil {
		return err
	}
	w := &peers.Single{On: s.writer.engine, Reads: s.reads, Write: s.writer.runAlone, Bare: s.bare, Small: s.scratch}
	s.writer.peers = w
	return w.Open(ctx, keyedEventRows(s.hash), keyedMessageRows(s.hash))
}

// readFile opens the data of a file beside a daemon that writes, or without one.
func (s *Store) readFile(ctx context.Context, f *sqliteFile) (err error) {
	if _, err := os.Stat(f.path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no data here yet; the daemon makes it when it first starts: %w", err)
	}
	if f.fault, err = sqlite.FaultBeside(f.path); err != nil {
		return err
	}
	s.reads = f.more.ReadPool(f.guard)
	if err := engine.CheckSchema(ctx, s.reads, schema.Steps); err != nil {
		return err
	}
	if err := s.copyBeside(ctx, f.path); err != nil {
		return err
	}
	return s.loadMarks(ctx)
}

// Held is a *sqlite.LockedError while another process has the data behind dsn open for writing.
func Held(dsn string) error { return sqlite.Held(engine.Path(dsn) + ".lock") }

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
	from, err := engine.FilePath(dsn)
	if err != nil {
		return err
	}
	if err := place.CutOff(from); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: no data here yet: %w", from, err)
	}
	if err := place.Emptied(from); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	// The last connection that is closed ends the log, and with it what shows that the log is damaged.
	if _, err := sqlite.FaultBeside(from); err != nil {
		return err
	}
	db, err := engine.OpenFile(from, "PRAGMA busy_timeout = 10000", "PRAGMA cache_size = -4096", "PRAGMA temp_store = MEMORY")
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

// Hold keeps everybody else from writing to the data behind dsn until release. Errors: a *LockedError.
func Hold(dsn string) (release func() error, err error) {
	path, err := engine.FilePath(dsn)
	if err != nil {
		return nil, err
	}
	return sqlite.Hold(path + ".lock")
}

// OpenToMove opens the data of a file to be copied to a server: every key is in its table, and nobody writes until it is closed.
func OpenToMove(ctx context.Context, dsn, to string) (*Store, error) {
	s, err := Open(ctx, Options{DSN: dsn, movingTo: to})
	if err != nil {
		return nil, err
	}
	s.endCommits()
	w := s.writer.peers.(*peers.Single) // a file has one
	w.Close()
	if err := s.writer.runAlone(w.FlushForGood); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}
