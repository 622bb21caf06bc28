package yamlpos

import (
	"errors"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// A Kind is the shape of a value.
type Kind int

// The kinds of a value.
const (
	Null     Kind = iota // nothing was written, or ~ or null
	Scalar               // one word or text
	Sequence             // a list
	Mapping              // keys with values
)

// String is the kind in the words of somebody who writes YAML: "a list".
func (k Kind) String() string {
	return [...]string{Null: "nothing", Scalar: "a single value", Sequence: "a list", Mapping: "keys with values"}[k]
}

// A Node is one value of a document and knows where it stands. Aliases and merge keys are
// already followed: a node under an alias stands where the anchor is.
type Node struct {
	doc    *Doc
	kind   Kind
	path   string
	text   string // of a scalar, references replaced
	raw    string // of a scalar, before that
	tag    string // what YAML would take a plain scalar for: !!bool, !!int, !!str
	style  style
	secret bool // its text must not be shown
	failed bool // a reference in it could not be replaced, which was reported
	line   int
	col    int
	key    *Node // the key this is the value of; nil in a list and at the root
	items  []*Node
	fields []Field
}

type style int

const (
	plainStyle style = iota
	singleQuoted
	doubleQuoted
	literalBlock
	foldedBlock
)

// block reports whether the text stands in lines of its own, below | or >.
func (s style) block() bool { return s == literalBlock || s == foldedBlock }

// A Field is one key of a mapping with its value, in the order of the file.
type Field struct {
	Key     string
	KeyNode *Node // a Scalar with the path of Value
	Value   *Node
}

// Kind is the shape of the value.
func (n *Node) Kind() Kind { return n.kind }

// Text is a scalar as it was written, quotes and escapes undone and references replaced; ""
// for every other kind.
func (n *Node) Text() string { return n.text }

// Raw is Text with references as they were written: "${NAME}". It may be shown to anybody.
func (n *Node) Raw() string { return n.raw }

// Expanded reports whether references were replaced in Text, so that it must not be shown.
func (n *Node) Expanded() bool { return n.text != n.raw }

// Pos is where the value begins, 1-based, the column in characters.
func (n *Node) Pos() (line, col int) { return n.line, n.col }

// Items are the items of a list, a single value being a list of one; nil for other kinds.
func (n *Node) Items() []*Node {
	switch n.kind {
	case Sequence:
		return n.items
	case Scalar:
		return []*Node{n}
	default:
		return nil
	}
}

// Fields are the keys and values of a mapping in the order of the file; nil for other kinds.
func (n *Node) Fields() []Field { return n.fields }

// Get is the value under key; nil when n is nil, is no mapping or has no such key.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for _, f := range n.fields {
		if f.Key == key {
			return f.Value
		}
	}
	return nil
}

// Report adds a problem at the position of n. hint may be "".
func (n *Node) Report(msg, hint string) { n.report(-1, msg, hint, false) }

// Warn adds a warning at the position of n. hint may be "".
func (n *Node) Warn(msg, hint string) { n.report(-1, msg, hint, true) }

// ReportAt adds a problem at byte offset of n's text (see Offset).
func (n *Node) ReportAt(offset int, msg, hint string) { n.report(offset, msg, hint, false) }

func (n *Node) report(offset int, msg, hint string, warning bool) {
	line, col := n.Offset(offset)
	p := Problem{Line: line, Col: col, Path: n.path, Msg: n.conceal(msg), Hint: n.conceal(hint), Warning: warning}
	if !warning {
		p.Code = WrongValue
	}
	n.doc.report(p)
}

// conceal puts the reference back where a message repeats what it was replaced by.
func (n *Node) conceal(msg string) string {
	if !n.Expanded() || n.text == "" {
		return msg
	}
	for _, text := range []string{n.text, strings.TrimSpace(n.text), strings.ToLower(n.text)} {
		msg = strings.ReplaceAll(msg, strconv.Quote(text), n.raw)
		if len(text) > 2 { // a shorter one may be part of any word
			msg = strings.ReplaceAll(msg, text, n.raw)
		}
	}
	return msg
}

