package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/nudgewire/nudgewire/internal/disk"
)

// Data moves from one engine to the other while nobody uses it. What the new engine has is read back and compared before it
// counts, and it counts at one moment: the commit of one transaction in PostgreSQL, the rename of a file. Until then a copy that was
// cut off has changed nothing of the old data, and is done again by the same command; the new place says of itself that it is not whole, so
// that no daemon begins there with nothing. Just before that moment the old data is marked, so that
// no daemon starts on it beside the new one: both would send the same.

// TransferOptions say what moves where. One of From and To names a file, the other a PostgreSQL database, both as Options.DSN does.
type TransferOptions struct {
	From, To string
	Progress func(doing string, rows int64) // called now and then; nil is nobody
}

// A Transferred is what was moved.
type Transferred struct {
	Tables  []TransferredTable
	Cleaned int64 // texts with bytes that PostgreSQL does not keep; they have U+FFFD there
}

// Rows counts those of all tables.
func (t *Transferred) Rows() (n int64) {
	for i := range t.Tables {
		n += t.Tables[i].Rows
	}
	return n
}

// A TransferredTable is what was read of a table, on both sides.
type TransferredTable struct {
	Name string `json:"name"`
	Rows int64  `json:"rows"`
	Hash string `json:"hash"`
}

// A TransferError says what keeps data from moving.
type TransferError struct{ Words, Hint string }

func (e *TransferError) Error() string { return e.Words }

// A MovedError says that data was moved to another engine.
type MovedError struct {
	To   string // where to; without a secret
	At   time.Time
	Undo string // what takes the mark away
}

// Error names where the data is and the next step.
func (e *MovedError) Error() string {
	return fmt.Sprintf("this data was moved to %s at %s by \"nudgewire store copy\", and a daemon on both would send twice; name that one under storage. "+
		"Only if no daemon ever started there, this data may be used again: %s", e.To, e.At.UTC().Format(time.RFC3339), e.Undo)
}

// An UnfinishedError says that a copy to here was cut off, or failed, and the data is not whole.
type UnfinishedError struct {
	Place string // without a secret
	Undo  string // what makes the place one that nobody copies to
}

// Error names the next step.
func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("\"nudgewire store copy\" to %s began and did not end, so the data is not here: give the same command again while no daemon runs. "+
		"Only to begin here with no data: %s", e.Place, e.Undo)
}

// Transfer moves data to another engine. Errors: a *LockedError or *TransferError where somebody uses it, a *TransferError where the
// target has data, a *MovedError where the data was moved before.
func Transfer(ctx context.Context, o TransferOptions) (done Transferred, err error) {
	if o.Progress == nil {
		o.Progress = func(string, int64) {}
	}
	switch from, to := OnServer(o.From), OnServer(o.To); {
	case !from && to:
		err = o.toPostgres(ctx, &done)
	case from && !to:
		err = o.toFile(ctx, &done)
	default:
		err = &TransferError{"both places are of the same engine", "\"nudgewire backup\" and \"nudgewire restore\" copy a SQLite file, pg_dump and pg_restore a PostgreSQL database"}
	}
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return done, err
}

