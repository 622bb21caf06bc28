package place

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/nudgewire/nudgewire/internal/backoff"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/erased"
	"github.com/nudgewire/nudgewire/internal/store/schema"
)

// A ServerToMove is a PostgreSQL database that nobody else uses, by one connection, so that data is copied to it or from it.
type ServerToMove struct {
	Where string // without a secret
	Conn  *sql.Conn
	db    *sql.DB
}

// Every connection that writes shares this lock, and whoever moves the data has it alone.
const (
	shareData = `SELECT pg_try_advisory_lock_shared(hashtext('nudgewire data'), 0)`
	holdData  = `SELECT pg_try_advisory_lock(hashtext('nudgewire data'), 0)`
)

// OpenServer opens the database of a DSN, with its tables, and keeps everybody else out until it is closed. Errors: a *TransferError.
func OpenServer(ctx context.Context, dsn string) (_ *ServerToMove, err error) {
	address, _, _ := strings.Cut(dsn, "#")
	if err := engine.CheckDSN(address); err != nil {
		return nil, &TransferError{"PostgreSQL: " + err.Error(), "write postgres://user:password@server:5432/database"}
	}
	cfg, err := engine.ServerConfig(address, "nudgewire store copy")
	if err != nil {
		return nil, err
	}
	s := &ServerToMove{Where: engine.ServerName(cfg)}
	defer func() {
		if err != nil {
			err = fmt.Errorf("PostgreSQL at %s: %w", s.Where, errors.Join(err, s.Close()))
		}
	}()
	s.db = stdlib.OpenDB(*cfg)
	if err := engine.CheckServer(ctx, s.db); err != nil {
		return nil, err
	}
	if err := engine.MigratePostgres(ctx, cfg, schema.Steps); err != nil {
		return nil, err
	}
	if s.Conn, err = s.db.Conn(ctx); err != nil {
		return nil, err
	}
	// The transaction waits while the other side is read back.
	if err := s.Exec(ctx, `SET idle_in_transaction_session_timeout = 0`); err != nil {
		return nil, err
	}
	free, err := whenLeft(ctx, func(free *bool) error { return s.Conn.QueryRowContext(ctx, holdData).Scan(free) })
	if err != nil {
		return nil, err
	}
	if !free {
		return nil, &TransferError{"a nudgewire uses this database", "stop every daemon that has it under storage, then do it again"}
	}
	return s, nil
}

// leaves is how long a server may take to see that whoever used the data is gone: a session ends a moment after its process.
const leaves = 10 * time.Second

// whenLeft asks for the data until it is free, or until whoever has it is surely still there.
func whenLeft(ctx context.Context, ask func(free *bool) error) (free bool, err error) {
	for end := time.Now().Add(leaves); ; {
		if err = ask(&free); free || err != nil || time.Now().After(end) {
			return free, err
		}
		if backoff.Sleep(ctx, 50*time.Millisecond); ctx.Err() != nil {
			return false, ctx.Err()
		}
	}
}

// Exec runs a statement.
func (s *ServerToMove) Exec(ctx context.Context, statement string, args ...any) error {
	_, err := s.Conn.ExecContext(ctx, statement, args...)
	return err
}

// Close lets others in, and undoes what was not committed.
func (s *ServerToMove) Close() (err error) {
	if s.Conn != nil {
		if err = s.Conn.Close(); errors.Is(err, sql.ErrConnDone) {
			err = nil // it broke, and who used it was told
		}
	}
	if s.db != nil {
		err = errors.Join(err, s.db.Close()) // ends the session, and with it an open transaction and the lock
	}
	return err
}

