package drift

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/connectors/mapping"
)

// A mend is what of a connector's entry is written anew because a field is not where it was.
type mend struct {
	event []string // members of event:
	maps  []string // members of the map of the kind
	rules []string // what triggers read as raw, in words
}

// place stands where nothing is known that the field may have become.
const place = "PATH"

// mendOf is the YAML that reads each of some fields where it is now, by what it may have become.
func mendOf(todo []View, all []Read, now []string) mend {
	all = slices.DeleteFunc(slices.Clone(all), func(r Read) bool { // of many places those that are there at times are written again
		return r.Path != "" && count(all, r.Field) > mostWritten && !isTodo(r, todo) && !slices.ContainsFunc(now, r.at)
	})
	var m mend
	done := map[string]bool{}
	for i := range todo {
		for _, r := range todo[i].reads {
			if field, _ := listOf(r.Field); !r.Raw {
				if !done[field] {
					done[field] = true
					m.field(field, todo, all)
				}
				continue
			}
			now := cmp.Or(first(todo[i].Near), place)
			for _, name := range r.Triggers {
				m.rules = append(m.rules, fmt.Sprintf("triggers.%s reads raw.%s: write raw.%s", name, r.Source, written(now)))
			}
		}
	}
	slices.Sort(m.rules)
	m.rules = slices.Compact(m.rules)
	return m
}

// mostWritten is how many places a field may have for all of them to be written again.
const mostWritten = 6

func count(all []Read, field string) (n int) {
	for _, r := range all {
		if r.Field == field {
			n++
		}
	}
	return n
}

// isTodo reports whether something is to be done about a place.
func isTodo(r Read, todo []View) bool {
	return slices.ContainsFunc(todo, func(v View) bool { return v.has(r) })
}

// has reports whether the view is about a place of a field.
func (v *View) has(r Read) bool {
	return slices.ContainsFunc(v.reads, func(one Read) bool { return one.Field == r.Field && one.Path == r.Path })
}

// field writes a field anew.
func (m *mend) field(field string, todo []View, all []Read) {
	switch {
	case field == "event.id":
		m.event = append(m.event, "id: "+list(anew(field, todo, all)))
	case field == "event.occurred_at":
		m.event = append(m.event, "time: "+list(anew(field, todo, all)))
	case slices.ContainsFunc(all, func(r Read) bool { of, part := listOf(r.Field); return of == field && part != "" }):
		m.maps = append(m.maps, field+": "+each(field, todo, all))
	default:
		m.maps = append(m.maps, mapping.Short(field)+": "+list(anew(field, todo, all)))
	}
}

// each writes the map of a list anew.
func each(field string, todo []View, all []Read) string {
	parts := []string{"each: " + quoted(first(anew(field, todo, all)))}
	for _, r := range all {
		if of, part := listOf(r.Field); of == field && part != "" {
			text := part + ": " + list(anew(r.Field, todo, all))
			if !slices.Contains(parts, text) {
				parts = append(parts, text)
			}
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// listOf is the list that a field of an entry belongs to, with that field: cart.items and title; else the field alone.
func listOf(field string) (list, part string) {
	if at := strings.LastIndexByte(field, '.'); strings.Count(field, ".") == 2 {
		return field[:at], field[at+1:]
	}
	return field, ""
}

// anew are the expressions for a field: first those that lead to where it is now, then those that were written.
func anew(field string, todo []View, all []Read) (sources []string) {
	var old []string
	for _, r := range all {
		if r.Field != field {
			continue
		}
		for i := range todo {
			if !todo[i].has(r) {
				continue
			}
			now := cmp.Or(first(todo[i].Near), place)
			if list, _ := listOf(field); list != field { // from its entry on
				_, now, _ = strings.Cut(now, mapping.Entries("")+".")
				now = cmp.Or(now, place)
			}
			source := written(now)
			if plain := written(lastOf(r.Path, field)); r.Plain && strings.Contains(r.Source, plain) {
				source = strings.Replace(r.Source, plain, source, 1)
			}
			sources = append(sources, source)
		}
		if r.Plain { // a map of its own could not say the rest of others
			old = append(old, r.Source)
		}
	}
	var out []string
	for _, s := range append(sources, old...) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// lastOf is a path as the expressions of a field write it: of a field of an entry, from the entry on.
func lastOf(path, field string) string {
	if list, _ := listOf(field); list != field {
		if _, rest, inside := strings.Cut(path, mapping.Entries("")+"."); inside {
			return rest
		}
	}
	return path
}

// written is a path as a map writes it: of a list, the first entry.
func written(path string) string { return strings.ReplaceAll(path, mapping.Entries(""), "[0]") }

func first(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return all[0]
}

// list is one expression, or a list of several, as YAML.
func list(sources []string) string {
	texts := make([]string, len(sources))
	for i, s := range sources {
		texts[i] = quoted(s)
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

var plainYAML = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

// quoted is a text as a value of YAML in brackets.
func quoted(text string) string {
	if plainYAML.MatchString(text) && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off"}, strings.ToLower(text)) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// yaml is the entry to paste; "" where only triggers are to be edited.
func (m *mend) yaml(connector, kind string) string {
	var parts []string
	if len(m.event) > 0 {
		parts = append(parts, "event: {"+strings.Join(m.event, ", ")+"}")
	}
	if len(m.maps) > 0 {
		parts = append(parts, "map_for: {"+quoted(kind)+": {"+strings.Join(m.maps, ", ")+"}}")
	}
	if len(parts) == 0 {
		return ""
	}
	return "connectors: {" + quoted(connector) + ": {" + strings.Join(parts, ", ") + "}}"
}
