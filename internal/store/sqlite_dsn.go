package store

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
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
