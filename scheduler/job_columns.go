package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nudgewire/nudgewire/internal/expressions"
	"github.com/nudgewire/nudgewire/internal/lists"
	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/plain"
)

// bindText looks the names of a text up among the columns, once for a run. facts are the values
// that are the same for all rows, by their whole names: "run.date".
func bindText(t *expressions.RowText, columns []string, facts map[string]string) (*expressions.RowFiller, error) {
	known := slices.Sorted(maps.Keys(facts))
	return t.Bind(func(name string) (int, error) { return findColumn(columns, name, known) }, facts)
}

// findColumn is the place of a column by its name: as written, else without regard to case
// and to spaces and dashes that stand for underscores.
func findColumn(columns []string, name string, more []string) (int, error) {
	for _, same := range []func(a, b string) bool{
		func(a, b string) bool { return a == b },
		func(a, b string) bool { return slug(a) == slug(b) },
	} {
		var found []int
		for i, c := range columns {
			if same(strings.TrimSpace(c), name) {
				found = append(found, i)
			}
		}
		switch len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			return 0, &wordError{
				fmt.Sprintf("the source has %d columns named %q, numbers %s", len(found), name, placesOf(found)),
				"give one of them another name",
			}
		}
	}
	known := append(slices.Clone(columns), more...)
	hint := "the source has " + lists.Names(columns)
	if near := nearest.Of(name, known); near != "" {
		hint = fmt.Sprintf("did you mean %q? The source has %s", near, lists.Names(columns))
	}
	if encoding := lists.EncodingOf(name, columns); encoding != "" {
		hint = fmt.Sprintf("the list is written in %s: write source.encoding: %s", encoding, encoding)
	}
	return 0, &noColumnError{wordError{fmt.Sprintf("the source has no column %q", name), hint}, name}
}

func placesOf(found []int) string {
	texts := make([]string, len(found))
	for i, at := range found {
		texts[i] = strconv.Itoa(at + 1)
	}
	return strings.Join(texts, " and ")
}

func slug(name string) string {
	return strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(strings.TrimSpace(name)))
}

// A mapping is a job's columns, compiled.
type mapping struct {
	tel    *expressions.RowText   // of the phone
	texts  []*expressions.RowText // of var_1 and on
	names  []string               // "var_1" and on
	fields []field                // what else each row says
	unsaid bool                   // the job does not say which column is the phone
}

// variables is how many there are.
func (m *mapping) variables() int { return len(m.texts) }

// bind looks every name up; the error names the variable.
func (m *mapping) bind(columns []string, facts map[string]string) (*mapper, error) {
	if len(columns) == 0 {
		return nil, &wordError{"the source gave no columns", "where it is a query, begin it with select or with"}
	}
	if !slices.ContainsFunc(columns, func(name string) bool { return strings.TrimSpace(name) != "" }) {
		return nil, &wordError{"the list has no column names", "write them into its first row, or name them in source.header"}
	}
	bound := &mapper{names: m.names}
	var err error
	if bound.phone, err = bindText(m.tel, columns, facts); err != nil {
		err = inPath("columns.phone", err)
		if m.unsaid {
			msg, hint := clockErrorWords(err)
			err = &wordError{msg + ", and columns does not say which one holds the phone", "write columns: {phone: NAME}; " + hint}
		}
		return nil, err
	}
	bound.last = bound.phone.Last()
	for i, t := range m.texts {
		f, err := bindText(t, columns, facts)
		if err != nil {
			return nil, inPath("columns."+m.names[i], err)
		}
		bound.vars, bound.last = append(bound.vars, f), max(bound.last, f.Last())
	}
	for i := range m.fields {
		f, err := bindText(m.fields[i].text, columns, facts)
		if err != nil {
			return nil, inPath(m.fields[i].path, err)
		}
		bound.fields, bound.last = append(bound.fields, boundField{f, &m.fields[i]}), max(bound.last, f.Last())
	}
	return bound, nil
}

func inPath(path string, err error) error {
	msg, hint := clockErrorWords(err)
	return &wordError{path + ": " + msg, hint}
}

// A mapper makes a contact of a row.
type mapper struct {
	phone  *expressions.RowFiller
	vars   []*expressions.RowFiller
	names  []string
	fields []boundField
	last   int // the last column that any of them looks at

	uncomputed bool // the row at hand has an error of a spreadsheet where a default took its place
}

type boundField struct {
	*expressions.RowFiller
	is *field
}

// A fault is why a row cannot be sent. Group is the same for rows whose reasons quote other cells; "" for
// the reason itself.
type fault struct{ kind, group, reason string }

// fill writes what the row says beside its phone into vars, and gives the phone as it stands there.
func (m *mapper) fill(row lists.Row, vars []string) (phone string, bad fault) {
	phone, _ = m.phone.Fill(row)
	m.uncomputed = false
	for i, f := range m.vars {
		text, why := f.Fill(row)
		m.uncomputed = m.uncomputed || f.Uncomputed()
		if why != "" {
			return phone, fault{kind: KindVariable, reason: m.names[i] + " " + why}
		}
		// One line, as the variables of triggers are: messaging networks refuse line breaks, tabs and long blanks in them.
		if text = plain.OneLine(clean(text)); len(text) > expressions.MaxVariable {
			if n := utf8.RuneCountInString(text); n > expressions.MaxVariable {
				return phone, fault{kind: KindVariable, reason: fmt.Sprintf("%s is too long: at most %d characters are sent; shorten it in the list", m.names[i], expressions.MaxVariable)}
			}
		}
		vars[i] = text
	}
	for i, f := range m.fields {
		text, why := f.Fill(row)
		if why != "" {
			return phone, fault{kind: KindSend, reason: f.is.noun + " " + why}
		}
		value, group, trouble := f.is.accept(clean(text))
		if trouble != "" {
			return phone, fault{KindSend, group, trouble}
		}
		vars[len(m.vars)+i] = value
	}
	return phone, fault{}
}

// clean keeps a text valid: what is no UTF-8 becomes the replacement character, and NUL, which no reader of CSV expects, goes.
func clean(text string) string {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "")
	}
	return text
}

// factsOf are the values that templates know of a run.
func factsOf(job string, at time.Time, zone *time.Location) map[string]string {
	local := at.In(zone)
	return map[string]string{
		"run.job":  job,
		"run.date": local.Format(time.DateOnly),
		"run.time": local.Format("15:04"),
	}
}

// A noColumnError is a text that names a column which is not there.
type noColumnError struct {
	wordError
	name string
}

func (e *noColumnError) Unwrap() error { return &e.wordError }
