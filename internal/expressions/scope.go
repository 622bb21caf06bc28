package expressions

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// eventFacts is what expressions see under the name "event".
type eventFacts struct {
	Connector  string    `expr:"connector"`
	Kind       string    `expr:"kind"`
	Topic      string    `expr:"topic"`
	ID         string    `expr:"id"`          // the key by which a second delivery is known
	OccurredAt time.Time `expr:"occurred_at"` // received_at where the sender does not say
	ReceivedAt time.Time `expr:"received_at"`
}

// A Scope is one event as expressions see it, with the bounds of one evaluation. It is used
// by one goroutine at a time.
type Scope struct {
	event *messaging.Event
	facts eventFacts
	now   time.Time
	home  *time.Location // where the contact's own zone is unknown

	raw     gjson.Result // of the payload, parsed when first asked for
	rawRead bool
	here    []any     // the present elements of the loops around us, outermost first
	row     *boundRow // for the text of a list's row; nil for an event's
	person  *Person   // for an audience

	prints bool // a text of a message is made, and not a condition decided

	previous messaging.Previous // of a step; the zero value elsewhere, where nothing can name it

	budget
}

// A budget bounds one evaluation and keeps the first thing that went wrong in it. An
// unknown value is nil and spreads through an expression the way NULL does in SQL; fault
// and lost say afterwards where it came from.
type budget struct {
	steps  int    // left
	fault  string // what could not be done, in words; "" for nothing
	unread string // of the first value that is there and cannot be read, in words: no default takes its place; "" for none
	lost   *path  // the first name that was missing; nil for none
	count  int    // for lost: how many entries the list had; -1 where it was no list
}

// maxSteps bounds one evaluation. A step is one turn of a loop or one kilobyte of text
// looked at, so the worst payload costs milliseconds.
const maxSteps = 20_000

var scopes = sync.Pool{New: func() any { return new(Scope) }}

// NewScope is an event at a moment; home is the time zone of contacts that have none. Free it when
// its last evaluation is done.
func NewScope(e *messaging.Event, now time.Time, home *time.Location) *Scope {
	s := scopes.Get().(*Scope)
	s.event, s.now, s.home = e, now, home
	s.facts = eventFacts{e.Connector, e.Kind, e.Topic, e.DedupeKey, e.Time(), e.ReceivedAt}
	return s
}

// After says what became of the step before, for conditions of a step.
func (s *Scope) After(p messaging.Previous) { s.previous = p }

// Free gives the scope back and lets go of everything it pointed to.
func (s *Scope) Free() {
	clear(s.here[:cap(s.here)])
	*s = Scope{here: s.here[:0]}
	scopes.Put(s)
}

func (s *Scope) begin() { s.budget = budget{steps: maxSteps}; s.here = s.here[:0] }

// spend takes n steps and reports whether the evaluation may go on.
func (s *Scope) spend(n int) bool {
	if s.steps -= n; s.steps < 0 {
		s.fail("it looks at more of the payload than one condition may")
		return false
	}
	return true
}

// fail notes the first fault; the value is unknown.
func (s *Scope) fail(words string) any {
	if s.fault == "" {
		s.fault = words
	}
	return nil
}

// consentFlags are the flags of consent and the fields that say whether anything was said.
var consentFlags = map[string]string{"accepts_marketing": "consent_known", "accepts_email": "email_consent_known"}

// unreadable reports whether the value of a field is there and cannot be read, and notes that it was asked for. Of a consent that
// cannot be read nobody knows either whether it says anything.
func (s *Scope) unreadable(field string) bool {
	if s.event == nil || len(s.event.Unreadable) == 0 || field == "" {
		return false
	}
	for flag, known := range consentFlags {
		if before, is := strings.CutSuffix(field, "."+known); is {
			field = before + "." + flag
		}
	}
	if !slices.ContainsFunc(s.event.Unreadable, func(known string) bool {
		return known == field || field[0] == '.' && strings.HasSuffix(known, field)
	}) {
		return false
	}
	s.unfit(strings.TrimPrefix(field, ".") + " cannot be read")
	return true
}

// unfit notes the first value that is there and cannot be read; the value is unknown.
func (s *Scope) unfit(words string) any {
	if s.unread == "" {
		s.unread = words
	}
	return s.fail(words)
}

// miss notes the first name that was missing; the value is unknown.
func (s *Scope) miss(p *path, count int) any {
	if s.lost == nil {
		s.lost, s.count = p, count
	}
	return nil
}

// payload is the sender's own document; it does not exist where the payload is no JSON.
func (s *Scope) payload() gjson.Result {
	if !s.rawRead {
		s.rawRead = true
		if gjson.ValidBytes(s.event.Payload) {
			s.raw = gjson.ParseBytes(s.event.Payload)
		}
	}
	return s.raw
}

// Zone is the contact's own zone, else the one of the defaults.
func (s *Scope) Zone() *time.Location { return zoneOf(s.event.Contact.Timezone, s.home) }

// A root is a name that an expression may begin with.
type root struct {
	shape *shape
	read  func(*Scope) any
}

// roots are all of them. "customer" is the contact under the name that shops use.
var roots = map[string]root{
	"event":    {objectShape[eventFacts]("the event"), func(s *Scope) any { return &s.facts }},
	"contact":  {contactShape, func(s *Scope) any { return &s.event.Contact }},
	"customer": {contactShape, func(s *Scope) any { return &s.event.Contact }},
	"cart":     {objectShape[messaging.Cart]("a cart"), func(s *Scope) any { return &s.event.Cart }},
	"order":    {objectShape[messaging.Order]("an order"), func(s *Scope) any { return &s.event.Order }},
	"deal":     {objectShape[messaging.Deal]("a deal"), func(s *Scope) any { return &s.event.Deal }},
	"form":     {objectShape[messaging.Form]("a form"), func(s *Scope) any { return &s.event.Form }},
	"message":  {objectShape[messaging.Inbound]("a message"), func(s *Scope) any { return &s.event.Message }},
	"raw":      {anyShape, func(s *Scope) any { return rawValue(s.payload()) }},
	"now":      {timeShape, func(s *Scope) any { return s.now }},
}

// previousName is what only the conditions of a step know: what became of the step before.
const previousName = "previous"

var previousRoot = root{objectShape[messaging.Previous]("the step before"), func(s *Scope) any { return &s.previous }}

// contactShape has flags of consent, which are missing where nothing was said.
var contactShape = func() *shape {
	s := objectShape[messaging.Contact]("a contact")
	for flag, known := range consentFlags {
		f := s.fields[flag]
		read, said := f.read, s.fields[known].read
		f.read = func(object any) any {
			if said(object) == true {
				return read(object)
			}
			return nil
		}
		s.fields[flag] = f
	}
	return s
}()

// rootNames are the names in the order in which advice lists them.
var rootNames = []string{"event", "contact", "customer", "cart", "order", "deal", "form", "message", "raw", "now"}
