package expressions

import (
	"fmt"
	"strings"
	"time"

	"github.com/expr-lang/expr/ast"
)

func (c *compiler) unary(n *ast.UnaryNode) typed {
	switch n.Operator {
	case "not", "!":
		in := c.flag(n.Node)
		return typed{shape: flagShape, eval: func(s *Scope) any {
			if v, ok := in(s).(bool); ok {
				return !v
			}
			return nil
		}}
	case "-", "+":
		in := c.expr(n.Node)
		switch {
		case !in.shape.number() && in.shape.kind != KindSpan && in.shape.kind != KindAny:
			return c.report(n, "", "%s is %s, not a number", describe(n.Node), in.shape.words())
		case n.Operator == "+":
			return typed{shape: in.shape, eval: in.eval}
		}
		text := describe(n.Node)
		return typed{shape: in.shape, eval: func(s *Scope) any {
			switch v := in.eval(s).(type) {
			case nil:
				return nil
			case time.Duration:
				return -v
			default:
				return calculate(s, "-", 0, v, "0", text)
			}
		}}
	}
	return c.report(n, "", "%q is not known here", n.Operator)
}

func (c *compiler) binary(n *ast.BinaryNode) typed {
	if not, ok := n.Left.(*ast.UnaryNode); ok && (not.Operator == "not" || not.Operator == "!") {
		switch n.Operator {
		case "contains", "in", "matches", "startsWith", "endsWith", "<", ">", "<=", ">=", "+", "-":
			whole := &ast.BinaryNode{Operator: n.Operator, Left: not.Node, Right: n.Right}
			return c.report(n, fmt.Sprintf("write not (%s)", describe(whole)), `"not" means %s alone here`, describe(not.Node))
		}
	}
	switch n.Operator {
	case "and", "&&", "or", "||":
		return c.logic(n)
	case "==", "!=", "<", ">", "<=", ">=":
		return c.comparison(n)
	case "contains":
		return c.contains(n.Left, n.Right)
	case "in":
		return c.within(n)
	case "matches":
		return c.matches(n)
	case "startsWith", "endsWith":
		has := strings.HasPrefix
		if n.Operator == "endsWith" {
			has = strings.HasSuffix
		}
		left, right := c.textual(n.Left), c.textual(n.Right)
		return typed{shape: flagShape, eval: func(s *Scope) any {
			l, lok := left(s).(string)
			r, rok := right(s).(string)
			if !lok || !rok {
				return nil
			}
			return has(l, r)
		}}
	case "+", "-", "*", "/", "%":
		return c.arithmetic(n)
	case "??":
		return c.coalesce(n)
	case "..":
		return c.report(n, "a name has one dot between its parts: cart.total", "the operator \"..\" is not known here")
	default:
		return c.report(n, "", "the operator %q is not known here", n.Operator)
	}
}

// logic is "and" and "or" over true, false and unknown: an unknown side decides nothing
// where the other side decides alone.
func (c *compiler) logic(n *ast.BinaryNode) typed {
	left, right := c.flag(n.Left), c.flag(n.Right)
	decides := any(n.Operator == "or" || n.Operator == "||")
	return typed{shape: flagShape, eval: func(s *Scope) any {
		l := left(s)
		if l == decides {
			return l
		}
		r := right(s)
		if r == decides || l != nil {
			return r
		}
		return nil
	}}
}

func (c *compiler) coalesce(n *ast.BinaryNode) typed {
	left, right := c.expr(n.Left), c.expr(n.Right)
	result := anyShape
	if left.shape.kind == right.shape.kind {
		result = left.shape
	}
	return typed{shape: result, eval: func(s *Scope) any {
		if v := quietly(s, left.eval); present(v) {
			return v
		}
		return right.eval(s)
	}}
}
