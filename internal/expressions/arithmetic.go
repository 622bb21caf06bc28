package expressions

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/expr-lang/expr/ast"
	"github.com/shopspring/decimal"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

func (c *compiler) arithmetic(n *ast.BinaryNode) typed {
	left, right := c.expr(n.Left), c.expr(n.Right)
	op, ltext, rtext := n.Operator, describe(n.Left), describe(n.Right)
	result, ok := resultOf(op, left.shape.kind, right.shape.kind)
	if !ok {
		hint := ""
		switch l, r := left.shape, right.shape; {
		case l.kind == KindText && r.number(), r.kind == KindText && l.number():
			hint = "number(…) reads text as a number, text(…) writes a number as text"
		case l.kind == KindTime && r.number(), l.kind == KindSpan && r.number():
			hint = "a length of time is written with its unit: 90s, 45m, 2h, 3d"
		}
		return c.report(n, hint, noSuchSum, ltext, left.shape.words(), rtext, right.shape.words(), op)
	}
	return typed{shape: &shape{kind: result}, eval: func(s *Scope) any {
		a, b := left.eval(s), right.eval(s)
		if s.prints && result == KindText { // a message joins what is there: a first name without a last one
			a, b = joinable(a, b), joinable(b, a)
		}
		if a == nil || b == nil {
			return nil
		}
		return calculate(s, op, a, b, ltext, rtext)
	}}
}

// joinable is a text to join with other; empty where it is missing and the other is there.
func joinable(text, other any) any {
	if _, ok := other.(string); ok && text == nil {
		return ""
	}
	return text
}

const noSuchSum = "%s is %s and %s is %s: %q does not work on them"

// resultOf is the kind of an operator's result; ok is false where it has none.
func resultOf(op string, l, r Kind) (result Kind, ok bool) {
	number := func(k Kind) bool { return k == KindWhole || k == KindAmount }
	plus := op == "+" || op == "-"
	switch {
	case number(l) && number(r):
		if l == KindWhole && r == KindWhole && op == "%" {
			return KindWhole, true
		}
		return KindAmount, true
	case l == KindTime && r == KindSpan && plus, l == KindSpan && r == KindTime && op == "+":
		return KindTime, true
	case l == r && (l == KindTime && op == "-" || l == KindSpan && plus):
		return KindSpan, true
	case op == "*" && (l == KindSpan && r == KindWhole || l == KindWhole && r == KindSpan):
		return KindSpan, true
	case l == KindText && r == KindText && op == "+":
		return KindText, true
	default:
		return KindAny, l == KindAny && r.Scalar() || r == KindAny && l.Scalar()
	}
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
	if _, ok := resultOf(op, kindOf(a), kindOf(b)); !ok {
		return s.fail(fmt.Sprintf(noSuchSum, atext, wordsFor(a), btext, wordsFor(b), op))
	}
	if text, ok := a.(string); ok {
		if more := b.(string); len(text)+len(more) <= maxText {
			return text + more
		}
		return s.fail("the text grows longer than 64 kB")
	}
	from, first := a.(time.Time)
	to, second := b.(time.Time)
	x, _ := a.(time.Duration)
	y, _ := b.(time.Duration)
	if op == "-" {
		y = -y
	}
	switch {
	case op == "*":
		n, ok := a.(int)
		if !ok {
			n, y = b.(int), x
		}
		return y * time.Duration(n)
	case first && second:
		return from.Sub(to)
	case first:
		return from.Add(y)
	case second:
		return to.Add(x)
	default:
		return x + y
	}
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
	return messaging.AmountFromDecimal(x)
}

func size(d decimal.Decimal) int {
	e := int(d.Exponent())
	return d.NumDigits() + max(e, -e)
}
