package expressions

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/units"
)

// says is the expression in a sentence; "#" where it is a loop's element itself.
func (t typed) says() string {
	if t.path.name == "" {
		return "#"
	}
	return t.path.name
}

// A path is a name as it is written, "cart.items[0].title", and how to read it.
type path struct {
	name   string
	read   eval
	masked bool
}

func (c *compiler) name(n *ast.IdentifierNode) typed {
	if n.Value != "" && digit(n.Value[0]) { // a duration, from uncover
		d, err := units.ParseDuration(n.Value)
		if err != nil {
			return c.report(n, "", "%v", err)
		}
		return constant(spanShape, d.D())
	}
	if c.row != nil {
		return c.row.name(n.Value)
	}
	r, ok := roots[n.Value]
	if c.past != nil {
		r, ok = personRoots[n.Value]
	}
	if c.step && n.Value == previousName {
		r, ok = previousRoot, true
	}
	if !ok {
		return c.unknownName(n)
	}
	return typed{shape: r.shape, eval: r.read, path: &path{name: n.Value, read: r.read}}
}

// IsName reports whether expressions over an event may begin with a name.
func IsName(name string) bool { _, ok := roots[name]; return ok }

func (c *compiler) unknownName(n *ast.IdentifierNode) typed {
	if c.past != nil {
		return c.unknownOfPerson(n)
	}
	hint := "names begin with " + strings.Join(rootNames, ", ")
	switch {
	case strings.EqualFold(n.Value, previousName):
		hint = "it is what became of the step before: only the if of a step knows it, from the second one on"
	case strings.EqualFold(n.Value, "run"):
		hint = "it is known in jobs only"
	case nearest.Of(n.Value, rootNames) != "":
		hint = fmt.Sprintf("did you mean %q?", nearest.Of(n.Value, rootNames))
	case slices.Contains(functionNames(), n.Value):
		hint = "it is a function: write " + n.Value + "(…)"
	default:
		hint = fmt.Sprintf("did you mean %q in quotes? %s", n.Value, hint)
		if owner := ownerOf(n.Value); owner != "" {
			hint = fmt.Sprintf("did you mean %q?", owner+"."+n.Value)
		}
	}
	return c.report(n, hint, "unknown name %q", n.Value)
}

// ownerOf finds the first root that has a field of this name: "total" is the cart's.
func ownerOf(name string) string {
	for _, r := range rootNames {
		if r == "event" || r == "contact" {
			continue // "name" means the customer's before anything else
		}
		if _, ok := roots[r].shape.fields[name]; ok {
			return r
		}
	}
	return ""
}

// element is "#", the present entry of the innermost loop, or "#index".
func (c *compiler) element(n *ast.PointerNode) typed {
	if len(c.elems) == 0 || n.Name != "" {
		return c.report(n, "", "%q is not known here", "#"+n.Name)
	}
	read := func(s *Scope) any { return s.here[len(s.here)-1] }
	return typed{shape: c.elems[len(c.elems)-1], eval: read, path: &path{read: read}, looped: true}
}

// member is "a.b", `a["b"]` or "a[0]".
func (c *compiler) member(n *ast.MemberNode) typed {
	property, fixed := n.Property.(*ast.StringNode)
	index, number := n.Property.(*ast.IntegerNode)
	if !fixed && !number {
		return c.computed(n)
	}
	if of, ok := n.Node.(*ast.IdentifierNode); ok && fixed && c.row != nil && of.Value == "row" {
		return c.row.name(property.Value) // row["Phone 1 - Value"] names a column by whatever it is called
	}
	in := c.node(n.Node)
	if in.path == nil { // not a chain of names: note what it reads, then go on without a path of our own
		in.path, in.looped = &path{name: "(" + describe(n.Node) + ")"}, true
	}
	if number {
		return c.indexed(n, in, index.Value)
	}
	name := property.Value
	switch in.shape.kind {
	case KindObject:
		f, ok := in.shape.fields[name]
		if !ok {
			return c.unknownField(n, in, name)
		}
		p := &path{name: in.path.name + "." + name, masked: f.masked}
		field := fieldName(in.shape, name)
		return in.step(p, f.shape, func(s *Scope, object any) (any, int) {
			if s.unreadable(field) {
				return nil, -1
			}
			return f.read(object), -1
		})
	case KindTable, KindAny:
		return c.keyed(in, name)
	case KindList:
		return c.report(n, fmt.Sprintf("take one entry, %s[0].%s, or ask any(%s, .%s …)", in.path.name, name, in.path.name, name),
			"%s is a list and has no %q", in.says(), name)
	default:
		hint := ""
		if in.shape.kind == KindTime {
			hint = fmt.Sprintf(`write date(%s, "D MMM YYYY")`, in.says())
			if pattern := partsOfTime[name]; pattern != "" {
				hint = fmt.Sprintf("write date(%s, %q)", in.says(), pattern)
			}
		}
		return c.report(n, hint, "%s is %s and has no %q", in.says(), in.shape.words(), name)
	}
}

