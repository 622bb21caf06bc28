package connectors

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// A view is what expressions can see while one item of a request is mapped.
type view struct {
	item, root       string         // JSON, checked
	inItem, inRoot   []rawjson.Span // what their programs found
	header           http.Header
	rawQuery         string
	query            url.Values // parsed on first use
	typ, kind, event string     // event.type, event.kind and event.id, once they are known
	group            string     // event.group: the names that lead to the items that this one is of
	one              bool       // the item is the only one of its request
	entry            *view      // for the entries of lists, used again for each
	readings         *[]Reading
	of               *messaging.Event // the event at hand: what was given and cannot be read is noted there
	badCountry       string           // what stands where its country should be and names none
	badLanguage      bool             // there is a language that cannot be read
	badZone          bool
}

// views are used again for request after request: with the memory for what a program finds
// they are the largest thing that mapping needs.
var views = sync.Pool{New: func() any { return &view{} }}

// free gives the view back without what it held of the request.
func (v *view) free() {
	*v = view{inItem: v.inItem[:0], inRoot: v.inRoot[:0], entry: v.entry}
	if v.entry != nil {
		*v.entry = view{inItem: v.entry.inItem[:0]}
	}
	views.Put(v)
}

// spansFor is a clean span for every slot of p, in the memory of old where it fits.
func spansFor(p *rawjson.Program, old []rawjson.Span) []rawjson.Span {
	if p.Slots > cap(old) {
		return make([]rawjson.Span, p.Slots)
	}
	old = old[:p.Slots]
	clear(old)
	return old
}

// A lone reads texts of its own, outside of the mapping of items.
type lone struct{ program *rawjson.Program }

// standAlone links expressions to a program of their own.
func standAlone(exprs ...*expr) *lone {
	l := &lone{rawjson.NewProgram()}
	for _, e := range exprs {
		e.link(l.program, l.program)
	}
	return l
}

// view is what the expressions see in a JSON text.
func (l *lone) view(text string) (view, error) {
	found := make([]rawjson.Span, l.program.Slots)
	err := l.program.Run(text, found)
	return view{item: text, root: text, inItem: found, inRoot: found}, err
}

// link gives the expression its slots in the programs of items and of the whole body.
func (e *expr) link(item, root *rawjson.Program) {
	switch e.from {
	case fromItem:
		e.slot = item.Add(e.path.names)
	case fromRoot:
		e.slot = root.Add(e.path.names)
	case fromPieces:
		for _, p := range e.pieces {
			if p.expr != nil {
				p.expr.link(item, root)
			}
		}
	}
	if e.country != nil {
		e.country.link(item, root)
	}
	if e.lead != nil {
		e.lead.list.link(item, root)
	}
	for i := range e.path.steps {
		if l := e.path.steps[i].lead; l != nil {
			l.list.link(item, root)
		}
	}
}

// raw is the JSON that a path leads to; "" for nothing. For paths with [*] it is the first.
func (e *expr) raw(v *view) string {
	text := e.named(v)
	if text == "" || len(e.path.steps) == 0 && e.lead == nil {
		return text
	}
	first := ""
	e.lands(v, text, func(raw string) bool {
		first = raw
		return false
	})
	return first
}

// lands yields what the path's steps, and where they lead, come to in the JSON under its leading names.
func (e *expr) lands(v *view, text string, yield func(string) bool) {
	if e.lead == nil {
		v.follow(text, e.path.steps, yield)
	} else {
		v.follow(text, e.path.steps, func(raw string) bool { return e.lead.follow(v, raw, yield) })
	}
}

// every yields all values that a path with [*] leads to; one for a path without.
func (e *expr) every(v *view) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if text := e.named(v); text != "" {
			e.lands(v, text, yield)
		}
	}
}

// named is the JSON under the path's leading names; "" where there is none.
func (e *expr) named(v *view) string {
	text, found := v.item, v.inItem
	if e.from == fromRoot {
		text, found = v.root, v.inRoot
	}
	at := found[e.slot]
	return text[at.From:at.To]
}

// text is the expression's value as text, outer space removed; "" where there is none.
func (e *expr) text(v *view) string {
	if e.when != nil && !e.when.holds(v) {
		return ""
	}
	out := ""
	switch e.from {
	case fromLiteral:
		out = e.name
	case fromHeader:
		out = strings.TrimSpace(headerText(v.header, e.name))
	case fromQuery:
		if v.query == nil {
			v.query, _ = url.ParseQuery(v.rawQuery) // what it could read stays, the rest is absent
		}
		out = strings.TrimSpace(v.query.Get(e.name))
	case fromEvent:
		switch e.name {
		case "event.type":
			out = v.typ
		case "event.kind":
			out = v.kind
		case "event.group":
			out = v.group
		default:
			out = v.event
		}
	case fromPieces:
		out = e.join(v)
	default:
		if raw := e.raw(v); raw != "" {
			out = strings.TrimSpace(rawjson.Text(raw))
		}
	}
	return e.piped(out)
}

func (e *expr) piped(text string) string {
	if text == "" {
		return ""
	}
	for _, p := range e.pipes {
		if p.run != nil {
			text = p.run(text)
		}
	}
	return text
}

