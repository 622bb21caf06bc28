package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/nudgewire/nudgewire/internal/disk"
)

// A dataServer is a PostgreSQL database that nobody else uses, by one connection.
type dataServer struct {
	where string
	db    *sql.DB
	conn  *sql.Conn
}

// Every connection that writes shares this lock, and whoever moves the data has it alone.
const (
	shareData = `SELECT pg_try_advisory_lock_shared(hashtext('nudgewire data'), 0)`
	holdData  = `SELECT pg_try_advisory_lock(hashtext('nudgewire data'), 0)`
)

// sharesData takes a share of the data for a connection that writes. Errors: a *TransferError while the data is moved, a *MovedError
// afterwards, an *UnfinishedError where it should have come to and did not.
func sharesData(ctx context.Context, conn *pgx.Conn, where string) error {
	var free bool
	var at, expected int64
	err := conn.QueryRow(ctx, shareData).Scan(&free)
	if err == nil && !free {
		return &TransferError{"the data of this database is being moved by \"nudgewire store copy\"", "wait for it to end"}
	}
	if err == nil {
		err = conn.QueryRow(ctx, `SELECT coalesce(max(value) FILTER (WHERE name = $1), 0), coalesce(max(value) FILTER (WHERE name = $2), 0) FROM counts`, movedAt, expectedAt).Scan(&at, &expected)
	}
	switch {
	case err == nil && at > 0:
		return movedServer(where, at)
	case err == nil && expected > 0:
		return notArrived(where)
	}
	return err
}

func notArrived(where string) error {
	return &UnfinishedError{where, "in " + where + ", DELETE FROM counts WHERE name = '" + expectedAt + "'"}
}

// arrived is an *UnfinishedError for those who read where data should have come to and did not.
func arrived(ctx context.Context, q querier, where string) error {
	expected, err := readNumber(ctx, q, `SELECT coalesce(max(value), 0) FROM counts WHERE name = '`+expectedAt+`'`)
	if err == nil && expected > 0 {
		return notArrived(where)
	}
	return err
}

// expect has the database say that it is not whole, until the transaction that brings the data, and takes this mark away with all other
// counters, is committed.
func (s *dataServer) expect(ctx context.Context) error {
	_, err := s.conn.ExecContext(ctx, `INSERT INTO counts (name, writer, value) VALUES ($1, 0, $2) ON CONFLICT (name, writer) DO UPDATE SET value = excluded.value`, expectedAt, Micro(time.Now()))
	return Wrap(err, "mark the new place")
}

func movedServer(where string, at int64) error {
	return &MovedError{To: "a SQLite file", At: Moment(at), Undo: "in " + where + ", DELETE FROM counts WHERE name LIKE 'moved/%'"}
}

func openServer(ctx context.Context, dsn string) (_ *dataServer, err error) {
	address, _, _ := strings.Cut(dsn, "#")
	if err := checkDSN(address); err != nil {
		return nil, &TransferError{"PostgreSQL: " + err.Error(), "write postgres://user:password@server:5432/database"}
	}
	cfg, err := connectionTo(address, "nudgewire store copy")
	if err != nil {
		return nil, err
	}
	s := &dataServer{where: whereIs(cfg)}
	defer func() {
		if err != nil {
			err = fmt.Errorf("PostgreSQL at %s: %w", s.where, errors.Join(err, s.close()))
		}
	}()
	s.db = stdlib.OpenDB(*cfg)
	if err := checkServer(ctx, s.db); err != nil {
		return nil, err
	}
	if err := migratePostgres(ctx, cfg); err != nil {
		return nil, err
	}
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return nil, err
	}
	// The transaction waits while the other side is read back.
	if _, err := s.conn.ExecContext(ctx, `SET idle_in_transaction_session_timeout = 0`); err != nil {
		return nil, err
	}
	var free bool
	if err := s.conn.QueryRowContext(ctx, holdData).Scan(&free); err != nil {
		return nil, err
	}
	if !free {
		return nil, &TransferError{"a nudgewire uses this database", "stop every daemon that has it under storage, then do it again"}
	}
	return s, nil
}

func (s *dataServer) close() (err error) {
	if s.conn != nil {
		if err = s.conn.Close(); errors.Is(err, sql.ErrConnDone) {
			err = nil // it broke, and who used it was told
		}
	}
	if s.db != nil {
		err = errors.Join(err, s.db.Close()) // ends the session, and with it an open transaction and the lock
	}
	return err
}

