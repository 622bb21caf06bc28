package yamlpos

import "strings"

// A Source is a stretch of a file as it may be shown, with secrets starred out.
type Source struct {
	File  string
	First int // number of the first line, 1-based
	Lines []string
}

// Source is where the value at path stands, from its key to its end; none where there is no such value.
func (d *Doc) Source(path string) Source {
	n := d.Node(path)
	if n == nil {
		return Source{}
	}
	from := n
	if n.key != nil {
		from = n.key
	}
	at, last := from.doc, max(from.line, n.lastLine())
	for last < len(at.lines) && closes(at.lines[last]) {
		last++
	}
	s := Source{File: at.file, First: from.line}
	for line := from.line; line <= min(last, len(at.lines)); line++ {
		s.Lines = append(s.Lines, at.line(line))
	}
	return s
}

// Starred notes the lines at a path of which Source stars out what addresses in them hold, without the spaces around them, and what they
// really are. Values that are secret as a whole are not among them.
func (d *Doc) Starred(path string, lines map[string]string) {
	s, n := d.Source(path), d.Node(path)
	for i, shown := range s.Lines {
		whole := n.doc.lines[s.First-1+i]
		if shown != whole && n.doc.shown(s.First+i) == whole {
			lines[strings.TrimSpace(shown)] = strings.TrimSpace(whole)
		}
	}
}

// closes reports whether a line holds nothing but the ends of what was begun in braces before it.
func closes(line string) bool {
	text := strings.TrimSpace(line)
	return text != "" && strings.Trim(text, "]},") == ""
}

// lastLine is the last line of n and all in it. What an alias stands for is elsewhere, and before it.
func (n *Node) lastLine() int {
	last := n.line
	if n.kind == Scalar {
		last, _ = n.end()
		for last > n.line && (last > len(n.doc.lines) || strings.TrimSpace(n.doc.lines[last-1]) == "") {
			last--
		}
	}
	for _, item := range n.items {
		last = max(last, item.lastLine())
	}
	for _, f := range n.fields {
		last = max(last, f.KeyNode.line, f.Value.lastLine())
	}
	return last
}
