package expressions

import (
	"fmt"
	"slices"

	"github.com/expr-lang/expr/ast"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// The compiler checks an expression and turns it into a closure in one walk over the tree
// that expr-lang/expr parsed. The library's own checker and machine are not used, for
// reasons met by running them (v1.17.8):
//
//   - it stops at the first mistake, and its words are Go's ("mismatched types
//     messaging.Amount and string");
//   - operator overloads are picked by static type, so amounts inside the untyped payload
//     never meet them (`raw.total >= 50` fails as "messaging.Amount >= int"); and with any
//     of them set, a misspelt name inside the arguments of a typed function passes the check
//     (TestTheLibraryStillMissesMisspeltArguments);
//   - a missing value ends the whole evaluation, where `raw.a > 5 or raw.b > 5` should
//     still look at b;
//   - it counts memory, not work: all(raw.a, # in raw.a) took 0.45 s for 10,000 short texts,
//     and one megabyte holds 250,000.
type compiler struct {
	text   string
	faults []Fault
	elems  []*shape  // what "#" is in the loops around us, innermost last
	paths  []*path   // the names that the expression reads, each once, in order
	row    *rowNames // for the text of a list's row; nil for an event's
	step   bool      // "previous" is known

	past *[]PastQuestion // for an audience: what it asks of each contact's past; nil elsewhere

	textAsFlag bool // a text was met where true or false is wanted
}

// typed is a checked expression.
type typed struct {
	shape  *shape
	eval   eval
	path   *path // for a name with its members; nil for everything else
	looped bool  // path begins at a loop's element, so it has no value outside
}

// unknown is an expression that was already reported: no second fault follows.
var unknown = typed{shape: anyShape, eval: func(*Scope) any { return nil }}

// compileText parses and checks an expression over an event, or over a row where its columns are
// given. Faults are in the order of the text.
func compileText(text string, row *rowNames) (typed, *compiler) {
	c := &compiler{text: text, row: row}
	node, bad := parse(c.text)
	if bad != nil {
		c.faults = append(c.faults, *bad)
		return unknown, c
	}
	return c.expr(node), c
}

func (c *compiler) report(at ast.Node, hint, format string, args ...any) typed {
	return c.reportAt(start(at), hint, format, args...)
}

func (c *compiler) reportAt(runes int, hint, format string, args ...any) typed {
	c.faults = append(c.faults, Fault{byteOffset(c.text, runes), fmt.Sprintf(format, args...), hint})
	return unknown
}

// expr compiles any expression and notes the names it reads.
func (c *compiler) expr(n ast.Node) typed {
	t := c.node(n)
	if t.path != nil && !t.looped {
		c.note(t.path)
	}
	return t
}

func (c *compiler) note(p *path) {
	if !slices.ContainsFunc(c.paths, func(known *path) bool { return known.name == p.name }) {
		c.paths = append(c.paths, p)
	}
}

func (c *compiler) node(n ast.Node) typed {
	switch n := n.(type) {
	case *ast.IntegerNode:
		return constant(wholeShape, n.Value)
	case *ast.FloatNode:
		return constant(amountShape, messaging.AmountFromFloat(n.Value))
	case *ast.StringNode:
		return constant(textShape, n.Value)
	case *ast.BoolNode:
		return constant(flagShape, n.Value)
	case *ast.NilNode:
		return constant(nilShape, nil)
	case *ast.IdentifierNode:
		return c.name(n)
	case *ast.PointerNode:
		return c.element(n)
	case *ast.MemberNode:
		return c.member(n)
	case *ast.ChainNode: // "a?.b": a missing name is never an error here
		return c.node(n.Node)
	case *ast.UnaryNode:
		return c.unary(n)
	case *ast.BinaryNode:
		return c.binary(n)
	case *ast.ConditionalNode:
		return c.conditional(n)
	case *ast.ArrayNode:
		return c.array(n)
	case *ast.BuiltinNode:
		return c.call(n, n.Name, n.Arguments)
	case *ast.CallNode:
		if name, ok := n.Callee.(*ast.IdentifierNode); ok {
			return c.call(n, name.Value, n.Arguments)
		}
		return c.report(n, "write it without the brackets", "%s is not a function", describe(n.Callee))
	case *ast.SliceNode:
		return c.report(n, "", "a part of a list or text, [from:to], cannot be taken here")
	case *ast.VariableDeclaratorNode, *ast.SequenceNode:
		return c.report(n, "", "one expression is expected, without \"let\" and \";\"")
	default:
		return c.report(n, "", "%s cannot be used here", describe(n))
	}
}

func constant(s *shape, v any) typed { return typed{shape: s, eval: func(*Scope) any { return v }} }

func (c *compiler) array(n *ast.ArrayNode) typed {
	entries := make([]eval, len(n.Nodes))
	elem := anyShape
	for i, one := range n.Nodes {
		t := c.expr(one)
		if !t.shape.scalar() {
			c.report(one, "", "%s is %s and cannot be in a list", describe(one), t.shape.words())
		}
		if elem = t.shape; i > 0 {
			elem = anyShape
		}
		entries[i] = t.eval
	}
	return typed{shape: listOf(elem), eval: func(s *Scope) any {
		list := make([]any, len(entries))
		for i, e := range entries {
			list[i] = e(s)
		}
		return list
	}}
}

func (c *compiler) conditional(n *ast.ConditionalNode) typed {
	cond, yes, no := c.flag(n.Cond), c.expr(n.Exp1), c.expr(n.Exp2)
	result := anyShape
	switch {
	case yes.shape.kind == no.shape.kind && yes.shape.kind != KindObject && yes.shape.kind != KindList:
		result = yes.shape
	case yes.shape.number() && no.shape.number():
		result = amountShape
	}
	return typed{shape: result, eval: func(s *Scope) any {
		switch cond(s) {
		case true:
			return yes.eval(s)
		case false:
			return no.eval(s)
		default:
			return nil
		}
	}}
}

// flag compiles an expression that must be true or false, textual one that must be text. An
// expression of the payload is checked when it has a value.
func (c *compiler) flag(n ast.Node) eval { return c.wanted(n, KindFlag) }

func (c *compiler) textual(n ast.Node) eval { return c.wanted(n, KindText) }

func (c *compiler) wanted(n ast.Node, kind Kind) eval {
	t, text := c.expr(n), describe(n)
	if t.shape.kind == kind {
		return t.eval
	}
	if t.shape.kind == KindAny {
		return func(s *Scope) any {
			v := t.eval(s)
			if v == nil || kindOf(v) == kind {
				return v
			}
			return s.fail(text + " is " + wordsFor(v) + ", not " + kind.words())
		}
	}
	hint := ""
	switch {
	case kind == KindFlag:
		hint = asCondition(text, t.shape.kind)
		c.textAsFlag = c.textAsFlag || t.shape.kind == KindText
	case t.shape.number():
		hint = fmt.Sprintf("text(%s) is its digits", text)
	}
	c.report(n, hint, "%s is %s, not %s", text, t.shape.words(), kind.words())
	return unknown.eval
}
