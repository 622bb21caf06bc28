package mapping

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/nudgewire/nudgewire/connectors/problems"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/phones"
)

// A Mapper fills events from items. Which of its layers count depends on the event's kind
// and topic; each combination met is worked out once.
type Mapper struct {
	Layers   []mapLayer
	plans    sync.Map        // layer mask (uint64) to *plan
	Country  string          // for phones, where the payload names none
	spelling phones.Spelling // of phones without a plus sign
	Language string
	Zone     string // of contacts
	answer   func(*messaging.Event) string
	Location *time.Location // of times without one
}

type mapLayer struct {
	Pattern string
	Fields  []assignment
}

// A plan is what to fill for one kind of event.
type plan struct {
	Assignments    []assignment
	contact, phone bool // whether it fills a contact, and its phone
}

// An assignment is a target and where its value comes from.
type assignment struct {
	Target int
	Paths  []*Expr
	Each   *eachList
}

// maxLayers is how many layers fit into a mask.
const maxLayers = 64

// Plan is the assignments for an event: of several layers that set a target the last counts.
func (m *Mapper) Plan(kind, topic string) *plan {
	var mask uint64
	for i := range m.Layers {
		if p := m.Layers[i].Pattern; p == "" || MatchesPattern(p, kind) || MatchesPattern(p, topic) {
			mask |= 1 << i
		}
	}
	if known, ok := m.plans.Load(mask); ok {
		return known.(*plan) // the map holds nothing else
	}
	var byTarget [64]*assignment
	for i := range m.Layers {
		if mask&(1<<i) == 0 {
			continue
		}
		for j := range m.Layers[i].Fields {
			byTarget[m.Layers[i].Fields[j].Target] = &m.Layers[i].Fields[j]
		}
	}
	out := &plan{}
	for i, a := range byTarget {
		if a != nil {
			out.Assignments = append(out.Assignments, *a)
			out.contact = out.contact || strings.HasPrefix(Targets[i].Name, "contact.")
			out.phone = out.phone || Targets[i].Kind == TakesPhone
		}
	}
	m.plans.Store(mask, out)
	return out
}

// Fill maps the item that v sees into e, whose Kind and Topic are known.
func (m *Mapper) Fill(e *messaging.Event, v *View) {
	v.badCountry, v.badLanguage, v.badZone = "", false, false
	p := m.Plan(e.Kind, e.Topic)
	for i := range p.Assignments {
		m.assign(e, v, &p.Assignments[i])
	}
	if p.contact {
		m.complete(e, v)
	}
	if e.Kind == ReceivedKind {
		given := e.Message.Says
		if e.Message.Says = m.answer(e); e.Message.Says != given {
			v.came(&Targets[TargetIndex("message.says")], "message.text, message.button", e.Message.Says, e.Message.Says)
		}
	}
	if !p.phone {
		e.Contact.PhoneProblem = ReadsNone + e.Kind
	}
	e.Cart.Currency = strings.ToUpper(e.Cart.Currency)
	e.Order.Currency = strings.ToUpper(e.Order.Currency)
	e.Deal.Currency = strings.ToUpper(e.Deal.Currency)
}

func (m *Mapper) assign(e *messaging.Event, v *View, a *assignment) {
	t := &Targets[a.Target]
	switch t.Kind {
	case TakesPhone:
		m.phone(e, v, t, a.Paths)
		return
	case takesCountry:
		m.ofCountry(e, v, t, a.Paths)
		return
	case TakesConsent:
		consent(e, v, t, a.Paths)
		return
	case TakesTags:
		m.tags(e, v, t, a.Paths)
		return
	case takesIDs:
		e.Cart.OtherIDs = nil
		for _, p := range a.Paths {
			if text := p.Text(v); text != "" && !slices.Contains(e.Cart.OtherIDs, text) {
				e.Cart.OtherIDs = append(e.Cart.OtherIDs, text)
			}
		}
		return
	case takesItems:
		*t.items(e) = a.Each.items(v, t, t.currency(e))
		a.Each.unlisted(v, t)
		if len(*t.items(e)) == 0 && a.Each.From.empty(v) {
			noteEmpty(e, t)
		}
		if n := len(*t.items(e)); n > 0 && v.Readings != nil {
			v.came(t, a.Each.From.Source, problems.Count(n, "item"), problems.Count(n, "item"))
		}
		return
	case TakesAnswers:
		e.Form.Answers = answers(v, a)
		a.Each.unlisted(v, t)
		if len(e.Form.Answers) == 0 && (a.Each != nil && a.Each.From.empty(v) || slices.ContainsFunc(a.Paths, func(p *Expr) bool { return p.empty(v) })) {
			noteEmpty(e, t)
		}
		return
	}
	unread := false
	for _, p := range a.Paths {
		text := p.Text(v)
		if t.Kind.strict() {
			text = p.First(v)
		}
		if text == "" {
			continue
		}
		if m.setField(e, v, t, p, text) {
			if v.Readings != nil {
				v.came(t, p.Source, text, t.seen(e, text))
			}
			return
		}
		v.Unreadable(p.Source, text, IsNo[t.Kind])
		if t.Kind.strict() {
			v.Bar(t.Name)
			return
		}
		unread = true
		v.badLanguage, v.badZone = v.badLanguage || t.Kind == takesLanguage, v.badZone || t.Kind == takesZone
	}
	if t.Kind.canBeEmpty() && !unread {
		givenEmpty(e, v, t, a.Paths)
	}
}

