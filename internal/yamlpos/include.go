package yamlpos

import (
	"fmt"
	"slices"

	"github.com/nudgewire/nudgewire/internal/units"
)

// Include puts the sections of another document into d, as if they stood there: what Decode and the
// paths find is in both, and each value keeps its own file, line and column. from may hold only
// the sections named, each with names of which d has none; every other thing is reported there. It comes before
// Decode; from is a part of d afterwards.
func (d *Doc) Include(from *Doc, sections ...string) {
	d.parts = append(d.parts, from)
	if d.root == nil || from.root == nil || !from.root.is(Mapping) {
		return
	}
	for _, f := range from.root.fields {
		if !slices.Contains(sections, f.Key) {
			f.KeyNode.Report("may not stand in an included file", fmt.Sprintf("an included file holds %s: write one of these above it, or move it to %s", units.Enumerate(sections), d.file))
			continue
		}
		if f.Value.is(Mapping) {
			d.include(f)
		}
	}
}

// include adds the entries of one section.
func (d *Doc) include(section Field) {
	i := slices.IndexFunc(d.root.fields, func(f Field) bool { return f.Key == section.Key })
	switch {
	case i < 0:
		d.root.fields = append(d.root.fields, section)
		d.enter(section.Value)
		return
	case d.root.fields[i].Value.kind == Null:
		d.root.fields[i] = section
		d.enter(section.Value)
		return
	case d.root.fields[i].Value.kind != Mapping:
		return // Decode reports it
	}
	into := d.root.fields[i].Value
	for _, f := range section.Value.fields {
		if first := into.keyOf(f.Key); first != nil {
			f.KeyNode.doc.report(Problem{
				Line: f.KeyNode.line, Col: f.KeyNode.col, Path: f.KeyNode.path, Code: DuplicateKey,
				Msg: fmt.Sprintf("duplicate key; it is also at %s:%d:%d", first.doc.file, first.line, first.col), Hint: "remove one of the two, or give it another name",
			})
			continue
		}
		into.fields = append(into.fields, f)
		d.enter(f.Value)
	}
}

// keyOf is the node of a key of a mapping; nil where it has no such key.
func (n *Node) keyOf(key string) *Node {
	for _, f := range n.fields {
		if f.Key == key {
			return f.KeyNode
		}
	}
	return nil
}
