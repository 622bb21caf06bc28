package expressions

import (
	"fmt"
	"time"
)

// A Fault is one mistake in a text: at which byte, what, and the hint.
type Fault struct {
	Offset    int
	Msg, Hint string
}

// An Expression is a checked expression.
type Expression struct {
	of    typed
	paths []*path
}

// Compile reads an expression. The faults are in the order of the text.
func Compile(text string) (*Expression, []Fault) {
	t, c := compileText(text, nil)
	return &Expression{t, c.paths}, c.faults
}

// Kind is what the value will be.
func (e *Expression) Kind() Kind { return e.of.shape.kind }

// Words names the kind in the sentence "cart.total is an amount".
func (e *Expression) Words() string { return e.of.shape.words() }

// Text is the value as it is printed into a message; "" where there is none. why is that it uses what cannot be read.
func (e *Expression) Text(s *Scope) (text, why string) {
	s.begin()
	if text = s.print(e.of.eval(s)); s.unread != "" {
		return "", s.why()
	}
	return text, ""
}

// Time is the value as a moment, UTC; why says what is there instead, "" for a time.
func (e *Expression) Time(s *Scope) (at time.Time, why string) {
	s.begin()
	v := e.of.eval(s)
	if s.unread != "" {
		return at, s.why()
	}
	switch v := v.(type) {
	case time.Time:
		return v.UTC(), ""
	case nil:
		if why = s.why(); why == "" {
			why = "it gives no time"
		}
		return at, why
	default:
		return at, fmt.Sprintf("it is %s, not a time", wordsFor(v))
	}
}
