package engine

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/nudgewire/nudgewire/internal/pgaddress"
)

// sqliteScheme starts the DSN of a file.
const sqliteScheme = "sqlite:"

// FilePath reads the file's path out of "sqlite:./data/nudgewire.db". An error never repeats more of the
// DSN than its scheme: others may hold passwords.
func FilePath(dsn string) (string, error) {
	path, ok := strings.CutPrefix(dsn, sqliteScheme)
	if !ok {
		scheme, _, found := strings.Cut(dsn, ":")
		if !found {
			return "", errors.New(`storage: want "sqlite:" and a path, as in "sqlite:./data/nudgewire.db", or "postgres://user:password@server/database"`)
		}
		return "", fmt.Errorf(`storage: cannot open %q; want "sqlite:" and a path, as in "sqlite:./data/nudgewire.db", or "postgres://user:password@server/database"`, scheme+":…")
	}
	path = strings.TrimPrefix(path, "//")
	if path == "" || strings.HasPrefix(path, ":memory:") {
		return "", errors.New(`storage: the data must live in a file, as in "sqlite:./data/nudgewire.db"`)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("storage: %w", err)
	}
	return path, nil
}

// sqliteURI is path as SQLite's own file URI, so that "?", "#" and "%" in a folder's name stay
// part of it. mode=rw never creates the file: Open does, with the permissions it wants.
// _mutex=no leaves out SQLite's own lock around each call, because a connection here serves
// one goroutine at a time: the flusher, or the caller that database/sql gave it to. _stmt_cache_size keeps statements that were used last:
// a third of what a short read costs is to prepare it.
func sqliteURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	return "file://" + (&url.URL{Path: path}).EscapedPath() + "?mode=rw&_mutex=no&_stmt_cache_size=32"
}

// Path is the file that dsn names, or, of a database on a server, what the names begin with of what a process notes for itself.
func Path(dsn string) string {
	if OnServer(dsn) {
		_, local, _ := strings.Cut(dsn, "#")
		return filepath.Join(local, "nudgewire")
	}
	path, err := FilePath(dsn)
	if err != nil {
		return dsn
	}
	return path
}

// Name is what the data behind dsn is called for people, without secrets: the path of a file, or server:port/database.
func Name(dsn string) string {
	if !OnServer(dsn) {
		return Path(dsn)
	}
	address, _, _ := strings.Cut(dsn, "#")
	cfg, err := pgaddress.Parse(address)
	if err != nil {
		return "a PostgreSQL database"
	}
	return "postgres://" + ServerName(cfg)
}

// OnServer reports whether a DSN names a PostgreSQL database, and no file of this machine.
func OnServer(dsn string) bool {
	return strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://")
}

// CheckDSN says what is wrong with the address of a PostgreSQL database, without repeating it: there may be a password in it.
func CheckDSN(address string) error {
	if strings.Contains(address, "#") {
		return errors.New("has a # in it, which is %23 in an address")
	}
	_, err := pgaddress.Parse(address)
	if no, ok := errors.AsType[*pgaddress.FileError](err); ok {
		return fmt.Errorf("names a file that cannot be used: %w", no)
	}
	if err != nil {
		return errors.New("cannot read the address of the database")
	}
	return nil
}

// ServerName is the server and the database of a config, without a secret.
func ServerName(cfg *pgx.ConnConfig) string {
	return fmt.Sprintf("%s:%d/%s", cfg.Host, cfg.Port, cfg.Database)
}
