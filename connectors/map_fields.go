package connectors

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/phones"
)

// A mapper fills events from items. Which of its layers count depends on the event's kind
// and topic; each combination met is worked out once.
type mapper struct {
	layers   []mapLayer
	plans    sync.Map        // layer mask (uint64) to *plan
	country  string          // for phones, where the payload names none
	spelling phones.Spelling // of phones without a plus sign
	language string
	zone     string // of contacts
	words    *replyWords
	location *time.Location // of times without one
}

type mapLayer struct {
	pattern string
	fields  []assignment
}

// A plan is what to fill for one kind of event.
type plan struct {
	assignments    []assignment
	contact, phone bool // whether it fills a contact, and its phone
}

// An assignment is a target and where its value comes from.
type assignment struct {
	target int
	paths  []*expr
	each   *eachList
}

// maxLayers is how many layers fit into a mask.
const maxLayers = 64

// plan is the assignments for an event: of several layers that set a target the last counts.
func (m *mapper) plan(kind, topic string) *plan {
	var mask uint64
	for i := range m.layers {
		if p := m.layers[i].pattern; p == "" || matchesPattern(p, kind) || matchesPattern(p, topic) {
			mask |= 1 << i
		}
	}
	if known, ok := m.plans.Load(mask); ok {
		return known.(*plan) // the map holds nothing else
	}
	var byTarget [64]*assignment
	for i := range m.layers {
		if mask&(1<<i) == 0 {
			continue
		}
		for j := range m.layers[i].fields {
			byTarget[m.layers[i].fields[j].target] = &m.layers[i].fields[j]
		}
	}
	out := &plan{}
	for i, a := range byTarget {
		if a != nil {
			out.assignments = append(out.assignments, *a)
			out.contact = out.contact || strings.HasPrefix(targets[i].name, "contact.")
			out.phone = out.phone || targets[i].kind == takesPhone
		}
	}
	m.plans.Store(mask, out)
	return out
}

// fill maps the item that v sees into e, whose Kind and Topic are known.
func (m *mapper) fill(e *messaging.Event, v *view) {
	v.badCountry, v.badLanguage, v.badZone = "", false, false
	p := m.plan(e.Kind, e.Topic)
	for i := range p.assignments {
		m.assign(e, v, &p.assignments[i])
	}
	if p.contact {
		m.complete(e, v)
	}
	if e.Kind == receivedKind {
		given := e.Message.Says
		if e.Message.Says = m.words.says(e); e.Message.Says != given {
			v.came(&targets[targetIndex("message.says")], "message.text, message.button", e.Message.Says, e.Message.Says)
		}
	}
	if !p.phone {
		e.Contact.PhoneProblem = readsNone + e.Kind
	}
	e.Cart.Currency = strings.ToUpper(e.Cart.Currency)
	e.Order.Currency = strings.ToUpper(e.Order.Currency)
	e.Deal.Currency = strings.ToUpper(e.Deal.Currency)
}

func (m *mapper) assign(e *messaging.Event, v *view, a *assignment) {
	t := &targets[a.target]
	switch t.kind {
	case takesPhone:
		m.phone(e, v, t, a.paths)
		return
	case takesCountry:
		m.ofCountry(e, v, t, a.paths)
		return
	case takesConsent:
		consent(e, v, t, a.paths)
		return
	case takesTags:
		m.tags(e, v, t, a.paths)
		return
	case takesIDs:
		e.Cart.OtherIDs = nil
		for _, p := range a.paths {
			if text := p.text(v); text != "" && !slices.Contains(e.Cart.OtherIDs, text) {
				e.Cart.OtherIDs = append(e.Cart.OtherIDs, text)
			}
		}
		return
	case takesItems:
		*t.items(e) = a.each.items(v, t, t.currency(e))
		a.each.unlisted(v, t)
		if len(*t.items(e)) == 0 && a.each.from.empty(v) {
			noteEmpty(e, t)
		}
		if n := len(*t.items(e)); n > 0 && v.readings != nil {
			v.came(t, a.each.from.source, count(n, "item"), count(n, "item"))
		}
		return
	case takesAnswers:
		e.Form.Answers = answers(v, a)
		a.each.unlisted(v, t)
		if len(e.Form.Answers) == 0 && (a.each != nil && a.each.from.empty(v) || slices.ContainsFunc(a.paths, func(p *expr) bool { return p.empty(v) })) {
			noteEmpty(e, t)
		}
		return
	}
	unread := false
	for _, p := range a.paths {
		text := p.text(v)
		if t.kind.strict() {
			text = p.first(v)
		}
		if text == "" {
			continue
		}
		if m.take(e, v, t, p, text) {
			if v.readings != nil {
				v.came(t, p.source, text, t.seen(e, text))
			}
			return
		}
		v.unreadable(p.source, text, isNo[t.kind])
		if t.kind.strict() {
			v.bar(t.name)
			return
		}
		unread = true
		v.badLanguage, v.badZone = v.badLanguage || t.kind == takesLanguage, v.badZone || t.kind == takesZone
	}
	if t.kind.canBeEmpty() && !unread {
		givenEmpty(e, v, t, a.paths)
	}
}

