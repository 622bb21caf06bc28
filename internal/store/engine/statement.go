package engine

import (
	"cmp"
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
// operation that uses it; dialect.go fills its marks. Each writer prepares it once.
//
// A limit is written ?3 + 0 and not ?3 where it runs for every claim or poll: SQLite plans a statement anew each time the
// bare parameter of a LIMIT is bound, which took half the time of a claim.
type Statement struct {
	number   int        // in statements
	sql      string     // "" for one that only PostgreSQL has
	postgres string     // in place of sql, where PostgreSQL has its own; "" where it has not
	one      *Statement // for a single one of a list of ids; nil where it has none
}

// statements are all of them.
var statements []*Statement

// Statements are all of them that the packages of this program have, in the order of their numbers.
func Statements() []*Statement { return statements }

// SQL is a statement for both engines. It is made once, as a variable of a package: connections prepare all of them.
func SQL(sql string) *Statement {
	s := &Statement{number: len(statements), sql: sql}
	statements = append(statements, s)
	return s
}

// OnSQLite is its text in the words of SQLite; "" where that has none.
func (s *Statement) OnSQLite() string { return SQLiteDialect.SQL(s.sql) }

// OnServer is its text in the words of PostgreSQL.
func (s *Statement) OnServer() string { return PostgresDialect.SQL(cmp.Or(s.postgres, s.sql)) }

// AsSet is what goes to PostgreSQL for many at once, by arguments of one; "" where each goes by itself.
func (s *Statement) AsSet(args ...any) string { return setOf(s.OnServer(), args).sql }

// String is its text, for those who ask it of no transaction.
func (s *Statement) String() string { return s.sql }

// OnPostgres has PostgreSQL run another text.
func (s *Statement) OnPostgres(sql string) *Statement {
	s.postgres = sql
	return s
}

// ForIDs is a statement that ends in a list of RowsAtOnce ids, from the placeholder with that number on. For a single one it has another text: to
// take the list for a set costs half of what a change costs.
func ForIDs(sql string, from int) *Statement {
	s := SQL(sql + ` IN (` + Placeholders(from) + `)`)
	s.one = SQL(sql + ` = ?` + strconv.Itoa(from))
	return s
}

// PostgresSQL is a statement that only PostgreSQL has.
func PostgresSQL(sql string) *Statement { return SQL("").OnPostgres(sql) }

// RowsAtOnce is how many rows a statement with a list of placeholders changes: it saves a third of what a row costs.
const RowsAtOnce = 16

// Padded is args and a list of RowsAtOnce ids: a set, so the first may stand in it several times.
func Padded(args []any, ids []int64) []any {
	for i := range RowsAtOnce {
		args = append(args, ids[min(i, len(ids)-1)])
	}
	return args
}
