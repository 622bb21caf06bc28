package expressions

import (
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A Condition is one line under "if:", compiled.
type Condition struct {
	source string
	test   eval
	paths  []*path
}

// CompileCondition reads a condition.
func CompileCondition(text string) (*Condition, []Fault) { return compileCondition(text, false) }

// CompileStep reads a condition of a step that has one before it, which "previous" names.
func CompileStep(text string) (*Condition, []Fault) { return compileCondition(text, true) }

func compileCondition(text string, step bool) (*Condition, []Fault) {
	node, bad := parse(text)
	if bad != nil {
		return nil, []Fault{*bad}
	}
	c := &compiler{text: text, step: step}
	test := c.flag(node)
	return &Condition{source: strings.TrimSpace(text), test: test, paths: c.paths}, c.faults
}

// Roots are what the condition looks at, by the first word of each name: cart, previous.
func (c *Condition) Roots() (names []string) {
	for _, p := range c.paths {
		name := strings.TrimLeft(p.name, "(")
		if end := strings.IndexAny(name, ".[?"); end >= 0 {
			name = name[:end]
		}
		names = append(names, name)
	}
	return names
}

// Evaluate evaluates the condition and keeps the values it saw. A condition that cannot be
// decided, because a value is missing or unfit, does not hold and says why.
func (c *Condition) Evaluate(s *Scope) messaging.Clause {
	s.begin()
	answer, known := c.test(s).(bool)
	result := messaging.Clause{Text: c.source, Held: known && answer && s.unread == ""}
	if !known || s.unread != "" {
		if result.Error = s.why(); result.Error == "" {
			result.Error = "it is neither true nor false"
		}
	}
	result.Values = s.values(c.paths)
	return result
}

// values are what the names stood for, as a decision keeps them; objects are not kept.
func (s *Scope) values(paths []*path) []messaging.Value {
	if len(paths) == 0 {
		return nil
	}
	values := make([]messaging.Value, 0, len(paths))
	for _, p := range paths {
		s.begin()
		v := p.read(s)
		if v != nil && kindOf(v) == KindObject {
			continue
		}
		values = append(values, messaging.Value{Name: p.name, Value: s.show(v, p.masked)})
	}
	return values
}

// why says what made the last value unknown; "" when nothing did.
func (s *Scope) why() string {
	switch {
	case s.unread != "":
		return s.unread
	case s.fault != "":
		return s.fault
	case s.lost == nil:
		return ""
	case s.count >= 0:
		list := s.lost.name[:max(0, strings.LastIndexByte(s.lost.name, '['))]
		return s.lost.name + " is missing: " + list + " has " + entries(s.count)
	default:
		return s.lost.name + " is missing"
	}
}
