package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/store"
)

// A fixture is stored data to measure over. It is made by the daemon itself from one webhook,
// and then multiplied row by row in SQL, because a million webhooks would take minutes.

// stage is how far the one webhook of a fixture gets.
type stage int

const (
	waiting   stage = iota // its dispatch waits
	accepted               // its message was taken by the service and not asked about
	delivered              // its message is delivered
)

// seed fills folder with the data of one webhook.
func seed(ctx context.Context, l *lab, folder string, to stage) (err error) {
	reached := make(chan struct{})
	done := sync.OnceFunc(func() { close(reached) })
	o := rigOptions{folder: folder, firstPoll: time.Millisecond}
	switch to {
	case waiting:
		o.without.sender, o.without.tracker = true, true
		done()
	case accepted:
		o.without.tracker = true
		o.finished = func(nudgewire.Attempt) { done() }
	case delivered:
		o.polled = func(p nudgewire.Poll) {
			if p.Final {
				done()
			}
		}
	}
	r, err := startRig(ctx, l, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	v, err := l.webhooks.volley(1)
	if err != nil {
		return err
	}
	if _, err := (barrage{addr: r.addr, conns: 1, requests: v, duration: patience}).fire(ctx); err != nil {
		return err
	}
	select {
	case <-reached:
		return nil
	case <-time.After(patience):
		return errors.New("the one webhook of a fixture got nowhere")
	}
}

// rows says how to multiply the one row of a table: for the columns named, SQL over i, the
// number of the copy from 2; all others stay as the daemon wrote them.
type rows map[string]string

// Copies of each table. What is indexed must spread as real values do: i*2654435761 jumps
// about as a hash does.
var (
	spread     = "(i * 2654435761) % 4294967296 * 1000003"
	phoneOf    = "printf('" + phoneHead + "%08d', 99999999 - i)"
	dispatches = rows{"id": "i", "event_id": "i", "correlation": spread, "correlation_key": "printf('cart-%d', i)", "phone": phoneOf}
	messages   = rows{"dispatch_id": "i", "message_id": "printf('%d', 2000000000 + i)", "phone": phoneOf}
	events     = rows{"id": "i", "bucket": "i >> 10", "hash": spread, "dedupe_key": "printf('delivery-%d', i)", "phone": phoneOf}
	payloads   = rows{"event_id": "i"}
	decisions  = rows{"event_id": "i"}
)

// multiply copies the only row of each table until there are n.
func multiply(ctx context.Context, file string, n int, tables map[string]rows) (err error) {
	db, err := sql.Open("sqlite3", file) // the driver that package store registers
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	// Nothing here has to survive a crash.
	for _, setting := range []string{"synchronous = OFF", "cache_size = -262144", "wal_autocheckpoint = 100000"} {
		if _, err := db.ExecContext(ctx, "PRAGMA "+setting); err != nil {
			return err
		}
	}
	const batch = 250_000
	for table, change := range tables {
		copyRows, err := copyStatement(ctx, db, table, change)
		if err != nil {
			return err
		}
		for from := 2; from <= n; from += batch {
			if _, err := db.ExecContext(ctx, copyRows, from, min(from+batch-1, n)); err != nil {
				return fmt.Errorf("multiply %s: %w", table, err)
			}
		}
	}
	if _, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		return err
	}
	// Rows that came past the store get their keys when it is next opened.
	s, err := store.Open(ctx, store.Options{DSN: "sqlite:" + file})
	if err != nil {
		return err
	}
	return s.Close()
}

// copyStatement inserts a copy of table's only row for each i from ?1 to ?2.
func copyStatement(ctx context.Context, db *sql.DB, table string, change rows) (_ string, err error) {
	found, err := db.QueryContext(ctx, "SELECT name FROM pragma_table_info('"+table+"')") //nolint:gosec // our own table names
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	var names, values []string
	for found.Next() {
		var name string
		if err := found.Scan(&name); err != nil {
			return "", err
		}
		value := "one." + name
		if changed, ok := change[name]; ok {
			value = changed
		}
		names, values = append(names, name), append(values, value)
	}
	return fmt.Sprintf(`WITH RECURSIVE n(i) AS (VALUES (?1) UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
		INSERT INTO %s (%s) SELECT %s FROM n, (SELECT * FROM %[1]s LIMIT 1) AS one`,
		table, strings.Join(names, ", "), strings.Join(values, ", ")), found.Err()
}

// with is base with more columns changed.
func (r rows) with(more rows) rows {
	all := rows{}
	for _, from := range []rows{r, more} {
		for name, value := range from {
			all[name] = value
		}
	}
	return all
}

// A template is a fixture made once in a run and copied for each round.
type template struct {
	make func(ctx context.Context, l *lab, folder string) error
	file string // "" until it is made
}

// copyTo puts a copy of the fixture's data into folder.
func (t *template) copyTo(ctx context.Context, l *lab, folder string) error {
	if t.file == "" {
		made, _, err := l.folder("fixture")
		if err != nil {
			return err
		}
		if err := t.make(ctx, l, made); err != nil {
			return fmt.Errorf("fixture: %w", err)
		}
		t.file = data(made)
	}
	return copyFile(data(folder), t.file)
}

func copyFile(to, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Sync() // so that its writing back does not fall into the measurement
}
