package engine

import (
	"strings"

	"github.com/pressly/goose/v3"
)

// A Dialect is what differs between engines in the SQL of statements and schema. That SQL is written once, in what
// SQLite and PostgreSQL both accept, with these marks in the few places where they differ. A third engine needs
// three things: another value of this type, another coordinator (who else writes; package store), and its own files in place of
// those that know SQLite: connections, pragmas, checkpoints, the log and its damage, the lock.
//
// Not among the differences, on purpose: numbers are given out in Go, so no statement has to return one, and times are
// microseconds in a BIGINT, so no engine's calendar is involved.
type Dialect struct {
	goose    goose.Dialect
	marks    *strings.Replacer
	numbered bool   // placeholders are "$1"
	check    string // lists faults of structure, or "ok"
	time     string // what makes a text of the microseconds in $1
}

// SQLiteDialect is that of SQLite.
var SQLiteDialect = Dialect{
	goose: goose.DialectSQLite3,
	check: "PRAGMA quick_check",
	time:  `strftime('%Y-%m-%dT%H:%M:%fZ', nullif($1, 0) / 1000000.0, 'unixepoch')`,
	marks: strings.NewReplacer(
		"{{id}}", "INTEGER PRIMARY KEY", // PostgreSQL: BIGINT PRIMARY KEY
		"{{blob}}", "BLOB", // PostgreSQL: BYTEA
		"{{clustered}}", "WITHOUT ROWID", // PostgreSQL: nothing
		"{{skip locked}}", "", // PostgreSQL: FOR UPDATE SKIP LOCKED; a single writer has nobody to skip
		"{{checked}}", "", // PostgreSQL: || '', so that a condition on a row that is known by its number leads to no index
		"{{for update}}", "", // PostgreSQL: FOR UPDATE, wherever a change depends on the row that it reads
		"{{writer}}", "0", // PostgreSQL: the number of the writer that asks, of whom there are several
		"{{begin}}", "BEGIN IMMEDIATE", // PostgreSQL: BEGIN
		// Placeholders stay "?1" (PostgreSQL: "$1", which SQLite would take for a name).
	),
}

// SQL is query in this engine's own words.
func (d Dialect) SQL(query string) string {
	if strings.Contains(query, "{{") { // each mark begins so, and most queries have none
		query = d.marks.Replace(query)
	}
	if d.numbered {
		query = placeholders.ReplaceAllString(query, "$$$1")
	}
	return query
}
