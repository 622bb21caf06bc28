package triggers

import (
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/expressions"
)

// An Audience chooses contacts by what is known of them and of their past; docs/audiences.md is about it.
type Audience struct {
	*expressions.Audience
	events []pattern // of each question about the past; the zero value where it asks no event by name
}

// CompileAudience reads the expression that chooses the contacts of a list. The paths of its problems are "".
func CompileAudience(text string, connectors map[string]ConnectorInfo) (*Audience, []Problem) {
	b := &builder{env: Env{Connectors: connectors}}
	of, faults := expressions.CompileAudience(text)
	b.faults("", faults)
	if of == nil {
		return nil, b.problems
	}
	a := &Audience{of, make([]pattern, len(of.Past))}
	for i, q := range of.Past {
		switch q.Function {
		case "count", "last", "sum":
			before := len(b.problems)
			a.events[i], _ = b.pattern("", q.Of)
			for at := range b.problems[before:] {
				b.problems[before+at].Offset += q.Offset + len(`"`)
			}
		case "replied":
			a.events[i] = pattern{connector: "*", kind: "message.received"}
		}
	}
	return a, b.problems
}

// AsksOf reports whether an event answers a question.
func (a *Audience) AsksOf(question int, connector, kind string) bool {
	p := a.events[question]
	return p.connector != "" && p.matches(ref{connector, kind})
}

// Back is how far questions of these functions look back.
func (a *Audience) Back(functions []string) (back time.Duration) {
	for _, q := range a.Past {
		if slices.Contains(functions, q.Function) {
			back = max(back, q.Within)
		}
	}
	return back
}

// OfEvents and OfMessages are the functions that ask events, and messages.
var (
	OfEvents   = []string{"count", "last", "sum", "replied"}
	OfMessages = []string{"messaged", "received"}
)

// Sums reports whether a question asks what an event says, and not only that it came.
func (a *Audience) Sums(question int) bool { return a.Past[question].Value != nil }

// EventNames are what a question asks about, as events are stored: a connector, "" for all, and a kind or, where open is true, how kinds begin. ok
// is false where it asks no events.
func (a *Audience) EventNames(question int) (connector, kind string, open, ok bool) {
	p := a.events[question]
	if p.connector == "*" {
		return "", p.kind, p.open, true
	}
	return p.connector, p.kind, p.open, p.connector != ""
}
