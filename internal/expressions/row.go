package expressions

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/plain"
)

// A RowText is a text with {{ expressions }} over the row of a list: its names are the list's
// columns, row["any name"] for those with other signs, run.job, run.date and run.time, and now, which is the run's time on the wall.
// Everything else is the language of triggers, so what somebody learned there holds here.
//
// Which columns there are is known only when the list is opened, so they are looked up by
// Bind. Cells are text: number(total) * 2 counts with one.
type RowText struct {
	parts []rowPart
	names *rowNames
}

// A rowPart is a part of the text. whole is what is in the brackets where that may be a column's
// whole name, such as First Name or e-mail; Bind tries it before the expression.
type rowPart struct {
	part
	whole    string
	constant string // the default, where it is a text in quotes
	quoted   bool
	broken   []Fault // why the expression cannot be read, where the name alone may do
}

// rowNames are the columns that the expressions of one text name, by slot.
type rowNames struct{ columns []string }

// name compiles a name of the row's language.
func (r *rowNames) name(name string) typed {
	switch name {
	case "run":
		read := func(s *Scope) any { return s.row.facts }
		return typed{shape: runShape, eval: read, path: &path{name: "run", read: read}}
	case "now":
		read := func(s *Scope) any { return s.now }
		return typed{shape: timeShape, eval: read, path: &path{name: "now", read: read}}
	}
	slot := slices.Index(r.columns, name)
	if slot < 0 {
		slot = len(r.columns)
		r.columns = append(r.columns, name)
	}
	read := func(s *Scope) any { return s.row.cell(s.row.at[slot]) }
	return typed{shape: textShape, eval: read, path: &path{name: name, read: read}}
}

// runShape is what "run" holds. The facts come by their whole names: "run.date".
var runShape = func() *shape {
	s := &shape{kind: KindObject, noun: "the run", fields: map[string]field{}}
	for _, name := range []string{"job", "date", "time"} {
		s.fields[name] = field{shape: textShape, read: func(facts any) any { return facts.(map[string]string)["run."+name] }}
	}
	return s
}()

// wholeName is what a column may be called without being an expression.
var wholeName = regexp.MustCompile(`^[\pL\pN_#](?:[\pL\pN_#&/ .-]| \([\pL\pN_ .-]*\))*$`)

// quotedText is a default that is the same for every row.
var quotedText = regexp.MustCompile(`^\s*(?:"([^"\\]*)"|'([^'\\]*)')\s*$`)

// CompileRow reads a text. A text without {{ is itself.
func CompileRow(text string) (*RowText, []Fault) {
	r := &RowText{names: &rowNames{}}
	t, found := readTemplate(text, r.names)
	var faults []Fault
	at := 0
	for _, p := range t.parts {
		one := rowPart{part: p}
		size := len(p.text)
		if p.value != nil {
			size = len(p.source)
			inside := strings.TrimSuffix(strings.TrimPrefix(p.source, "{{"), "}}")
			main, rest, defaulted := cutDefault(inside)
			if m := quotedText.FindStringSubmatch(rest); defaulted && m != nil {
				one.constant, one.quoted = m[1]+m[2], true
			}
			if name := strings.TrimSpace(main); wholeName.MatchString(name) && name != "now" && !strings.HasPrefix(name, "run.") && (!defaulted || one.quoted) {
				one.whole = name
			}
		}
		for len(found) > 0 && found[0].Offset < at+size {
			if one.whole != "" {
				one.broken = append(one.broken, found[0])
			} else {
				faults = append(faults, found[0])
			}
			found = found[1:]
		}
		at += size
		r.parts = append(r.parts, one)
	}
	return r, append(faults, found...)
}

// Bind looks the names up: find gives a column's index by its name, or an error in words. facts
// are the values that are the same for all rows, by their whole names: "run.date".
func (r *RowText) Bind(find func(name string) (int, error), facts map[string]string) (*RowFiller, error) {
	f := &RowFiller{row: boundRow{facts: facts}}
	if at, err := time.Parse("2006-01-02 15:04", facts["run.date"]+" "+facts["run.time"]); err == nil {
		f.now = at
	}
	expressions := false
	for _, p := range r.parts {
		b := boundPart{rowPart: p, at: -1}
		if p.whole != "" {
			at, err := find(p.whole)
			switch {
			case err == nil:
				b.at, b.value = at, nil
			case len(p.broken) > 0 || plainName(p.whole):
				return nil, err
			}
		}
		expressions = expressions || b.value != nil
		f.parts = append(f.parts, b)
	}
	if !expressions {
		return f, nil
	}
	f.row.at = make([]int, len(r.names.columns))
	for slot, name := range r.names.columns {
		at, err := find(name)
		if err != nil && !r.replaced(f, name) {
			return nil, err
		}
		f.row.at[slot] = at
	}
	return f, nil
}

