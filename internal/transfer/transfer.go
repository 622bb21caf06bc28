// Package transfer copies all data from SQLite to PostgreSQL, or back, while nobody uses it.
//
// What the new engine has is read back and compared before it counts, and it counts at one moment: the commit of one transaction in
// PostgreSQL, the rename of a file. Until then a copy that was cut off has changed nothing of the old data, and is done again by the same
// command; the new place says of itself that it is not whole, so that no daemon begins there with nothing. Just before that moment the old
// data is marked, so that no daemon starts on it beside the new one: both would send the same. Package store makes these marks and heeds
// them (moves.go, moves_server.go there).
package transfer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nudgewire/nudgewire/internal/disk"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/keyindex"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
	"github.com/nudgewire/nudgewire/internal/store/place"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// Options say what moves where. One of From and To names a file, the other a PostgreSQL database, both as Options.DSN does.
type Options struct {
	From, To string
	Progress func(doing string, rows int64) // called now and then; nil is nobody
}

// A Result is what was moved.
type Result struct {
	Tables  []Table
	Cleaned int64 // texts with bytes that PostgreSQL does not keep; they have U+FFFD there
}

// Rows counts those of all tables.
func (t *Result) Rows() (n int64) {
	for i := range t.Tables {
		n += t.Tables[i].Rows
	}
	return n
}

// A Table is what was read of a table, on both sides.
type Table struct {
	Name string `json:"name"`
	Rows int64  `json:"rows"`
	Hash string `json:"hash"`
}

// Run moves data to another engine. Errors: a *sqlite.LockedError or *place.TransferError where somebody uses it, a *place.TransferError where the
// target has data, a *place.MovedError where the data was moved before.
func Run(ctx context.Context, o Options) (done Result, err error) {
	if o.Progress == nil {
		o.Progress = func(string, int64) {}
	}
	switch from, to := engine.OnServer(o.From), engine.OnServer(o.To); {
	case !from && to:
		err = o.toPostgres(ctx, &done)
	case from && !to:
		err = o.toFile(ctx, &done)
	default:
		err = &place.TransferError{Words: "both places are of the same engine", Hint: "\"nudgewire backup\" and \"nudgewire restore\" copy a SQLite file, pg_dump and pg_restore a PostgreSQL database"}
	}
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return done, err
}

func (o *Options) toPostgres(ctx context.Context, done *Result) (err error) {
	to, err := place.OpenServer(ctx, o.To)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if _, err := os.Stat(engine.Path(o.From)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: no data here: %w", engine.Path(o.From), err)
	}
	s, err := store.OpenToMove(ctx, o.From, to.Where)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	tables, err := readTables(ctx, s)
	if err == nil {
		err = empty(ctx, to, tables)
	}
	if _, data := errors.AsType[*place.TransferError](err); data {
		if moved := place.MovedAway(engine.Path(o.From), ""); moved != nil { // the answer to the commit got lost
			err = moved
		}
	}
	if err != nil {
		return err
	}
	if err := inTurn(
		func() error { return os.MkdirAll(filepath.Dir(engine.Path(o.To)), 0o700) },
		func() error { return to.Expect(ctx) },
		func() error { return to.Exec(ctx, `BEGIN`) },
	); err != nil {
		return err
	}
	for i := range tables {
		if err := o.copyTable(ctx, to, s, &tables[i], done); err != nil {
			return err
		}
	}
	last, err := numbers.Find(ctx, s)
	if err != nil {
		return err
	}
	return store.Wrap(inTurn(
		func() error { return numbers.GoOnBehind(ctx, to.Conn, last) },
		func() error { return to.TakeKey(ctx, engine.Path(o.From)) },
		func() error { return carryNotes(o.From, o.To) },
		func() error { return place.MarkMoved(engine.Path(o.From), to.Where) },
		func() error { return to.Exec(ctx, `COMMIT`) },
	), "move the data")
}

func (o *Options) toFile(ctx context.Context, done *Result) (err error) {
	path, err := engine.FilePath(o.To)
	if err != nil {
		return err
	}
	from, err := place.OpenServer(ctx, o.From)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if err := from.MayMove(ctx, keyindex.Hash(path)); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	release, err := sqlite.Hold(path + ".lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	for _, name := range []string{path, path + "-wal"} {
		if _, err := os.Stat(name); err == nil {
			return &place.TransferError{Words: name + " exists already", Hint: "name a file that is not there yet, or move that one away with all files beside it"}
		}
	}
	temp := place.CopyingFile(path)
	defer func() {
		if err != nil { // it gives its room back, and says on that the data is not here
			if cut := os.Truncate(temp, 0); !errors.Is(cut, fs.ErrNotExist) {
				err = errors.Join(err, cut)
			}
		}
	}()
	to, err := place.NewFile(ctx, temp)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	tables, err := readTables(ctx, to)
	if err != nil {
		return err
	}
	if err := from.Exec(ctx, `BEGIN ISOLATION LEVEL REPEATABLE READ`); err != nil {
		return err
	}
	for i := range tables {
		if err := o.fillTable(ctx, to, from.Conn, &tables[i], done); err != nil {
			return err
		}
	}
	if err := from.Exec(ctx, `COMMIT`); err != nil {
		return err
	}
	last, err := numbers.Given(ctx, from.Conn)
	if err != nil {
		return err
	}
	return store.Wrap(inTurn(
		func() error { return numbers.Keep(ctx, to, last) },
		to.Close,
		func() error { return syncFile(temp) },
		func() error { return removeNotes(path) }, // of data that was here before
		func() error { return from.GiveKey(ctx, path) },
		func() error { return carryNotes(o.From, o.To) },
		func() error { return from.MarkMoved(ctx, keyindex.Hash(path)) },
		func() error { return os.Rename(temp, path) },
		func() error { return disk.SyncFolder(filepath.Dir(path)) },
	), "move the data")
}

// carryNotes copies what is known of calls that had begun, and of refresh tokens that are not kept yet.
func carryNotes(from, to string) error {
	for _, note := range []string{".calls", ".tokens"} {
		text, err := os.ReadFile(engine.Path(from) + note)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = disk.WriteFile(engine.Path(to)+note, text)
		}
		if err != nil {
			return fmt.Errorf("carry the notes of the process: %w", err)
		}
	}
	return nil
}

func removeNotes(path string) error {
	for _, beside := range []string{".instance", ".moved", ".damaged", ".restored", ".calls", ".tokens"} {
		if err := disk.Remove(path + beside); err != nil {
			return err
		}
	}
	return nil
}

// inTurn takes one step after the other, up to the first that fails.
func inTurn(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
