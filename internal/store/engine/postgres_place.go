package engine

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A Place is where data of a PostgreSQL server lives.
type Place struct {
	System   string // the server's files, as initdb made them; "" where this role may not know
	Base     string // the number of the database
	Timeline string // a standby that takes over, and a restoration to a point in time, begin a new one
}

// timelineKey is where a connection keeps the timeline that it found.
const timelineKey = "nudgewire timeline"

// syncedNow says that a commit is confirmed only when a standby has it, too.
const syncedNow = `CASE WHEN current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') IN ('on', 'remote_apply', 'remote_write') THEN 1 ELSE 0 END::bigint`

// FlushedNow is how far the log of the server is on disk, in bytes. Read in a statement whose commit was confirmed, no server that has all confirmed commits is behind it.
const FlushedNow = `(pg_current_wal_flush_lsn() - '0/0')::bigint`

// timelineNow is the timeline of the server's log.
const timelineNow = `substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)`

// AskPlace asks a server where the connection has led, and notes that with the connection. flushed is how far its log goes.
func AskPlace(ctx context.Context, conn *pgx.Conn) (p Place, synced, flushed int64, err error) {
	err = conn.QueryRow(ctx, `SELECT (SELECT oid::text FROM pg_database WHERE datname = current_database()), `+timelineNow+`, `+syncedNow+`, `+FlushedNow).
		Scan(&p.Base, &p.Timeline, &synced, &flushed)
	if err != nil {
		return p, 0, 0, err
	}
	err = conn.QueryRow(ctx, `SELECT system_identifier::text FROM pg_control_system()`).Scan(&p.System)
	if e, is := errors.AsType[*pgconn.PgError](err); is && e.Code == "42501" {
		err = nil // the number of the database has to do
	}
	conn.PgConn().CustomData()[timelineKey] = p.Timeline
	return p, synced, flushed, err
}

// StillSynced has a standby that has taken over say what its own commits wait for. What the one before waited for is the next writer's to compare.
const StillSynced = `UPDATE place SET synced = ` + syncedNow + ` WHERE synced <> ` + syncedNow + ` AND timeline = ` + timelineNow
