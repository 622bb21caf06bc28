package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Select is one SELECT being put together: conditions are joined by AND, and their
// arguments are numbered in the order in which they come.
type Select struct {
	where []string
	Args  []any
}

// And adds a condition; each "?" in it is the next of args.
func (q *Select) And(condition string, args ...any) {
	for _, a := range args {
		q.Args = append(q.Args, a)
		condition = strings.Replace(condition, "?", "\x00"+strconv.Itoa(len(q.Args)), 1)
	}
	q.where = append(q.where, strings.ReplaceAll(condition, "\x00", "?"))
}

// Copy is q, to add to.
func (q *Select) Copy() Select { return Select{slices.Clip(q.where), slices.Clip(q.Args)} }

// When adds a condition where it applies.
func (q *Select) When(applies bool, condition string, args ...any) {
	if applies {
		q.And(condition, args...)
	}
}

// SQL is the whole statement.
func (q *Select) SQL(columns, from, order string, limit int) string {
	var b strings.Builder
	b.WriteString("SELECT " + columns + " FROM " + from)
	for i, w := range q.where {
		b.WriteString([]string{" WHERE ", " AND "}[min(i, 1)])
		b.WriteString(w)
	}
	if order != "" {
		b.WriteString(" ORDER BY " + order)
	}
	if limit > 0 {
		b.WriteString(" LIMIT " + strconv.Itoa(limit))
	}
	return b.String()
}

// In is an SQL list of numbers, which need no placeholders. An empty one, which only SQLite
// takes, is a list of a number that no row has.
func In[T ~int64](ids []T) string {
	if len(ids) == 0 {
		return "(0)"
	}
	b := []byte{'('}
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return string(append(b, ')'))
}

// PerList is how many numbers go into one list.
const PerList = 500

// ListOf is the inside of an IN of phones, and its arguments.
func ListOf[T ~string](texts []T) (list string, args []any) {
	text := make([]byte, 0, 4*len(texts))
	for i, p := range texts {
		if i > 0 {
			text = append(text, ',')
		}
		text = fmt.Appendf(text, "?%d", i+1)
		args = append(args, string(p))
	}
	return string(text), args
}
