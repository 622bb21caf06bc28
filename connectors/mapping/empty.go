package mapping

import (
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// Nouns are the parts of an event with the names of what the sender gave and left empty.
var Nouns = []struct {
	prefix string
	Empty  func(*event) *messaging.Names
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
	for i := range Nouns {
		if field, ok := strings.CutPrefix(t.Name, Nouns[i].prefix); ok {
			names := Nouns[i].Empty(e)
			*names = append(*names, field)
			return
		}
	}
}

// givenEmpty notes a target of which nothing was taken, where one of its paths leads to something empty.
func givenEmpty(e *messaging.Event, v *View, t *target, paths []*Expr) {
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
	case TakesText, takesName, TakesTags, takesItems, TakesAnswers, takesCountry, takesZone, takesLanguage, takesCurrency:
		return true
	default:
		return false
	}
}

// empty reports whether the expression leads to an empty text, an empty list or object, or null. A path through [*] does where
// the list is empty.
func (e *Expr) empty(v *View) bool {
	if e.From != FromItem && e.From != FromRoot || e.When != nil && !e.When.Holds(v) {
		return false
	}
	raw := e.Named(v)
	if raw == "" || len(e.Path.Steps) == 0 || hollow(raw) {
		return hollow(raw)
	}
	return hollow(e.Raw(v))
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
