package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// Who tries many things one after the other, each on data of its own, would spend its time on making files and preparing statements. So
// scratch data (Options.Scratch) is emptied, and a new store made over the same connections: what a process keeps in memory of its data is
// made anew by the code that Open runs, and nothing of it has to be known here.

// keptTables have rows that the schema itself makes.
var keptTables = map[string]bool{goose.DefaultTablename: true, "forgotten_key": true}

// Anew is a store with other options over the same file, of which all rows are gone. s must be scratch data, and is at its end whatever comes
// of it. o.DSN is not looked at.
func (s *Store) Anew(ctx context.Context, o Options) (*Store, error) {
	if s.file == nil || !s.scratch {
		return nil, errors.New("only scratch data can be emptied")
	}
	s.endCommits()
	s.writer.peers.Close()
	err := s.calls.Close()
	n := newStore(&o)
	n.file, n.reads, n.scratch = s.file, s.reads.After(n.stepped.beforeReads()), true
	n.Marks.Data, n.calls.Path = s.file.path, s.calls.Path
	n.Readers.Guard, n.Readers.Checkpoint = s.Readers.Guard, s.Readers.Checkpoint
	n.writer = newWriter(&n.shared, s.writer.engine)
	if err == nil {
		err = n.empty(ctx)
	}
	if err == nil {
		err = n.resumeFile(ctx)
	}
	if err == nil {
		err = n.load(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("begin anew: %w", errors.Join(err, n.Close()))
	}
	n.begin(&o)
	return n, nil
}

// empty removes all rows.
func (s *Store) empty(ctx context.Context) error {
	names, err := List(ctx, s, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`, nil,
		func(r *engine.Row) (string, error) { return r.Text(), r.Err })
	if err != nil {
		return err
	}
	e, is := s.writer.engine.(*engine.SQLite)
	if !is {
		return errors.New("the data is no file")
	}
	e.Undo()
	if err := e.Run("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for _, name := range names {
		if !keptTables[name] {
			if err := e.Run(`DELETE FROM "` + name + `"`); err != nil {
				return errors.Join(err, e.Run("ROLLBACK"))
			}
		}
	}
	return e.Run("COMMIT")
}

// Whoever steps the time of scratch data (Options.Stepped) does one thing after the other, and nobody else writes. So an operation runs in the
// goroutine that asks for it and not in a flusher, and its commit is put off until somebody reads by another connection or the log is due to be moved:
// of nearly all operations the commit cost more than what they did. Totals and counts of the hour, which only people read, are not written.
//
// What was put off is one transaction, each operation a savepoint of it. A full disk undoes all of it, so the data is at its end then:
// whatever is asked of it, also to read, is that error.
type stepped struct {
	mu     sync.Mutex
	writer *writer // nil before it begins, and after its end
	onEnd  func(error)
	one    [1]*commit.Operation[*Tx]
	ended  error
	closed bool
}

func (d *stepped) begin(w *writer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.engine.(*engine.SQLite).Defer()
	d.writer = w
}

// do runs an operation.
func (d *stepped) do(ctx context.Context, o commit.Operation[*Tx]) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.over(); err != nil {
		return err
	}
	d.one[0] = &o
	commit.Run(d.writer.runBatch, d.one[:])
	return d.failed(o.Err)
}

// over is why nothing can be asked any more; nil where all can.
func (d *stepped) over() error {
	if d.closed {
		return commit.ErrClosed
	}
	return d.ended
}

// beforeReads is what is done before each read; nil where nothing is put off.
func (d *stepped) beforeReads() func() error {
	if d == nil {
		return nil
	}
	return d.settle
}

// settle commits what was put off: somebody is about to read.
func (d *stepped) settle() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.writer == nil || d.closed || d.ended != nil {
		return d.ended
	}
	return d.failed(d.writer.engine.(*engine.SQLite).Settle())
}

// failed takes up that the data is at its end, if it is.
func (d *stepped) failed(err error) error {
	if err == nil || sqlite.DiskTrouble(err) == "" && !d.writer.engine.(*engine.SQLite).Lost() {
		return err
	}
	d.ended = err
	if d.onEnd != nil {
		d.onEnd(err)
	}
	return err
}

// next reads one time as Store.Earliest does, without settling anything: whoever steps the time asks after each step.
func (s *Store) next(ctx context.Context, of *engine.Statement, args ...any) (at time.Time, ok bool, err error) {
	d := s.stepped
	if d == nil {
		return s.Earliest(ctx, of.String(), args...)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.over(); err != nil {
		return at, false, err
	}
	err = d.writer.tx.Query(of, func(r *engine.Row) error { at, ok = r.Time(), true; return r.Err }, args...)
	return at, ok, err
}

func (d *stepped) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
}
