package mapping

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

// A View is what expressions can see while one item of a request is mapped.
type View struct {
	Item, Root       string         // JSON, checked
	InItem, InRoot   []rawjson.Span // what their programs found
	Header           http.Header
	RawQuery         string
	query            url.Values // parsed on first use
	Typ, Kind, Event string     // event.type, event.kind and event.id, once they are known
	Group            string     // event.group: the names that lead to the items that this one is of
	One              bool       // the item is the only one of its request
	entry            *View      // for the entries of lists, used again for each
	Readings         *[]Reading
	Of               *messaging.Event // the event at hand: what was given and cannot be read is noted there
	badCountry       string           // what stands where its country should be and names none
	badLanguage      bool             // there is a language that cannot be read
	badZone          bool
}

// Views are used again for request after request: with the memory for what a program finds
// they are the largest thing that mapping needs.
var Views = sync.Pool{New: func() any { return &View{} }}

// Free gives the view back without what it held of the request.
func (v *View) Free() {
	*v = View{InItem: v.InItem[:0], InRoot: v.InRoot[:0], entry: v.entry}
	if v.entry != nil {
		*v.entry = View{InItem: v.entry.InItem[:0]}
	}
	Views.Put(v)
}

// SpansFor is a clean span for every slot of p, in the memory of old where it fits.
func SpansFor(p *rawjson.Program, old []rawjson.Span) []rawjson.Span {
	if p.Slots > cap(old) {
		return make([]rawjson.Span, p.Slots)
	}
	old = old[:p.Slots]
	clear(old)
	return old
}

// A Standalone reads texts of its own, outside of the mapping of items.
type Standalone struct{ program *rawjson.Program }

// StandAlone links expressions to a program of their own.
func StandAlone(exprs ...*Expr) *Standalone {
	l := &Standalone{rawjson.NewProgram()}
	for _, e := range exprs {
		e.Link(l.program, l.program)
	}
	return l
}

// View is what the expressions see in a JSON text.
func (l *Standalone) View(text string) (View, error) {
	found := make([]rawjson.Span, l.program.Slots)
	err := l.program.Run(text, found)
	return View{Item: text, Root: text, InItem: found, InRoot: found}, err
}

// Link gives the expression its slots in the programs of items and of the whole body.
func (e *Expr) Link(item, root *rawjson.Program) {
	switch e.From {
	case FromItem:
		e.slot = item.Add(e.Path.Names)
	case FromRoot:
		e.slot = root.Add(e.Path.Names)
	case FromPieces:
		for _, p := range e.Pieces {
			if p.Expr != nil {
				p.Expr.Link(item, root)
			}
		}
	}
	if e.Country != nil {
		e.Country.Link(item, root)
	}
	if e.Lead != nil {
		e.Lead.list.Link(item, root)
	}
	for i := range e.Path.Steps {
		if l := e.Path.Steps[i].lead; l != nil {
			l.list.Link(item, root)
		}
	}
}

// Raw is the JSON that a path leads to; "" for nothing. For paths with [*] it is the first.
func (e *Expr) Raw(v *View) string {
	text := e.Named(v)
	if text == "" || len(e.Path.Steps) == 0 && e.Lead == nil {
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
func (e *Expr) lands(v *View, text string, yield func(string) bool) {
	if e.Lead == nil {
		v.follow(text, e.Path.Steps, yield)
	} else {
		v.follow(text, e.Path.Steps, func(raw string) bool { return e.Lead.follow(v, raw, yield) })
	}
}

// Every yields all values that a path with [*] leads to; one for a path without.
func (e *Expr) Every(v *View) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if text := e.Named(v); text != "" {
			e.lands(v, text, yield)
		}
	}
}

// Named is the JSON under the path's leading names; "" where there is none.
func (e *Expr) Named(v *View) string {
	text, found := v.Item, v.InItem
	if e.From == FromRoot {
		text, found = v.Root, v.InRoot
	}
	at := found[e.slot]
	return text[at.From:at.To]
}

