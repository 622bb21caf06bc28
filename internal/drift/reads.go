package drift

import (
	"slices"
	"strings"
	"unicode"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

// A Read is a place in the events of a kind that the config reads.
type Read struct {
	mapping.Read
	Loose    bool     // its names are found in other spellings, too
	Raw      bool     // a trigger reads it as raw
	Triggers []string // that read it, or the field that it fills
	Acts     bool     // something is decided or sent by it
}

// always are fields by which something is decided whether or not a trigger names them.
var always = []string{"event.id", "contact.accepts_marketing", "contact.accepts_email"}

// withEach are fields that every trigger goes by that sends because of an event.
var withEach = []string{"contact.phone", "event.occurred_at"}

// ReadsOf are the places that a connector and the triggers which listen read in the events of a kind.
func ReadsOf(c *connectors.Connector, set *triggers.Set, kind string) (all []Read) {
	mapped, loose := c.Reads(kind)
	readers := set.Readers(c.Name(), kind)
	own := map[string]bool{} // fields that have places of their own
	for _, m := range mapped {
		own[m.Field] = true
	}
	for _, m := range mapped {
		one := Read{Read: m, Loose: loose, Acts: slices.Contains(always, m.Field)}
		for i := range readers {
			if r := &readers[i]; reads(r, m.Field, own) {
				one.Triggers, one.Acts = append(one.Triggers, r.Trigger), true
			}
		}
		all = append(all, one)
	}
	for i := range readers {
		for _, way := range readers[i].Raw {
			all = append(all, Read{
				Read: mapping.Read{Field: "raw" + way, Path: rawPath(way), Source: strings.TrimPrefix(way, ".")}, Raw: true, Triggers: []string{readers[i].Trigger}, Acts: true,
			})
		}
	}
	return all
}

// reads reports whether a rule reads a field that a map fills, itself or what is made of it where nothing else says that: a first name of a name.
func reads(r *triggers.Reader, field string, mapped map[string]bool) bool {
	if r.Sends && slices.Contains(withEach, field) {
		return true
	}
	for _, own := range r.Fields {
		if own == field || strings.HasPrefix(own, field+".") || !mapped[own] && slices.Contains(mapping.FilledFrom(own), field) { // of a list, the field of its entries
			return true
		}
	}
	return false
}

// rawPath is a place as an expression names it behind raw, as a path.
func rawPath(way string) (path string) {
	for way != "" {
		switch rest, inBrackets := strings.CutPrefix(way, `["`); {
		case inBrackets:
			name, after, _ := strings.Cut(rest, `"]`)
			path, way = mapping.Below(path, name), after
		case way[0] == '[':
			_, way, _ = strings.Cut(way, "]")
			path = mapping.Entries(path)
		default:
			way = strings.TrimPrefix(way, ".")
			end := strings.IndexAny(way, ".[")
			if end < 0 {
				end = len(way)
			}
			if end == 0 { // nothing that an expression may be
				return path
			}
			path, way = mapping.Below(path, way[:end]), way[end:]
		}
	}
	return path
}

// at reports whether it reads a path.
func (r *Read) at(path string) bool {
	return r.Path == path || r.Loose && core(r.Path) == core(path)
}

// core is a path without case and without what separates the words of its names.
func core(path string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '"' || unicode.IsSpace(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, path)
}

// NamesOf says which names of fields a connector or a trigger reads: they are words of its sender, and nobody's data.
func NamesOf(c *connectors.Connector, set *triggers.Set) func(name string) bool {
	mapped, loose := c.Reads("")
	names := map[string]bool{}
	add := func(path string) {
		for ; path != ""; path = parent(path) {
			name := lastName(path)
			if names[name] = true; loose {
				names[core(name)] = true
			}
		}
	}
	for _, r := range mapped {
		add(r.Path)
	}
	for _, way := range set.Raw() {
		add(rawPath(way))
	}
	delete(names, "")
	return func(name string) bool { return names[name] || loose && names[core(name)] }
}
