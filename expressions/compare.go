package expressions

import (
	"fmt"
	"strings"
	"time"

	"github.com/expr-lang/expr/ast"

	"github.com/nudgewire/nudgewire"
)

// equality compares; a comparison with the word nil asks whether the value was told at all.
func (c *compiler) equality(n *ast.BinaryNode) typed {
	equal := n.Operator == "=="
	left, right := c.expr(n.Left), c.expr(n.Right)
	if left.shape.kind == KindNil || right.shape.kind == KindNil {
		asked := left.eval
		if left.shape.kind == KindNil {
			asked = right.eval
		}
		return typed{shape: flagShape, eval: func(s *Scope) any { return told(quietly(s, asked)) != equal }}
	}
	if !c.together(n, left.shape, right.shape, false) {
		return unknown
	}
	l, r := sharpen(n.Left, left, right), sharpen(n.Right, right, left)
	ltext, rtext := describe(n.Left), describe(n.Right)
	return typed{shape: flagShape, eval: func(s *Scope) any {
		a, b := l(s), r(s)
		if a == nil || b == nil {
			return nil
		}
		if x, ok := a.(string); ok {
			if y, ok := b.(string); ok {
				return (x == y) == equal
			}
		}
		if x, ok := a.(bool); ok {
			if y, ok := b.(bool); ok {
				return (x == y) == equal
			}
		}
		cmp, ok := compare(s, a, b, ltext, rtext)
		if !ok {
			return nil
		}
		return (cmp == 0) == equal
	}}
}

func (c *compiler) order(n *ast.BinaryNode) typed {
	left, right := c.expr(n.Left), c.expr(n.Right)
	if !c.together(n, left.shape, right.shape, true) {
		return unknown
	}
	var holds func(int) bool
	switch n.Operator {
	case "<":
		holds = func(cmp int) bool { return cmp < 0 }
	case "<=":
		holds = func(cmp int) bool { return cmp <= 0 }
	case ">":
		holds = func(cmp int) bool { return cmp > 0 }
	default:
		holds = func(cmp int) bool { return cmp >= 0 }
	}
	l, r := sharpen(n.Left, left, right), sharpen(n.Right, right, left)
	ltext, rtext := describe(n.Left), describe(n.Right)
	return typed{shape: flagShape, eval: func(s *Scope) any {
		a, b := l(s), r(s)
		if a == nil || b == nil {
			return nil
		}
		cmp, ok := compare(s, a, b, ltext, rtext)
		if !ok {
			return nil
		}
		return holds(cmp)
	}}
}

// sharpen turns a whole number written beside an amount into an amount once, not per event.
func sharpen(n ast.Node, t, beside typed) eval {
	if whole, ok := n.(*ast.IntegerNode); ok && beside.shape.kind == KindAmount {
		return constant(amountShape, nudgewire.AmountOf(int64(whole.Value))).eval
	}
	return t.eval
}

// together reports whether two shapes can be compared, and the fault where they cannot.
func (c *compiler) together(n *ast.BinaryNode, l, r *shape, ordered bool) bool {
	for _, side := range []struct {
		node ast.Node
		is   *shape
	}{{n.Left, l}, {n.Right, r}} {
		switch side.is.kind {
		case KindList:
			c.report(side.node, fmt.Sprintf(`ask what is in it, as in %s contains "…", or for len(%s)`, describe(side.node), describe(side.node)),
				"%s is a list and cannot be compared", describe(side.node))
			return false
		case KindTable, KindObject:
			c.report(side.node, fieldHint(describe(side.node), side.is), "%s is %s and cannot be compared", describe(side.node), side.is.words())
			return false
		case KindNil, KindFlag:
			if ordered {
				c.report(side.node, "", "%s is %s: it is neither more nor less than anything", describe(side.node), side.is.words())
				return false
			}
		}
	}
	if l.kind == KindAny || r.kind == KindAny || l.kind == r.kind || l.number() && r.number() {
		return true
	}
	left, right := describe(n.Left), describe(n.Right)
	hint := ""
	switch {
	case l.number() && isText(n.Right), r.number() && isText(n.Left):
		hint = "numbers are written without quotes"
	case l.number() && r.kind == KindText:
		hint = fmt.Sprintf("number(%s) reads it as a number", right)
	case r.number() && l.kind == KindText:
		hint = fmt.Sprintf("number(%s) reads it as a number", left)
	case l.kind == KindSpan && r.number(), r.kind == KindSpan && l.number():
		hint = "a length of time is written with its unit: 90s, 45m, 2h, 3d"
	case l.kind == KindTime && r.kind == KindText:
		hint = fmt.Sprintf("time(%s) reads it as a time", right)
	case l.kind == KindTime && r.kind == KindSpan:
		hint = fmt.Sprintf("compare how long ago it is, as in now - %s", left)
	}
	c.report(n.Left, hint, "%s is %s, not %s like %s", left, l.words(), r.words(), right)
	return false
}

func isText(n ast.Node) bool { _, ok := n.(*ast.StringNode); return ok }

func fieldHint(text string, s *shape) string {
	if s.kind != KindObject {
		return ""
	}
	return "name one of its fields: " + text + "." + strings.Join(s.names(), ", .")
}

// compare is -1, 0 or 1; ok is false, with the fault noted, for values of different kinds.
func compare(s *Scope, a, b any, atext, btext string) (cmp int, ok bool) {
	if x, ok := a.(int); ok {
		if y, ok := b.(int); ok {
			switch {
			case x < y:
				return -1, true
			case x > y:
				return 1, true
			}
			return 0, true
		}
	}
	if x, ok := amountOf(a); ok {
		if y, ok := amountOf(b); ok {
			return x.Cmp(y), true
		}
	}
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return strings.Compare(x, y), true
		}
	case time.Time:
		if y, ok := b.(time.Time); ok {
			return x.Compare(y), true
		}
	case time.Duration:
		if y, ok := b.(time.Duration); ok {
			switch {
			case x < y:
				return -1, true
			case x > y:
				return 1, true
			}
			return 0, true
		}
	}
	words := fmt.Sprintf("%s is %s, not %s like %s", atext, wordsFor(a), wordsFor(b), btext)
	if _, text := a.(string); text {
		if _, number := amountOf(b); number {
			words += fmt.Sprintf("; number(%s) reads it as a number", atext)
		}
	}
	s.fail(words)
	return 0, false
}

// same is equality between values of any kind.
func same(a, b any) bool {
	if x, ok := amountOf(a); ok {
		y, ok := amountOf(b)
		return ok && x.Cmp(y) == 0
	}
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		return ok && x == y
	case bool:
		y, ok := b.(bool)
		return ok && x == y
	case time.Time:
		y, ok := b.(time.Time)
		return ok && x.Equal(y)
	case time.Duration:
		y, ok := b.(time.Duration)
		return ok && x == y
	}
	return false
}
