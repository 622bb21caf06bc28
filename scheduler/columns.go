package scheduler

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nudgewire/nudgewire/internal/lists"
	"github.com/nudgewire/nudgewire/internal/nearest"
)

// A Language reads the texts of columns: and of campaign.name. Plain is the one of this
// package; another, such as the triggers', can take its place in Env.
type Language interface {
	// Compile checks a text before any row is seen. A text without {{ is itself.
	Compile(text string) (Template, []Fault)
}

// A Fault is a mistake in a text, at a byte of it.
type Fault struct {
	Offset    int
	Msg, Hint string
}

// A Template is a text with {{ }} in it.
type Template interface {
	// Bind looks the names up among the columns, once for a run. facts are values that are
	// the same for all rows, by their whole names: "run.date".
	Bind(columns []string, facts map[string]string) (Filler, error)
}

// A Filler fills a text in for one row. It is used by one goroutine at a time.
type Filler interface {
	// Fill gives the text; trouble is why the row has none, as the end of a sentence that
	// begins with the name of the variable: "is empty: {{ first_name }}; give it a default".
	Fill(row lists.Row) (text, trouble string)
}

// Plain is a language of names with defaults: {{ first_name | default: "there" }}.
type Plain struct{}

// Compile reads a text. Names are columns, or facts of the run: run.date, run.time, run.job.
func (Plain) Compile(text string) (Template, []Fault) {
	t := &plainTemplate{source: text}
	for at := 0; at < len(text); {
		open := strings.Index(text[at:], "{{")
		if open < 0 {
			t.parts = append(t.parts, plainPart{text: text[at:]})
			break
		}
		if open > 0 {
			t.parts = append(t.parts, plainPart{text: text[at : at+open]})
		}
		begin := at + open
		end := strings.Index(text[begin:], "}}")
		if end < 0 {
			return t, []Fault{{begin, `"{{" is not closed`, "write }} after the name"}}
		}
		p, fault := plainValue(text[begin+2:begin+end], begin+2)
		if fault != nil {
			return t, []Fault{*fault}
		}
		p.source = text[begin : begin+end+2]
		t.parts = append(t.parts, p)
		at = begin + end + 2
	}
	return t, nil
}

// plainValue reads name | default: "text".
func plainValue(text string, at int) (p plainPart, fault *Fault) {
	name, rest, found := strings.Cut(text, "|")
	p.name = strings.TrimSpace(name)
	if p.name == "" {
		return p, &Fault{at, "there is no name between {{ and }}", "write the name of a column: {{ first_name }}"}
	}
	if strings.ContainsAny(p.name, `"'()[]+<>=?:`) {
		return p, &Fault{at, fmt.Sprintf("%q is not the name of a column", p.name), "write {{ first_name }}, or {{ first_name | default: \"there\" }}"}
	}
	if !found {
		return p, nil
	}
	rest = strings.TrimSpace(rest)
	value, ok := strings.CutPrefix(rest, "default:")
	value = strings.TrimSpace(value)
	if n := len(value); ok && n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		p.fallback, p.hasFallback = value[1:n-1], true
		return p, nil
	}
	return p, &Fault{at + len(name) + 1, fmt.Sprintf("%q is not known after |", rest), `write | default: "text"`}
}

type plainPart struct {
	text        string // literal, when name is empty
	name        string
	source      string
	fallback    string
	hasFallback bool
}

type plainTemplate struct {
	source string
	parts  []plainPart
}

// Bind turns names into places of a row.
func (t *plainTemplate) Bind(columns []string, facts map[string]string) (Filler, error) {
	f := &plainFiller{}
	for _, p := range t.parts {
		one := boundPart{plainPart: p, at: -1}
		if p.name != "" {
			if fact, ok := facts[p.name]; ok {
				one.plainPart = plainPart{text: fact}
			} else {
				at, err := findColumn(columns, p.name, slices.Sorted(keysOf(facts)))
				if err != nil {
					return nil, err
				}
				one.at = at
			}
		}
		f.parts = append(f.parts, one)
	}
	return f, nil
}

func keysOf(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

type boundPart struct {
	plainPart
	at int // of the row; -1 for a literal
}

type plainFiller struct{ parts []boundPart }

// Fill puts the row's cells in. Outer space of a cell is not part of its value.
func (f *plainFiller) Fill(row lists.Row) (text, trouble string) {
	if len(f.parts) == 1 {
		return f.parts[0].fill(row)
	}
	var b strings.Builder
	for i := range f.parts {
		one, trouble := f.parts[i].fill(row)
		if trouble != "" {
			return "", trouble
		}
		b.WriteString(one)
	}
	return b.String(), ""
}

func (p *boundPart) fill(row lists.Row) (text, trouble string) {
	if p.at < 0 {
		return p.text, ""
	}
	if p.at < len(row) {
		text = strings.TrimSpace(row[p.at])
	}
	if text != "" {
		return text, ""
	}
	if p.hasFallback {
		return p.fallback, ""
	}
	return "", "is empty: " + p.source + "; give it a default"
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
	tel    Template   // of the phone
	texts  []Template // of var_1 and on
	names  []string   // "var_1" and on
	unsaid bool       // the job does not say which column is the phone
}

// variables is how many there are.
func (m *mapping) variables() int { return len(m.texts) }

// bind looks every name up; the error names the variable.
func (m *mapping) bind(columns []string, facts map[string]string) (*mapper, error) {
	if len(columns) > 0 && !slices.ContainsFunc(columns, func(name string) bool { return strings.TrimSpace(name) != "" }) {
		return nil, &wordError{"the list has no column names", "write them into its first row, or name them in source.header"}
	}
	bound := &mapper{names: m.names}
	var err error
	if bound.phone, err = m.tel.Bind(columns, facts); err != nil {
		err = inColumn("phone", err)
		if m.unsaid {
			msg, hint := words(err)
			err = &wordError{msg + ", and columns does not say which one holds the phone", "write columns: {phone: NAME}; " + hint}
		}
		return nil, err
	}
	for i, t := range m.texts {
		f, err := t.Bind(columns, facts)
		if err != nil {
			return nil, inColumn(m.names[i], err)
		}
		bound.vars = append(bound.vars, f)
	}
	return bound, nil
}

func inColumn(name string, err error) error {
	msg, hint := words(err)
	return &wordError{"columns." + name + ": " + msg, hint}
}

// A mapper makes a contact of a row.
type mapper struct {
	phone Filler
	vars  []Filler
	names []string
}

// mostRunes is the longest variable: the messaging network refuses longer ones.
const mostRunes = 1024

// fill writes the variables into vars, and gives the phone as it stands in the row.
func (m *mapper) fill(row lists.Row, vars []string) (phone, trouble string) {
	phone, _ = m.phone.Fill(row)
	for i, f := range m.vars {
		text, why := f.Fill(row)
		if why != "" {
			return phone, m.names[i] + " " + why
		}
		if len(text) > mostRunes {
			if n := utf8.RuneCountInString(text); n > mostRunes {
				return phone, fmt.Sprintf("%s is too long: at most %d characters are sent; shorten it in the list", m.names[i], mostRunes)
			}
		}
		vars[i] = clean(text)
	}
	return phone, ""
}

// clean keeps a variable valid text: what is no UTF-8 becomes the replacement sign, and NUL,
// which no reader of CSV expects, goes.
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
