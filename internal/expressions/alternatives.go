package expressions

import (
	"regexp"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// Conditions are looked at without an event here: what they ask of a value, as far as that can be said of the text alone.

// A demand is one thing that a condition asks for: that a value is more than 50, or that a test comes out so.
type demand struct {
	of    string // the text of what is asked: "cart.total", "any(cart.items, .price > 50)"
	op    string // as in comparisons; "nil" and "set" of a value that is missing or not
	than  any
	names []string // fields that must have a value for it to hold; none where the text alone does not say
}

// mostAlternatives bounds the ways in which conditions may hold that are looked at. What has more is not judged.
const mostAlternatives = 64

// alternatives are the ways in which a condition comes out as wanted, each with all that it demands; nil where they are too many.
func alternatives(n ast.Node, wanted bool) [][]demand {
	switch n := n.(type) {
	case *ast.UnaryNode:
		if n.Operator == "not" || n.Operator == "!" {
			return alternatives(n.Node, !wanted)
		}
	case *ast.BinaryNode:
		switch n.Operator {
		case "and", "&&", "or", "||":
			left, right := alternatives(n.Left, wanted), alternatives(n.Right, wanted)
			if left == nil || right == nil {
				return nil
			}
			if (n.Operator == "and" || n.Operator == "&&") == wanted {
				return joined(left, right)
			}
			return bounded(append(slices.Clone(left), right...))
		}
		if found := compared(n, wanted); found != nil {
			return bounded(found)
		}
	}
	return [][]demand{{{of: textOf(n), op: "==", than: wanted, names: namesOf(asked(n))}}}
}

// asked is what a test of a text or a list looks into: of what is missing it is neither true nor false.
func asked(n ast.Node) ast.Node {
	if n, ok := n.(*ast.BinaryNode); ok {
		switch n.Operator {
		case "contains", "matches", "startsWith", "endsWith":
			return n.Left
		}
	}
	return n
}

func bounded(all [][]demand) [][]demand {
	if len(all) > mostAlternatives {
		return nil
	}
	return all
}

// joined is every way of the one with every way of the other; nil where they are too many.
func joined(left, right [][]demand) [][]demand {
	if len(left)*len(right) > mostAlternatives {
		return nil
	}
	var all [][]demand
	for _, l := range left {
		for _, r := range right {
			all = append(all, append(slices.Clone(l), r...))
		}
	}
	return all
}

var (
	opposite = map[string]string{"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
	mirrored = map[string]string{"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
)

// compared are the ways of a comparison with a written value, and of "in" with written entries; nil for others.
func compared(n *ast.BinaryNode, wanted bool) [][]demand {
	if list, ok := n.Right.(*ast.ArrayNode); ok && n.Operator == "in" {
		return oneOfThem(n.Left, list, wanted)
	}
	op := n.Operator
	if comparisons[op] == nil {
		return nil
	}
	if !wanted {
		op = opposite[op]
	}
	of, than := n.Left, n.Right
	if _, written := constantOf(of); written {
		of, than, op = than, of, mirrored[op]
	}
	value, written := constantOf(than)
	switch {
	case !written: // two values of the event: which of them is more
		left, right := textOf(of), textOf(than)
		if left > right {
			left, right, op = right, left, mirrored[op]
		}
		return [][]demand{{{of: left + " against " + right, op: op, than: 0, names: append(namesOf(of), namesOf(than)...)}}}
	case value == nil:
		is := map[string]string{"==": "nil", "!=": "set"}[op]
		return [][]demand{{{of: textOf(of), op: is}}}
	}
	if flag, is := value.(bool); is && op == "!=" {
		op, value = "==", !flag
	}
	return [][]demand{{{of: textOf(of), op: op, than: value, names: namesOf(of)}}}
}

// oneOfThem are the ways of "country in [\"GB\", \"IE\"]"; nil where an entry is no written value.
func oneOfThem(of ast.Node, list *ast.ArrayNode, wanted bool) [][]demand {
	var all [][]demand
	none := []demand{}
	for _, one := range list.Nodes {
		value, ok := constantOf(one)
		if !ok || value == nil {
			return nil
		}
		all = append(all, []demand{{of: textOf(of), op: "==", than: value, names: namesOf(of)}})
		none = append(none, demand{of: textOf(of), op: "!=", than: value, names: namesOf(of)})
	}
	if !wanted {
		return [][]demand{none}
	}
	return all
}

// constantOf is a written value; nil is one.
func constantOf(n ast.Node) (value any, ok bool) {
	switch n := n.(type) {
	case *ast.IntegerNode:
		return n.Value, true
	case *ast.FloatNode:
		return messaging.AmountFromFloat(n.Value), true
	case *ast.StringNode:
		return n.Value, true
	case *ast.BoolNode:
		return n.Value, true
	case *ast.NilNode:
		return nil, true
	case *ast.IdentifierNode:
		if n.Value != "" && digit(n.Value[0]) {
			d, err := units.ParseDuration(n.Value)
			return d.D(), err == nil
		}
	case *ast.UnaryNode:
		if whole, is := n.Node.(*ast.IntegerNode); is && n.Operator == "-" {
			return -whole.Value, true
		}
	}
	return nil, false
}

// textOf is an expression as it is compared with others: customer is another name for contact.
func textOf(n ast.Node) string { return otherName.ReplaceAllString(n.String(), "contact$1") }

var otherName = regexp.MustCompile(`\bcustomer(\.|\b)`)

// namesOf is the field that an expression is; none where it is more than a name.
func namesOf(n ast.Node) []string {
	if field := fieldIn(textOf(n)); field != "" && chain(n) {
		return []string{field}
	}
	return nil
}

// chain reports whether an expression is a name with its members.
func chain(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return true
	case *ast.MemberNode:
		switch n.Property.(type) {
		case *ast.StringNode, *ast.IntegerNode:
			return chain(n.Node)
		}
	}
	return false
}

// fieldInName is a field of an event: its object, its own name, and that of a field of an entry, where it is a list.
var fieldInName = regexp.MustCompile(`^(contact|customer|cart|order|deal|form|message)\.([a-z_]+)(?:\[-?\d+\]\.([a-z_]+))?`)

// fieldIn is the field that a name reads, as a connector's map calls it, with that of an entry behind it: "order.total",
// "cart.items.image"; "" for what is no field of the event's.
func fieldIn(name string) string {
	m := fieldInName.FindStringSubmatch(name)
	if m == nil {
		return ""
	}
	if m[1] == "customer" {
		m[1] = "contact"
	}
	field := m[1] + "." + m[2]
	if m[3] != "" {
		field += "." + m[3]
	}
	return field
}

// fieldsOf are the fields that paths read, each once.
func fieldsOf(paths []*path) (fields []string) {
	for _, p := range paths {
		if field := fieldIn(p.name); field != "" && !slices.Contains(fields, field) {
			fields = append(fields, field)
		}
	}
	return fields
}

// Fields are the fields of the event that a condition reads, as a connector's map calls them: "order.total", "cart.items.image".
func (c *Condition) Fields() []string { return fieldsOf(c.paths) }

// Fields are those that an expression reads; see Condition.Fields.
func (e *Expression) Fields() []string { return fieldsOf(e.paths) }

// Fields are those that a template reads; see Condition.Fields.
func (t *Template) Fields() []string {
	var paths []*path
	for i := range t.parts {
		paths = append(paths, t.parts[i].paths...)
	}
	return fieldsOf(paths)
}

// Raw are the places of the payload that a condition reads, each as it is written behind raw: .customer.phone, .items[0].title, ["a b"].
func (c *Condition) Raw() []string { return rawOf(c.paths) }

// Raw are those that an expression reads; see Condition.Raw.
func (e *Expression) Raw() []string { return rawOf(e.paths) }

// Raw are those that a template reads; see Condition.Raw.
func (t *Template) Raw() []string {
	var paths []*path
	for i := range t.parts {
		paths = append(paths, t.parts[i].paths...)
	}
	return rawOf(paths)
}

// rawOf are the places of the payload that paths read.
func rawOf(paths []*path) (ways []string) {
	for _, p := range paths {
		if way, ok := strings.CutPrefix(p.name, "raw"); ok && way != "" && (way[0] == '.' || way[0] == '[') && !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	return ways
}

// Needs are the ways in which a condition may hold, each as the fields that must have a value for it. It is nil where that is not known.
func Needs(text string) (ways [][]string) {
	node, bad := parse(text)
	if bad != nil {
		return nil
	}
	for _, way := range alternatives(node, true) {
		names := []string{}
		for _, d := range way {
			names = append(names, d.names...)
		}
		ways = append(ways, names)
	}
	return ways
}

// Contradict reports whether no event can meet all of the conditions, for what they compare with written values. It is false wherever the texts
// alone do not say it.
func Contradict(texts ...string) bool { return contradict(nil, texts) }

// ContradictLater reports whether no event that met the conditions of before can meet these some time later.
func ContradictLater(before, texts []string) bool { return contradict(before, texts) }

func contradict(before, texts []string) bool {
	all := [][]demand{nil}
	for i, text := range append(slices.Clone(before), texts...) {
		node, bad := parse(text)
		if bad != nil {
			return false
		}
		ways := alternatives(node, true)
		if i < len(before) {
			ways = withoutClock(ways)
		}
		if all = joined(all, ways); all == nil {
			return false
		}
	}
	return !slices.ContainsFunc(all, possible)
}

// withoutClock leaves out what is another value later.
func withoutClock(ways [][]demand) [][]demand {
	var kept [][]demand
	for _, way := range ways {
		kept = append(kept, slices.DeleteFunc(slices.Clone(way), func(d demand) bool { return clock.MatchString(d.of) }))
	}
	return kept
}

var clock = regexp.MustCompile(`\bnow\b`)

// possible reports whether one value each can meet all demands.
func possible(way []demand) bool {
	asked := map[string][]demand{}
	for _, d := range way {
		asked[d.of] = append(asked[d.of], d)
	}
	for _, demands := range asked {
		if !meets(demands) {
			return false
		}
	}
	return true
}

// meets reports whether one value can meet all demands, which are of one value. Bounds are looked at in pairs: of a line, no more is needed.
func meets(demands []demand) bool {
	for i, a := range demands {
		for _, b := range demands[i+1:] {
			if exclude(a, b) || exclude(b, a) {
				return false
			}
		}
	}
	return true
}

// exclude reports whether a value that meets a cannot meet b. The other order has to be asked, too.
func exclude(a, b demand) bool {
	if a.op == "nil" || b.op == "nil" {
		return a.op == "nil" && b.op == "set"
	}
	order, ok := compare(a.than, b.than)
	if !ok || a.op == "set" || b.op == "set" {
		return false
	}
	switch a.op {
	case "==":
		return !comparisons[b.op](order)
	case "<":
		return (b.op == ">" || b.op == ">=") && order <= 0
	case "<=":
		return b.op == ">" && order <= 0 || b.op == ">=" && order < 0
	default:
		return false
	}
}
