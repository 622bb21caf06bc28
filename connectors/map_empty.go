package connectors

import (
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// nouns are the parts of an event with the names of what the sender gave and left empty.
var nouns = []struct {
	prefix string
	empty  func(*event) *messaging.Names
}{
	{"contact.", func(e *event) *messaging.Names { return &e.Contact.Empty }},
	{"cart.", func(e *event) *messaging.Names { return &e.Cart.Empty }},
	{"order.", func(e *event) *messaging.Names { return &e.Order.Empty }},
	{"deal.", func(e *event) *messaging.Names { return &e.Deal.Empty }},
	{"form.", func(e *event) *messaging.Names { return &e.Form.Empty }},
	{"message.", func(e *event) *messaging.Names { return &e.Message.Empty }},
}

// noteEmpty notes that the target was given and is empty, which is another thing than not being given: no condition over a
// field that a payload does not have can hold.
func noteEmpty(e *messaging.Event, t *target) {
	for i := range nouns {
		if field, ok := strings.CutPrefix(t.name, nouns[i].prefix); ok {
			names := nouns[i].empty(e)
			*names = append(*names, field)
			return
		}
	}
}

// givenEmpty notes a target of which nothing was taken, where one of its paths leads to something empty.
func givenEmpty(e *messaging.Event, v *view, t *target, paths []*expr) {
	for _, p := range paths {
		if p.empty(v) {
			noteEmpty(e, t)
			return
		}
	}
}

// emptyKinds are the targets that can be empty. A number, an amount, a time or a word of consent cannot: what is empty is none,
// as if it had not been given.
func (k targetKind) canBeEmpty() bool {
	switch k {
	case takesText, takesName, takesTags, takesItems, takesAnswers, takesCountry, takesZone, takesLanguage, takesCurrency:
		return true
	default:
		return false
	}
}

// empty reports whether the expression leads to an empty text, an empty list or object, or null. A path through [*] does where
// the list is empty.
func (e *expr) empty(v *view) bool {
	if e.from != fromItem && e.from != fromRoot || e.when != nil && !e.when.holds(v) {
		return false
	}
	raw := e.named(v)
	if raw == "" || len(e.path.steps) == 0 || hollow(raw) {
		return hollow(raw)
	}
	return hollow(e.raw(v))
}

// hollow reports whether a JSON value that is there holds nothing.
func hollow(raw string) bool {
	switch {
	case raw == "":
		return false
	case raw[0] == '[' || raw[0] == '{':
		return raw[rawjson.SkipSpace(raw, 1)] == raw[0]+2 // '{'+2 is '}', '['+2 is ']'
	case raw[0] == '"':
		return strings.TrimSpace(rawjson.Unquote(raw)) == ""
	default:
		return raw == "null"
	}
}
