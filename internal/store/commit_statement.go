package store

import (
	"strconv"
	"strings"
)

// Placeholders are RowsAtOnce of them from the given one on: ?4, ?5, ?6.
func Placeholders(from int) string {
	all := make([]string, RowsAtOnce)
	for i := range all {
		all[i] = "?" + strconv.Itoa(from+i)
	}
	return strings.Join(all, ", ")
}

// A Statement is SQL that changes data, or that reads inside a change. It is written once, for both engines, beside the
// operation that uses it; sqlite_dialect.go fills its marks. Each writer prepares it once.
//
// A limit is written ?3 + 0 and not ?3 where it runs for every claim or poll: SQLite plans a statement anew each time the
// bare parameter of a LIMIT is bound, which took half the time of a claim.
type Statement struct {
	number   int    // in statements
	sql      string // "" for one that only PostgreSQL has
	postgres string // in place of sql, where PostgreSQL has its own; "" where it has not
}

// statements are all of them.
var statements []*Statement

func SQL(sql string) *Statement {
	s := &Statement{number: len(statements), sql: sql}
	statements = append(statements, s)
	return s
}

// String is its text, for those who ask it of no transaction.
func (s *Statement) String() string { return s.sql }

func (s *Statement) onPostgres(sql string) *Statement {
	s.postgres = sql
	return s
}

func postgresStatement(sql string) *Statement { return SQL("").onPostgres(sql) }
