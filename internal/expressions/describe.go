package expressions

import (
	"fmt"

	"github.com/expr-lang/expr/ast"

	"github.com/nudgewire/nudgewire/internal/plain"
)

// start is where an expression begins, in characters: the parser notes operators and last
// names, people look at the first.
func start(n ast.Node) int {
	f := first(n.Location().From)
	ast.Walk(&n, &f)
	return int(f)
}

// first is the smallest position that it visited.
type first int

func (f *first) Visit(n *ast.Node) { *f = min(*f, first((*n).Location().From)) }

// describe is an expression in a sentence, cut where it is long.
func describe(n ast.Node) string { return plain.Crop(n.String(), 60) }

// asCondition advises how to make a condition out of a value of a kind; "" for no advice.
func asCondition(text string, kind Kind) string {
	switch kind {
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
