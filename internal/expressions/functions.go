package expressions

// To add a function, put it into functions below (into loops, in loops.go, if it takes a list and a
// condition), write its run in calls.go or dates.go, and give it a line with an example in
// docs/expressions.md: a test evaluates the example and misses the line.

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/nudgewire/nudgewire/internal/nearest"
)

// A function is one word of the expression language that takes arguments. None has a side
// effect, and none gives more than maxText.
type function struct {
	form  string // how it is written, for advice
	min   int    // the fewest arguments; len(takes) at the most
	takes []accept
	gives *shape
	run   func(s *Scope, args []any) any     // args are never nil, and of the kinds taken
	check func(c *compiler, args []ast.Node) // of arguments written out; nil for none
}

// accept says which values an argument may be.
type accept struct {
	words string
	kinds []Kind
}

var (
	takesText   = accept{"text", []Kind{KindText}}
	takesScalar = accept{"one value", []Kind{KindText, KindWhole, KindAmount, KindFlag, KindTime, KindSpan}}
	takesNumber = accept{"a number", []Kind{KindWhole, KindAmount}}
	takesTime   = accept{"a time", []Kind{KindTime}}
	takesList   = accept{"a list", []Kind{KindList}}
	takesSized  = accept{"a list or text", []Kind{KindList, KindText, KindTable}}
	takesDigits = accept{"text or a number", []Kind{KindText, KindWhole, KindAmount}}
)

// functions are those that take values, by name; loops has the others.
var functions = map[string]*function{
	"len":      {form: "len(list)", min: 1, takes: []accept{takesSized}, gives: wholeShape, run: runLen},
	"upper":    {form: "upper(text)", min: 1, takes: []accept{takesText}, gives: textShape, run: onText(strings.ToUpper)},
	"lower":    {form: "lower(text)", min: 1, takes: []accept{takesText}, gives: textShape, run: onText(strings.ToLower)},
	"trim":     {form: "trim(text)", min: 1, takes: []accept{takesText}, gives: textShape, run: onText(strings.TrimSpace)},
	"text":     {form: "text(value)", min: 1, takes: []accept{takesScalar}, gives: textShape, run: func(s *Scope, a []any) any { return s.print(a[0]) }},
	"number":   {form: "number(text)", min: 1, takes: []accept{takesDigits}, gives: amountShape, run: runNumber},
	"time":     {form: "time(text)", min: 1, takes: []accept{takesDigits}, gives: timeShape, run: runTime},
	"duration": {form: `duration("2h")`, min: 1, takes: []accept{takesText}, gives: spanShape, run: runDuration},
	"date":     {form: `date(time, "D MMM YYYY")`, min: 1, takes: []accept{takesTime, takesText}, gives: textShape, run: runDate, check: checkDate},
	"money":    {form: "money(amount, currency)", min: 1, takes: []accept{takesNumber, takesText}, gives: textShape, run: runMoney},
	"round":    {form: "round(number, digits)", min: 1, takes: []accept{takesNumber, takesNumber}, gives: amountShape, run: runRound},
	"join":     {form: `join(list, ", ")`, min: 1, takes: []accept{takesList, takesText}, gives: textShape, run: runJoin},
	"split":    {form: `split(text, ",")`, min: 2, takes: []accept{takesText, takesText}, gives: textList, run: runSplit},
	"replace":  {form: `replace(text, "old", "new")`, min: 3, takes: []accept{takesText, takesText, takesText}, gives: textShape, run: runReplace},
}

func functionNames() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(functions)), maps.Keys(loops))
	slices.Sort(names)
	return names
}

// call compiles a function with its arguments.
func (c *compiler) call(n ast.Node, name string, args []ast.Node) typed {
	if t, is := c.pastCall(n, name, args); is {
		return t
	}
	if l, ok := loops[name]; ok {
		return c.loop(n, l, args)
	}
	f := functions[name]
	if f == nil {
		return c.unknownFunction(n, name)
	}
	if len(args) < f.min || len(args) > len(f.takes) {
		return c.report(n, "", "%s takes %s, not %d: write %s", name, arity(f.min, len(f.takes)), len(args), f.form)
	}
	evals, texts, bad := make([]eval, len(args)), make([]string, len(args)), false
	for i, arg := range args {
		t := c.expr(arg)
		evals[i], texts[i] = t.eval, describe(arg)
		if t.shape.kind != KindAny && !f.takes[i].takes(t.shape.kind) {
			c.report(arg, "", "%s is %s; %s wants %s", texts[i], t.shape.words(), name, f.takes[i].words)
			bad = true
		}
	}
	if bad {
		return unknown
	}
	if f.check != nil {
		f.check(c, args)
	}
	return typed{shape: f.gives, eval: func(s *Scope) any {
		values := make([]any, len(evals))
		for i, e := range evals {
			v := e(s)
			if v == nil && s.prints && i >= f.min { // an amount without a currency is printed without
				return f.run(s, values[:i])
			}
			if v == nil {
				return nil
			}
			if !f.takes[i].takes(kindOf(v)) {
				return s.unfit(fmt.Sprintf("%s is %s; %s wants %s", texts[i], wordsFor(v), name, f.takes[i].words))
			}
			if text, ok := v.(string); ok && !s.spend(1+len(text)/1000) {
				return nil
			}
			values[i] = v
		}
		return f.run(s, values)
	}}
}

func (c *compiler) unknownFunction(n ast.Node, name string) typed {
	names := functionNames()
	if c.past != nil {
		names = append(names, pastNames()...)
	}
	hint := "the functions are " + strings.Join(names, ", ")
	switch _, isName := roots[name]; {
	case name == "default":
		hint = `write | default: "…"`
	case isName && c.past == nil:
		hint = fmt.Sprintf("%s is a name: write it without brackets", name)
	case nearest.Of(name, names) != "":
		hint = fmt.Sprintf("did you mean %q?", nearest.Of(name, names))
	case c.past == nil && slices.Contains(pastNames(), name):
		hint = "it is known in the contacts: of a job only"
	}
	return c.reportAt(n.Location().From, hint, "unknown function %q", name)
}

func arity(minArgs, maxArgs int) string {
	switch {
	case minArgs < maxArgs:
		return fmt.Sprintf("%d to %d arguments", minArgs, maxArgs)
	case maxArgs == 1:
		return "one argument"
	default:
		return fmt.Sprintf("%d arguments", maxArgs)
	}
}

func (a accept) takes(k Kind) bool { return slices.Contains(a.kinds, k) }