// strict reports whether a value says who is meant, whether something is sent or how much. Of such the first that is
// there counts, and where it cannot be read nothing takes its place. For the others the next path, the number and
// the default have their say.
func (k targetKind) strict() bool {
	switch k {
	case takesAmount, takesTime, takesNumber, takesCurrency, takesPhone, takesCountry, takesConsent, takesTags, takesSays:
		return true
	default:
		return false
	}
}

// take gives the target one text; it reports false where the text is nothing the target can
// be, so that the next path has its chance.
func (m *mapper) take(e *messaging.Event, v *view, t *target, p *expr, text string) bool {
	switch t.kind {
	case takesText:
		*t.text(e) = text
	case takesName:
		*t.text(e) = personName(text)
		return *t.text(e) != ""
	case takesAmount:
		a, ok := amount(text, p.minor(), t.currency(e))
		if ok = ok && !(p.minor() && v.barred(currencyOf(t))); ok {
			*t.amount(e) = a
		}
		return ok
	case takesTime:
		when, ok := anyTime(text, m.location)
		if ok {
			e.Cart.ExpiresAt = when
		}
		return ok
	case takesNumber:
		n, ok := wholeNumber(text)
		if ok {
			if e.Order.Number = n; n == 0 {
				noteEmpty(e, t)
			}
		}
		return ok
	case takesLanguage:
		if !isLanguage(text) {
			return false
		}
		*t.text(e) = text
	case takesCurrency:
		if !isCurrency(text) {
			return false
		}
		*t.text(e) = text
	case takesSays:
		switch said := strings.ToLower(text); said {
		case messaging.SaysStop, messaging.SaysStart, messaging.SaysHelp:
			e.Message.Says = said
		default:
			return false
		}
	case takesZone:
		if !isZone(text) {
			return false
		}
		e.Contact.Timezone = text
	}
	return true
}

// personName is a name without the control characters and line ends that would change how a
// message looks.
func personName(text string) string {
	space := true
	for i := range len(text) {
		switch c := text[i]; {
		case c > ' ' && c < 0x7f, c == ' ' && !space:
			space = c == ' '
		default: // another script, control characters, double space: the long way
			return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
				return unicode.IsSpace(r) || unicode.IsControl(r)
			}), " ")
		}
	}
	return strings.TrimSuffix(text, " ")
}

// tags takes the first list that is there.
func (m *mapper) tags(e *messaging.Event, v *view, t *target, paths []*expr) {
	for _, p := range paths {
		tags, unread := p.listOfTexts(v)
		switch {
		case unread != "":
			v.unreadable(p.source, unread, isNo[takesTags])
			v.bar(t.name)
			return
		case len(tags) > 0:
			e.Contact.Tags = tags
			if v.readings != nil {
				v.came(t, p.source, strings.Join(tags, ", "), strings.Join(tags, ", "))
			}
			return
		}
	}
	givenEmpty(e, v, t, paths)
}

// ofCountry takes the first value that is there. One that names no country is remembered: no default takes its place.
func (m *mapper) ofCountry(e *messaging.Event, v *view, t *target, paths []*expr) {
	for _, p := range paths {
		text := p.first(v)
		if text == "" {
			continue
		}
		if e.Contact.Country = phones.ReadCountry(text); e.Contact.Country == "" {
			v.badCountry = text
			v.bar(t.name)
			v.unreadable(p.source, text, isNo[takesCountry])
			return
		}
		v.came(t, p.source, text, e.Contact.Country)
		return
	}
	givenEmpty(e, v, t, paths)
}