// maxNodes bounds what aliases may multiply a file of 1 MB into.
const maxNodes = 100_000

// maxDepth bounds nesting; the deepest useful config has about ten levels.
const maxDepth = 100

// A builder turns the parser's nodes into ours.
type builder struct {
	doc      *Doc
	count    int
	open     map[*yaml.Node]bool     // anchors we are inside of, to notice an alias to one of them
	expanded map[*yaml.Node]expanded // so that an alias does not read a file again
	full     bool                    // the bound was hit and reported
}

// expanded is what became of the references in one scalar.
type expanded struct {
	text    string
	failed  bool
	standIn bool
}

func (b *builder) node(y *yaml.Node, path string, depth int) *Node {
	n := &Node{doc: b.doc, path: path, line: y.Line, col: y.Column}
	if n.line > len(b.doc.lines) { // nothing at the very end of a file without a line end
		n.line = len(b.doc.lines)
		n.col = len([]rune(b.doc.lines[n.line-1])) + 1
	}
	if b.full {
		return n
	}
	if b.count++; b.count > b.doc.opts.most(maxNodes) || depth > maxDepth {
		b.full = true
		msg := "the file has more than 100,000 values once its aliases are followed"
		if depth > maxDepth {
			msg = "more than 100 levels inside each other"
		}
		n.Report(msg, "write less of it")
		return n
	}
	if y.Anchor != "" && y.Kind != yaml.AliasNode {
		b.open[y] = true
		defer delete(b.open, y)
	}
	switch y.Kind {
	case yaml.AliasNode:
		if b.open[y.Alias] {
			n.Report("the alias *"+y.Value+" stands inside what it repeats", "move it out of there")
			return n
		}
		return b.node(y.Alias, path, depth+1)
	case yaml.ScalarNode:
		b.scalar(n, y)
	case yaml.SequenceNode:
		n.kind = Sequence
		for i, item := range y.Content {
			n.items = append(n.items, b.node(item, index(path, i), depth+1))
		}
	case yaml.MappingNode:
		n.kind = Mapping
		b.mapping(n, y, depth)
	}
	return n
}

func (b *builder) scalar(n *Node, y *yaml.Node) {
	n.kind, n.text, n.raw, n.tag = Scalar, y.Value, y.Value, y.ShortTag()
	switch {
	case y.Style&yaml.LiteralStyle != 0:
		n.style = literalBlock
	case y.Style&yaml.FoldedStyle != 0:
		n.style = foldedBlock
	case y.Style&yaml.SingleQuotedStyle != 0:
		n.style = singleQuoted
	case y.Style&yaml.DoubleQuotedStyle != 0:
		n.style = doubleQuoted
	case n.tag == "!!null":
		n.kind, n.text, n.raw = Null, "", ""
		return
	case n.style == plainStyle && isCurly(n.text):
		n.Report(typographic+": it would be part of the value", plainQuotes)
		n.failed = true
		return
	}
	if b.doc.opts.Expand == nil {
		return
	}
	got, done := b.expanded[y]
	if !done {
		text, err := b.doc.opts.Expand(n.raw)
		got = expanded{text: text}
		if err != nil && b.doc.opts.StandIn != "" {
			got, err = expanded{text: b.doc.opts.StandIn, standIn: true}, nil
		}
		if err != nil {
			msg, hint := words(err)
			n.ReportAt(max(0, strings.Index(n.raw, "${")), msg, hint)
			got = expanded{text: n.raw, failed: true}
		}
		b.expanded[y] = got
	}
	n.text, n.failed = got.text, got.failed
	if got.standIn {
		b.doc.standIns[n.path] = true
	}
}

