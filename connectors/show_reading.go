package connectors

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/connectors/problems"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// An Asked is the look-up that the daemon would make for an event, for people. Nothing is asked.
type Asked struct {
	URL     string   `json:"url" kind:"text"`
	Fields  []string `json:"fields,omitempty" kind:"ours"`  // that its answer may fill
	Then    []string `json:"then,omitempty" kind:"ours"`    // addresses, as written, that are asked with what it answers
	Missing string   `json:"missing,omitempty" kind:"text"` // why it cannot be made
}

// Asks is the next look-up that an event needs; nil for none.
func (c *Connector) Asks(e *messaging.Event) *Asked {
	l, v, err := c.next(e)
	if l == nil || err != nil {
		return nil
	}
	out := &Asked{}
	if out.URL, err = l.address(v); err != nil {
		out.Missing = err.Error()
	} else if len(l.missing) > 0 {
		out.Missing = c.notSet(l)
	}
	if l.made.Host == noHost {
		out.URL = strings.TrimPrefix(out.URL, "https://"+noHost)
	}
	for _, a := range c.mapper.Plan(e.Kind, e.Topic).Assignments {
		if slices.ContainsFunc(a.Paths, func(p *mapping.Expr) bool { return leadsInto(p, l.into) }) || a.Each != nil && leadsInto(a.Each.From, l.into) {
			out.Fields = append(out.Fields, mapping.Targets[a.Target].Name)
		}
	}
	for i := range c.lookups {
		if other := &c.lookups[i]; slices.ContainsFunc(other.url, func(p mapping.Piece) bool { return p.Expr != nil && leadsInto(p.Expr, l.into) }) {
			out.Then = appendNew(out.Then, c.config.Enrich[i].Get)
		}
	}
	return out
}

// leadsInto reports whether an expression reads what lies under a name of the item.
func leadsInto(e *mapping.Expr, name string) bool {
	return e.From == mapping.FromItem && len(e.Path.Names) > 0 && e.Path.Names[0] == name ||
		slices.ContainsFunc(e.Pieces, func(p mapping.Piece) bool { return p.Expr != nil && leadsInto(p.Expr, name) })
}

// Bounds of what is shown of a body that nothing reads.
const (
	maxLeaves = 40
	maxDepth  = 12
)

// A leaves gathers what of an item is not read.
type leaves struct {
	read    map[*byte]bool // where values begin that something reads
	secrets []string
	found   []mapping.Leaf
	more    int // that are left out
}

// unmapped are the values of the item that no path of the connector leads to, in their order; of a list those of its first entry. more is
// how many are left out.
func (c *Connector) unmapped(v *mapping.View, e *messaging.Event) (found []mapping.Leaf, more int) {
	if v.Item == "" || v.Item[0] != '{' {
		return nil, 0
	}
	l := leaves{read: map[*byte]bool{}, secrets: c.secrets}
	l.noteAll(v, c.event.types...)
	l.noteAll(v, c.event.times...)
	l.noteAll(v, c.event.dedupe...)
	for i := range c.event.ids {
		l.noteAll(v, c.event.ids[i].exprs...)
	}
	for _, k := range c.event.kinds {
		l.rules(v, k.when...)
	}
	l.rules(v, c.skips...)
	for _, r := range c.rejects {
		l.rules(v, r.when...)
	}
	for _, a := range c.mapper.Plan(e.Kind, e.Topic).Assignments {
		whole := mapping.Targets[a.Target].Kind == mapping.TakesTags || mapping.Targets[a.Target].Kind == mapping.TakesAnswers
		for _, p := range a.Paths {
			l.note(v, p, whole)
		}
		if a.Each != nil {
			l.note(v, a.Each.From, true)
		}
	}
	if asks := (&mapping.View{Item: v.Item}); searchItem(asks, c.lookupProgram) == nil {
		for i := range c.lookups {
			for _, p := range c.lookups[i].url {
				l.note(asks, p.Expr, false)
			}
			for _, w := range c.lookups[i].when {
				if w.rule != nil {
					l.rules(asks, w.rule)
				}
			}
		}
	}
	l.walk("", v.Item, 0)
	return l.found, l.more
}

func (l *leaves) noteAll(v *mapping.View, exprs ...*mapping.Expr) {
	for _, e := range exprs {
		l.note(v, e, false)
	}
}

func (l *leaves) rules(v *mapping.View, rules ...*mapping.Rule) {
	for _, r := range rules {
		l.note(v, r.Left, false)
	}
}

// note marks what an expression leads to as read: a value, and with whole an object or a list, too.
func (l *leaves) note(v *mapping.View, e *mapping.Expr, whole bool) {
	if e == nil {
		return
	}
	for _, p := range e.Pieces {
		l.note(v, p.Expr, whole)
	}
	l.note(v, e.Country, false)
	if e.When != nil {
		l.note(v, e.When.Left, false)
	}
	if e.From != mapping.FromItem {
		return
	}
	for raw := range e.Every(v) {
		if raw != "" && (whole || raw[0] != '{' && raw[0] != '[' || rawjson.Only(raw) != "") {
			l.read[unsafe.StringData(raw)] = true //nolint:gosec // audited: compared, and not followed
		}
	}
}

func (l *leaves) walk(path, raw string, depth int) {
	if raw == "" || l.read[unsafe.StringData(raw)] || raw == "false" || rawjson.Empty(raw) { //nolint:gosec // audited: compared, and not followed
		return
	}
	switch {
	case raw[0] == '{' && depth < maxDepth:
		for name, member := range rawjson.Members(raw) {
			l.walk(mapping.Below(path, name), member, depth+1)
		}
	case raw[0] == '[' && depth < maxDepth:
		l.walk(path+"[0]", rawjson.Element(raw, 0), depth+1)
	case len(l.found) == maxLeaves:
		l.more++
	default:
		text := rawjson.Text(raw)
		if text == "" || slices.Contains(l.secrets, text) {
			return
		}
		l.found = append(l.found, mapping.Leaf{Path: path, Value: mask.Words(text, problems.MostShort)})
	}
}

// Reads are the places of an event's item that are read, by its map and for what it is, of all kinds with ""; loose says that names are found in other spellings.
func (c *Connector) Reads(kind string) (all []mapping.Read, loose bool) {
	add := func(field string, exprs ...*mapping.Expr) {
		for _, e := range exprs {
			all = append(all, e.Reads(field)...)
		}
	}
	add("event.type", c.event.types...)
	for i := range c.event.ids {
		add("event.id", c.event.ids[i].exprs...)
	}
	add("event.id", c.event.dedupe...)
	add(occurredAt, c.event.times...)
	if kind == "" {
		return append(all, c.mapper.AllReads()...), c.config.Body.LooseNames
	}
	topics, _ := c.topicsOf(kind)
	return append(all, c.mapper.Reads(kind, topics)...), c.config.Body.LooseNames
}

// Inspect is Receive for people: besides what came of the request it says for each event, in
// their order, which path filled which field. Fields that were worked out of others (a first
// name of a name) are not in it.
func (c *Connector) Inspect(r Request) (Received, []mapping.Reading, error) {
	r.readings = &[]mapping.Reading{}
	got, err := c.Receive(r)
	for _, reading := range *r.readings {
		origins := reading.Fields
		for i := range origins {
			same := func(o mapping.Origin) bool { return o.Field == origins[i].Field }
			origins[i].Used = slices.ContainsFunc(origins[:i], same) && !slices.ContainsFunc(origins[i+1:], same)
		}
	}
	return got, *r.readings, err
}