// replaced reports whether a name is only part of whole names that were found: "e-mail" reads
// as e minus mail, and nobody asks for a column e.
func (r *RowText) replaced(f *RowFiller, name string) bool {
	for _, p := range f.parts {
		if p.value != nil && strings.Contains(p.source, name) {
			return false
		}
	}
	return true
}

// A boundRow is a row as expressions see it.
type boundRow struct {
	cells []string
	at    []int // the column of each slot
	facts map[string]string

	uncomputed bool // a cell was asked for that a spreadsheet could not compute
}

// cell is a row's value; a row may be shorter than the header. Outer space is not part of it, and a cell of which nothing can be
// seen is empty, as one is that a spreadsheet could not compute.
func (b *boundRow) cell(at int) string {
	text := b.written(at)
	if uncomputed[text] {
		b.uncomputed = true
		return ""
	}
	if !plain.Visible(text) {
		return ""
	}
	return text
}

func (b *boundRow) written(at int) string {
	if at < len(b.cells) {
		return strings.TrimSpace(b.cells[at])
	}
	return ""
}

// uncomputed is what spreadsheets write into a cell whose formula has no value.
var uncomputed = map[string]bool{
	"#N/A": true, "#REF!": true, "#VALUE!": true, "#NAME?": true, "#DIV/0!": true, "#NULL!": true, "#NUM!": true,
	"#SPILL!": true, "#CALC!": true, "#ERROR!": true, "#GETTING_DATA": true,
}

type boundPart struct {
	rowPart
	at int // the column, where the part is one; -1 otherwise
}

// A RowFiller fills a text in for one row. It is used by one goroutine at a time.
type RowFiller struct {
	parts []boundPart
	row   boundRow
	now   time.Time
}

// Last is the place of the last column that the text looks at, -1 where it looks at none.
func (f *RowFiller) Last() int {
	last := -1
	for _, p := range f.parts {
		last = max(last, p.at)
	}
	for _, at := range f.row.at {
		last = max(last, at)
	}
	return last
}

// Uncomputed reports whether the last Fill looked at a cell that a spreadsheet could not compute (#N/A).
func (f *RowFiller) Uncomputed() bool { return f.row.uncomputed }

// noEvent is the event of a row: expressions ask it for the contact's zone.
var noEvent = &messaging.Event{}

// Fill gives the text; trouble is why the row has none, as the end of a sentence that begins
// with the variable's name. Line breaks stay: what to do with them is the caller's matter.
func (f *RowFiller) Fill(cells []string) (text, trouble string) {
	f.row.cells, f.row.uncomputed = cells, false
	if len(f.parts) == 1 {
		return f.part(&f.parts[0])
	}
	var b strings.Builder
	for i := range f.parts {
		one, trouble := f.part(&f.parts[i])
		if trouble != "" {
			return "", trouble
		}
		b.WriteString(one)
	}
	return b.String(), ""
}

func (f *RowFiller) part(p *boundPart) (text, trouble string) {
	switch {
	case p.at >= 0:
		if text = f.row.cell(p.at); text != "" {
			return text, ""
		}
		if p.quoted {
			return p.constant, ""
		}
		if text = f.row.written(p.at); uncomputed[text] {
			return "", "is an error of the spreadsheet, " + text + ": mend the formula of that cell, or give " + p.source + " a default"
		}
		return "", "is empty: " + p.source + "; give it a default"
	case p.value == nil:
		return p.text, ""
	}
	s := NewScope(noEvent, f.now, time.UTC)
	defer s.Free()
	s.row = &f.row
	text, empty := p.render(s)
	if empty != "" {
		return "", "is empty: " + empty + "; give it a default"
	}
	return text, ""
}
