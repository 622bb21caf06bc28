package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/pressly/goose/v3"

	"github.com/nudgewire/nudgewire/internal/store/engine"
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
	s.commits.close()
	s.writer.peers.close()
	err := s.calls.close()
	n := newStore(&o)
	n.file, n.reads, n.scratch = s.file, s.reads, true
	n.marks.data, n.calls.path = s.file.path, s.calls.path
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