// given yields every value that the expression leads to, empty ones and false left out (senders write false where
// there is nothing): as text, and an object or a list, which is no text, as its JSON. Where functions leave nothing
// of a text, it is the text before them.
func (e *expr) given(v *view) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if len(e.path.steps) == 0 && e.lead == nil {
			if text := e.first(v); text != "" {
				yield(text)
			}
			return
		}
		if e.when != nil && !e.when.holds(v) {
			return
		}
		for raw := range e.every(v) {
			if text := e.shown(raw); text != "" && !yield(text) {
				return
			}
		}
	}
}

// first is the first value that is given; "" for none. Most expressions lead to one place, and are followed without more.
func (e *expr) first(v *view) string {
	if len(e.path.steps) > 0 || e.lead != nil {
		return e.firstOfMany(v)
	}
	if e.when != nil && !e.when.holds(v) {
		return ""
	}
	if e.from != fromItem && e.from != fromRoot {
		return cmp.Or(e.text(v), e.bare(v))
	}
	return e.shown(e.named(v))
}

func (e *expr) firstOfMany(v *view) string {
	for text := range e.given(v) {
		return text
	}
	return ""
}

// shown is a JSON value as given yields it; "" where it is empty.
func (e *expr) shown(raw string) string {
	if raw == "false" || rawjson.Empty(raw) {
		return ""
	}
	text := strings.TrimSpace(rawjson.Text(raw))
	if n := len(e.pipes); n > 0 && e.pipes[n-1].bare {
		return e.piped(text)
	}
	return cmp.Or(e.piped(text), text, raw)
}

// join is the joined text; nothing when one of its expressions has nothing, because half of
// "{action}.{entity}" would be another word.
func (e *expr) join(v *view) string {
	var b strings.Builder
	for _, p := range e.pieces {
		if p.expr == nil {
			b.WriteString(p.literal)
			continue
		}
		text := p.expr.text(v)
		if text == "" {
			return ""
		}
		b.WriteString(text)
	}
	return strings.TrimSpace(b.String())
}

// headerText is a request header by its name in any case.
func headerText(h http.Header, name string) string {
	if values := h[http.CanonicalHeaderKey(name)]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// follow leads steps through checked JSON and yields where they end. It reports whether to
// go on.
func (v *view) follow(raw string, steps []step, yield func(string) bool) bool {
	if len(steps) == 0 {
		return yield(raw)
	}
	s, rest := steps[0], steps[1:]
	switch s.kind {
	case stepName:
		// A list of one counts as its only element, as relays wrap single values.
		for raw != "" && raw[0] == '[' {
			if raw = rawjson.Only(raw); raw == "" {
				return true
			}
		}
		if found := rawjson.Member(raw, s.name); found != "" {
			return v.follow(found, rest, yield)
		}
	case stepIndex:
		if found := element(raw, s.index); found != "" {
			return v.follow(found, rest, yield)
		}
	case stepEvery:
		for element := range entriesOf(raw) {
			if !v.follow(element, rest, yield) {
				return false
			}
		}
	case stepEqual, stepContains:
		for element := range s.candidates(v, raw) {
			// Only the first match counts, but where it lacks what comes behind, the
			// next one is tried: [type=phone].number of a phone that has none.
			hit := false
			goOn := v.follow(element, rest, func(found string) bool {
				hit = true
				return yield(found)
			})
			if hit || !goOn {
				return goOn
			}
		}
	}
	return true
}

// candidates yields the entries of a list that a filter takes, or the members of an object, as forms keep their fields by id; where it
// names none of an entry, the members of an object whose names contain its text.
func (s *step) candidates(v *view, raw string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if len(s.where) == 0 {
			for name, member := range rawjson.Members(raw) {
				if s.contains(name) && !yield(member) {
					return
				}
			}
			return
		}
		for element := range rawjson.Elements(raw) {
			if s.matches(v, element) && !yield(element) {
				return
			}
		}
		for _, member := range rawjson.Members(raw) {
			if s.matches(v, member) && !yield(member) {
				return
			}
		}
	}
}

func (s *step) contains(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(s.value, func(word string) bool { return strings.Contains(text, word) })
}

func (s *step) matches(v *view, element string) bool {
	for _, name := range s.where {
		element = rawjson.Member(element, name)
	}
	if s.lead != nil {
		led := ""
		s.lead.follow(v, element, func(raw string) bool {
			led = raw
			return false
		})
		element = led
	}
	if element == "" {
		return false
	}
	if s.kind == stepContains {
		return s.contains(rawjson.Text(element))
	}
	return slices.Contains(s.value, rawjson.Text(element))
}

// follow yields what the value at raw leads to. It reports whether to go on.
func (l *lead) follow(v *view, raw string, yield func(string) bool) bool {
	text := rawjson.Text(raw)
	if raw == "" || text == "" {
		return true
	}
	for list := range l.list.every(v) {
		for entry := range rawjson.Elements(list) {
			at := entry
			for _, name := range l.key {
				at = rawjson.Member(at, name)
			}
			if at != "" && rawjson.Text(at) == text {
				return v.follow(entry, l.rest, yield)
			}
		}
	}
	return true
}

// element is the n-th of a list, counted from the end for a negative n. An object whose names are
// numbers, as PHP writes lists with holes, is read as a list too.
func element(raw string, n int) string {
	if raw != "" && raw[0] == '{' {
		return rawjson.Member(raw, strconv.Itoa(n))
	}
	return rawjson.Element(raw, n)
}
