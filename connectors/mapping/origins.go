package mapping

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/connectors/problems"
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

// came notes for Inspect that the expression at source filled target with value, which the body writes as text; for everybody
// else it is one comparison.
func (v *View) came(t *target, source, text, value string) {
	if v.Readings == nil {
		return
	}
	o := Origin{Field: t.Name, Path: source, Value: inOneLine(value)}
	if text = inOneLine(text); strings.TrimPrefix(text, "+") != o.Value {
		o.Body = text
	}
	last := &(*v.Readings)[len(*v.Readings)-1]
	last.Fields = append(last.Fields, o)
}

func inOneLine(text string) string { return problems.Short(strings.Join(strings.Fields(text), " ")) }

// seen is the value of a field as triggers see it.
func (t *target) seen(e *messaging.Event, text string) string {
	switch {
	case t.amount != nil:
		return t.amount(e).String()
	case t.text != nil:
		return *t.text(e)
	case t.Kind == TakesTime:
		return e.Cart.ExpiresAt.UTC().Format(time.RFC3339)
	default:
		return text
	}
}

// maxUnread bounds what is said of values that cannot be read.
const maxUnread = 8

// Unreadable notes a value that the expression at source led to and that its target cannot be. It may be a phone in the wrong field,
// and decisions are shown to people who should not see whole ones.
func (v *View) Unreadable(source, text, is string) {
	v.tell(fmt.Sprintf("%s is %q, which is %s", source, mask.Words(text, problems.MostShort), is))
}

// tell adds to what is said of the event's values.
func (v *View) tell(words string) {
	if v.Of != nil && len(v.Of.Unread) < maxUnread && !slices.Contains(v.Of.Unread, words) {
		v.Of.Unread = append(v.Of.Unread, words)
	}
}

// barred reports whether a field was barred.
func (v *View) barred(field string) bool {
	return v.Of != nil && slices.Contains(v.Of.Unreadable, field)
}

// currencyOf is the field with the currency of an amount or of a list's prices.
func currencyOf(t *target) string {
	owner, _, _ := strings.Cut(t.Name, ".")
	return owner + ".currency"
}

// Bar says that a field of the event has a value that cannot be read, and that nothing is taken for it.
func (v *View) Bar(field string) {
	if v.Of != nil && !slices.Contains(v.Of.Unreadable, field) {
		v.Of.Unreadable = append(v.Of.Unreadable, field)
	}
}

// IsNo says what a text is not that a target could not take.
var IsNo = map[targetKind]string{
	takesAmount: "no amount (| money reads currency symbols and decimal commas)", TakesTime: "no time", takesNumber: "no whole number",
	takesCountry: "no country that is known", takesZone: "no time zone", takesLanguage: "no language code", takesCurrency: "no currency's three letters",
	TakesConsent: "no word of consent", takesItems: "no list", TakesAnswers: "no list", takesName: "no name", TakesTags: "no list of texts",
	takesSays: "none of stop, start and help",
}

// bare is the expression's text before its pipes: what a sender wrote where they left nothing.
func (e *Expr) bare(v *View) string {
	if len(e.Pipes) == 0 {
		return ""
	}
	plain := *e
	plain.Pipes = nil
	return plain.Text(v)
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

// A Leaf is a value of an event's body that nothing here reads. Triggers have it as raw.
type Leaf struct {
	Path  string `json:"path"`
	Value string `json:"value"` // in one line, phones masked
}