// Share takes a share of the data for a connection that writes. Errors: a *TransferError while the data is moved, a *MovedError
// afterwards, an *UnfinishedError where it should have come to and did not.
func Share(ctx context.Context, conn *pgx.Conn, where string) error {
	var at, expected int64
	free, err := whenLeft(ctx, func(free *bool) error { return conn.QueryRow(ctx, shareData).Scan(free) })
	if err == nil && !free {
		return &TransferError{"the data of this database is being moved by \"nudgewire store copy\"", "wait for it to end"}
	}
	if err == nil {
		err = conn.QueryRow(ctx, `SELECT coalesce(max(value) FILTER (WHERE name = $1), 0), coalesce(max(value) FILTER (WHERE name = $2), 0) FROM counts`, movedAt, expectedAt).Scan(&at, &expected)
	}
	if err != nil {
		return err
	}
	return notHere(where, at, expected)
}

// notHere says why data is not to be used where these counters are.
func notHere(where string, moved, expected int64) error {
	switch {
	case moved > 0:
		return &MovedError{To: "a SQLite file", At: engine.Moment(moved), Undo: "in " + where + ", DELETE FROM counts WHERE name LIKE 'moved/%'"}
	case expected > 0:
		return &UnfinishedError{where, "in " + where + ", DELETE FROM counts WHERE name = '" + expectedAt + "'"}
	}
	return nil
}

// Arrived is an *UnfinishedError for those who read where data should have come to and did not.
func Arrived(ctx context.Context, reads engine.Pool, where string) error {
	var expected int64
	if err := reads.Scan(ctx, `SELECT coalesce(max(value), 0) FROM counts WHERE name = ?1`, []any{expectedAt}, &expected); err != nil {
		return err
	}
	return notHere(where, 0, expected)
}

// Expect has the database say that it is not whole, until the transaction that brings the data, and takes this mark away with all other
// counters, is committed.
func (s *ServerToMove) Expect(ctx context.Context) error {
	err := s.Exec(ctx, `INSERT INTO counts (name, writer, value) VALUES ($1, 0, $2) ON CONFLICT (name, writer) DO UPDATE SET value = excluded.value`, expectedAt, engine.Micro(time.Now()))
	return wrap(err, "mark the new place")
}

// MayMove is a *MovedError where the data was moved, unless it was to the same place: that is empty, or it would not be asked. It is an
// *UnfinishedError where data should have come to here and did not.
func (s *ServerToMove) MayMove(ctx context.Context, again int64) error {
	var at, to, expected int64
	err := s.Conn.QueryRowContext(ctx, `SELECT coalesce(max(value) FILTER (WHERE name = $1), 0), coalesce(max(value) FILTER (WHERE name = $2), 0),
		coalesce(max(value) FILTER (WHERE name = $3), 0) FROM counts`, movedAt, movedTo, expectedAt).Scan(&at, &to, &expected)
	if err != nil {
		return err
	}
	if to == again {
		at = 0
	}
	return notHere(s.Where, at, expected)
}

// MarkMoved has no daemon start here any more: the data is at the place with the hash to.
func (s *ServerToMove) MarkMoved(ctx context.Context, to int64) error {
	err := s.Exec(ctx, `INSERT INTO counts (name, writer, value) VALUES ($1, 0, $2), ($3, 0, $4) ON CONFLICT (name, writer) DO UPDATE SET value = excluded.value`,
		movedAt, engine.Micro(time.Now()), movedTo, to)
	return wrap(err, "mark the old data")
}

// TakeKey has forgotten contacts known by the key that lies beside a file's data.
func (s *ServerToMove) TakeKey(ctx context.Context, path string) error {
	text, err := erased.KeyBeside(path)
	if err != nil || text == "" {
		return err
	}
	_, err = s.Conn.ExecContext(ctx, `UPDATE forgotten_key SET key = $1`, text)
	return wrap(err, "the key of forgotten contacts")
}

// GiveKey puts the key beside a file's data.
func (s *ServerToMove) GiveKey(ctx context.Context, path string) error {
	var text string
	err := s.Conn.QueryRowContext(ctx, `SELECT key FROM forgotten_key`).Scan(&text)
	if err == nil {
		return erased.PutBeside(path, text)
	}
	return wrap(err, "the key of forgotten contacts")
}
