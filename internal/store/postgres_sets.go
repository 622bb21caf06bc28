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
	types  []uint32 // of the columns, by their object ids
	counts bool     // it returns the place of each execution that changed a row, or its rows
	key    []int    // the arguments that say which row is changed; nil where a set may have one row twice
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
		form.counts = true
	case strings.HasPrefix(one, "INSERT ") && !strings.Contains(one, "SELECT") && !strings.Contains(one, "RETURNING"):
		into, values, rest, plain := cutValues(one)
		if !plain {
			return form, false
		}
		if strings.Contains(rest, "DO UPDATE") {
			if form.key, plain = keyOf(into, values, rest); !plain {
				return form, false
			}
		}
		form.sql = into + "SELECT " + values + " FROM " + table + rest
	case strings.HasPrefix(one, "UPDATE ") && !strings.Contains(one, "SELECT") && strings.Count(one, " WHERE ")+strings.Count(one, "\tWHERE ") == 1:
		one, columns, returns := strings.Cut(one, " RETURNING ")
		at := strings.LastIndex(one, "WHERE ")
		form.counts, form.key = true, []int{0} // the first argument of an update says which row
		form.sql = one[:at] + "FROM " + table + " " + one[at:] + " RETURNING v.place"
		if returns {
			form.sql += ", " + columns
		}
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

// upsert is the end of an insert that changes the row which is there: the columns that it is known by, and how it changes.
var upsert = regexp.MustCompile(`(?s)^ ON CONFLICT \(([\w, ]+)\) DO UPDATE (.*)`)

// keyOf finds the arguments of an upsert that fill the columns which a row is known by. What else fills one is the same in all executions.
func keyOf(into, values, rest string) (key []int, ok bool) {
	conflict := upsert.FindStringSubmatch(rest)
	_, names, found := strings.Cut(strings.TrimRight(into, " )\n\t"), "(")
	all, filled := strings.Split(names, ", "), strings.Split(values, ", ")
	// An argument in the change itself would be asked for by a name that is not known there, and a comma inside a value moves the others.
	if conflict == nil || strings.Contains(conflict[2], "v.p") || !found || len(all) != len(filled) {
		return nil, false
	}
	for column := range strings.SplitSeq(conflict[1], ", ") {
		i := slices.Index(all, column)
		if i < 0 {
			return nil, false
		}
		if number, is := strings.CutPrefix(filled[i], "v.p"); is {
			n, err := strconv.Atoi(number)
			if err != nil {
				return nil, false
			}
			key = append(key, n-1)
		}
	}
	return key, len(key) > 0
}

// rounds are executions that may go as one set: of those that change one row, of which PostgreSQL takes one a statement, each is in a
// later round than the one before it.
func (f *setForm) rounds(all [][]any) (out [][][]any) {
	if f.key == nil {
		return [][][]any{all}
	}
	times := map[string]int{}
	var name []byte
	for _, args := range all {
		name = name[:0]
		for _, i := range f.key {
			name = fmt.Appendf(name, "%v\x00", args[i]) // no text has a zero byte there
		}
		n := times[string(name)]
		times[string(name)] = n + 1
		if n == len(out) {
			out = append(out, nil)
		}
		out[n] = append(out[n], args)
	}
	return out
}

// arrays are the arguments of many, column by column. ok is false where one is not of its statement's type: alone it is converted, or
// the server says what is wrong.
func (f *setForm) arrays(all [][]any) (out []any, ok bool) {
	out = make([]any, len(f.types))
	for c, oid := range f.types {
		switch oid {
		case pgtype.TextOID:
			out[c], ok = column[string](all, c)
		case pgtype.ByteaOID:
			out[c], ok = column[[]byte](all, c)
		default:
			out[c], ok = column[int64](all, c)
		}
		if !ok {
			return nil, false
		}
	}
	return out, true
}

func column[T any](all [][]any, c int) (out []T, ok bool) {
	out = make([]T, len(all))
	for i, args := range all {
		if out[i], ok = args[c].(T); !ok {
			return nil, false
		}
	}
	return out, true
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
var idList = regexp.MustCompile(fmt.Sprintf(`IN \(\$(\d+)(?:, \$\d+){%d}\)`, RowsAtOnce-1))

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
