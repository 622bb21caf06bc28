package connectors

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A targetKind says how a target takes its value.
type targetKind int

const (
	takesText targetKind = iota
	takesAmount
	takesTime
	takesNumber
	takesPhone
	takesConsent
	takesTags
	takesItems
	takesAnswers
	takesName
	takesCountry
	takesZone
	takesLanguage
	takesCurrency
	takesIDs
	takesSays
)

// A target is a field of an event that a mapping can fill.
type target struct {
	name     string
	kind     targetKind
	text     func(*messaging.Event) *string
	amount   func(*messaging.Event) *messaging.Amount
	currency func(*messaging.Event) string // of an amount
	items    func(*messaging.Event) *[]messaging.Item
	consent  func(*messaging.Event) (accepts, known *bool)
}

type event = messaging.Event

// targets are in the order in which they are filled: a phone needs the country, an amount in
// cents its currency.
var targets = []target{
	{name: "contact.country", kind: takesCountry},
	{name: "contact.id", text: func(e *event) *string { return &e.Contact.ID }},
	{name: "contact.name", kind: takesName, text: func(e *event) *string { return &e.Contact.Name }},
	{name: "contact.first_name", kind: takesName, text: func(e *event) *string { return &e.Contact.FirstName }},
	{name: "contact.last_name", kind: takesName, text: func(e *event) *string { return &e.Contact.LastName }},
	{name: "contact.email", text: func(e *event) *string { return &e.Contact.Email }},
	{name: "contact.language", kind: takesLanguage, text: func(e *event) *string { return &e.Contact.Language }},
	{name: "contact.timezone", kind: takesZone},
	{name: "contact.tags", kind: takesTags},
	{name: "contact.accepts_marketing", kind: takesConsent, consent: func(e *event) (accepts, known *bool) {
		return &e.Contact.AcceptsMarketing, &e.Contact.Consent
	}},
	{name: "contact.accepts_email", kind: takesConsent, consent: func(e *event) (accepts, known *bool) {
		return &e.Contact.AcceptsEmail, &e.Contact.EmailConsent
	}},
	{name: "contact.phone", kind: takesPhone},

	{name: "cart.currency", kind: takesCurrency, text: func(e *event) *string { return &e.Cart.Currency }},
	{name: "cart.id", text: func(e *event) *string { return &e.Cart.ID }},
	{name: "cart.other_ids", kind: takesIDs},
	{name: "cart.url", text: func(e *event) *string { return &e.Cart.URL }},
	{
		name: "cart.total", kind: takesAmount, amount: func(e *event) *messaging.Amount { return &e.Cart.Total },
		currency: func(e *event) string { return e.Cart.Currency },
	},
	{
		name: "cart.items", kind: takesItems, items: func(e *event) *[]messaging.Item { return &e.Cart.Items },
		currency: func(e *event) string { return e.Cart.Currency },
	},
	{name: "cart.expires_at", kind: takesTime},

	{name: "order.currency", kind: takesCurrency, text: func(e *event) *string { return &e.Order.Currency }},
	{name: "order.id", text: func(e *event) *string { return &e.Order.ID }},
	{name: "order.name", text: func(e *event) *string { return &e.Order.Name }},
	{name: "order.number", kind: takesNumber},
	{name: "order.status", text: func(e *event) *string { return &e.Order.Status }},
	{name: "order.url", text: func(e *event) *string { return &e.Order.URL }},
	{
		name: "order.total", kind: takesAmount, amount: func(e *event) *messaging.Amount { return &e.Order.Total },
		currency: func(e *event) string { return e.Order.Currency },
	},
	{
		name: "order.items", kind: takesItems, items: func(e *event) *[]messaging.Item { return &e.Order.Items },
		currency: func(e *event) string { return e.Order.Currency },
	},

	{name: "deal.currency", kind: takesCurrency, text: func(e *event) *string { return &e.Deal.Currency }},
	{name: "deal.id", text: func(e *event) *string { return &e.Deal.ID }},
	{name: "deal.name", text: func(e *event) *string { return &e.Deal.Name }},
	{name: "deal.stage", text: func(e *event) *string { return &e.Deal.Stage }},
	{
		name: "deal.amount", kind: takesAmount, amount: func(e *event) *messaging.Amount { return &e.Deal.Amount },
		currency: func(e *event) string { return e.Deal.Currency },
	},
	{name: "deal.owner", text: func(e *event) *string { return &e.Deal.Owner }},

	{name: "form.id", text: func(e *event) *string { return &e.Form.ID }},
	{name: "form.name", text: func(e *event) *string { return &e.Form.Name }},
	{name: "form.url", text: func(e *event) *string { return &e.Form.URL }},
	{name: "form.answers", kind: takesAnswers},

	{name: "message.text", text: func(e *event) *string { return &e.Message.Text }},
	{name: "message.button", text: func(e *event) *string { return &e.Message.Button }},
	{name: "message.says", kind: takesSays, text: func(e *event) *string { return &e.Message.Says }},
}

