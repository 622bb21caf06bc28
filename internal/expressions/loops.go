package expressions

import (
	"github.com/expr-lang/expr/ast"
	"github.com/tidwall/gjson"
)

// A loop is a function that looks at every entry of a list: any(cart.items, .price > 100).
type loop struct {
	form  string
	tests bool                                    // its body is true or false
	adds  bool                                    // its body is a number, and may be left out
	gives func(elem, body *shape) *shape          // elem is that of the list
	run   func(s *Scope, list any, body eval) any // body is never nil
}

var loops = map[string]loop{
	"any":    {form: "any(cart.items, .price > 100)", tests: true, gives: isFlag, run: runAny},
	"all":    {form: "all(cart.items, .price > 100)", tests: true, gives: isFlag, run: runAll},
	"none":   {form: "none(cart.items, .price > 100)", tests: true, gives: isFlag, run: runNone},
	"one":    {form: "one(cart.items, .price > 100)", tests: true, gives: isFlag, run: runOne},
	"count":  {form: "count(cart.items, .price > 100)", tests: true, gives: isWhole, run: runCount},
	"filter": {form: "filter(cart.items, .price > 100)", tests: true, gives: sameList, run: runFilter},
	"find":   {form: "find(cart.items, .price > 100)", tests: true, gives: oneElement, run: runFind},
	"map":    {form: "map(cart.items, .title)", gives: bodyList, run: runMap},
	"sum":    {form: "sum(cart.items, .quantity)", adds: true, gives: isAmount, run: runSum},
}

func isFlag(_, _ *shape) *shape        { return flagShape }
func isWhole(_, _ *shape) *shape       { return wholeShape }
func isAmount(_, _ *shape) *shape      { return amountShape }
func oneElement(elem, _ *shape) *shape { return elem }
func sameList(elem, _ *shape) *shape   { return listOf(elem) }
func bodyList(_, body *shape) *shape   { return listOf(body) }

// loop compiles a loop with its list and body.
func (c *compiler) loop(n ast.Node, l loop, args []ast.Node) typed {
	if len(args) != 2 && !(l.adds && len(args) == 1) {
		return c.report(n, "", "a list and what to ask of each entry are expected: write %s", l.form)
	}
	list := c.expr(args[0])
	elem := anyShape
	switch list.shape.kind {
	case KindList:
		elem = list.shape.elem
	case KindAny:
	default:
		return c.report(args[0], "", "%s is %s, not a list", describe(args[0]), list.shape.words())
	}
	body := typed{shape: elem, eval: func(s *Scope) any { return s.here[len(s.here)-1] }}
	if len(args) == 2 {
		inner := args[1]
		if p, ok := inner.(*ast.PredicateNode); ok {
			inner = p.Node
		}
		c.elems = append(c.elems, elem)
		if l.tests {
			body = typed{shape: flagShape, eval: c.flag(inner)}
		} else {
			body = c.expr(inner)
		}
		c.elems = c.elems[:len(c.elems)-1]
	}
	if l.adds && !body.shape.number() && body.shape.kind != KindAny {
		return c.report(n, "write sum(cart.items, .quantity)", "sum adds numbers, and this is %s", body.shape.words())
	}
	text := describe(args[0])
	return typed{shape: l.gives(elem, body.shape), eval: func(s *Scope) any {
		v := list.eval(s)
		if v == nil {
			return nil
		}
		if length(v) < 0 {
			return s.fail(text + " is " + wordsFor(v) + ", not a list")
		}
		return l.run(s, v, body.eval)
	}}
}

// each visits the entries of a list, a step for each; it is false when it was stopped by
// the visitor or by the budget.
func each(s *Scope, list any, visit func(any) bool) bool {
	step := func(v any) bool { return s.spend(1) && visit(v) }
	if raw, ok := list.(gjson.Result); ok {
		done := true
		rawElements(raw, func(v any) bool {
			done = step(v)
			return done
		})
		return done
	}
	for i := range length(list) {
		if v, _ := entry(list, i); !step(v) {
			return false
		}
	}
	return true
}

// turn runs body with v as "#".
func (s *Scope) turn(body eval, v any) any {
	s.here = append(s.here, v)
	result := body(s)
	s.here = s.here[:len(s.here)-1]
	return result
}

// ask counts the entries for which body is true. It stops at the first answer equal to stop. An
// answer that is unknown, or a spent budget, makes the count unsure.
func ask(s *Scope, list any, body eval, stop any) (yes int, stopped, unsure bool) {
	whole := each(s, list, func(v any) bool {
		answer := s.turn(body, v)
		if answer == true {
			yes++
		}
		unsure = unsure || answer == nil
		stopped = stop != nil && answer == stop
		return !stopped
	})
	return yes, stopped, unsure || !whole && !stopped
}

func runAny(s *Scope, list any, body eval) any {
	_, found, unsure := ask(s, list, body, true)
	if unsure && !found {
		return nil
	}
	return found
}

func runAll(s *Scope, list any, body eval) any {
	_, failed, unsure := ask(s, list, body, false)
	if unsure && !failed {
		return nil
	}
	return !failed
}

func runNone(s *Scope, list any, body eval) any {
	if found, ok := runAny(s, list, body).(bool); ok {
		return !found
	}
	return nil
}

func runOne(s *Scope, list any, body eval) any {
	if n, ok := runCount(s, list, body).(int); ok {
		return n == 1
	}
	return nil
}

func runCount(s *Scope, list any, body eval) any {
	yes, _, unsure := ask(s, list, body, nil)
	if unsure {
		return nil
	}
	return yes
}

// runFilter of a condition is unknown where an entry is: nobody can tell whether it belongs there.
func runFilter(s *Scope, list any, body eval) any {
	unsure := false
	out := collect(s, list, func(v any) (any, bool) {
		answer := s.turn(body, v)
		unsure = unsure || answer == nil
		return v, answer == true
	})
	if unsure && !s.prints {
		return nil
	}
	return out
}

// runMap of a text leaves out what is unknown: the title of an item that has none is no entry. For a condition it is an entry that
// may be anything.
func runMap(s *Scope, list any, body eval) any {
	return collect(s, list, func(v any) (any, bool) {
		result := s.turn(body, v)
		return result, result != nil || !s.prints
	})
}

func collect(s *Scope, list any, take func(v any) (any, bool)) any {
	out := []any{}
	if !each(s, list, func(v any) bool {
		if one, ok := take(v); ok {
			out = append(out, one)
		}
		return true
	}) {
		return nil
	}
	return out
}

func runFind(s *Scope, list any, body eval) any {
	var found any
	each(s, list, func(v any) bool {
		if s.turn(body, v) == true {
			found = v
		}
		return found == nil
	})
	if found == nil {
		return s.fail("no entry of the list fits")
	}
	return found
}

func runSum(s *Scope, list any, body eval) any {
	total := any(0)
	if !each(s, list, func(v any) bool {
		r := s.turn(body, v)
		if r == nil {
			total = nil
			return false
		}
		total = calculate(s, "+", total, r, "the sum", "an entry")
		return total != nil
	}) {
		return nil
	}
	return total
}
