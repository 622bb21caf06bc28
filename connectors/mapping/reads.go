package mapping

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nudgewire/nudgewire/connectors/problems"
)

// Below is the path of a member, as it is written in a map.
func Below(path, name string) string {
	if name == "" || strings.ContainsAny(name, ".[]|\"'{} ") || problems.HasPrefixFold(name, "root:") || problems.HasPrefixFold(name, "header:") {
		name = strconv.Quote(name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// Entries is the path of the entries of a list.
func Entries(path string) string { return path + "[]" }

// A Read is a place of an event's item that a connector reads.
type Read struct {
	Field  string // that is filled by it, such as contact.phone or event.id
	Path   string // with [] for entries of lists; "" for what stands outside of the item, such as a header
	Source string // the expression, as written
	Plain  bool   // Source says all of it: it has no condition, no country and no word of consent of its own
}

// Reads are the places that are read for the fields of an event of a kind. topics are the sender's words for the kind.
func (m *Mapper) Reads(kind string, topics []string) (all []Read) {
	for _, topic := range append([]string{""}, topics...) {
		for _, a := range m.Plan(kind, topic).Assignments {
			for _, one := range a.reads() {
				if !slices.Contains(all, one) {
					all = append(all, one)
				}
			}
		}
	}
	return all
}

// AllReads are the places that are read for events of any kind.
func (m *Mapper) AllReads() (all []Read) {
	for i := range m.Layers {
		for j := range m.Layers[i].Fields {
			all = append(all, m.Layers[i].Fields[j].reads()...)
		}
	}
	return all
}

func (a *assignment) reads() (all []Read) {
	field := Targets[a.Target].Name
	for _, e := range a.Paths {
		all = append(all, e.Reads(field)...)
	}
	if a.Each == nil {
		return all
	}
	for _, list := range a.Each.From.Reads(field) {
		all = append(all, list)
		for i, parts := range a.Each.parts {
			for _, e := range parts {
				for _, one := range e.Reads(field + "." + eachParts[i]) {
					if one.Path != "" {
						one.Path = Entries(list.Path) + "." + one.Path
					}
					all = append(all, one)
				}
			}
		}
	}
	return all
}

// Reads are the places that an expression reads.
func (e *Expr) Reads(field string) (all []Read) {
	one := Read{Field: field, Source: e.Source, Plain: e.Country == nil && e.When == nil && e.says == SaysBoth}
	for _, p := range e.Pieces {
		if p.Expr == nil {
			continue
		}
		for _, read := range p.Expr.Reads(field) {
			one.Path = read.Path
			all = append(all, one)
		}
	}
	switch {
	case e.From == FromPieces && len(all) > 0:
		return all
	case e.From == fromLiteral:
		one.Source = "'" + strings.ReplaceAll(e.Name, "'", "''") + "'"
	case e.From == FromItem:
		one.Path = e.way()
	}
	return []Read{one}
}

// way is where the expression leads in the item. Where it goes on by what an entry says, it is the list.
func (e *Expr) way() (at string) {
	for _, name := range e.Path.Names {
		at = Below(at, name)
	}
	for _, s := range e.Path.Steps {
		switch s.kind {
		case stepName:
			at = Below(at, s.name)
		case stepIndex, stepEvery:
			at = Entries(at)
		default:
			return at
		}
	}
	return at
}

// Short is the shortest name by which a map may call a field.
func Short(field string) string {
	if field == "contact.phone" {
		return "phone"
	}
	return field
}
