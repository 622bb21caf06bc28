package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/peers"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// What is removed leaves free pages inside of the file, which later rows fill. Where there are many more of them than that,
// SQLite moves pages from the end of the file into them and cuts the file off, some at a time. It can do so only in a file
// that was laid out for it (auto_vacuum), which a file of an earlier version is after it was written anew once (Compact).

const (
	// spareShare of a file's pages may be free, or sparePages of them: the rows of the next days fill them.
	spareShare = 16
	sparePages = 2048
	// reclaimAtOnce is how many pages move in a commit.
	reclaimAtOnce = 64
)

// A Space is what the file takes, in bytes, or the database on its server.
type Space struct {
	File, Free int64
	Gives      bool // free space can be given back while the daemon runs
	OnServer   bool // which does that by itself: what is free is not known
}

// Space asks how much of the file is free.
func (s *Store) Space(ctx context.Context) (v Space, err error) {
	if s.file == nil {
		return s.postgresSpace(ctx)
	}
	var size, pages, free, mode int64
	for _, one := range []struct {
		pragma string
		into   *int64
	}{{"page_size", &size}, {"page_count", &pages}, {"freelist_count", &free}, {"auto_vacuum", &mode}} {
		if err = s.reads.Scan(ctx, "PRAGMA "+one.pragma, nil, one.into); err != nil {
			return v, fmt.Errorf("space of the database: %w", err)
		}
	}
	return Space{File: size * pages, Free: size * free, Gives: mode == incrementalVacuum}, nil
}

const incrementalVacuum = 2

// postgresSpace is what the database takes on its server, which gives room back by itself (autovacuum).
func (s *Store) postgresSpace(ctx context.Context) (v Space, err error) {
	err = s.Rows(ctx, `SELECT pg_database_size(current_database())`, nil, func(r *engine.Row) error { v.File, v.Gives, v.OnServer = r.Int(), true, true; return r.Err })
	return v, Wrap(err, "space of the database")
}

// GiveBack gives some free pages back, in one commit, and says how many bytes that were: 0 once few are left.
func (s *Store) GiveBack(ctx context.Context) (freed int64, err error) {
	v, err := s.Space(ctx)
	pages := v.Free / sqlite.PageSize
	spare := max(sparePages, v.File/sqlite.PageSize/spareShare)
	if err != nil || !v.Gives || pages <= spare {
		return 0, err
	}
	n := min(reclaimAtOnce, pages-spare)
	err = s.Write(ctx, commit.LaneWork, func(t *Tx) error {
		return t.engine.(*engine.SQLite).Step(fmt.Sprintf("PRAGMA incremental_vacuum(%d)", n))
	})
	return n * sqlite.PageSize, Wrap(err, "give space back")
}

// Compact writes the file of a stopped daemon anew, without free space and so that it can give space back from then on.
// It needs room on the disk for another file of the rows, and a log as long. Errors: those of Open, a *LockedError while
// a daemon runs among them.
func Compact(ctx context.Context, dsn string) (before, after Space, err error) {
	s, err := Open(ctx, Options{DSN: dsn})
	if err != nil {
		return before, after, err
	}
	db := s.file.more.Single()
	defer func() { err = errors.Join(err, db.Close(), s.Close()) }()
	if before, err = s.Space(ctx); err != nil {
		return before, after, err
	}
	if err := engine.RewriteFile(ctx, db); err != nil {
		return before, after, err
	}
	after, err = s.Space(ctx)
	return before, after, err
}

// SweepKeys removes the keys that lead nowhere, once they are worth a walk through all of them. commit runs each of its commits.
func (s *Store) SweepKeys(ctx context.Context, commit func(context.Context, func(*Tx) error) error) error {
	dead, err := peers.DeadKeysToSweep(ctx, s.reads)
	if err != nil || dead == 0 {
		return Wrap(err, "keys")
	}
	var kept func(hash int64)
	err = commit(ctx, func(t *Tx) error { kept = t.peers.Sweeping(); return nil })
	if err == nil {
		err = peers.Sweep(ctx, s.reads, kept, func(run func(*engine.Tx) error) error {
			return commit(ctx, func(t *Tx) error { return run(t.Tx) })
		})
	}
	if err == nil {
		err = commit(ctx, func(t *Tx) error {
			t.CountNamed(peers.DeadKeys, -dead) // others may have been counted meanwhile
			t.peers.Swept()
			return nil
		})
	}
	return Wrap(err, "keys")
}