// shortTargets are the names that may be written for the common fields.
var shortTargets = map[string]string{
	"phone": "contact.phone", "country": "contact.country", "name": "contact.name",
	"first_name": "contact.first_name", "last_name": "contact.last_name", "email": "contact.email",
	"language": "contact.language", "locale": "contact.language", "timezone": "contact.timezone",
	"tags": "contact.tags", "consent": "contact.accepts_marketing", "accepts_marketing": "contact.accepts_marketing",
	"email_consent": "contact.accepts_email", "accepts_email": "contact.accepts_email",
	"total": "cart.total", "currency": "cart.currency", "recovery_url": "cart.url",
	"items": "cart.items", "cart_key": "cart.id", "answers": "form.answers",
}

// targetNames are all names that a mapping may use, for "did you mean".
func targetNames() []string {
	names := make([]string, 0, len(targets)+len(shortTargets))
	for i := range targets {
		names = append(names, targets[i].name)
		if rest, ok := strings.CutPrefix(targets[i].name, "contact."); ok {
			names = append(names, "customer."+rest)
		}
	}
	for name := range shortTargets {
		names = append(names, name)
	}
	return names
}

// targetIndex finds a target by any of its names; -1 for none.
func targetIndex(name string) int {
	if full, ok := shortTargets[name]; ok {
		name = full
	}
	if rest, ok := strings.CutPrefix(name, "customer."); ok {
		name = "contact." + rest
	}
	for i := range targets {
		if targets[i].name == name {
			return i
		}
	}
	return -1
}

// wholeNumber reads "2", "2.0" and "2.000"; ok is false for what is no whole number of a
// size that counts things.
func wholeNumber(text string) (n int, ok bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	if strings.Trim(fraction, "0") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(whole)
	return n, err == nil && n >= 0
}

// A MapTarget is a name that a mapping can fill, for people.
type MapTarget struct {
	Name  string
	Short []string // other names for it
	Is    string   // what its value is
}

// MapTargets are the names that can be mapped, in the order in which they are filled.
func MapTargets() []MapTarget {
	out := make([]MapTarget, len(targets))
	for i := range targets {
		out[i] = MapTarget{Name: targets[i].name, Is: targetWords[targets[i].kind]}
		if rest, ok := strings.CutPrefix(targets[i].name, "contact."); ok {
			out[i].Short = append(out[i].Short, "customer."+rest)
		}
		for _, short := range slices.Sorted(maps.Keys(shortTargets)) {
			if shortTargets[short] == targets[i].name {
				out[i].Short = append(out[i].Short, short)
			}
		}
	}
	return out
}

var targetWords = map[targetKind]string{
	takesText: "text", takesAmount: "an amount", takesTime: "a time", takesNumber: "a whole number", takesPhone: "a phone number",
	takesConsent: "given, withdrawn or nothing, in many words", takesTags: "a list of texts or of objects with a name, or one text with `,` or `;`", takesItems: "a list, by `each`",
	takesAnswers: "an object, or a list by `each`", takesName: "a person's name", takesCountry: "a country: its name, two or three letters, or its dialling code", takesZone: "a name such as Europe/London",
	takesLanguage: "a code such as en or en-GB", takesCurrency: "three letters",
	takesIDs:  "what else joins carts and orders: all of its paths count",
	takesSays: "stop, start or help, where the sender has a word for it; else it is read out of text and button",
}
