package expressions

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/expr-lang/expr/ast"
	"github.com/shopspring/decimal"

	"github.com/nudgewire/nudgewire"
)

func (c *compiler) arithmetic(n *ast.BinaryNode) typed {
	left, right := c.expr(n.Left), c.expr(n.Right)
	result := c.sum(n, left.shape, right.shape)
	if result == nil {
		return unknown
	}
	op, ltext, rtext := n.Operator, describe(n.Left), describe(n.Right)
	return typed{shape: result, eval: func(s *Scope) any {
		a, b := left.eval(s), right.eval(s)
		if a == nil || b == nil {
			return nil
		}
		return calculate(s, op, a, b, ltext, rtext)
	}}
}

// sum is the shape of an operator's result; nil, with the fault noted, where it has none.
func (c *compiler) sum(n *ast.BinaryNode, l, r *shape) *shape {
	op := n.Operator
	plus := op == "+" || op == "-"
	switch {
	case l.number() && r.number():
		if l.kind == KindWhole && r.kind == KindWhole && op == "%" {
			return wholeShape
		}
		return amountShape
	case l.kind == KindTime && r.kind == KindSpan && plus:
		return timeShape
	case l.kind == KindSpan && r.kind == KindTime && op == "+":
		return timeShape
	case l.kind == KindTime && r.kind == KindTime && op == "-":
		return spanShape
	case l.kind == KindSpan && r.kind == KindSpan && plus:
		return spanShape
	case l.kind == KindSpan && r.kind == KindWhole && op == "*", l.kind == KindWhole && r.kind == KindSpan && op == "*":
		return spanShape
	case l.kind == KindText && r.kind == KindText && op == "+":
		return textShape
	case l.kind == KindAny && (r.kind == KindAny || r.scalar()), r.kind == KindAny && l.scalar():
		return anyShape
	}
	left, right := describe(n.Left), describe(n.Right)
	hint := ""
	switch {
	case l.kind == KindText && r.number(), r.kind == KindText && l.number():
		hint = "number(…) reads text as a number, text(…) writes a number as text"
	case l.kind == KindTime && r.number(), l.kind == KindSpan && r.number():
		hint = "a length of time is written with its unit: 90s, 45m, 2h, 3d"
	}
	c.report(n, hint, "%s is %s and %s is %s: %q does not work on them", left, l.words(), right, r.words(), op)
	return nil
}

// maxText bounds what an expression may build; longer texts come from payloads only.
const maxText = 64 << 10

// calculate is a op b for values that are there.
func calculate(s *Scope, op string, a, b any, atext, btext string) any {
	if x, ok := a.(int); ok {
		if y, ok := b.(int); ok {
			if v, ok := whole(op, x, y); ok {
				return v
			}
		}
	}
	if x, ok := amountOf(a); ok {
		if y, ok := amountOf(b); ok {
			return decimals(s, op, x.Decimal(), y.Decimal(), btext)
		}
	}
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok && op == "+" {
			if len(x)+len(y) > maxText {
				return s.fail("the text grows longer than 64 kB")
			}
			return x + y
		}
	case time.Time:
		switch y := b.(type) {
		case time.Duration:
			if op == "+" {
				return x.Add(y)
			} else if op == "-" {
				return x.Add(-y)
			}
		case time.Time:
			if op == "-" {
				return x.Sub(y)
			}
		}
	case time.Duration:
		switch y := b.(type) {
		case time.Time:
			if op == "+" {
				return y.Add(x)
			}
		case time.Duration:
			if op == "+" {
				return x + y
			} else if op == "-" {
				return x - y
			}
		case int:
			if op == "*" {
				return x * time.Duration(y)
			}
		}
	case int:
		if y, ok := b.(time.Duration); ok && op == "*" {
			return y * time.Duration(x)
		}
	}
	return s.fail(fmt.Sprintf("%s is %s and %s is %s: %q does not work on them", atext, wordsFor(a), btext, wordsFor(b), op))
}

// whole calculates with whole numbers; ok is false where the result is none or too large.
func whole(op string, x, y int) (v int, ok bool) {
	switch op {
	case "+":
		v = x + y
		return v, (v > x) == (y > 0)
	case "-":
		v = x - y
		return v, (v < x) == (y > 0)
	case "*":
		hi, _ := bits.Mul64(uint64(max(x, -x)), uint64(max(y, -y)))
		v = x * y
		return v, hi == 0 && (x == 0 || y == 0 || (v > 0) == ((x > 0) == (y > 0)))
	case "%":
		if y != 0 {
			return x % y, true
		}
	}
	return 0, false
}

// maxDigits bounds a number that an expression builds, before and after the point alike.
const maxDigits = 2000

func decimals(s *Scope, op string, x, y decimal.Decimal, divisor string) any {
	if size(x)+size(y) > maxDigits {
		return s.fail("the numbers have too many digits")
	}
	switch op {
	case "+":
		x = x.Add(y)
	case "-":
		x = x.Sub(y)
	case "*":
		x = x.Mul(y)
	default:
		if y.IsZero() {
			return s.fail(divisor + " is 0, and nothing can be divided by it")
		}
		if op == "/" {
			x = x.Div(y)
			if exact, err := decimal.NewFromString(x.String()); err == nil {
				x = exact // 10 / 4 is 2.5, not 2.5000000000000000
			}
		} else {
			x = x.Mod(y)
		}
	}
	return nudgewire.AmountFromDecimal(x)
}

func size(d decimal.Decimal) int {
	e := int(d.Exponent())
	return d.NumDigits() + max(e, -e)
}
