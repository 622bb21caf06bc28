package yamlpos

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Offset is the position of byte offset of Text in the file, for problems inside a value. Quotes,
// escapes, folded lines and blocks are followed; where that fails (and behind a reference that
// was replaced) it is where the value begins, as it is for every other kind of node.
func (n *Node) Offset(offset int) (line, col int) {
	if n.kind != Scalar || offset < 0 {
		return n.line, n.col
	}
	if n.Expanded() {
		if i := strings.IndexByte(n.raw, '$'); i >= 0 && offset > i {
			offset = i // behind it nothing in the file corresponds
		}
	}
	a, ok := n.align()
	if !ok || !a.advance(n.raw, min(offset, len(n.raw))) {
		return n.line, n.col
	}
	return a.position()
}

// An aligner walks a scalar's text and its source side by side.
type aligner struct {
	lines     []string
	line, col int // 0-based, the column in bytes
	style     style
	indent    int // of a block's lines
}

// position is where the aligner is, as people count.
func (a *aligner) position() (line, col int) {
	return a.line + 1, utf8.RuneCountInString(a.lines[a.line][:a.col]) + 1
}

// align puts an aligner where the text of a scalar begins.
func (n *Node) align() (a aligner, ok bool) {
	if n.line < 1 || n.line > len(n.doc.lines) {
		return a, false
	}
	line := []rune(n.doc.lines[n.line-1])
	a = aligner{lines: n.doc.lines, line: n.line - 1, col: len(string(line[:min(n.col-1, len(line))])), style: n.style}
	return a, a.begin()
}

// begin steps over anchor, tag and the opening quote or the header of a block.
func (a *aligner) begin() bool {
	for {
		rest := a.lines[a.line][a.col:]
		if rest == "" || (rest[0] != '&' && rest[0] != '!') {
			break
		}
		end := strings.IndexAny(rest, " \t")
		if end < 0 {
			return false
		}
		a.col += end
		a.col += len(rest[end:]) - len(strings.TrimLeft(rest[end:], " \t"))
	}
	if a.style.block() {
		for _, line := range a.lines[a.line+1:] {
			if trimmed := strings.TrimLeft(line, " "); trimmed != "" {
				a.indent = len(line) - len(trimmed)
				break
			}
		}
		return a.next()
	}
	quote := map[style]string{singleQuoted: "'", doubleQuoted: `"`}[a.style]
	rest, found := strings.CutPrefix(a.lines[a.line][a.col:], quote)
	a.col = len(a.lines[a.line]) - len(rest)
	return found
}

// advance moves to byte offset of text; false when text and source do not match.
func (a *aligner) advance(text string, offset int) bool {
	for i := 0; i < offset; {
		line := a.lines[a.line]
		rest := line[a.col:]
		block := a.style.block()
		switch {
		case block && rest == "":
			if (text[i] != '\n' && text[i] != ' ') || !a.next() {
				return false
			}
			i++
		case !block && strings.TrimLeft(rest, " \t") == "" || a.style == doubleQuoted && rest == `\`:
			// The end of a line within a flow scalar: blank lines are line ends, one alone is
			// a space, and a backslash before it is nothing.
			n, ok := a.fold(text[i:], rest == `\`)
			if !ok {
				return false
			}
			i += n
		case a.style == singleQuoted && strings.HasPrefix(rest, "''"):
			if text[i] != '\'' {
				return false
			}
			a.col += 2
			i++
		case a.style == doubleQuoted && rest[0] == '\\':
			got, width, ok := unescape(rest)
			if !ok || !strings.HasPrefix(text[i:], got) {
				return false
			}
			a.col += width
			i += len(got)
		case rest[0] == text[i]:
			a.col++
			i++
		default:
			return false
		}
	}
	for a.col < len(a.lines[a.line]) && !utf8.RuneStart(a.lines[a.line][a.col]) {
		a.col--
	}
	return true
}

// next goes to the following line of a block, or to its first.
func (a *aligner) next() bool {
	if a.line+1 >= len(a.lines) {
		return false
	}
	a.line++
	a.col = min(a.indent, len(a.lines[a.line]))
	return true
}

// fold steps over the end of a line and the blank lines after it, and reports how many bytes of
// text stand for them.
func (a *aligner) fold(text string, escaped bool) (width int, ok bool) {
	blank := 0
	for {
		if a.line+1 >= len(a.lines) {
			return 0, false
		}
		a.line++
		trimmed := strings.TrimLeft(a.lines[a.line], " \t")
		if trimmed != "" {
			a.col = len(a.lines[a.line]) - len(trimmed)
			break
		}
		blank++
	}
	switch {
	case escaped && blank == 0:
		return 0, true
	case blank > 0:
		return blank, strings.HasPrefix(text, strings.Repeat("\n", blank))
	default:
		return 1, strings.HasPrefix(text, " ")
	}
}

// unescape reads one escape of a double-quoted scalar: what it stands for, and its own width.
func unescape(rest string) (got string, width int, ok bool) {
	if len(rest) < 2 {
		return "", 0, false
	}
	width = 2
	switch rest[1] {
	case 'x':
		width += 2
	case 'u':
		width += 4
	case 'U':
		width += 8
	}
	if len(rest) < width || yaml.Unmarshal([]byte(`"`+rest[:width]+`"`), &got) != nil {
		return "", 0, false
	}
	return got, width, true
}
