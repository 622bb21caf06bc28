package store

import (
	"strings"

	"github.com/pressly/goose/v3"
)

// A dialect is what differs between the engines in the SQL of statements and schema; connections, the log and the one
// writer are SQLite's alone. The SQL of this package is written once,
// in what SQLite and PostgreSQL both accept, with these marks in the few places where they
// part; a second engine is another value of this type.
//
// Not among the differences, on purpose: ids are handed out in Go (the one writer of SQLite
// counts; nodes of PostgreSQL can take blocks from a sequence), so no statement has to
// return one, and times are microseconds in a BIGINT, so no engine's calendar is involved.
type dialect struct {
	goose goose.Dialect
	marks *strings.Replacer
	check string // lists faults of structure, or "ok"
}

var sqliteDialect = dialect{
	goose: goose.DialectSQLite3,
	check: "PRAGMA quick_check",
	marks: strings.NewReplacer(
		"{{id}}", "INTEGER PRIMARY KEY", // PostgreSQL: BIGINT PRIMARY KEY
		"{{blob}}", "BLOB", // PostgreSQL: BYTEA
		"{{clustered}}", "WITHOUT ROWID", // PostgreSQL: nothing
		"{{skip locked}}", "", // PostgreSQL: FOR UPDATE SKIP LOCKED; one writer has nobody to skip
		// Placeholders stay "?1" (PostgreSQL: "$1", which SQLite would take for a name).
	),
}

// sql is query in this engine's own words.
func (d dialect) sql(query string) string { return d.marks.Replace(query) }
