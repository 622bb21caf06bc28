//go:build cgo

package store

import (
	"errors"

	"github.com/mattn/go-sqlite3" // registers "sqlite3": SQLite itself, compiled in
)

// sqliteCode is SQLite's primary code in err, 0 for none, and what the system said, where it was asked.
func sqliteCode(err error) (code int, cause error) {
	e, ok := errors.AsType[sqlite3.Error](err)
	if !ok || e.SystemErrno == 0 {
		return int(e.Code), nil
	}
	return int(e.Code), e.SystemErrno
}
