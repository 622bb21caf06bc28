// Package problems holds what is wrong with the entry of a connector, and how its texts are quoted in reasons.
package problems

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// A Problem is one thing wrong in a Config. Path is relative to the entry ("verify.parts[2]"),
// Offset a byte offset in that value's text for where in an expression the trouble is.
type Problem struct {
	Path    string
	Offset  int
	Msg     string
	Hint    string
	Warning bool // it works, but likely not as meant, or less safely than it could
	Code    yamlpos.Code
}

func (p Problem) String() string {
	var b strings.Builder
	if p.Warning {
		b.WriteString("warning: ")
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Msg)
	if p.Hint != "" {
		b.WriteString("; " + p.Hint)
	}
	return b.String()
}

// Complaints collects the problems of one Compile.
type Complaints struct {
	List []Problem
}

func (c *Complaints) Add(path, msg, hint string) {
	c.Put(Problem{Path: path, Msg: msg, Hint: hint})
}

func (c *Complaints) Warn(path, msg, hint string) {
	c.Put(Problem{Path: path, Msg: msg, Hint: hint, Warning: true})
}

// Put drops what was said before: one secret may belong to several verifiers.
func (c *Complaints) Put(p Problem) {
	if !slices.Contains(c.List, p) {
		c.List = append(c.List, p)
	}
}

// Syntax adds the error of ParseExpr and its kind.
func (c *Complaints) Syntax(path string, err error) {
	p := Problem{Path: path, Msg: err.Error()}
	if f, ok := errors.AsType[*SyntaxFault](err); ok {
		p.Offset, p.Hint = f.At, f.Hint
	}
	c.Put(p)
}

func (c *Complaints) Unknown(path, word, what string, known []string) {
	hint := "it is one of " + strings.Join(known, ", ")
	if near := nearest.Of(word, known); near != "" {
		hint = fmt.Sprintf("did you mean %q? %s", near, "It"+hint[2:])
	}
	c.Add(path, fmt.Sprintf("%q is no %s", word, what), hint)
}

func (c *Complaints) Failed() bool {
	for _, p := range c.List {
		if !p.Warning {
			return true
		}
	}
	return false
}

// A SyntaxFault is the position where an expression stops making sense.
type SyntaxFault struct {
	At   int // byte offset in the expression
	Msg  string
	Hint string
}

func (f *SyntaxFault) Error() string { return f.Msg }
