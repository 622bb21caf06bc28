package store

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// What many operations ask at the same time goes to PostgreSQL as one statement over a set of arguments, because what a
// statement costs there is mostly the way and the plan. A set is made out of the statement for one: its placeholders become
// columns of a table that is unnested from arrays, with the place of each in it.

// A setForm is a statement for many at once.
type setForm struct {
	sql    string
	update bool
	types  []uint32 // of the columns, by their object ids
}

// setOf makes the form of a statement for many out of that for one; ok is false where there is none, and each is asked by itself.
func setOf(one string, types []uint32) (form setForm, ok bool) {
	arrays := make([]string, len(types))
	names := make([]string, len(types))
	for i, oid := range types {
		name, known := arrayTypes[oid]
		if !known {
			return form, false
		}
		arrays[i], names[i] = fmt.Sprintf("$%d::%s", i+1, name), fmt.Sprintf("p%d", i+1)
	}
	if len(types) == 0 {
		return form, false
	}
	table := "unnest(" + strings.Join(arrays, ", ") + ") WITH ORDINALITY AS v(" + strings.Join(names, ", ") + ", place)"
	one = argument.ReplaceAllString(strings.TrimSpace(one), "v.p$1")
	switch {
	case strings.HasPrefix(one, "SELECT "):
		form.sql = "SELECT v.place, q.* FROM " + table + ", LATERAL (" + one + ") AS q ORDER BY v.place"
	case strings.HasPrefix(one, "INSERT ") && !strings.Contains(one, "SELECT") && !strings.Contains(one, "DO UPDATE"):
		into, values, rest, plain := cutValues(one)
		if !plain {
			return form, false
		}
		form.sql = into + "SELECT " + values + " FROM " + table + rest
	case strings.HasPrefix(one, "UPDATE ") && !strings.Contains(one, "SELECT") && strings.Count(one, " WHERE ")+strings.Count(one, "\tWHERE ") == 1:
		at := strings.LastIndex(one, "WHERE ")
		form.update = true
		form.sql = one[:at] + "FROM " + table + " " + one[at:] + " RETURNING v.place"
	default:
		return form, false
	}
	form.types = types
	return form, true
}

var argument = regexp.MustCompile(`\$(\d+)`)

// cutValues takes an insert of one row apart: what comes before VALUES, the list, what comes after it.
func cutValues(insert string) (into, values, rest string, ok bool) {
	into, after, found := strings.Cut(insert, "VALUES (")
	depth := 1
	for i := 0; found && i < len(after); i++ {
		switch after[i] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			rest = strings.TrimSpace(after[i+1:])
			return into, after[:i], " " + rest, !strings.HasPrefix(rest, ",")
		}
	}
	return "", "", "", false
}

// arrayTypes are those of the columns that this schema has.
var arrayTypes = map[uint32]string{
	pgtype.Int8OID:  "bigint[]",
	pgtype.Int4OID:  "integer[]",
	pgtype.TextOID:  "text[]",
	pgtype.ByteaOID: "bytea[]",
}

// twice reports whether the set may change a row two times, of which PostgreSQL does one: the first argument of an update says
// which row.
func (f *setForm) twice(all [][]any) bool {
	if !f.update {
		return false
	}
	seen := map[any]bool{}
	for _, args := range all {
		if seen[args[0]] {
			return true
		}
		seen[args[0]] = true
	}
	return false
}

// arrays are the arguments of many, column by column.
func (f *setForm) arrays(all [][]any) []any {
	out := make([]any, len(f.types))
	for c, oid := range f.types {
		switch oid {
		case pgtype.TextOID:
			out[c] = column[string](all, c)
		case pgtype.ByteaOID:
			out[c] = column[[]byte](all, c)
		default:
			out[c] = column[int64](all, c)
		}
	}
	return out
}

func column[T any](all [][]any, c int) []T {
	out := make([]T, len(all))
	for i, args := range all {
		out[i], _ = args[c].(T) // the statement's own type, or the server says what is wrong
	}
	return out
}

// A listForm is a statement that ends in a list of ids, with an array in its place: one execution for any number of them.
type listForm struct {
	sql  string // empty where the statement has no list
	from int    // the index of the first id among the arguments
}

func asList(one string) listForm {
	at := idList.FindStringSubmatchIndex(one)
	if at == nil || strings.HasPrefix(one, "SELECT") {
		return listForm{}
	}
	number := one[at[2]:at[3]]
	from, _ := strconv.Atoi(number) // the pattern has digits
	return listForm{one[:at[0]] + "= ANY ($" + number + "::bigint[])" + one[at[1]:], from - 1}
}

// idList is what marks gives.
var idList = regexp.MustCompile(fmt.Sprintf(`IN \(\$(\d+)(?:, \$\d+){%d}\)`, rowsAtOnce-1))

// joined makes one execution of those that differ in their ids alone.
func (f *listForm) joined(all [][]any) (out [][]any) {
	var ids []int64
	for _, args := range all {
		own := args[:f.from]
		if n := len(out); n == 0 || !slices.Equal(out[n-1][:f.from], own) {
			ids = nil
			out = append(out, append(slices.Clone(own), nil))
		}
		for _, id := range args[f.from:] {
			ids = append(ids, id.(int64))
		}
		out[len(out)-1][f.from] = ids
	}
	return out
}

// touches is the table that a statement changes, and whether it says so without looking at other rows.
func touches(one string) (table string, plain bool) {
	m := changes.FindStringSubmatch(one)
	if m == nil {
		return "", false
	}
	return m[1], strings.Count(one, "SELECT") == 0
}

var changes = regexp.MustCompile(`^\s*(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)`)
