//go:build !cgo

package store

import (
	"database/sql"

	"modernc.org/sqlite"
)

// Builds without a C compiler get SQLite translated to Go, under the name that the C one has,
// so that nothing else differs between the two.
func init() { sql.Register("sqlite3", &sqlite.Driver{}) }
