package connectors

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/rawjson"
	"github.com/nudgewire/nudgewire/internal/secret"
)

// A Lookup is one GET that fetches what a webhook left out. Package enricher makes it.
type Lookup struct {
	Connector    string
	URL          string
	Host         string // of URL, with its port where one is written
	Into         string // for Join
	Header       http.Header
	Auth         Auth
	Cache        time.Duration // how long the answer counts for the same URL; 0 for not at all
	Rate         float64       // most requests a second to Host; 0 for no limit
	AllowPrivate bool          // Host may be at a private or loopback address
}

// The kinds of Auth.
const (
	AuthBearer = "bearer"
	AuthBasic  = "basic"
	AuthHeader = "header"
	AuthOAuth2 = "oauth2"
)

// Auth is how a Lookup authenticates: Prefix and Token in Header, with AuthBasic User and
// Token, with AuthOAuth2 Prefix and a token that OAuth gives. The zero value sends nothing.
type Auth struct {
	Kind   string
	Header string
	Prefix string
	Token  secret.Secret
	User   string
	OAuth  OAuth
}

// Enriches reports whether the connector knows how to look anything up.
func (c *Connector) Enriches() bool { return len(c.lookups) > 0 }

// Lookup is the next GET that the event needs; ok is false when it needs none any more. The
// rules are asked in their order, and one whose answer has joined the event is done.
//
// An error means that a look-up is needed and cannot be made, however often it is tried: its
// secret is not configured, or the payload lacks a value of the address.
func (c *Connector) Lookup(e messaging.Event) (next Lookup, ok bool, err error) {
	l, v, err := c.next(&e)
	if l == nil || err != nil {
		return Lookup{}, false, err
	}
	if len(l.missing) > 0 {
		return Lookup{}, false, fmt.Errorf("was not looked up%s: %s", l.at(), c.notSet(l))
	}
	next = l.made
	if next.URL, err = l.address(v); err != nil {
		return Lookup{}, false, fmt.Errorf("was not looked up%s: %w", l.at(), err)
	}
	next.Header = l.made.Header.Clone()
	return next, true, nil
}

// next is the first rule whose answer the event needs and does not have, with what it sees of the event; nil for none.
func (c *Connector) next(e *messaging.Event) (*lookupRule, *mapping.View, error) {
	if len(c.lookups) == 0 {
		return nil, nil, nil
	}
	v, err := c.stored(e, c.lookupProgram)
	if err != nil {
		return nil, nil, err
	}
	for i := range c.lookups {
		if l := &c.lookups[i]; !joins(v.Item, l.into) && l.needed(v, e) {
			return l, v, nil
		}
	}
	return nil, nil, nil
}

// notSet says which settings a look-up lacks.
func (c *Connector) notSet(l *lookupRule) string {
	if len(l.missing) > 1 {
		return strings.Join(l.missing, " and ") + " are not set in connectors." + c.name
	}
	return "connectors." + c.name + "." + l.missing[0] + " is not set"
}

// at is where a look-up asks, in words; "" where only the account's own address would say it.
func (l *lookupRule) at() string {
	if l.made.Host == noHost {
		return ""
	}
	return " at " + l.made.Host
}

// joins reports whether the item has an answer under that name already.
func joins(item, into string) bool {
	if item[0] != '{' {
		return false
	}
	answer := rawjson.Member(item, into)
	return answer != "" && answer != "null"
}

// stored is the view of a stored event's item, searched by p. What was around the item
// (headers, parameters, the rest of a batch) is gone.
func (c *Connector) stored(e *messaging.Event, p *rawjson.Program) (*mapping.View, error) {
	item := string(bytes.TrimSpace(e.Payload))
	if e.ContentType != jsonType {
		item = string(rawjson.AppendString(nil, item))
	}
	v := &mapping.View{Item: item, Typ: e.Topic, Kind: e.Kind, Event: e.DedupeKey}
	if err := searchItem(v, p); err != nil {
		return nil, fmt.Errorf("the payload of the event cannot be read: %w", err)
	}
	if c.items == nil {
		v.Root, v.InRoot = v.Item, v.InItem
	} else {
		v.InRoot = mapping.SpansFor(c.root, nil)
	}
	return v, nil
}

// searchItem has p find its fields in the item that v sees.
func searchItem(v *mapping.View, p *rawjson.Program) error {
	v.InItem = mapping.SpansFor(p, nil)
	return p.Run(v.Item, v.InItem)
}

func (l *lookupRule) needed(v *mapping.View, e *messaging.Event) bool {
	for _, c := range l.when {
		switch {
		case c.phone && (e.Contact.Phone != "") != c.want:
			return false
		case !c.phone && !c.rule.Holds(v):
			return false
		}
	}
	return true
}

// maxValue is the longest value that is put into an address, in bytes.
const maxValue = 512

