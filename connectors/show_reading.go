package connectors

import (
	"slices"
	"strconv"
	"strings"
	"unsafe"

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
	for _, a := range c.mapper.plan(e.Kind, e.Topic).assignments {
		if slices.ContainsFunc(a.paths, func(p *expr) bool { return p.within(l.into) }) || a.each != nil && a.each.from.within(l.into) {
			out.Fields = append(out.Fields, targets[a.target].name)
		}
	}
	for i := range c.lookups {
		if other := &c.lookups[i]; slices.ContainsFunc(other.url, func(p piece) bool { return p.expr != nil && p.expr.within(l.into) }) {
			out.Then = appendNew(out.Then, c.config.Enrich[i].Get)
		}
	}
	return out
}

// within reports whether an expression reads what lies under a name of the item.
func (e *expr) within(name string) bool {
	return e.from == fromItem && len(e.path.names) > 0 && e.path.names[0] == name ||
		slices.ContainsFunc(e.pieces, func(p piece) bool { return p.expr != nil && p.expr.within(name) })
}

// A Leaf is a value of an event's body that nothing here reads. Triggers have it as raw.
type Leaf struct {
	Path  string `json:"path"`
	Value string `json:"value"` // in one line, phones masked
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
	found   []Leaf
	more    int // that are left out
}

// unmapped are the values of the item that no path of the connector leads to, in their order; of a list those of its first entry. more is
// how many are left out.
func (c *Connector) unmapped(v *view, e *messaging.Event) (found []Leaf, more int) {
	if v.item == "" || v.item[0] != '{' {
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
	for _, a := range c.mapper.plan(e.Kind, e.Topic).assignments {
		whole := targets[a.target].kind == takesTags || targets[a.target].kind == takesAnswers
		for _, p := range a.paths {
			l.note(v, p, whole)
		}
		if a.each != nil {
			l.note(v, a.each.from, true)
		}
	}
	if asks := (&view{item: v.item}); asks.search(c.lookupProgram) == nil {
		for i := range c.lookups {
			for _, p := range c.lookups[i].url {
				l.note(asks, p.expr, false)
			}
			for _, w := range c.lookups[i].when {
				if w.rule != nil {
					l.rules(asks, w.rule)
				}
			}
		}
	}
	l.walk("", v.item, 0)
	return l.found, l.more
}

func (l *leaves) noteAll(v *view, exprs ...*expr) {
	for _, e := range exprs {
		l.note(v, e, false)
	}
}

func (l *leaves) rules(v *view, rules ...*rule) {
	for _, r := range rules {
		l.note(v, r.left, false)
	}
}

// note marks what an expression leads to as read: a value, and with whole an object or a list, too.
func (l *leaves) note(v *view, e *expr, whole bool) {
	if e == nil {
		return
	}
	for _, p := range e.pieces {
		l.note(v, p.expr, whole)
	}
	l.note(v, e.country, false)
	if e.when != nil {
		l.note(v, e.when.left, false)
	}
	if e.from != fromItem {
		return
	}
	for raw := range e.every(v) {
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
			l.walk(joinPath(path, name), member, depth+1)
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
		l.found = append(l.found, Leaf{Path: path, Value: mask.Words(text, mostShort)})
	}
}

// joinPath is the path of a member, as it is written in map.
func joinPath(path, name string) string {
	if name == "" || strings.ContainsAny(name, ".[]|\"'{} ") || hasPrefixFold(name, "root:") || hasPrefixFold(name, "header:") {
		name = strconv.Quote(name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}
