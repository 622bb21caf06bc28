package scheduler

import (
	"slices"

	"github.com/nudgewire/nudgewire/expressions"
	"github.com/nudgewire/nudgewire/internal/lists"
)

// Expressions is the language of triggers over a row's columns: what somebody learned there,
// {{ upper(first_name) }} and all, holds in columns: and campaign.name, too.
type Expressions struct{}

// Compile reads a text.
func (Expressions) Compile(text string) (Template, []Fault) {
	t, found := expressions.CompileRow(text)
	faults := make([]Fault, len(found))
	for i, f := range found {
		faults[i] = Fault(f)
	}
	return rowTemplate{t}, faults
}

type rowTemplate struct{ *expressions.RowText }

// Bind looks the columns up as Plain does.
func (t rowTemplate) Bind(columns []string, facts map[string]string) (Filler, error) {
	more := slices.Sorted(keysOf(facts))
	f, err := t.RowText.Bind(func(name string) (int, error) { return findColumn(columns, name, more) }, facts)
	if err != nil {
		return nil, err
	}
	return rowFiller{f}, nil
}

type rowFiller struct{ *expressions.RowFiller }

// Fill puts a row's cells in.
func (f rowFiller) Fill(row lists.Row) (text, trouble string) { return f.RowFiller.Fill(row) }
