package expressions

import (
	"fmt"

	"github.com/expr-lang/expr/ast"
)

// start is where an expression begins, in characters: the parser notes operators and last
// names, people look at the first.
func start(n ast.Node) int {
	at := n.Location().From
	first := func(inner ...ast.Node) int {
		for _, i := range inner {
			if i != nil {
				at = min(at, start(i))
			}
		}
		return at
	}
	switch n := n.(type) {
	case *ast.BinaryNode:
		return start(n.Left)
	case *ast.MemberNode:
		return first(n.Node)
	case *ast.SliceNode:
		return first(n.Node)
	case *ast.ChainNode:
		return start(n.Node)
	case *ast.ConditionalNode:
		return start(n.Cond)
	case *ast.UnaryNode:
		return first(n.Node)
	case *ast.CallNode:
		return min(first(n.Arguments...), first(n.Callee))
	case *ast.BuiltinNode:
		return first(n.Arguments...)
	case *ast.PredicateNode:
		return start(n.Node)
	}
	return at
}

// describe is an expression in a sentence, cut where it is long.
func describe(n ast.Node) string {
	const maxShown = 60
	text := []rune(n.String())
	if len(text) > maxShown {
		return string(text[:maxShown]) + "…"
	}
	return string(text)
}

// asCondition advises how to make a condition out of a value.
func asCondition(n ast.Node, s *shape) string {
	text := describe(n)
	switch s.kind {
	case KindText:
		return fmt.Sprintf(`compare it, as in %s != ""`, text)
	case KindWhole, KindAmount:
		return fmt.Sprintf("compare it, as in %s > 0", text)
	case KindList:
		return fmt.Sprintf("ask for what is in it, as in len(%s) > 0", text)
	case KindTime:
		return fmt.Sprintf("compare it, as in %s > now", text)
	case KindSpan:
		return fmt.Sprintf("compare it, as in %s > 1h", text)
	default:
		return ""
	}
}
