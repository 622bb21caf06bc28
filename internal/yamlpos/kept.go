package yamlpos

import (
	"regexp"
	"strings"
)

// Kept calls each with the document and those that it includes as they are written, byte for byte, but for what Files stars out: each of those
// stretches is what of makes of it. Addresses in the section that is named are for everybody, and stay.
func (d *Doc) Kept(public string, of func(secret string) string, each func(file, text string)) {
	for _, one := range append([]*Doc{d}, d.parts...) {
		each(one.file, one.kept(public, of))
	}
}

// linesOf are the first line of a section in this file, from its key on, and the last one; 0 where it has none.
func (d *Doc) linesOf(section string) (first, last int) {
	if d.root == nil {
		return 0, 0
	}
	for _, f := range d.root.fields {
		if f.Key == section && f.KeyNode.doc == d {
			return f.KeyNode.line, max(f.KeyNode.line, f.Value.lastLineIn(d))
		}
	}
	return 0, 0
}

// lastLineIn is the last line of what is in n and stands in the file d; 0 for nothing.
func (n *Node) lastLineIn(d *Doc) (last int) {
	if n.doc == d && len(n.items)+len(n.fields) == 0 {
		return n.lastLine()
	}
	for _, item := range n.items {
		last = max(last, item.lastLineIn(d))
	}
	for _, f := range n.fields {
		last = max(last, f.Value.lastLineIn(d))
	}
	return last
}

// lineEnd is what ends a line of a file, as splitLines takes it.
var lineEnd = regexp.MustCompile(`\r\n|\r|\n`)

func (d *Doc) kept(public string, of func(secret string) string) string {
	var out strings.Builder
	first, last := d.linesOf(public)
	text, marked := strings.CutPrefix(d.src, byteOrderMark)
	if marked {
		out.WriteString(byteOrderMark)
	}
	at := 0
	for number := 1; ; number++ {
		end := lineEnd.FindStringIndex(text[at:])
		line := text[at:]
		if end != nil {
			line = text[at : at+end[0]]
		}
		shown := d.commented(number)
		if first <= number && number <= last {
			shown = d.shown(number)
		}
		writeWithout(&out, line, shown, of)
		if end == nil {
			return out.String()
		}
		out.WriteString(text[at+end[0] : at+end[1]])
		at += end[1]
	}
}

// writeWithout writes a line with what of makes of each stretch that is stars in shown, which is as many runes long.
func writeWithout(out *strings.Builder, line, shown string, of func(string) string) {
	if line == shown {
		out.WriteString(line)
		return
	}
	runes, stars := []rune(line), []rune(shown)
	if len(runes) != len(stars) { // it cannot be; what would be shown then is not known
		out.WriteString(of(line))
		return
	}
	for i := 0; i < len(runes); {
		end := i
		for end < len(runes) && stars[end] == '*' {
			end++
		}
		if hidden := string(runes[i:end]); strings.Trim(hidden, "* ") != "" {
			secret := strings.TrimLeft(hidden, " ") // of a block of lines all is hidden, what indents it, too
			out.WriteString(hidden[:len(hidden)-len(secret)] + of(secret))
			i = end
			continue
		}
		end = max(end, i+1)
		out.WriteString(string(runes[i:end]))
		i = end
	}
}
