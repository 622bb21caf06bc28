package expressions

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/tidwall/gjson"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// contains is "text contains text" or "list contains entry".
func (c *compiler) contains(container, member ast.Node) typed {
	in, what := c.expr(container), c.expr(member)
	switch in.shape.kind {
	case KindText:
		if what.shape.kind != KindText && what.shape.kind != KindAny {
			return c.report(member, "", "%s is %s, not text", describe(member), what.shape.words())
		}
	case KindList:
		if in.shape.elem.kind == KindObject {
			return c.report(container, fmt.Sprintf(`ask any(%s, .title == "…")`, describe(container)), "%s is a list of whole items", describe(container))
		}
		if in.shape.tags && what.shape.kind != KindText && what.shape.kind != KindAny {
			return c.report(member, "", "%s is %s, not text", describe(member), what.shape.words())
		}
	case KindAny:
	default:
		return c.report(container, "", "%s is %s, not text", describe(container), in.shape.words())
	}
	if !what.shape.scalar() {
		return c.report(member, "", "%s is %s, not one value", describe(member), what.shape.words())
	}
	text := describe(container)
	return typed{shape: flagShape, eval: func(s *Scope) any { return has(s, in.eval(s), what.eval(s), text) }}
}

// within is "entry in list" or "key in table".
func (c *compiler) within(n *ast.BinaryNode) typed {
	if list, ok := n.Right.(*ast.ArrayNode); ok {
		return c.oneOf(n, list)
	}
	in := c.node(n.Right)
	switch in.shape.kind {
	case KindText:
		return c.report(n, fmt.Sprintf("write %s contains %s", describe(n.Right), describe(n.Left)), `"in" asks for an entry of a list, and %s is text`, describe(n.Right))
	case KindTable:
		key := c.textual(n.Left)
		return typed{shape: flagShape, eval: func(s *Scope) any {
			k, ok := key(s).(string)
			table, _ := in.eval(s).(map[string]string)
			if !ok {
				return nil
			}
			_, found := table[k]
			return found
		}}
	default:
		return c.contains(n.Right, n.Left)
	}
}

// oneOf is "country in [\"GB\", \"IE\"]": each written entry is checked against the left side.
func (c *compiler) oneOf(n *ast.BinaryNode, list *ast.ArrayNode) typed {
	left := c.expr(n.Left)
	entries := make([]eval, len(list.Nodes))
	for i, one := range list.Nodes {
		t := c.expr(one)
		if !c.together(&ast.BinaryNode{Operator: "==", Left: n.Left, Right: one}, left.shape, t.shape, false) {
			return unknown
		}
		entries[i] = t.eval
	}
	return typed{shape: flagShape, eval: func(s *Scope) any {
		v := left.eval(s)
		if v == nil {
			return nil
		}
		result := any(false)
		for _, e := range entries {
			switch other := e(s); {
			case other == nil:
				result = nil
			case same(v, other):
				return true
			}
		}
		return result
	}}
}

// has looks for member in a text or list.
func has(s *Scope, in, member any, text string) any {
	if in == nil || member == nil {
		return nil
	}
	switch in := in.(type) {
	case string:
		what, ok := member.(string)
		if !ok {
			return s.fail(text + " is text and can contain only text")
		}
		if !s.spend(1 + len(in)/1000) {
			return nil
		}
		return strings.Contains(in, what)
	case messaging.Tags:
		what, ok := member.(string)
		if !s.spend(1 + len(in)/20) {
			return nil
		}
		return ok && in.Has(what)
	case []any:
		if !s.spend(1 + len(in)/20) {
			return nil
		}
		return hasEntry(s, in, member, text)
	case gjson.Result:
		if in.IsArray() {
			return hasEntry(s, in, member, text)
		}
	}
	return s.fail(text + " is " + wordsFor(in) + ", neither text nor a list")
}

// hasEntry looks for member among the entries of a list. Where it is not found and an entry is of another kind, nobody can tell:
// a list of objects may well hold it under one of their names.
func hasEntry(s *Scope, list, member any, text string) any {
	found, unsure, other := false, false, ""
	_, sent := list.(gjson.Result)
	whole := each(s, list, func(one any) bool {
		if one == nil { // null is no entry, and what is missing may be any
			unsure = unsure || !sent
			return true
		}
		order, ok := compare(one, member)
		if !ok && other == "" {
			other = wordsFor(one)
		}
		found = ok && order == 0
		return !found
	})
	switch {
	case found:
		return true
	case !whole, unsure:
		return nil
	case other != "":
		return s.fail("an entry of " + text + " is " + other + ", not " + wordsFor(member))
	default:
		return false
	}
}

func (c *compiler) matches(n *ast.BinaryNode) typed {
	left := c.textual(n.Left)
	pattern, ok := n.Right.(*ast.StringNode)
	if !ok {
		return c.report(n.Right, "", "the pattern after \"matches\" is written out in quotes; %s is not", describe(n.Right))
	}
	re, err := regexp.Compile(pattern.Value)
	if err != nil {
		return c.report(n.Right, "", "%q is not a regular expression: %s", pattern.Value, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return typed{shape: flagShape, eval: func(s *Scope) any {
		text, ok := left(s).(string)
		if !ok || !s.spend(1+len(text)/100) {
			return nil
		}
		return re.MatchString(text)
	}}
}
