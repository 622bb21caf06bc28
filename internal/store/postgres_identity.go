package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A database that was restored does not know what was sent after the copy was made, and a standby that took over may lack commits that
// were confirmed. So the data has a row with the place where it lives, and each connection that writes compares it before it does
// anything else (decision 21).

// A databaseIdentity is where data of a PostgreSQL server lives.
type databaseIdentity struct {
	system   string // the server's files, as initdb made them; "" where this role may not know
	base     string // the number of the database
	timeline string // a standby that takes over, and a restoration to a point in time, begin a new one
}

// timelineKey is where a connection keeps the timeline that it found.
const timelineKey = "nudgewire timeline"

// syncedNow says that a commit is confirmed only when a standby has it, too.
const syncedNow = `CASE WHEN current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') IN ('on', 'remote_apply', 'remote_write') THEN 1 ELSE 0 END::bigint`

// stillSynced has a standby that has taken over say what its own commits wait for. What the one before waited for is the next writer's to compare.
const stillSynced = `UPDATE place SET synced = ` + syncedNow + ` WHERE synced <> ` + syncedNow + ` AND timeline = ` + timelineNow

// flushedNow is how far the log of the server is on disk, in bytes. Read in a statement whose commit was confirmed, no server that has all confirmed commits is behind it.
const flushedNow = `(pg_current_wal_flush_lsn() - '0/0')::bigint`

// timelineNow is the timeline of the server's log.
const timelineNow = `substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)`

// askPlace asks a server where the connection has led. flushed is how far its log goes.
func askPlace(ctx context.Context, conn *pgx.Conn) (p databaseIdentity, synced, flushed int64, err error) {
	err = conn.QueryRow(ctx, `SELECT (SELECT oid::text FROM pg_database WHERE datname = current_database()), `+timelineNow+`, `+syncedNow+`, `+flushedNow).
		Scan(&p.base, &p.timeline, &synced, &flushed)
	if err != nil {
		return p, 0, 0, err
	}
	err = conn.QueryRow(ctx, `SELECT system_identifier::text FROM pg_control_system()`).Scan(&p.system)
	if e, is := errors.AsType[*pgconn.PgError](err); is && e.Code == "42501" {
		err = nil // the number of the database has to do
	}
	return p, synced, flushed, err
}

// settle compares where a connection has led with where the data lives. Data that is a copy, or may lack what was confirmed,
// begins a review before anything is written.
func (s *Store) settlePlace(ctx context.Context, conn *pgx.Conn) (err error) {
	before := s.beat.Log.Load() // before it is asked: a beat may know more by the time that it has answered
	found, synced, flushed, err := askPlace(ctx, conn)
	if err != nil {
		return fmt.Errorf("where the data lives: %w", err)
	}
	conn.PgConn().CustomData()[timelineKey] = found.timeline
	known := s.place.Load()
	if known != nil && *known == found && flushed >= before {
		return nil
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return s.movePlace(ctx, tx, known, found, synced, flushed < before) })
	if err == nil {
		err = s.loadRestoration(ctx)
	}
	if err != nil {
		return fmt.Errorf("where the data lives: %w", err)
	}
	s.beat.Log.Store(flushed)
	s.place.Store(&found)
	if known != nil {
		s.numbers.forgetNumbers() // the server may give them out again
	}
	return nil
}

// movePlace notes where the data lives now. back says that the server's log is shorter than it was.
func (s *Store) movePlace(ctx context.Context, tx pgx.Tx, known *databaseIdentity, found databaseIdentity, synced int64, back bool) error {
	tag, err := tx.Exec(ctx, `INSERT INTO place (one, system, base, timeline, synced) VALUES (1, $1, $2, $3, $4) ON CONFLICT DO NOTHING`, found.system, found.base, found.timeline, synced)
	if err != nil || tag.RowsAffected() == 1 { // of this data nobody has said before where it lives
		return err
	}
	var was databaseIdentity
	var wasSynced int64
	if err := tx.QueryRow(ctx, `SELECT system, base, timeline, synced FROM place FOR UPDATE`).Scan(&was.system, &was.base, &was.timeline, &wasSynced); err != nil {
		return err
	}
	how := ""
	switch {
	case was.base != found.base || was.system != found.system && was.system != "" && found.system != "":
		how = "it was restored into another database, or another server has it now"
	case known != nil && back:
		how = "the database server was put back to what it had before"
	case was.timeline != found.timeline && (known == nil || wasSynced == 0):
		how = "a standby took over, or the database server was restored to a point in time, and it need not have all that was confirmed"
	case known == nil:
		later, err := s.callsLater(ctx, s.calls.path)
		if err != nil {
			return err
		}
		if later {
			how = "messages were sent that it does not know of"
		}
	}
	if how != "" {
		if err := noteRestoration(ctx, tx, how, s.now()); err != nil {
			return err
		}
	}
	if found.system == "" {
		found.system = was.system
	}
	_, err = tx.Exec(ctx, `UPDATE place SET system = $1, base = $2, timeline = $3, synced = $4`, found.system, found.base, found.timeline, synced)
	return err
}

// noteRestoration begins a review, unless the one of before has not been prepared yet: then it is that one.
func noteRestoration(ctx context.Context, tx pgx.Tx, how string, now time.Time) error {
	var open bool
	if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM holds WHERE kind = 'restored' AND ended_at = 0) AND (SELECT until_at FROM restorations ORDER BY id DESC LIMIT 1) = 0`).Scan(&open); err != nil || open {
		return err
	}
	newest, config := int64(0), ""
	if err := tx.QueryRow(ctx, NewestKnown).Scan(&newest); err != nil {
		return err
	}
	err := tx.QueryRow(ctx, `SELECT version FROM configs ORDER BY at DESC LIMIT 1`).Scan(&config)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	for _, end := range leaveSignedIn {
		if _, err := tx.Exec(ctx, postgresDialect.sql(end.sql)); err != nil {
			return err
		}
	}
	if _, err = tx.Exec(ctx, postgresDialect.sql(insertRestorationSQL.sql), how, Micro(time.Time{}), newest, Micro(now), config); err != nil {
		return err
	}
	h := (&Restoration{How: how, FoundAt: now}).hold()
	_, err = tx.Exec(ctx, postgresDialect.sql(setHoldSQL.sql), holdRow(&h)...)
	return err
}