// address fills the values in, each escaped for its position.
func (l *lookupRule) address(v *mapping.View) (string, error) {
	var b strings.Builder
	for i, p := range l.url {
		if p.Expr == nil {
			b.WriteString(p.Literal)
			continue
		}
		value := p.Expr.Text(v)
		switch {
		case value == "":
			return "", fmt.Errorf("the address needs %s, which the event does not have", p.Expr.Source)
		case len(value) > maxValue:
			return "", fmt.Errorf("%s is longer than %d bytes", p.Expr.Source, maxValue)
		case value == "." || value == "..":
			return "", fmt.Errorf("%s is dots, which would lead to another address", p.Expr.Source)
		case i >= l.query:
			b.WriteString(url.QueryEscape(value))
		default:
			b.WriteString(url.PathEscape(value))
		}
	}
	return b.String(), nil
}

// Join puts an answer into the event's item under the name into and maps the item anew: what
// the mapping finds now replaces what it found before, and what it does not find
// stays, as the headers of the request are not there any more. Connector, kind, topic, dedupe
// key and times are kept. An item that is no object is kept under "item" from then on.
func (c *Connector) Join(e messaging.Event, into string, answer []byte) (messaging.Event, error) {
	answer = bytes.TrimSpace(trimBOM(answer))
	if len(answer) == 0 || string(answer) == "null" {
		return e, errors.New("the answer is empty")
	}
	if err := rawjson.Check(string(answer)); err != nil {
		return e, fmt.Errorf("the answer is not JSON: %w", err) // says where, and repeats nothing
	}
	v, err := c.stored(&e, c.item)
	if err != nil {
		return e, err
	}
	v.Item = joinedItem(v.Item, into, string(answer))
	if err := searchItem(v, c.item); err != nil {
		return e, fmt.Errorf("the answer cannot be read: %w", err)
	}
	if c.items == nil {
		v.Root, v.InRoot = v.Item, v.InItem
	}
	out := e
	out.Payload, out.ContentType = []byte(v.Item), jsonType
	now := messaging.Event{Kind: e.Kind, Topic: e.Topic, OccurredAt: e.OccurredAt, ReceivedAt: e.ReceivedAt}
	if e.Contact.Country != c.mapper.Country {
		now.Contact.Country = e.Contact.Country // the sender's word, which a number may need
	}
	v.Of = &now
	if slices.Contains(e.Unreadable, occurredAt) { // it is not read anew
		now.Unreadable = []string{occurredAt}
	}
	c.mapper.Fill(&now, v)
	out.Unread, out.Unreadable, out.Guessed = now.Unread, now.Unreadable, now.Guessed
	layMapped(c.mapper, &out, &now)
	return out, nil
}

func joinedItem(item, into, answer string) string {
	var b strings.Builder
	b.Grow(len(item) + len(into) + len(answer) + 16)
	if item[0] == '{' {
		body := strings.TrimRight(item[:len(item)-1], " \t\r\n")
		b.WriteString(body)
		if body != "{" {
			b.WriteByte(',')
		}
	} else {
		b.WriteString(`{"item":` + item + ",")
	}
	b.WriteString(`"` + into + `":` + answer + "}")
	return b.String()
}

// layMapped puts what was mapped now over what e holds. A default says less than what the sender said.
func layMapped(m *mapping.Mapper, e, now *messaging.Event) {
	a, b := e.Contact, now.Contact
	lay(&e.Contact, &now.Contact)
	for _, one := range []struct {
		out                 *string
		before, now, byRule string
	}{
		{&e.Contact.Language, a.Language, b.Language, m.Language},
		{&e.Contact.Country, a.Country, b.Country, m.Country},
		{&e.Contact.Timezone, a.Timezone, b.Timezone, m.Zone},
	} {
		if one.now == one.byRule && one.before != "" {
			*one.out = one.before
		}
	}
	if b.Consent {
		e.Contact.AcceptsMarketing = b.AcceptsMarketing
	}
	if b.EmailConsent {
		e.Contact.AcceptsEmail = b.AcceptsEmail
	}
	if e.Contact.Phone != "" && b.Phone == "" {
		e.Contact.PhoneProblem = a.PhoneProblem
	} else if b.Phone != "" {
		e.Contact.PhoneProblem, e.Contact.SentAs = "", b.SentAs
	}
	lay(&e.Cart, &now.Cart)
	lay(&e.Order, &now.Order)
	lay(&e.Deal, &now.Deal)
	lay(&e.Form, &now.Form)
	lay(&e.Message, &now.Message)
	if now.Message.Text != "" || now.Message.Button != "" { // it was read anew, with what is known of its writer now
		e.Message.Says = now.Message.Says
	}
	for i := range mapping.Nouns { // the whole item was mapped anew, also where it leaves something empty
		*mapping.Nouns[i].Empty(e) = *mapping.Nouns[i].Empty(now)
	}
}
