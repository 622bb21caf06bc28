package connectors

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

// complaints collects the problems of one Compile.
type complaints struct {
	list []Problem
}

func (c *complaints) add(path, msg, hint string) {
	c.put(Problem{Path: path, Msg: msg, Hint: hint})
}

func (c *complaints) warn(path, msg, hint string) {
	c.put(Problem{Path: path, Msg: msg, Hint: hint, Warning: true})
}

// put drops what was said before: one secret may belong to several verifiers.
func (c *complaints) put(p Problem) {
	if !slices.Contains(c.list, p) {
		c.list = append(c.list, p)
	}
}

// syntax adds the error of parseExpr and its kind.
func (c *complaints) syntax(path string, err error) {
	p := Problem{Path: path, Msg: err.Error()}
	if f, ok := errors.AsType[*syntaxFault](err); ok {
		p.Offset, p.Hint = f.At, f.Hint
	}
	c.put(p)
}

func (c *complaints) unknown(path, word, what string, known []string) {
	hint := "it is one of " + strings.Join(known, ", ")
	if near := nearest.Of(word, known); near != "" {
		hint = fmt.Sprintf("did you mean %q? %s", near, "It"+hint[2:])
	}
	c.add(path, fmt.Sprintf("%q is no %s", word, what), hint)
}

func (c *complaints) failed() bool {
	for _, p := range c.list {
		if !p.Warning {
			return true
		}
	}
	return false
}
