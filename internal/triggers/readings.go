package triggers

import (
	"fmt"
	"slices"

	"github.com/nudgewire/nudgewire/internal/expressions"
)

// A Reading is a text of a rule with what of the event it reads.
type Reading struct {
	Path   string   // within the rule: "if[0]", "send.variables[1]"
	Fields []string // as a connector's map calls them: "order.total"
	Raw    []string // places of the payload, from its top
}

// Readings are those of a rule. A text that cannot be compiled is left out: it has its problem already.
func Readings(r *Rule) (all []Reading) {
	condition := func(path, text string, compile func(string) (*expressions.Condition, []expressions.Fault)) {
		if c, faults := compile(text); len(faults) == 0 {
			all = append(all, Reading{path, c.Fields(), c.Raw()})
		}
	}
	value := func(path, text string) {
		if e, faults := expressions.Compile(text); text != "" && len(faults) == 0 {
			all = append(all, Reading{path, e.Fields(), e.Raw()})
		}
	}
	for i, text := range r.If {
		condition(fmt.Sprintf("if[%d]", i), text, expressions.CompileCondition)
	}
	for i := range r.Steps {
		for j, text := range r.Steps[i].If {
			condition(fmt.Sprintf("steps[%d].if[%d]", i, j), text, expressions.CompileStep)
		}
	}
	value("key", r.Key)
	for path, wait := range r.Delays() {
		if _, _, clock := wait.Clock(); !clock {
			value(path, wait.Until)
		}
	}
	for path, text := range Templates(r) {
		all = append(all, Reading{path, text.Fields(), text.Raw()})
	}
	return all
}

// Templates are the texts that are filled in for a message of a rule, by where they stand.
func Templates(r *Rule) func(yield func(path string, text *expressions.Template) bool) {
	return func(yield func(path string, text *expressions.Template) bool) {
		for at, send := range r.Sends() {
			type written struct{ path, text string }
			all := []written{{"language", send.Language}, {"text", send.Text}}
			for i, text := range send.Variables {
				all = append(all, written{fmt.Sprintf("variables[%d]", i), text})
			}
			if h := send.Header; h != nil {
				for _, m := range h.Media() {
					all = append(all, written{"header." + m.Kind, m.Address})
				}
				all = append(all, written{"header.filename", h.Filename})
			}
			for _, one := range all {
				if t, faults := expressions.CompileTemplate(one.text); one.text != "" && len(faults) == 0 && !yield(at+"."+one.path, t) {
					return
				}
			}
		}
	}
}

// Raw are the places of payloads that any of the rules reads.
func (s *Set) Raw() (all []string) {
	for _, r := range s.rules {
		for _, one := range Readings(&r.Rule) {
			all = append(all, one.Raw...)
		}
	}
	return all
}

// A Reader is a rule that an event matters to, with what of the event it reads.
type Reader struct {
	Trigger string
	Fields  []string
	Raw     []string
	Sends   bool // the event makes it plan a message, so it reads the phone, too
}

// Readers are the rules that listen to an event: those that plan because of it read all that their texts name, and those that only cancel
// their key.
func (s *Set) Readers(connector, kind string) (all []Reader) {
	for _, l := range s.listeners(ref{connector, kind}) {
		if !l.until.IsZero() { // a rule of before
			continue
		}
		one := Reader{Trigger: l.Name, Sends: l.plans, Fields: KeyFields(&l.Rule)}
		if l.plans {
			for _, r := range Readings(&l.Rule) {
				one.Fields, one.Raw = append(one.Fields, r.Fields...), append(one.Raw, r.Raw...)
			}
		}
		slices.Sort(one.Fields)
		slices.Sort(one.Raw)
		one.Fields, one.Raw = slices.Compact(one.Fields), slices.Compact(one.Raw)
		all = append(all, one)
	}
	return all
}