// phone takes the first value that is there, and says why it is no phone number where it is none: another path is
// for a sender who left that one empty, and may lead to somebody else.
func (m *mapper) phone(e *messaging.Event, v *view, t *target, paths []*expr) {
	for _, p := range paths {
		text := p.first(v)
		if text == "" {
			continue
		}
		home := m.home(e, v, p)
		number, err := readPhone(text, e.Kind, home)
		if err != nil {
			e.Contact.PhoneProblem = p.source + " " + err.Error()
			return
		}
		if number.Abroad != "" {
			v.tell(fmt.Sprintf("%s is read as a number of %s: it has no + in front, and %s has none like it", p.source, number.Abroad, home.Country))
		}
		e.Contact.Phone, e.Contact.SentAs = messaging.PhoneOf(number.Digits)
		v.came(t, p.source, text, string(e.Contact.Phone))
		return
	}
	sources := make([]string, len(paths))
	for i, p := range paths {
		sources[i] = p.source
	}
	e.Contact.PhoneProblem = noneIn + strings.Join(sources, ", ")
}

// readPhone reads a number. Who writes a message does so from an account of a messaging network, whose number has its
// country code. Where nothing says how the sender writes numbers, such a one is read so where that is valid, and where
// it cannot be one of the home's: a plan may be younger than ours, and a STOP that blocks nobody is not heard.
func readPhone(text, kind string, home phones.Home) (phones.Number, error) {
	number, err := phones.Read(text, home)
	if kind != receivedKind || home.Spelling != "" {
		return number, err
	}
	home.Spelling = phones.International
	abroad, unread := phones.Read(text, home)
	if unread != nil || err == nil && !phones.Valid(abroad.Digits) {
		return number, err
	}
	return abroad, nil
}

// receivedKind is what a contact wrote.
const receivedKind = "message.received"

// home is how a number without a plus sign at p is read: by the country beside it, else the contact's, else the
// default. A country that is there and cannot be read leaves the number without one.
func (m *mapper) home(e *messaging.Event, v *view, p *expr) phones.Home {
	h := phones.Home{Country: m.country, Spelling: m.spelling}
	said := v.badCountry
	if p.country != nil {
		said = cmp.Or(p.country.first(v), said)
	}
	switch found := phones.ReadCountry(said); {
	case found != "":
		h.Country = found
	case said != "":
		h.Country, h.Unread = "", mask.Words(said, mostShort)
	case e.Contact.Country != "":
		h.Country = e.Contact.Country
	}
	return h
}

// complete derives what the payload lacks from what it has.
func (m *mapper) complete(e *messaging.Event, v *view) {
	c := &e.Contact
	switch {
	case c.Name == "":
		c.Name = strings.TrimSpace(c.FirstName + " " + c.LastName)
	case c.FirstName == "" && c.LastName == "":
		c.FirstName, c.LastName, _ = strings.Cut(c.Name, " ")
	case c.FirstName == "": // a form that asks for "name" and "surname" means the first by the one
		if first := strings.TrimSuffix(c.Name, " "+c.LastName); first != c.Name || !strings.Contains(first, " ") && first != c.LastName {
			c.FirstName = first
		}
	}
	if c.Country == "" && v.badCountry == "" {
		if c.Phone != "" {
			c.Country = phones.CountryOf(string(c.Phone))
		}
		if c.Country == "" {
			c.Country = m.country
		}
	}
	// A language or a zone that cannot be read is the number's before it is the default's.
	said := c.Language != ""
	if !said && v.badLanguage {
		c.Language = phones.LanguageOf(string(c.Phone))
	}
	if c.Language == "" {
		c.Language = m.language
	}
	e.Guessed.Language = !said && c.Language != ""
	if c.Timezone == "" && (!v.badZone || phones.Zones(string(c.Phone)) == nil) {
		c.Timezone = m.zone
		e.Guessed.Timezone = v.badZone && c.Timezone != ""
	}
}
