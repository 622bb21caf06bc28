//go:build !cgo

package sqlite

import (
	"database/sql"
	"errors"

	"modernc.org/sqlite"
)

// Builds without a C compiler get SQLite translated to Go, under the name that the C one has,
// so that nothing else differs between the two.
func init() { sql.Register("sqlite3", &sqlite.Driver{}) }

// Code is SQLite's primary code in err, 0 for none; this driver does not tell what the system said.
func Code(err error) (code int, cause error) {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff, nil
	}
	return 0, nil
}
