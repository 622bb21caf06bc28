package connectors

import (
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/phones"
)

// A mapper fills events from items. Which of its layers count depends on the event's kind
// and topic; each combination met is worked out once.
type mapper struct {
	layers   []mapLayer
	plans    sync.Map // layer mask (uint64) to *plan
	country  string   // for phones, where the payload names none
	language string
	zone     string         // of contacts
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
func (m *mapper) fill(e *nudgewire.Event, v *view) {
	p := m.plan(e.Kind, e.Topic)
	for i := range p.assignments {
		m.assign(e, v, &p.assignments[i])
	}
	if p.contact {
		m.complete(e)
	}
	if !p.phone {
		e.Contact.PhoneProblem = "the connector reads no phone number from " + e.Kind
	}
	e.Cart.Currency = strings.ToUpper(e.Cart.Currency)
	e.Order.Currency = strings.ToUpper(e.Order.Currency)
	e.Deal.Currency = strings.ToUpper(e.Deal.Currency)
}

func (m *mapper) assign(e *nudgewire.Event, v *view, a *assignment) {
	t := &targets[a.target]
	switch t.kind {
	case takesPhone:
		m.phone(e, v, t, a.paths)
		return
	case takesConsent:
		consent(e, v, t, a.paths)
		return
	case takesTags:
		if e.Contact.Tags = tagList(v, t, a.paths); len(e.Contact.Tags) == 0 {
			givenEmpty(e, v, t, a.paths)
		}
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
		*t.items(e) = a.each.items(v, t.currency(e))
		a.each.unlisted(v, t.kind)
		if len(*t.items(e)) == 0 && a.each.from.empty(v) {
			noteEmpty(e, t)
		}
		if n := len(*t.items(e)); n > 0 && v.origins != nil {
			v.came(t, a.each.from.source, count(n, "item"))
		}
		return
	case takesAnswers:
		e.Form.Answers = answers(v, a)
		a.each.unlisted(v, t.kind)
		if len(e.Form.Answers) == 0 && (a.each != nil && a.each.from.empty(v) || slices.ContainsFunc(a.paths, func(p *expr) bool { return p.empty(v) })) {
			noteEmpty(e, t)
		}
		return
	}
	var bad *expr // the first whose text the target cannot be
	var said string
	for _, p := range a.paths {
		text := p.text(v)
		if text != "" && m.take(e, t, p, text) {
			v.came(t, p.source, text)
			return
		}
		if text == "" && t.kind == takesAmount {
			text = p.bare(v)
		}
		if text != "" && bad == nil {
			bad, said = p, text
		}
	}
	if bad != nil {
		v.unreadable(bad.source, said, isNo[t.kind])
	} else if t.kind.canBeEmpty() {
		givenEmpty(e, v, t, a.paths)
	}
}

// take gives the target one text; it reports false where the text is nothing the target can
// be, so that the next path has its chance.
func (m *mapper) take(e *nudgewire.Event, t *target, p *expr, text string) bool {
	switch t.kind {
	case takesText:
		*t.text(e) = text
	case takesName:
		*t.text(e) = personName(text)
		return *t.text(e) != ""
	case takesAmount:
		a, ok := amount(text, p.minor(), t.currency(e))
		if ok {
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
	case takesCountry:
		code := strings.ToUpper(text)
		if !phones.IsCountry(code) {
			return false
		}
		e.Contact.Country = code
	case takesLanguage:
		if !isLanguage(text) {
			return false
		}
		*t.text(e) = text
	case takesCurrency:
		*t.text(e) = text
		if !isCurrency(text) {
			return false
		}
	case takesZone:
		if !strings.Contains(text, "/") || strings.ContainsAny(text, " (") {
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

// maxTried bounds what is said about numbers that were none.
const maxTried = 8

// phone takes the first path whose text is a phone number, and remembers why the ones before
// were not.
func (m *mapper) phone(e *nudgewire.Event, v *view, t *target, paths []*expr) {
	var tried []string
	try := func(p *expr, text string) (found bool) {
		digits, err := phones.Normalize(text, m.countryFor(e, v, p))
		if err == nil {
			e.Contact.Phone, e.Contact.SentAs = nudgewire.PhoneOf(digits)
			v.came(t, p.source, text)
			return true
		}
		if len(tried) < maxTried {
			tried = append(tried, p.source+" "+err.Error())
		}
		return false
	}
	for _, p := range paths {
		if len(p.path.steps) == 0 {
			if text := p.text(v); text != "" && try(p, text) {
				return
			}
			continue
		}
		for text := range p.texts(v) {
			if try(p, text) {
				return
			}
		}
	}
	if len(tried) > 0 {
		e.Contact.PhoneProblem = strings.Join(tried, "; ")
		return
	}
	sources := make([]string, len(paths))
	for i, p := range paths {
		sources[i] = p.source
	}
	e.Contact.PhoneProblem = "no phone number in " + strings.Join(sources, ", ")
}

// countryFor is where a number without country code belongs: next to it, else the contact's
// country, else the default.
func (m *mapper) countryFor(e *nudgewire.Event, v *view, p *expr) string {
	if p.country != nil {
		if code := strings.ToUpper(p.country.text(v)); phones.IsCountry(code) {
			return code
		}
	}
	if e.Contact.Country != "" {
		return e.Contact.Country
	}
	return m.country
}

// complete derives what the payload lacks from what it has.
func (m *mapper) complete(e *nudgewire.Event) {
	c := &e.Contact
	switch {
	case c.Name == "":
		c.Name = strings.TrimSpace(c.FirstName + " " + c.LastName)
	case c.FirstName == "" && c.LastName == "":
		c.FirstName, c.LastName, _ = strings.Cut(c.Name, " ")
	}
	if c.Country == "" && c.Phone != "" {
		c.Country = phones.CountryOf(string(c.Phone))
	}
	if c.Country == "" {
		c.Country = m.country
	}
	if c.Language == "" {
		c.Language = m.language
	}
	if c.Timezone == "" {
		c.Timezone = m.zone
	}
}
