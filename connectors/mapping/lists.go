package mapping

import (
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// An eachList reads the entries of a list by a program of their own.
type eachList struct {
	From    *Expr
	program *rawjson.Program
	parts   [len(eachParts)][]*Expr
}

// eachParts names the parts of an entry, in the order of eachList.parts.
var eachParts = [...]string{"id", "sku", "title", "quantity", "price", "url", "image", "name", "value"}

const (
	partID = iota
	partSKU
	partTitle
	partQuantity
	partPrice
	partURL
	partImage
	partName
	partValue
)

// unlisted notes what is there instead of a list.
func (l *eachList) unlisted(v *View, t *target) {
	if l == nil {
		return
	}
	if raw := l.From.Raw(v); raw != "" && raw[0] != '[' && raw[0] != '{' {
		if text := rawjson.Text(raw); text != "" {
			v.Unreadable(l.From.Source, text, IsNo[t.Kind])
			v.Bar(t.Name)
		}
	}
}

// items reads the lines of a cart or an order.
func (l *eachList) items(v *View, t *target, currency string) []messaging.Item {
	if l == nil {
		return nil
	}
	out := make([]messaging.Item, 0, 4)
	l.run(v, func(entry *View) {
		one := messaging.Item{
			ID: l.part(entry, partID), SKU: l.part(entry, partSKU), Title: l.part(entry, partTitle),
			URL: l.part(entry, partURL), Image: l.part(entry, partImage), Quantity: 1,
		}
		if p, quantity := l.given(entry, partQuantity); p != nil {
			var ok bool
			if one.Quantity, ok = wholeNumber(quantity); !ok {
				entry.Unreadable("a line's quantity", quantity, IsNo[takesNumber])
				entry.Bar(t.Name + ".quantity")
			}
		}
		if p, price := l.given(entry, partPrice); p != nil {
			var ok bool
			if one.Price, ok = amount(price, p.minor(), currency); !ok || p.minor() && v.barred(currencyOf(t)) {
				entry.Unreadable("a line's "+p.Source, price, IsNo[takesAmount])
				entry.Bar(t.Name + ".price")
			}
		}
		one.Empty = l.emptyParts(entry, [...]string{partID: one.ID, partSKU: one.SKU, partTitle: one.Title, partURL: one.URL, partImage: one.Image})
		if raw := l.From.Raw(v); raw != "" && raw[0] == '{' && one.ID+one.SKU+one.Title+one.URL+one.Image == "" && !one.Price.Reported() && len(one.Empty) == 0 {
			v.Unreadable(l.From.Source, raw, IsNo[takesItems]) // an object that is no entry
			v.Bar(t.Name)
			return
		}
		out = append(out, one)
	})
	if len(out) == 0 {
		return nil
	}
	return out
}

// emptyParts names the parts of an entry that it gives and leaves empty; said is what it says of each.
func (l *eachList) emptyParts(entry *View, said [partImage + 1]string) (names messaging.Names) {
	for part, text := range said {
		if text == "" && slices.ContainsFunc(l.parts[part], func(p *Expr) bool { return p.empty(entry) }) {
			names = append(names, eachParts[part])
		}
	}
	return names
}

// given is the first value that an entry has for a part, and which path led to it; nil for none.
func (l *eachList) given(entry *View, part int) (from *Expr, text string) {
	for _, p := range l.parts[part] {
		if text = p.First(entry); text != "" {
			return p, text
		}
	}
	return nil, ""
}

// run shows each entry of the list to do.
func (l *eachList) run(v *View, do func(*View)) {
	if v.entry == nil {
		v.entry = &View{}
	}
	entry := v.entry
	*entry = View{
		Root: v.Root, InRoot: v.InRoot, Header: v.Header, RawQuery: v.RawQuery, query: v.query, Of: v.Of,
		InItem: SpansFor(l.program, entry.InItem),
	}
	visit := func(one string) {
		clear(entry.InItem)
		if l.program.Run(one, entry.InItem) == nil {
			entry.Item = one
			do(entry)
		}
	}
	if len(l.From.Path.Steps) == 0 {
		for one := range entriesOf(l.From.Raw(v)) {
			visit(one)
		}
		return
	}
	for raw := range l.From.Every(v) {
		for one := range entriesOf(raw) {
			visit(one)
		}
	}
}

// entriesOf is a list's elements; one object is a list of one, as XML writes it.
func entriesOf(raw string) func(yield func(string) bool) {
	if raw != "" && raw[0] == '[' {
		return rawjson.Elements(raw)
	}
	return func(yield func(string) bool) {
		if raw != "" && raw[0] == '{' {
			yield(raw)
		}
	}
}

func (l *eachList) part(entry *View, which int) string {
	for _, p := range l.parts[which] {
		if text := p.Text(entry); text != "" {
			return text
		}
	}
	return ""
}

// maxAnswers bounds the answers of one form.
const maxAnswers = 500

// answers reads a form's answers: by entries with a name and a value each, or from an object
// whose members are the answers.
func answers(v *View, a *assignment) map[string]string {
	out := map[string]string{}
	put := func(name, value string) {
		if name != "" && value != "" && len(out) < maxAnswers {
			out[name] = value
		}
	}
	if a.Each != nil {
		a.Each.run(v, func(entry *View) {
			put(a.Each.part(entry, partName), a.Each.part(entry, partValue))
		})
	}
	for _, p := range a.Paths {
		if p.From != FromItem && p.From != FromRoot {
			continue
		}
		for name, value := range rawjson.Members(p.Raw(v)) {
			put(name, p.piped(strings.TrimSpace(answerText(value))))
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// answerText is an answer as text: choices of several are joined by commas.
func answerText(raw string) string {
	if raw == "" || raw[0] != '[' {
		return rawjson.Text(raw)
	}
	var parts []string
	for one := range rawjson.Elements(raw) {
		if text := rawjson.Text(one); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, ", ")
}