func (o *TransferOptions) toPostgres(ctx context.Context, done *Transferred) (err error) {
	to, err := openServer(ctx, o.To)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.close()) }()
	if _, err := os.Stat(Path(o.From)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: no data here: %w", Path(o.From), err)
	}
	s, err := Open(ctx, Options{DSN: o.From, movingTo: to.where})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.flushAllKeys(); err != nil {
		return err
	}
	tables, err := readTables(ctx, s.reads)
	if err == nil {
		err = to.empty(ctx, tables)
	}
	if _, data := errors.AsType[*TransferError](err); data {
		if moved := movedAway(Path(o.From), ""); moved != nil { // the answer to the commit got lost
			err = moved
		}
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(Path(o.To)), 0o700)
	}
	if err == nil {
		err = to.expect(ctx)
	}
	if err != nil {
		return err
	}
	if _, err := to.conn.ExecContext(ctx, `BEGIN`); err != nil {
		return err
	}
	for i := range tables {
		t := &tables[i]
		read, err := to.take(ctx, s.reads, t, done, o.Progress)
		if err == nil {
			o.Progress("copy "+t.name, read.rows)
			err = done.compare(ctx, to.conn, t, read, o.Progress)
		}
		if err != nil {
			return err
		}
	}
	last, err := numbersOf(ctx, s.reads)
	if err == nil {
		err = to.number(ctx, last)
	}
	if err == nil {
		err = to.takeKey(ctx, Path(o.From))
	}
	if err == nil {
		err = carryNotes(o.From, o.To)
	}
	if err == nil {
		err = writeMoved(Path(o.From), to.where)
	}
	if err == nil {
		_, err = to.conn.ExecContext(ctx, `COMMIT`)
	}
	return Wrap(err, "move the data")
}

func (o *TransferOptions) toFile(ctx context.Context, done *Transferred) (err error) {
	path, err := sqlitePath(o.To)
	if err != nil {
		return err
	}
	from, err := openServer(ctx, o.From)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.close()) }()
	if err := from.moved(ctx, KeyHash(path)); err != nil {
		return err
	}
	if err := arrived(ctx, from.conn, from.where); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	release, err := HoldFile(path + ".lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	for _, name := range []string{path, path + "-wal"} {
		if _, err := os.Stat(name); err == nil {
			return &TransferError{name + " exists already", "name a file that is not there yet, or move that one away with all files beside it"}
		}
	}
	temp := copyingFile(path)
	defer func() {
		if err != nil { // it gives its room back, and says on that the data is not here
			err = errors.Join(err, ignoreMissing(os.Truncate(temp, 0)))
		}
	}()
	to, err := newFile(ctx, temp)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	tables, err := readTables(ctx, pool{to, sqliteDialect, nil})
	if err != nil {
		return err
	}
	if _, err := from.conn.ExecContext(ctx, `BEGIN ISOLATION LEVEL REPEATABLE READ`); err != nil {
		return err
	}
	for i := range tables {
		t := &tables[i]
		read, err := fillTable(ctx, to, from.conn, t, o.Progress)
		if err == nil {
			err = done.compare(ctx, to, t, read, o.Progress)
		}
		if err != nil {
			return err
		}
	}
	if _, err := from.conn.ExecContext(ctx, `COMMIT`); err != nil {
		return err
	}
	last, err := from.given(ctx)
	if err == nil {
		err = keepNumbers(ctx, to, last)
	}
	if err == nil {
		err = to.Close()
	}
	if err == nil {
		err = syncFile(temp)
	}
	for _, beside := range []string{".instance", ".moved", ".damaged", ".restored", ".calls", ".tokens"} { // of data that was here before
		if err == nil {
			err = ignoreMissing(os.Remove(path + beside))
		}
	}
	if err == nil {
		err = from.giveKey(ctx, path)
	}
	if err == nil {
		err = carryNotes(o.From, o.To)
	}
	if err == nil {
		err = from.mark(ctx, KeyHash(path))
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err == nil {
		err = disk.SyncFolder(filepath.Dir(path))
	}
	return Wrap(err, "move the data")
}

// flushAllKeys ends writing, with every key in the table. The lock stays.
func (s *Store) flushAllKeys() error {
	s.commits.close()
	w, single := s.writer.peers.(*singleWriter)
	if !single {
		return nil
	}
	w.close()
	return s.writer.runBatch([]*waiting{{run: w.flushForGood}})
}

// carryNotes copies what is known of calls that had begun, and of refresh tokens that are not kept yet.
func carryNotes(from, to string) error {
	for _, note := range []string{".calls", ".tokens"} {
		text, err := os.ReadFile(Path(from) + note)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = disk.WriteFile(Path(to)+note, text)
		}
		if err != nil {
			return fmt.Errorf("carry the notes of the process: %w", err)
		}
	}
	return nil
}

// A querier is a side that rows are read from.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
