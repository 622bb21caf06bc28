package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/transfer"
)

// A place is where daemons under test keep their data.
type place struct {
	dir     string // for files of this machine
	storage string // as a config says it
	nodes   int    // daemons that share it
	outside bool   // the first of them, too, has a process of its own
}

func (p place) onServer() bool { return engine.OnServer(p.storage) }

// dsn is what the store of a daemon here opens.
func (p place) dsn() string {
	if p.onServer() {
		return p.storage + "#" + p.dir
	}
	return p.storage
}

// sqliteIn is the storage of a daemon that keeps everything in a folder.
func sqliteIn(dir string) string { return "sqlite:" + data(dir) }

// data is the file that a daemon keeps everything in.
func data(dir string) string { return filepath.Join(dir, "nudgewire.db") }

// onSQLite is how many nodes a contest over SQLite has: one daemon, and no database that others share.
const onSQLite = 0

// A fixture is data that is there when the daemon starts; see multiply.
type fixture struct {
	name   string
	rows   int
	tables map[string]columns
	bare   bool // on PostgreSQL the server makes the copies, without their keys: for millions of rows that nobody looks for
}

var nothing = fixture{name: "nothing"}

// place makes one with the data of a fixture: a file in dir for onSQLite, else a new database for so many nodes.
func (l *lab) place(ctx context.Context, dir string, nodes int, f fixture) (at place, err error) {
	if nodes == onSQLite {
		at = place{dir: dir, storage: sqliteIn(dir), nodes: 1}
		if f.tables != nil {
			err = l.multiply(ctx, dir, f.rows, f.tables)
		}
		return at, err
	}
	template, err := l.template(ctx, f)
	if err != nil {
		return at, fmt.Errorf("data for PostgreSQL: %w", err)
	}
	l.made++
	name := fmt.Sprintf("round_%d", l.made)
	if err := l.onServer(ctx, "postgres", "CREATE DATABASE "+name+" TEMPLATE "+template); err != nil {
		return at, err
	}
	l.databases = append(l.databases, name)
	return place{dir: dir, storage: l.server.DSN(name), nodes: nodes}, nil
}

// template is a database that those of a fixture are copies of, made at its first use: what SQLite has, moved by package transfer.
func (l *lab) template(ctx context.Context, f fixture) (name string, err error) {
	name = "template_" + f.name
	if l.templates[name] {
		return name, nil
	}
	dir, err := os.MkdirTemp(l.dir, "template-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := l.onServer(ctx, "postgres", "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	local := filepath.Join(dir, "node")
	to := l.server.DSN(name) + "#" + local
	if f.tables == nil {
		s, err := store.Open(ctx, store.Options{DSN: to})
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			return "", err
		}
	} else {
		rows := f.rows
		if f.bare {
			rows = 0
		}
		err := l.multiply(ctx, dir, rows, f.tables)
		if err := errors.Join(err, os.Mkdir(local, 0o700)); err != nil {
			return "", err
		}
		if _, err := transfer.Run(ctx, transfer.Options{From: sqliteIn(dir), To: to}); err != nil {
			return "", err
		}
	}
	if f.bare {
		if err := l.copyOnServer(ctx, name, f); err != nil {
			return "", err
		}
	}
	// Its copies are no restored data, which would begin in review: nobody has said yet where they live.
	if err := l.onServer(ctx, name, "DELETE FROM place"); err != nil {
		return "", err
	}
	// A database that grew by itself has been looked after.
	if err := l.onServer(ctx, name, "VACUUM ANALYZE"); err != nil {
		return "", err
	}
	l.templates[name] = true
	return name, nil
}

// copyOnServer has the server copy the only row of each table of a fixture, as multiply does.
func (l *lab) copyOnServer(ctx context.Context, database string, f fixture) (err error) {
	conn, err := pgx.Connect(ctx, l.server.DSN(database))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	for table, change := range f.tables {
		rows, err := conn.Query(ctx, "SELECT * FROM "+table+" LIMIT 0")
		if err != nil {
			return err
		}
		var names []string
		for _, f := range rows.FieldDescriptions() {
			names = append(names, f.Name)
		}
		rows.Close()
		statement := fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM generate_series(2::bigint, $1) AS i, (SELECT * FROM %[1]s LIMIT 1) AS one",
			table, strings.Join(names, ", "), change.values(names))
		if _, err := conn.Exec(ctx, statement, f.rows+1); err != nil {
			return fmt.Errorf("copy %s: %w", table, err)
		}
	}
	return nil
}

// dropDatabases removes those of a round.
func (l *lab) dropDatabases(ctx context.Context) error {
	var errs []error
	for _, name := range l.databases {
		errs = append(errs, l.onServer(ctx, "postgres", "DROP DATABASE "+name+" WITH (FORCE)"))
	}
	l.databases = nil
	return errors.Join(errs...)
}

// onServer runs a statement in a database of the server.
func (l *lab) onServer(ctx context.Context, database, statement string) (err error) {
	conn, err := pgx.Connect(ctx, l.server.DSN(database))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	_, err = conn.Exec(ctx, statement)
	return err
}
