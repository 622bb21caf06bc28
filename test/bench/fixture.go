package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/store"
)

// A fixture is stored data to measure over. The daemon itself makes the rows of one webhook, whose
// message is delivered, and SQL copies them, because a million webhooks would take minutes.

// columns says how copies of a table's row differ: SQL for the columns named, over i, the number
// of the copy from 2, and one, the row; all others stay as the daemon wrote them.
type columns map[string]string

// with is c with more columns.
func (c columns) with(more columns) columns {
	all := maps.Clone(c)
	maps.Copy(all, more)
	return all
}

// values are those of a copy's columns, in SQL.
func (c columns) values(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = cmp.Or(c[name], "one."+name)
	}
	return strings.Join(all, ", ")
}

// What is indexed must spread as real values do: i*2654435761 jumps about as a hash does.
var (
	spread   = "(i * 2654435761) % 4294967296 * 1000003"
	phoneOf  = "'" + phoneHead + "' || substr('' || (199999999 - i), 2)"
	messages = columns{"id": "i", "event_id": "i", "correlation": spread, "correlation_key": "'cart-' || i", "phone": phoneOf, "message_id": "'' || (2000000000 + i)"}
	events   = columns{"id": "i", "hash": spread, "dedupe_key": "'delivery-' || i", "phone": phoneOf}
	byEvent  = columns{"event_id": "i"}

	unsent = columns{
		"state": "'waiting'", "attempt": "0", "owner": "''", "claimed_at": "0", "message_id": "''", "status": "''", "accepted_at": "0", "polls": "0",
		"status_at": "0", "told_at": "0", "sent_at": "0", "delivered_at": "0",
	}
	unasked = columns{
		"status": "'accepted'", "polls": "0", "next_poll_at": "one.accepted_at",
		"status_at": "one.accepted_at", "told_at": "0", "sent_at": "0", "delivered_at": "0",
	}
)

// newest is a change of the copies that follow so many old ones, which stay as the row is.
func newest(old int, change columns) columns {
	all := columns{}
	for name, value := range change {
		all[name] = fmt.Sprintf("CASE WHEN i <= %d THEN one.%s ELSE %s END", old+1, name, value)
	}
	return all
}

// multiply makes a store in dir with n copies of the rows of some tables.
func (l *lab) multiply(ctx context.Context, dir string, n int, tables map[string]columns) (err error) {
	if err := l.seed(ctx, dir); err != nil {
		return err
	}
	db, err := sql.Open("sqlite3", data(dir)) // the driver that package store registers
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	// Nothing here has to survive a crash.
	if _, err := db.ExecContext(ctx, "PRAGMA synchronous = OFF; PRAGMA cache_size = -262144; PRAGMA wal_autocheckpoint = 100000"); err != nil {
		return err
	}
	const batch = 250_000
	for table, change := range tables {
		statement, err := copyStatement(ctx, db, table, change)
		if err != nil {
			return err
		}
		for from := 2; from <= n+1; from += batch {
			if _, err := db.ExecContext(ctx, statement, from, min(from+batch-1, n+1)); err != nil {
				return fmt.Errorf("copy %s: %w", table, err)
			}
		}
	}
	if _, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		return err
	}
	// Rows that came past the store get their keys when it is next opened.
	s, err := store.Open(ctx, store.Options{DSN: sqliteIn(dir)})
	if err != nil {
		return err
	}
	return s.Close()
}

// copyStatement inserts a copy of table's only row for each i from ?1 to ?2.
func copyStatement(ctx context.Context, db *sql.DB, table string, change columns) (string, error) {
	var all string
	if err := db.QueryRowContext(ctx, "SELECT group_concat(name) FROM pragma_table_info(?)", table).Scan(&all); err != nil {
		return "", err
	}
	return fmt.Sprintf(`WITH RECURSIVE n(i) AS (VALUES (?1) UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
		INSERT INTO %s (%s) SELECT %s FROM n, (SELECT * FROM %[1]s LIMIT 1) AS one`, table, all, change.values(strings.Split(all, ","))), nil
}

// seed makes a store in dir with the data of one webhook.
func (l *lab) seed(ctx context.Context, dir string) (err error) {
	at := place{dir: dir, storage: sqliteIn(dir), nodes: 1}
	ended := make(chan struct{})
	d, err := l.start(ctx, at, everything, func(what outcome) {
		if what == delivered {
			close(ended)
		}
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	if _, err := l.post(ctx, load{addrs: d.addrs, conns: 1, rate: 1, duration: time.Second}); err != nil {
		return err
	}
	select {
	case <-ended:
		return nil
	case <-time.After(patience):
		return errors.New("the webhook of the fixture got no delivered message")
	}
}
