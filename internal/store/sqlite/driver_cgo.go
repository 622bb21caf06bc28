//go:build cgo

package sqlite

import (
	"errors"

	"github.com/mattn/go-sqlite3" // registers "sqlite3": SQLite itself, compiled in
)

// Code is SQLite's primary code in err, 0 for none, and what the system said, where it was asked.
func Code(err error) (code int, cause error) {
	e, ok := errors.AsType[sqlite3.Error](err)
	if !ok || e.SystemErrno == 0 {
		return int(e.Code), nil
	}
	return int(e.Code), e.SystemErrno
}
