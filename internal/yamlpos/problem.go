package yamlpos

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/internal/mask"
)

// A Problem is one thing wrong in a YAML file, at the position to fix it. It prints as
//
//	config.yaml:4:5: triggers.remind.templat: unknown key; did you mean "template"?
type Problem struct {
	File string `json:"file" kind:"ours"`
	Line int    `json:"line"` // 1-based; 0 when the file as a whole is meant
	Col  int    `json:"col"`  // 1-based, in characters, of the key or value to look at
	Path string `json:"path,omitempty" kind:"ours"`
	Msg  string `json:"msg" kind:"text"`
	Hint string `json:"hint,omitempty" kind:"ours"` // what to do; "" when there is no good advice

	Warning bool `json:"warning,omitempty"` // valid, but likely not what was meant

	// Code says which kind of problem it is, in a word that stays the same. "" where only who reads the document knows it.
	Code Code `json:"code,omitempty" kind:"ours"`

	// Source is the line as it may be shown: what it holds of secrets is starred out. Empty
	// when the problem did not come from a decoded document.
	Source string `json:"-"`
}

// A Code is a kind of problem, for programs and to look up; the words are for people.
type Code string

// The codes of what is found while a document is read, and those on which somebody acts.
const (
	Unreadable   Code = "file-unreadable"
	Syntax       Code = "yaml-syntax"
	UnknownKey   Code = "unknown-key"
	DuplicateKey Code = "duplicate-key" // the first of the two was read whole
	MissingKey   Code = "missing-key"
	WrongValue   Code = "wrong-value"
	WeakSecret   Code = "weak-secret" // one that could be guessed
)

// Error is the problem on one line.
func (p Problem) Error() string {
	if p.Hint == "" {
		return p.headline()
	}
	return p.headline() + "; " + p.Hint
}

// headline is the problem without its hint.
func (p Problem) headline() string {
	at := p.File
	if p.Line > 0 {
		at = fmt.Sprintf("%s:%d:%d", at, p.Line, p.Col)
	}
	text := p.Msg
	if p.Path != "" {
		text = p.Path + ": " + text
	}
	if p.Warning {
		text = "warning: " + text
	}
	if at != "" {
		text = at + ": " + text
	}
	return text
}

// Problems are problems in the order of the files they are about.
type Problems []Problem

// Sort puts the problems in order of file, line and column; those at one position stay in the
// order they were found, errors before warnings.
func (ps Problems) Sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col), a.rank()-b.rank())
	})
}

func (p Problem) rank() int {
	if p.Warning {
		return 1
	}
	return 0
}

// Faults are the problems that are not warnings.
func (ps Problems) Faults() Problems { return ps.are(false) }

// Warnings are the problems that are only warnings.
func (ps Problems) Warnings() Problems { return ps.are(true) }

func (ps Problems) are(warning bool) Problems {
	return slices.DeleteFunc(slices.Clone(ps), func(p Problem) bool { return p.Warning != warning })
}

// Error is all problems, one a line; "no problems" for none.
func (ps Problems) Error() string {
	if len(ps) == 0 {
		return "no problems"
	}
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Masked is Error as who may see no phones sees it: what hints say is ours.
func (ps Problems) Masked() string {
	masked := slices.Clone(ps)
	for i := range masked {
		masked[i].Msg = mask.Text(masked[i].Msg)
	}
	return masked.Error()
}

// Err is the problems as an error, or nil when none of them is more than a warning.
func (ps Problems) Err() error {
	if bad := ps.Faults(); len(bad) > 0 {
		return bad
	}
	return nil
}

// Errors is how many of the problems are more than warnings.
func (ps Problems) Errors() int { return len(ps.Faults()) }
