package yamlpos

import (
	"fmt"
	"strconv"
	"strings"
)

// A Doc is one read document: its tree, and what was found wrong with it so far. It is not
// safe for concurrent use.
type Doc struct {
	file     string
	src      string
	lines    []string // of src, without line ends
	root     *Node    // nil when the file could not be parsed
	opts     Options
	problems Problems
	seen     map[Problem]bool
	// The nodes of root by path, and those whose keys were quoted in it by loosePath, too.
	byPath, byLoosePath map[string]*Node
	hidden              map[int][]span  // by line: columns that hold a secret
	standIns            map[string]bool // by path: values that are not the real ones
	parts               []*Doc          // documents that were included
	around              []section       // those that are being decoded, the innermost last
}

// A span is a stretch of one line in columns, 1-based, end exclusive.
type span struct{ from, to int }

// StandIns is how many values hold a stand-in for a reference that could not be replaced.
func (d *Doc) StandIns() int {
	n := len(d.standIns)
	for _, part := range d.parts {
		n += part.StandIns()
	}
	return n
}

// Root is the document's outermost node; nil when the file could not be parsed.
func (d *Doc) Root() *Node { return d.root }

// Problems are all problems reported so far, sorted, with those of included documents.
func (d *Doc) Problems() Problems {
	ps := make(Problems, len(d.problems))
	copy(ps, d.problems)
	shown := map[int]string{} // a long line may have many
	for i := range ps {
		text, known := shown[ps[i].Line]
		if !known {
			text = d.line(ps[i].Line)
			shown[ps[i].Line] = text
		}
		ps[i].Source = text
	}
	for _, part := range d.parts {
		ps = append(ps, part.Problems()...)
	}
	ps.Sort()
	return ps
}

// Node finds a value again by its path, as problems write it:
// "triggers.abandoned-cart.if[0]". A key with dots or brackets in it may be written as it is
// or as ["a.b"]. It returns nil when there is no such value.
func (d *Doc) Node(path string) *Node {
	if n, exact := d.nearest(path); exact {
		return n
	}
	return nil
}

// Nearest is the value at path or, where that is not in the file, the innermost value around
// it that is: the position to report what is missing at. It is nil only without a tree.
func (d *Doc) Nearest(path string) *Node {
	n, _ := d.nearest(path)
	return n
}

// nearest is Nearest; exact is false for a value around the one that was asked for.
func (d *Doc) nearest(path string) (n *Node, exact bool) {
	if d == nil || d.root == nil {
		return nil, false
	}
	for p := path; ; p = p[:max(0, strings.LastIndexAny(p, ".["))] {
		if n = d.byPath[p]; n == nil {
			n = d.byLoosePath[loosePath(p)]
		}
		if n != nil {
			// A single value is a list of one.
			return n, p == path || n.kind == Scalar && p+"[0]" == path
		}
	}
}

// enter makes n and all below it known by their paths.
func (d *Doc) enter(n *Node) {
	d.byPath[n.path] = n
	if loose := loosePath(n.path); loose != n.path {
		d.byLoosePath[loose] = n
	}
	for _, item := range n.items {
		d.enter(item)
	}
	for _, f := range n.fields {
		d.enter(f.Value)
	}
}

// loosePath is a path without the quotes around keys that have dots or brackets.
func loosePath(path string) string {
	return strings.TrimPrefix(strings.ReplaceAll(strings.ReplaceAll(path, `["`, "."), `"]`, ""), ".")
}

// Join is path with one more key, which is quoted where it could be read as more than one.
func Join(path, key string) string {
	if key == "" || strings.ContainsAny(key, ".[]\" \t") {
		return path + "[" + strconv.Quote(key) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// report adds a problem unless the very same was added before: an anchor that is used twice
// holds its mistakes once.
func (d *Doc) report(p Problem) {
	if d.standIns[p.Path] || d.full(p.Warning) {
		return
	}
	p.File, p.Msg = d.file, HideURLs(p.Msg)
	same := p
	same.Path = ""
	if d.seen[same] {
		return
	}
	d.seen[same] = true
	d.problems = append(d.problems, p)
}

// full reports whether as many problems of a kind are known as are asked for.
func (d *Doc) full(warning bool) bool {
	n := 0
	for i := 0; i < len(d.problems) && n < d.opts.Most; i++ {
		if d.problems[i].Warning == warning {
			n++
		}
	}
	return d.opts.Most > 0 && n >= d.opts.Most
}

// byteOrderMark is what some editors begin a file with.
const byteOrderMark = "\ufeff"

// splitLines cuts src at the line ends that YAML knows: \n, \r\n and \r alone.
func splitLines(src []byte) []string {
	text := strings.TrimPrefix(string(src), byteOrderMark)
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Split(strings.ReplaceAll(text, "\r", "\n"), "\n")
}

// Report adds a problem found by somebody who only knows the path of the value and, inside a
// scalar's text, the byte offset (0 or less: where it begins). A value that is not in the
// file is reported at what is there of the things around it.
func (d *Doc) Report(path string, offset int, msg, hint string, warning bool) {
	d.Add(Problem{Path: path, Msg: msg, Hint: hint, Warning: warning}, offset)
}

// Add is Report for a whole problem, whose file, line and column it finds.
func (d *Doc) Add(p Problem, offset int) {
	p.Line, p.Col = 1, 1
	if n, exact := d.nearest(p.Path); n != nil {
		if d = n.doc; d.full(p.Warning) {
			return // before its place is looked for, which takes longer the longer a value is
		}
		p.Line, p.Col = n.position()
		if exact {
			p.Path = n.path // quoted as all paths are
			if n.kind == Scalar && offset > 0 {
				p.Line, p.Col = n.Offset(offset)
			}
		}
		p.Msg, p.Hint = n.conceal(p.Msg), n.conceal(p.Hint)
	}
	d.report(p)
}

// ReportKey adds a problem with the key that the value at path stands under.
func (d *Doc) ReportKey(path, msg, hint string, warning bool) {
	d.AddKey(Problem{Path: path, Msg: msg, Hint: hint, Warning: warning})
}

// AddKey is ReportKey for a whole problem, whose file, line and column it finds.
func (d *Doc) AddKey(p Problem) {
	p.Line, p.Col = 1, 1
	if n := d.Nearest(p.Path); n != nil {
		d = n.doc
		p.Line, p.Col = n.keyOrSelf().Pos()
	}
	d.report(p)
}

// position is where to look at n as a whole: a value itself, but the key of a section or list
// that begins on a line of its own, because that line names it.
func (n *Node) position() (line, col int) {
	if key := n.keyOrSelf(); (n.kind == Mapping || n.kind == Sequence) && key.line != n.line {
		return key.Pos()
	}
	return n.Pos()
}

// keyOrSelf is the key that n stands under; n itself in a list and at the root.
func (n *Node) keyOrSelf() *Node {
	if n.key != nil {
		return n.key
	}
	return n
}
