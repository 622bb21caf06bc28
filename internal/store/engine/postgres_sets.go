package engine

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// What many operations ask at the same time goes to PostgreSQL as one statement over a set of arguments, because what a
// statement costs there is mostly the way and the plan. A set is made out of the statement for one: its placeholders become
// columns of a table that is unnested from arrays, with the place of each in it.

// A setForm is a statement for many at once. It returns the place of each execution that changed a row, or that has rows, and these.
type setForm struct {
	sql   string   // "" where each goes by itself
	types []string // of the columns, by their types
	key   []int    // the arguments that say which row is changed; nil where a set may have one row twice
}

// setOf makes a statement for many out of that for one, by the types of its arguments.
func setOf(one string, args []any) *setForm {
	form := &setForm{}
	arrays, names := make([]string, len(args)), make([]string, len(args))
	for i, arg := range args {
		kind := arrayOf(arg)
		arrays[i], names[i] = fmt.Sprintf("$%d::%s", i+1, kind), fmt.Sprintf("p%d", i+1)
		if form.types = append(form.types, kind); kind == "" {
			return &setForm{}
		}
	}
	if len(args) == 0 {
		return form
	}
	table := "unnest(" + strings.Join(arrays, ", ") + ") WITH ORDINALITY AS v(" + strings.Join(names, ", ") + ", place)"
	one = argument.ReplaceAllString(strings.TrimSpace(one), "v.p$1")
	switch {
	case strings.HasPrefix(one, "SELECT "):
		form.sql = "SELECT v.place, q.* FROM " + table + ", LATERAL (" + one + ") AS q ORDER BY v.place"
	case strings.HasPrefix(one, "INSERT ") && !strings.Contains(one, "SELECT") && !strings.Contains(one, "RETURNING"):
		into, values, rest, plain := cutValues(one)
		if plain && strings.Contains(rest, "DO UPDATE") {
			form.key, plain = keyOf(into, values, rest)
		}
		if plain {
			form.sql = into + "SELECT " + values + " FROM " + table + rest
		}
	case strings.HasPrefix(one, "UPDATE ") && !strings.Contains(one, "SELECT") && strings.Count(one, " WHERE ")+strings.Count(one, "\tWHERE ") == 1 && !strings.Contains(one, " IN (v."):
		one, columns, returns := strings.Cut(one, " RETURNING ")
		at := strings.LastIndex(one, "WHERE ")
		form.key = []int{0} // the first argument of an update says which row
		form.sql = one[:at] + "FROM " + table + " " + one[at:] + " RETURNING v.place"
		if returns {
			form.sql += ", " + columns
		}
	}
	return form
}

// arrayOf is the type of a column of such values; "" where this schema has none.
func arrayOf(value any) string {
	switch value.(type) {
	case int64:
		return "bigint[]"
	case string:
		return "text[]"
	case []byte:
		return "bytea[]"
	}
	return ""
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

// arrays are the arguments of many, column by column. ok is false where they cannot go as one: one of them is not of its column's type, or
// two mean the same row, of which PostgreSQL changes one a statement.
func (f *setForm) arrays(all [][]any) (out []any, ok bool) {
	if f.sql == "" || f.meansTwice(all) {
		return nil, false
	}
	out = make([]any, len(f.types))
	for c, kind := range f.types {
		switch kind {
		case "text[]":
			out[c], ok = column[string](all, c)
		case "bytea[]":
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

// meansTwice reports whether two executions change the same row.
func (f *setForm) meansTwice(all [][]any) bool {
	if f.key == nil {
		return false
	}
	known := make(map[string]bool, len(all))
	var name []byte
	for _, args := range all {
		name = name[:0]
		for _, i := range f.key {
			name = fmt.Appendf(name, "%v\x00", args[i]) // no text has a zero byte there
		}
		if known[string(name)] {
			return true
		}
		known[string(name)] = true
	}
	return false
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
