package triggers

import (
	"fmt"
	"strings"

	"github.com/nudgewire/nudgewire/internal/nearest"
)

// A Problem is one thing wrong in a rule. Path is within the trigger, "if[0]" or
// "send.variables[1]", and Offset is the byte of the text there, escapes and folds undone.
// A Problem without a Trigger is about the Env, and Path is then within the whole file.
type Problem struct {
	Trigger string
	Path    string
	Offset  int
	Msg     string
	Hint    string // what to do; "" when there is no good advice
	Warning bool   // valid, but probably not what is meant
}

// Error is the problem in one line: "abandoned-cart.if[0]: unknown name "totl" in cart; did
// you mean "total"?".
func (p Problem) Error() string {
	text := p.Path + ": " + p.Msg
	if p.Trigger != "" {
		text = p.Trigger + "." + text
	}
	if p.Hint != "" {
		text += "; " + p.Hint
	}
	return text
}

// A wordError is a text that is none of the words it may be; Hint is for yamlpos.
type wordError struct{ msg, hint string }

func (e *wordError) Error() string { return e.msg }
func (e *wordError) Hint() string  { return e.hint }

func wrongWord(text string, words []string, more string) error {
	e := &wordError{msg: fmt.Sprintf("%q is not known here", text), hint: "write " + strings.Join(words, ", ") + more}
	if near := nearest.Of(text, words); near != "" {
		e.hint = fmt.Sprintf("did you mean %q?", near)
	}
	return e
}