// empty refuses a database that has data.
func (s *dataServer) empty(ctx context.Context, tables []ledgerTable) error {
	for i := range tables {
		name := tables[i].name
		if name == "counts" {
			continue // totals say nothing of anybody; those that are here go
		}
		var rows bool
		if err := s.conn.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM `+name+`)`).Scan(&rows); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if rows {
			return &TransferError{"the database " + s.where + " has data: there are rows in " + name, "name an empty database (CREATE DATABASE), or drop this one and make it anew"}
		}
	}
	return nil
}

// take copies what is read of a table into the open transaction.
func (s *dataServer) take(ctx context.Context, from querier, t *ledgerTable, done *Transferred, tell func(string, int64)) (d digest, err error) {
	r, err := t.read(ctx, from, false)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, r.end()) }()
	rows := &copyRows{rowReader: r, digest: &d, done: done, tell: tell}
	if t.name == "counts" { // with the mark that the data is not here yet
		if _, err := s.conn.ExecContext(ctx, `DELETE FROM counts`); err != nil {
			return d, err
		}
	}
	err = s.conn.Raw(func(driver any) error {
		_, err := driver.(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{t.name}, t.columns, rows)
		return err
	})
	return d, Wrap(err, "write %s", t.name)
}

// copyRows hands rows to COPY, in texts that PostgreSQL keeps.
type copyRows struct {
	*rowReader
	digest *digest
	done   *Transferred
	tell   func(string, int64)
}

// Values implements [pgx.CopyFromSource].
func (c *copyRows) Values() ([]any, error) {
	for i, v := range c.row {
		if text, is := v.(string); is {
			if kept := clean(text); kept != text {
				c.row[i] = kept
				c.done.Cleaned++
			}
		}
	}
	if err := c.digest.add(c.row); err != nil {
		return nil, err
	}
	if c.digest.rows%progressEvery == 0 {
		c.tell("copy "+c.table.name, c.digest.rows)
	}
	return c.row, nil
}

// Err implements [pgx.CopyFromSource].
func (c *copyRows) Err() error { return errors.Join(c.fail, c.err()) }

// sequenceNames are those of the schema.
var sequenceNames = [sequenceCount]string{
	eventIDs: "event_numbers", messageIDs: "message_numbers", rejectedIDs: "rejected_numbers", runIDs: "run_numbers", outgoingIDs: "outgoing_numbers",
}

// number has the sequences go on behind what was given.
func (s *dataServer) number(ctx context.Context, last [sequenceCount]int64) error {
	for of, name := range sequenceNames {
		if _, err := s.conn.ExecContext(ctx, `SELECT setval('`+name+`', $1::bigint, false)`, last[of]+1); err != nil { //nolint:gosec // a name of the schema
			return fmt.Errorf("newest numbers: %w", err)
		}
	}
	return nil
}

// given is how far the sequences are, whole blocks of them.
func (s *dataServer) given(ctx context.Context) (last [sequenceCount]int64, err error) {
	for of, name := range sequenceNames {
		if err := s.conn.QueryRowContext(ctx, `SELECT CASE WHEN is_called THEN last_value + $1::bigint - 1 ELSE last_value - 1 END FROM `+name, blockSizes[of]).Scan(&last[of]); err != nil {
			return last, fmt.Errorf("newest numbers: %w", err)
		}
	}
	return last, nil
}

// moved is a *MovedError where the data was moved, unless it was to the same place: that is empty, or it would not be asked.
func (s *dataServer) moved(ctx context.Context, again int64) error {
	var at, to int64
	err := s.conn.QueryRowContext(ctx, `SELECT coalesce(max(CASE WHEN name = $1 THEN value END), 0), coalesce(max(CASE WHEN name = $2 THEN value END), 0) FROM counts`, movedAt, movedTo).Scan(&at, &to)
	if err == nil && at > 0 && to != again {
		return movedServer(s.where, at)
	}
	return err
}

func (s *dataServer) mark(ctx context.Context, to int64) error {
	_, err := s.conn.ExecContext(ctx, `INSERT INTO counts (name, writer, value) VALUES ($1, 0, $2), ($3, 0, $4) ON CONFLICT (name, writer) DO UPDATE SET value = excluded.value`,
		movedAt, Micro(time.Now()), movedTo, to)
	return Wrap(err, "mark the old data")
}

// takeKey has forgotten contacts known by the key that lies beside a file's data.
func (s *dataServer) takeKey(ctx context.Context, path string) error {
	m := erasureHashes{data: path}
	if _, err := os.Stat(m.path()); errors.Is(err, fs.ErrNotExist) {
		return nil // nobody was ever forgotten: the file does not open without its key
	}
	if err := m.need(false); err != nil {
		return err
	}
	_, err := s.conn.ExecContext(ctx, `UPDATE forgotten_key SET key = $1`, hex.EncodeToString(m.key))
	return Wrap(err, "the key of forgotten contacts")
}

// giveKey puts the key beside a file's data.
func (s *dataServer) giveKey(ctx context.Context, path string) error {
	var text string
	err := s.conn.QueryRowContext(ctx, `SELECT key FROM forgotten_key`).Scan(&text)
	if err == nil {
		m := erasureHashes{data: path}
		err = disk.WriteFile(m.path(), []byte(text+"\n"))
	}
	return Wrap(err, "the key of forgotten contacts")
}
