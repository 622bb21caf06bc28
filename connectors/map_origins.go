package connectors

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A Reading is how an event was read, for people.
type Reading struct {
	Fields   []Origin `json:"fields"`
	Unmapped []Leaf   `json:"unmapped,omitempty"` // what of its body nothing reads; bounded
	More     int      `json:"unmapped_more,omitempty"`
}

// An Origin is a field of an event and where its value came from.
type Origin struct {
	Field string `json:"field"`          // the target, as in map: "cart.total"
	Path  string `json:"path"`           // the expression that had the value, as written
	Value string `json:"value"`          // as triggers see it, not longer than a line
	Body  string `json:"body,omitempty"` // as it stands in the body, where that is something else
	Used  bool   `json:"used,omitempty"` // of several paths that said something for the field, this one counts
}

// Inspect is Receive for people: besides what came of the request it says for each event, in
// their order, which path filled which field. Fields that were worked out of others (a first
// name of a name) are not in it.
func (c *Connector) Inspect(r Request) (Received, []Reading, error) {
	r.readings = &[]Reading{}
	got, err := c.Receive(r)
	for _, reading := range *r.readings {
		origins := reading.Fields
		for i := range origins {
			same := func(o Origin) bool { return o.Field == origins[i].Field }
			origins[i].Used = slices.ContainsFunc(origins[:i], same) && !slices.ContainsFunc(origins[i+1:], same)
		}
	}
	return got, *r.readings, err
}

// came notes for Inspect that the expression at source filled target with value, which the body writes as text; for everybody
// else it is one comparison.
func (v *view) came(t *target, source, text, value string) {
	if v.readings == nil {
		return
	}
	o := Origin{Field: t.name, Path: source, Value: inOneLine(value)}
	if text = inOneLine(text); strings.TrimPrefix(text, "+") != o.Value {
		o.Body = text
	}
	last := &(*v.readings)[len(*v.readings)-1]
	last.Fields = append(last.Fields, o)
}

func inOneLine(text string) string { return short(strings.Join(strings.Fields(text), " ")) }

// seen is the value of a field as triggers see it.
func (t *target) seen(e *messaging.Event, text string) string {
	switch {
	case t.amount != nil:
		return t.amount(e).String()
	case t.text != nil:
		return *t.text(e)
	case t.kind == takesTime:
		return e.Cart.ExpiresAt.UTC().Format(time.RFC3339)
	default:
		return text
	}
}

// maxUnread bounds what is said of values that cannot be read.
const maxUnread = 8

// unreadable notes a value that the expression at source led to and that its target cannot be. It may be a phone in the wrong field,
// and decisions are shown to people who should not see whole ones.
func (v *view) unreadable(source, text, is string) {
	v.tell(fmt.Sprintf("%s is %q, which is %s", source, mask.Words(text, mostShort), is))
}

// tell adds to what is said of the event's values.
func (v *view) tell(words string) {
	if v.of != nil && len(v.of.Unread) < maxUnread && !slices.Contains(v.of.Unread, words) {
		v.of.Unread = append(v.of.Unread, words)
	}
}

// barred reports whether a field was barred.
func (v *view) barred(field string) bool {
	return v.of != nil && slices.Contains(v.of.Unreadable, field)
}

// currencyOf is the field with the currency of an amount or of a list's prices.
func currencyOf(t *target) string {
	owner, _, _ := strings.Cut(t.name, ".")
	return owner + ".currency"
}

// bar says that a field of the event has a value that cannot be read, and that nothing is taken for it.
func (v *view) bar(field string) {
	if v.of != nil && !slices.Contains(v.of.Unreadable, field) {
		v.of.Unreadable = append(v.of.Unreadable, field)
	}
}

// isNo says what a text is not that a target could not take.
var isNo = map[targetKind]string{
	takesAmount: "no amount (| money reads currency symbols and decimal commas)", takesTime: "no time", takesNumber: "no whole number",
	takesCountry: "no country that is known", takesZone: "no time zone", takesLanguage: "no language code", takesCurrency: "no currency's three letters",
	takesConsent: "no word of consent", takesItems: "no list", takesAnswers: "no list", takesName: "no name", takesTags: "no list of texts",
	takesSays: "none of stop, start and help",
}

// bare is the expression's text before its pipes: what a sender wrote where they left nothing.
func (e *expr) bare(v *view) string {
	if len(e.pipes) == 0 {
		return ""
	}
	plain := *e
	plain.pipes = nil
	return plain.text(v)
}

// isLanguage reports whether text is a language code, as in en, en-GB and zh_Hant_TW.
func isLanguage(text string) bool {
	for i, part := range strings.FieldsFunc(text, func(r rune) bool { return r == '-' || r == '_' || r == '.' || r == '@' }) {
		if i == 0 && (len(part) < 2 || len(part) > 3) || len(part) > 8 || strings.ContainsFunc(part, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
		}) {
			return false
		}
	}
	return text != "" && text[0] != '-' && text[0] != '_'
}

func isCurrency(text string) bool {
	return len(text) == 3 && !strings.ContainsFunc(text, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
}
