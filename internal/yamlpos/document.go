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
	lines    []string // of the source, without line ends
	root     *Node    // nil when the file could not be parsed
	opts     options
	problems Problems
	seen     map[Problem]bool
	hidden   map[int][]span  // by line: columns that hold a secret
	standIns map[string]bool // by path: values that are not the real ones
}

// A span is a stretch of one line in columns, 1-based, end exclusive.
type span struct{ from, to int }

// File is the name the document was read under.
func (d *Doc) File() string { return d.file }

// StandIns is how many values hold a stand-in for a reference that could not be replaced.
func (d *Doc) StandIns() int { return len(d.standIns) }

// Root is the document's outermost node; nil when the file could not be parsed.
func (d *Doc) Root() *Node { return d.root }

// Problems are all problems reported so far, sorted.
func (d *Doc) Problems() Problems {
	ps := make(Problems, len(d.problems))
	copy(ps, d.problems)
	for i := range ps {
		ps[i].Source = d.line(ps[i].Line)
	}
	ps.Sort()
	return ps
}

// Node finds a value again by its path, as problems write it:
// "triggers.abandoned-cart.if[0]". A key with dots or brackets in it may be written as it is
// or as ["a.b"]. It returns nil when there is no such value.
func (d *Doc) Node(path string) *Node {
	n, rest := d.walk(path)
	if rest != "" {
		return nil
	}
	return n
}

// Nearest is the value at path or, where that is not in the file, the innermost value around
// it that is: the place to report what is missing. It is nil only without a tree.
func (d *Doc) Nearest(path string) *Node {
	n, _ := d.walk(path)
	return n
}

// walk follows path as far as the document goes.
func (d *Doc) walk(path string) (n *Node, rest string) {
	if d == nil || d.root == nil {
		return nil, path
	}
	return d.root.walk(path)
}

func (n *Node) walk(path string) (found *Node, rest string) {
	if path == "" {
		return n, ""
	}
	found, rest = n, path
	try := func(child *Node, tail string) bool {
		if tail != "" && tail[0] != '.' && tail[0] != '[' {
			return false
		}
		f, r := child.walk(strings.TrimPrefix(tail, "."))
		if r == "" || len(r) < len(rest) {
			found, rest = f, r
		}
		return r == ""
	}
	if inside, tail, ok := bracket(path); ok {
		if i, err := strconv.Atoi(inside); err == nil {
			switch {
			case n.kind == Sequence && i >= 0 && i < len(n.items):
				try(n.items[i], tail)
			case n.kind == Scalar && i == 0:
				try(n, tail) // a single value is a list of one
			}
			return found, rest
		}
		if key, err := strconv.Unquote(inside); err == nil {
			if child := n.Get(key); child != nil {
				try(child, tail)
			}
			return found, rest
		}
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	if child := n.Get(path[:end]); child != nil && try(child, path[end:]) {
		return found, rest
	}
	for _, i := range n.odd { // keys with dots in them, written without quotes
		f := n.fields[i]
		if tail, ok := strings.CutPrefix(path, f.Key); ok && try(f.Value, tail) {
			break
		}
	}
	return found, rest
}

// bracket splits "[inside]tail"; inside may be a quoted text that holds brackets.
func bracket(path string) (inside, tail string, ok bool) {
	if !strings.HasPrefix(path, "[") {
		return "", "", false
	}
	if q, err := strconv.QuotedPrefix(path[1:]); err == nil && strings.HasPrefix(path[1+len(q):], "]") {
		return q, path[len(q)+2:], true
	}
	end := strings.IndexByte(path, ']')
	if end < 0 {
		return "", "", false
	}
	return path[1:end], path[end+1:], true
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
	if d.standIns[p.Path] {
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

// splitLines cuts src at the line ends that YAML knows: \n, \r\n and \r alone.
func splitLines(src []byte) []string {
	text := strings.TrimPrefix(string(src), "\ufeff")
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
	n, rest := d.walk(p.Path)
	if n != nil {
		p.Line, p.Col = n.place()
		if rest == "" {
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
	p := Problem{Line: 1, Col: 1, Path: path, Msg: msg, Hint: hint, Warning: warning}
	if n := d.Nearest(path); n != nil {
		p.Line, p.Col = n.line, n.col
		if n.key != nil {
			p.Line, p.Col = n.key.line, n.key.col
		}
	}
	d.report(p)
}

// place is where to look at n as a whole: a value itself, but the key of a section or list
// that begins on a line of its own, because that line names it.
func (n *Node) place() (line, col int) {
	if (n.kind == Mapping || n.kind == Sequence) && n.key != nil && n.key.line != n.line {
		return n.key.line, n.key.col
	}
	return n.line, n.col
}
