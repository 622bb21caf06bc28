package yamlpos

import (
	"fmt"
	"strings"
)

// Again reads the documents of d once more, as they were read then: nothing is asked of the disk, and references have the values that they
// had. The copy may be decoded and reported to without a change to d. sections are what included documents hold.
func (o Options) Again(d *Doc, sections ...string) *Doc {
	known := d.References("")
	o.Expand = func(text string) (string, error) {
		if value, is := known[text]; is {
			return value, nil
		}
		return text, nil
	}
	out := o.Parse(d.file, []byte(strings.Join(d.lines, "\n")))
	for _, part := range d.parts {
		out.Include(o.Parse(part.file, []byte(strings.Join(part.lines, "\n"))), sections...)
	}
	return out
}

// References are the texts with references at or below a path, "" for all, and what they were replaced by. A stand-in is none.
func (d *Doc) References(under string) map[string]string {
	known := map[string]string{}
	for path, n := range d.byPath {
		rest, below := strings.CutPrefix(path, under)
		if below = below && (under == "" || rest == "" || rest[0] == '.' || rest[0] == '['); !below || n.kind != Scalar {
			continue
		}
		if n.Usable() && n.Expanded() && !n.doc.standIns[n.path] {
			known[n.raw] = n.text
		}
	}
	return known
}

// Replace puts the entries of a section of another document in place of those of the same name, and the others behind them. Nothing but
// that section may stand in it. It comes before Decode; from is a part of d afterwards.
func (d *Doc) Replace(from *Doc, section string) {
	d.parts = append(d.parts, from)
	if d.root == nil || from.root == nil || !from.root.is(Mapping) {
		return
	}
	for _, f := range from.root.fields {
		if f.Key != section {
			f.KeyNode.Report("may not stand here", fmt.Sprintf("write %s: as the first line, and below it what is to be tried", section))
			continue
		}
		into := d.root.Get(section)
		if !f.Value.is(Mapping) || into == nil || into.kind != Mapping {
			d.include(f)
			continue
		}
		for _, entry := range f.Value.fields {
			for i := range into.fields {
				if into.fields[i].Key == entry.Key {
					d.leave(into.fields[i].Value)
					into.fields = append(into.fields[:i], into.fields[i+1:]...)
					break
				}
			}
		}
		d.include(f)
	}
}

// leave makes n and all below it not known any more.
func (d *Doc) leave(n *Node) {
	delete(d.byPath, n.path)
	delete(d.byLoosePath, loosePath(n.path))
	for _, item := range n.items {
		d.leave(item)
	}
	for _, f := range n.fields {
		d.leave(f.Value)
	}
}

// Files are the document and those that it includes, whole, as they may be shown: secrets are starred out, in comments as well as they can
// be told there.
func (d *Doc) Files() []Source {
	var out []Source
	for _, one := range append([]*Doc{d}, d.parts...) {
		s := Source{File: one.file, First: 1}
		for i := range one.lines {
			s.Lines = append(s.Lines, one.commented(i+1))
		}
		if last := len(s.Lines) - 1; last > 0 && s.Lines[last] == "" {
			s.Lines = s.Lines[:last] // behind the end of the last line
		}
		out = append(out, s)
	}
	return out
}

// commented is a line as it may be shown, with what looks like a secret in its comment starred out: no tree knows of that.
func (d *Doc) commented(number int) string {
	line := d.line(number)
	at := strings.Index(line, "#")
	if at < 0 || d.root == nil {
		return line
	}
	return line[:at+1] + guessSecrets(line[at+1:])
}