func (b *builder) mapping(n *Node, y *yaml.Node, depth int) {
	at := map[string]*Node{}
	var merged []*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		if k.Kind == yaml.ScalarNode && k.ShortTag() == "!!merge" {
			merged = append(merged, v)
			continue
		}
		for k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		key := &Node{doc: b.doc, kind: Scalar, line: k.Line, col: k.Column, text: k.Value, raw: k.Value}
		if k.Kind != yaml.ScalarNode {
			key.path = n.path
			if inner := unquotedTemplate(y); inner != "" {
				n.failed = true
				n.Report("a value that begins with {{ needs quotes", "put quotes around it: '{{ "+inner+" }}'")
				return
			}
			key.Report("a key must be a word, not "+kindOf(k).String(), "write \"key: value\"; quote a key that begins with [ or {")
			continue
		}
		key.path = Join(n.path, k.Value)
		if first := at[k.Value]; first != nil {
			b.doc.report(Problem{
				Line: key.line, Col: key.col, Path: key.path, Code: DuplicateKey,
				Msg: "duplicate key; it is also on line " + strconv.Itoa(first.line), Hint: "remove one of the two, or give it another name",
			})
			continue
		}
		at[k.Value] = key
		value := b.node(v, key.path, depth+1)
		value.key = key
		n.fields = append(n.fields, Field{Key: k.Value, KeyNode: key, Value: value})
	}
	for _, m := range merged {
		b.merge(n, m, at, depth)
	}
}

// unquotedTemplate is what stands between the brackets of a {{ value }} without quotes, which YAML
// reads as a mapping with a mapping for its key; "" for anything else.
func unquotedTemplate(y *yaml.Node) string {
	if y.Style&yaml.FlowStyle == 0 || len(y.Content) != 2 {
		return ""
	}
	k := y.Content[0]
	if k.Kind != yaml.MappingNode || k.Style&yaml.FlowStyle == 0 || len(k.Content) != 2 || k.Content[0].Kind != yaml.ScalarNode {
		return ""
	}
	return k.Content[0].Value
}

// merge adds the fields of "<<: *anchor" that n does not have itself.
func (b *builder) merge(n *Node, y *yaml.Node, at map[string]*Node, depth int) {
	from := b.node(y, n.path, depth+1)
	maps := []*Node{from}
	if from.kind == Sequence {
		maps = from.items
	}
	for _, m := range maps {
		if m.kind != Mapping {
			m.Report("<< wants keys with values, has "+m.kind.String(), "write <<: *name, with &name at the keys to repeat")
			continue
		}
		for _, f := range m.fields {
			if at[f.Key] != nil {
				continue
			}
			at[f.Key] = f.KeyNode
			f.Value.move(m.path, n.path)
			f.KeyNode.path = f.Value.path
			n.fields = append(n.fields, f)
		}
	}
}

// move renames the path of n and all below it; only lists of merged mappings need it.
func (n *Node) move(from, to string) {
	if from == to {
		return
	}
	n.path = strings.TrimPrefix(to+strings.TrimPrefix(n.path, from), ".")
	for _, item := range n.items {
		item.move(from, to)
	}
	for _, f := range n.fields {
		f.KeyNode.path = strings.TrimPrefix(to+strings.TrimPrefix(f.KeyNode.path, from), ".")
		f.Value.move(from, to)
	}
}

func kindOf(y *yaml.Node) Kind {
	switch y.Kind {
	case yaml.ScalarNode:
		return Scalar
	case yaml.SequenceNode:
		return Sequence
	case yaml.MappingNode:
		return Mapping
	default:
		return Null
	}
}

// A hinter is an error that knows a hint.
type hinter interface {
	error
	Hint() string
}

// words is what an error says and, where it knows a hint, that.
func words(err error) (msg, hint string) {
	if h, ok := errors.AsType[hinter](err); ok {
		hint = h.Hint()
	}
	return err.Error(), hint
}

// Usable reports whether the references in n were all replaced; where they were not, that is
// reported, and what Text says is not the real value.
func (n *Node) Usable() bool { return !n.failed }