// strict reports whether a value says who is meant, whether something is sent or how much. Of such the first that is
// there counts, and where it cannot be read nothing takes its place. For the others the next path, the number and
// the default have their say.
func (k targetKind) strict() bool {
	switch k {
	case takesAmount, TakesTime, takesNumber, takesCurrency, TakesPhone, takesCountry, TakesConsent, TakesTags, takesSays:
		return true
	default:
		return false
	}
}

// setField gives the target one text; it reports false where the text is nothing the target can
// be, so that the next path has its chance.
func (m *Mapper) setField(e *messaging.Event, v *View, t *target, p *Expr, text string) bool {
	switch t.Kind {
	case TakesText:
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
	case TakesTime:
		when, ok := anyTime(text, m.Location)
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
func (m *Mapper) tags(e *messaging.Event, v *View, t *target, paths []*Expr) {
	for _, p := range paths {
		tags, unread := p.listOfTexts(v)
		switch {
		case unread != "":
			v.Unreadable(p.Source, unread, IsNo[TakesTags])
			v.Bar(t.Name)
			return
		case len(tags) > 0:
			e.Contact.Tags = tags
			if v.Readings != nil {
				v.came(t, p.Source, strings.Join(tags, ", "), strings.Join(tags, ", "))
			}
			return
		}
	}
	givenEmpty(e, v, t, paths)
}

// ofCountry takes the first value that is there. One that names no country is remembered: no default takes its place.
func (m *Mapper) ofCountry(e *messaging.Event, v *View, t *target, paths []*Expr) {
	for _, p := range paths {
		text := p.First(v)
		if text == "" {
			continue
		}
		if e.Contact.Country = phones.ReadCountry(text); e.Contact.Country == "" {
			v.badCountry = text
			v.Bar(t.Name)
			v.Unreadable(p.Source, text, IsNo[takesCountry])
			return
		}
		v.came(t, p.Source, text, e.Contact.Country)
		return
	}
	givenEmpty(e, v, t, paths)
}

// phone takes the first value that is there, and says why it is no phone number where it is none: another path is
// for a sender who left that one empty, and may lead to somebody else.
func (m *Mapper) phone(e *messaging.Event, v *View, t *target, paths []*Expr) {
	for _, p := range paths {
		text := p.First(v)
		if text == "" {
			continue
		}
		home := m.home(e, v, p)
		number, err := readPhone(text, e.Kind, home)
		if err != nil {
			e.Contact.PhoneProblem = p.Source + " " + err.Error()
			return
		}
		if number.Abroad != "" {
			v.tell(fmt.Sprintf("%s is read as a number of %s: it has no + in front, and %s has none like it", p.Source, number.Abroad, home.Country))
		}
		e.Contact.Phone, e.Contact.SentAs = messaging.PhoneOf(number.Digits)
		v.came(t, p.Source, text, string(e.Contact.Phone))
		return
	}
	sources := make([]string, len(paths))
	for i, p := range paths {
		sources[i] = p.Source
	}
	e.Contact.PhoneProblem = NoneIn + strings.Join(sources, ", ")
}

// readPhone reads a number. Who writes a message does so from an account of a messaging network, whose number has its
// country code. Where nothing says how the sender writes numbers, such a one is read so where that is valid, and where
// it cannot be one of the home's: a plan may be younger than ours, and a STOP that blocks nobody is not heard.
func readPhone(text, kind string, home phones.Home) (phones.Number, error) {
	number, err := phones.Read(text, home)
	if kind != ReceivedKind || home.Spelling != "" {
		return number, err
	}
	home.Spelling = phones.International
	abroad, unread := phones.Read(text, home)
	if unread != nil || err == nil && !phones.Valid(abroad.Digits) {
		return number, err
	}
	return abroad, nil
}

// ReceivedKind is what a contact wrote.
const ReceivedKind = "message.received"

// home is how a number without a plus sign at p is read: by the country beside it, else the contact's, else the
// default. A country that is there and cannot be read leaves the number without one.
func (m *Mapper) home(e *messaging.Event, v *View, p *Expr) phones.Home {
	h := phones.Home{Country: m.Country, Spelling: m.spelling}
	said := v.badCountry
	if p.Country != nil {
		said = cmp.Or(p.Country.First(v), said)
	}
	switch found := phones.ReadCountry(said); {
	case found != "":
		h.Country = found
	case said != "":
		h.Country, h.Unread = "", mask.Words(said, problems.MostShort)
	case e.Contact.Country != "":
		h.Country = e.Contact.Country
	}
	return h
}

// complete derives what the payload lacks from what it has.
func (m *Mapper) complete(e *messaging.Event, v *View) {
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
			c.Country = m.Country
		}
	}
	// A language or a zone that cannot be read is the number's before it is the default's.
	said := c.Language != ""
	if !said && v.badLanguage {
		c.Language = phones.LanguageOf(string(c.Phone))
	}
	if c.Language == "" {
		c.Language = m.Language
	}
	e.Guessed.Language = !said && c.Language != ""
	if c.Timezone == "" && (!v.badZone || phones.Zones(string(c.Phone)) == nil) {
		c.Timezone = m.Zone
		e.Guessed.Timezone = v.badZone && c.Timezone != ""
	}
}

// What begins the words for an event of which no path has a phone, and for one of which none is read.
const (
	NoneIn    = "no phone number in "
	ReadsNone = "the connector reads no phone number from "
)