// Text is the expression's value as text, outer space removed; "" where there is none.
func (e *Expr) Text(v *View) string {
	if e.When != nil && !e.When.Holds(v) {
		return ""
	}
	out := ""
	switch e.From {
	case fromLiteral:
		out = e.Name
	case FromHeader:
		out = strings.TrimSpace(HeaderText(v.Header, e.Name))
	case FromQuery:
		if v.query == nil {
			v.query, _ = url.ParseQuery(v.RawQuery) // what it could read stays, the rest is absent
		}
		out = strings.TrimSpace(v.query.Get(e.Name))
	case FromEvent:
		switch e.Name {
		case "event.type":
			out = v.Typ
		case "event.kind":
			out = v.Kind
		case "event.group":
			out = v.Group
		default:
			out = v.Event
		}
	case FromPieces:
		out = e.join(v)
	default:
		if raw := e.Raw(v); raw != "" {
			out = strings.TrimSpace(rawjson.Text(raw))
		}
	}
	return e.piped(out)
}

func (e *Expr) piped(text string) string {
	if text == "" {
		return ""
	}
	for _, p := range e.Pipes {
		if p.run != nil {
			text = p.run(text)
		}
	}
	return text
}

// given yields every value that the expression leads to, empty ones and false left out (senders write false where
// there is nothing): as text, and an object or a list, which is no text, as its JSON. Where functions leave nothing
// of a text, it is the text before them.
func (e *Expr) given(v *View) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if len(e.Path.Steps) == 0 && e.Lead == nil {
			if text := e.First(v); text != "" {
				yield(text)
			}
			return
		}
		if e.When != nil && !e.When.Holds(v) {
			return
		}
		for raw := range e.Every(v) {
			if text := e.shown(raw); text != "" && !yield(text) {
				return
			}
		}
	}
}

// First is the first value that is given; "" for none. Most expressions lead to one place, and are followed without more.
func (e *Expr) First(v *View) string {
	if len(e.Path.Steps) > 0 || e.Lead != nil {
		return e.firstOfMany(v)
	}
	if e.When != nil && !e.When.Holds(v) {
		return ""
	}
	if e.From != FromItem && e.From != FromRoot {
		return cmp.Or(e.Text(v), e.bare(v))
	}
	return e.shown(e.Named(v))
}

func (e *Expr) firstOfMany(v *View) string {
	for text := range e.given(v) {
		return text
	}
	return ""
}

// shown is a JSON value as given yields it; "" where it is empty.
func (e *Expr) shown(raw string) string {
	if raw == "false" || rawjson.Empty(raw) {
		return ""
	}
	text := strings.TrimSpace(rawjson.Text(raw))
	if n := len(e.Pipes); n > 0 && e.Pipes[n-1].bare {
		return e.piped(text)
	}
	return cmp.Or(e.piped(text), text, raw)
}

// join is the joined text; nothing when one of its expressions has nothing, because half of
// "{action}.{entity}" would be another word.
func (e *Expr) join(v *View) string {
	var b strings.Builder
	for _, p := range e.Pieces {
		if p.Expr == nil {
			b.WriteString(p.Literal)
			continue
		}
		text := p.Expr.Text(v)
		if text == "" {
			return ""
		}
		b.WriteString(text)
	}
	return strings.TrimSpace(b.String())
}

// HeaderText is a request header by its name in any case.
func HeaderText(h http.Header, name string) string {
	if values := h[http.CanonicalHeaderKey(name)]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// follow leads steps through checked JSON and yields where they end. It reports whether to
// go on.
func (v *View) follow(raw string, steps []step, yield func(string) bool) bool {
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
func (s *step) candidates(v *View, raw string) func(yield func(string) bool) {
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

func (s *step) matches(v *View, element string) bool {
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
func (l *lead) follow(v *View, raw string, yield func(string) bool) bool {
	text := rawjson.Text(raw)
	if raw == "" || text == "" {
		return true
	}
	for list := range l.list.Every(v) {
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