// fieldName is a field as an event lists what of it cannot be read: "order.total"; ".price" for that of any line.
func fieldName(in *shape, name string) string {
	if in.noun == itemNoun {
		return "." + name
	}
	for _, root := range rootNames {
		if roots[root].shape == in {
			return root + "." + name // contact stands before customer
		}
	}
	return ""
}

// partsOfTime are the names under which other languages keep the parts of a time.
var partsOfTime = map[string]string{
	"year": "YYYY", "month": "M", "day": "D", "hour": "HH", "minute": "mm", "second": "ss", "weekday": "dddd", "date": "YYYY-MM-DD", "time": "HH:mm",
}

func (c *compiler) unknownField(n *ast.MemberNode, in typed, name string) typed {
	hint := "there are " + strings.Join(in.shape.names(), ", ")
	if near := nearest.Of(name, in.shape.names()); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	where := in.path.name
	if where == "" {
		where = in.shape.noun
	}
	return c.reportAt(n.Property.Location().From, hint, "unknown name %q in %s", name, where)
}

// keyed reads a key of the payload or of a table.
func (c *compiler) keyed(in typed, key string) typed {
	p := &path{name: in.path.name + "." + key}
	if !plainName(key) {
		p.name = in.path.name + "[" + strconv.Quote(key) + "]"
	}
	elem := anyShape
	if in.shape.kind == KindTable {
		elem = textShape
	}
	return in.step(p, elem, func(s *Scope, object any) (any, int) { return valueUnder(s, object, key), -1 })
}

func plainName(key string) bool {
	return key != "" && !digit(key[0]) && letter(key) && wordLength(key) == len(key)
}

// computed is a member whose key is an expression of its own: form.answers[customer.language].
func (c *compiler) computed(n *ast.MemberNode) typed {
	in, key := c.expr(n.Node), c.expr(n.Property)
	switch {
	case in.shape.kind == KindList:
		if !key.shape.number() && key.shape.kind != KindAny {
			return c.report(n.Property, "", "%s is %s, not the number of an entry", describe(n.Property), key.shape.words())
		}
	case in.shape.kind == KindTable:
		if key.shape.kind != KindText && key.shape.kind != KindAny {
			return c.report(n.Property, "", "%s is %s, not text", describe(n.Property), key.shape.words())
		}
	case in.shape.kind == KindAny:
	default:
		return c.report(n, "", "%s is %s and has no entries", describe(n.Node), in.shape.words())
	}
	elem := anyShape
	if in.shape.elem != nil {
		elem = in.shape.elem
	}
	lost := &path{name: describe(n)}
	return typed{shape: elem, eval: func(s *Scope) any {
		var v any
		count := -1
		switch k := key.eval(s).(type) {
		case string:
			v = valueUnder(s, in.eval(s), k)
		case int:
			v, count = entry(in.eval(s), k)
		}
		if v == nil {
			return s.miss(lost, count)
		}
		return v
	}}
}

// indexed is one entry of a list, counted from 0, or from the end where the number is negative.
func (c *compiler) indexed(n ast.Node, in typed, i int) typed {
	elem := anyShape
	switch in.shape.kind {
	case KindList:
		elem = in.shape.elem
	case KindAny:
	default:
		return c.report(n, "", "%s is %s, not a list", in.says(), in.shape.words())
	}
	p := &path{name: in.path.name + "[" + strconv.Itoa(i) + "]"}
	return in.step(p, elem, func(_ *Scope, list any) (any, int) { return entry(list, i) })
}

// step is the member of an expression that get reads, with how many entries the list has; -1 for
// what is no list.
func (t typed) step(p *path, is *shape, get func(s *Scope, object any) (v any, count int)) typed {
	p.read = func(s *Scope) any {
		object := t.eval(s)
		if object == nil {
			return s.miss(p, -1)
		}
		v, count := get(s, object)
		if v == nil {
			return s.miss(p, count)
		}
		return v
	}
	return typed{is, p.read, p, t.looped}
}
