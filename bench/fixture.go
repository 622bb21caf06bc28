package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/store"
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

// What is indexed must spread as real values do: i*2654435761 jumps about as a hash does.
var (
	spread     = "(i * 2654435761) % 4294967296 * 1000003"
	phoneOf    = "printf('" + phoneHead + "%08d', 99999999 - i)"
	dispatches = columns{"id": "i", "event_id": "i", "correlation": spread, "correlation_key": "printf('cart-%d', i)", "phone": phoneOf}
	messages   = columns{"dispatch_id": "i", "message_id": "printf('%d', 2000000000 + i)", "phone": phoneOf}
	events     = columns{"id": "i", "bucket": "i >> 10", "hash": spread, "dedupe_key": "printf('delivery-%d', i)", "phone": phoneOf}
	byEvent    = columns{"event_id": "i"}

	unsent  = columns{"state": "'waiting'", "attempt": "0", "owner": "''", "claimed_at": "0"}
	unasked = columns{
		"status": "'accepted'", "final": "0", "polls": "0", "next_poll_at": "one.accepted_at",
		"status_at": "one.accepted_at", "told_at": "0", "sent_at": "0", "delivered_at": "0",
	}
)

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
	s, err := store.Open(ctx, store.Options{DSN: "sqlite:" + data(dir)})
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
	values := strings.Split(all, ",")
	for i, name := range values {
		if values[i] = change[name]; values[i] == "" {
			values[i] = "one." + name
		}
	}
	return fmt.Sprintf(`WITH RECURSIVE n(i) AS (VALUES (?1) UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
		INSERT INTO %s (%s) SELECT %s FROM n, (SELECT * FROM %[1]s LIMIT 1) AS one`, table, all, strings.Join(values, ", ")), nil
}

// seed makes a store in dir with the data of one webhook.
func (l *lab) seed(ctx context.Context, dir string) (err error) {
	delivered := make(chan struct{})
	d, err := l.start(ctx, dir, everything, store.Observer{Polled: func(p nudgewire.Poll) {
		if p.Final {
			close(delivered)
		}
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	if _, err := l.post(ctx, load{addr: d.addr, conns: 1, rate: 1, duration: time.Second}); err != nil {
		return err
	}
	select {
	case <-delivered:
		return nil
	case <-time.After(patience):
		return errors.New("the webhook of the fixture got no delivered message")
	}
}
