package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/nodes"
	"github.com/nudgewire/nudgewire/internal/store/peers"
	"github.com/nudgewire/nudgewire/internal/store/place"
	"github.com/nudgewire/nudgewire/internal/store/schema"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// openPostgres opens the data in a PostgreSQL database.
func (s *Store) openPostgres(ctx context.Context, o *Options) (err error) {
	address, local, _ := strings.Cut(o.DSN, "#")
	if err := engine.CheckDSN(address); err != nil {
		return fmt.Errorf("storage: %w; write postgres://user:password@server:5432/database", err)
	}
	cfg, err := engine.ServerConfig(address, "nudgewire")
	if err != nil {
		return err
	}
	defer func() { err = Wrap(err, "PostgreSQL at %s", engine.ServerName(cfg)) }()
	cfg.StatementCacheCapacity = engine.StatementCache()
	s.reads = engine.ServerPool(cfg)
	s.Readers.Reads = s.reads
	if err := engine.CheckServer(ctx, s.reads.DB); err != nil {
		return engine.Unreachable(err)
	}
	if err := s.readClock(ctx); err != nil {
		return engine.Unreachable(err)
	}
	if o.ReadOnly {
		if err := s.hasData(ctx); err != nil {
			return err
		}
		if err := engine.CheckSchema(ctx, s.reads, schema.Steps); err != nil {
			return err
		}
		if err := place.Arrived(ctx, s.reads, engine.ServerName(cfg)); err != nil {
			return err
		}
		return s.loadServerMarks(ctx)
	}
	if local == "" {
		return errors.New("needs a folder for what this process notes, after a # behind the address")
	}
	if err := os.MkdirAll(local, 0o700); err != nil {
		return fmt.Errorf("folder of this machine: %w", err)
	}
	if s.folder, err = sqlite.TakeLock(engine.Path(o.DSN) + ".lock"); err != nil {
		return err
	}
	s.calls.Path = engine.Path(o.DSN) + ".calls"
	if engine.CheckSchema(ctx, s.reads, schema.Steps) != nil { // mostly another process has brought it up to date
		if err := engine.MigratePostgres(ctx, cfg, schema.Steps); err != nil {
			return engine.Unreachable(err)
		}
	}
	s.quick = engine.QuickPool(cfg)
	s.beat.Quick, s.beat.Slow, s.beat.Machine, s.beat.Learn = s.quick, s.reads.DB, s.clock.Machine, s.clock.Learn
	s.beat.Flushed, s.beat.Synced = engine.FlushedNow, engine.StillSynced
	write := engine.WriterConfig(cfg)
	wakes := &nodes.WakeUps{}
	for i := range o.Writers {
		e := engine.NewPostgres(func(ctx context.Context) (*pgx.Conn, error) { return s.connectWriter(ctx, write) }, &s.refused)
		w := newWriter(&s.shared, e)
		w.peers = &peers.Many{On: e, Numbers: &s.numbers, Wakes: wakes, Calls: &s.calls, Beat: &s.beat}
		if s.more = append(s.more, w); i == 0 {
			s.writer, s.more = w, nil
		}
	}
	if err := s.keepPredecessor(ctx); err != nil {
		return err
	}
	if err := s.loadServerMarks(ctx); err != nil {
		return err
	}
	s.notices = nodes.NewNotices(cfg, (&peerNotices{s: s}).readNotices)
	if err := s.writer.engine.Begin(); err != nil {
		return err
	}
	return s.loadRestoration(ctx)
}

// defaultWriters is how many connections of a process write at the same time: while one waits for the disk of the server, another
// asks, and a third one reads answers.
const defaultWriters = 4

// connectWriter opens a connection that writes, and takes a number for it that no other such connection has.
func (s *Store) connectWriter(ctx context.Context, cfg *pgx.ConnConfig) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := place.Share(ctx, conn, engine.ServerName(cfg)); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	for number := int64(1); number <= maxWriters; number++ {
		var free bool
		err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock(hashtext('nudgewire writer'), $1::bigint::int)`, number).Scan(&free)
		if err == nil && free {
			_, err = conn.Exec(ctx, `SELECT set_config('nudgewire.writer', $1::bigint::text, false)`, number)
		}
		if err != nil {
			return nil, errors.Join(err, conn.Close(ctx))
		}
		if !free {
			continue
		}
		if err := s.settlePlace(ctx, conn); err != nil {
			return nil, errors.Join(err, conn.Close(ctx))
		}
		return conn, nil
	}
	return nil, errors.Join(fmt.Errorf("more than %d connections write to this database", maxWriters), conn.Close(ctx))
}

// maxWriters bounds the connections that write at the same time, of all processes.
const maxWriters = 1000

// hasData is ErrNoData where no daemon has made its tables yet.
func (s *Store) hasData(ctx context.Context) error {
	var there bool
	if err := s.reads.Scan(ctx, `SELECT to_regclass('messages') IS NOT NULL`, nil, &there); err != nil {
		return engine.Unreachable(err)
	}
	if !there {
		return ErrNoData
	}
	return nil
}
