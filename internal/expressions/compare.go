package expressions

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/expr-lang/expr/ast"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// comparisons are the operators that compare, by what they make of -1, 0 or 1.
var comparisons = map[string]func(order int) bool{
	"==": func(order int) bool { return order == 0 },
	"!=": func(order int) bool { return order != 0 },
	"<":  func(order int) bool { return order < 0 },
	"<=": func(order int) bool { return order <= 0 },
	">":  func(order int) bool { return order > 0 },
	">=": func(order int) bool { return order >= 0 },
}

// comparison compiles those. One with the word nil asks whether there is a value at all.
func (c *compiler) comparison(n *ast.BinaryNode) typed {
	holds, ordered := comparisons[n.Operator], n.Operator[0] == '<' || n.Operator[0] == '>'
	left, right := c.expr(n.Left), c.expr(n.Right)
	if !ordered && (left.shape.kind == KindNil || right.shape.kind == KindNil) {
		asked, missing := left.eval, n.Operator == "=="
		if left.shape.kind == KindNil {
			asked = right.eval
		}
		return typed{shape: flagShape, eval: func(s *Scope) any { return present(quietly(s, asked)) != missing }}
	}
	if !c.together(n, left.shape, right.shape, ordered) {
		return unknown
	}
	l, r := sharpen(n.Left, left, right), sharpen(n.Right, right, left)
	ltext, rtext := describe(n.Left), describe(n.Right)
	return typed{shape: flagShape, eval: func(s *Scope) any {
		a, b := l(s), r(s)
		if a == nil || b == nil {
			return nil
		}
		order, ok := compare(a, b)
		if _, flag := a.(bool); !ok || ordered && flag {
			return s.fail(cannotCompare(a, b, ltext, rtext))
		}
		return holds(order)
	}}
}

// sharpen turns a whole number written beside an amount into an amount once, not per event.
func sharpen(n ast.Node, t, beside typed) eval {
	if whole, ok := n.(*ast.IntegerNode); ok && beside.shape.kind == KindAmount {
		return constant(amountShape, messaging.AmountOf(int64(whole.Value))).eval
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

// compare is -1, 0 or 1 for two values of one kind; ok is false for others. Of true and false only
// 0 has a meaning.
func compare(a, b any) (order int, ok bool) {
	switch x := a.(type) {
	case int:
		if y, ok := b.(int); ok {
			return cmp.Compare(x, y), true
		}
	case string:
		y, ok := b.(string)
		return strings.Compare(x, y), ok
	case bool:
		if y, ok := b.(bool); !ok || x != y {
			return 1, ok
		}
		return 0, true
	case time.Time:
		y, ok := b.(time.Time)
		return x.Compare(y), ok
	case time.Duration:
		y, ok := b.(time.Duration)
		return cmp.Compare(x, y), ok
	}
	x, xok := amountOf(a)
	y, yok := amountOf(b)
	if !xok || !yok {
		return 0, false
	}
	return x.Cmp(y), true
}

func same(a, b any) bool {
	order, ok := compare(a, b)
	return ok && order == 0
}

func cannotCompare(a, b any, atext, btext string) string {
	words := fmt.Sprintf("%s is %s, not %s like %s", atext, wordsFor(a), wordsFor(b), btext)
	if _, number := amountOf(b); number && kindOf(a) == KindText {
		words += fmt.Sprintf("; number(%s) reads it as a number", atext)
	}
	return words
}
