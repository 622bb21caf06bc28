package mapping

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
	TakesText targetKind = iota
	takesAmount
	TakesTime
	takesNumber
	TakesPhone
	TakesConsent
	TakesTags
	takesItems
	TakesAnswers
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
	Name     string
	Kind     targetKind
	text     func(*messaging.Event) *string
	amount   func(*messaging.Event) *messaging.Amount
	currency func(*messaging.Event) string // of an amount
	items    func(*messaging.Event) *[]messaging.Item
	consent  func(*messaging.Event) (accepts, known *bool)
}

type event = messaging.Event

// Targets are in the order in which they are filled: a phone needs the country, an amount in
// cents its currency.
var Targets = []target{
	{Name: "contact.country", Kind: takesCountry},
	{Name: "contact.id", text: func(e *event) *string { return &e.Contact.ID }},
	{Name: "contact.name", Kind: takesName, text: func(e *event) *string { return &e.Contact.Name }},
	{Name: "contact.first_name", Kind: takesName, text: func(e *event) *string { return &e.Contact.FirstName }},
	{Name: "contact.last_name", Kind: takesName, text: func(e *event) *string { return &e.Contact.LastName }},
	{Name: "contact.email", text: func(e *event) *string { return &e.Contact.Email }},
	{Name: "contact.language", Kind: takesLanguage, text: func(e *event) *string { return &e.Contact.Language }},
	{Name: "contact.timezone", Kind: takesZone},
	{Name: "contact.tags", Kind: TakesTags},
	{Name: "contact.accepts_marketing", Kind: TakesConsent, consent: func(e *event) (accepts, known *bool) {
		return &e.Contact.AcceptsMarketing, &e.Contact.Consent
	}},
	{Name: "contact.accepts_email", Kind: TakesConsent, consent: func(e *event) (accepts, known *bool) {
		return &e.Contact.AcceptsEmail, &e.Contact.EmailConsent
	}},
	{Name: "contact.phone", Kind: TakesPhone},

	{Name: "cart.currency", Kind: takesCurrency, text: func(e *event) *string { return &e.Cart.Currency }},
	{Name: "cart.id", text: func(e *event) *string { return &e.Cart.ID }},
	{Name: "cart.other_ids", Kind: takesIDs},
	{Name: "cart.url", text: func(e *event) *string { return &e.Cart.URL }},
	{
		Name: "cart.total", Kind: takesAmount, amount: func(e *event) *messaging.Amount { return &e.Cart.Total },
		currency: func(e *event) string { return e.Cart.Currency },
	},
	{
		Name: "cart.items", Kind: takesItems, items: func(e *event) *[]messaging.Item { return &e.Cart.Items },
		currency: func(e *event) string { return e.Cart.Currency },
	},
	{Name: "cart.expires_at", Kind: TakesTime},

	{Name: "order.currency", Kind: takesCurrency, text: func(e *event) *string { return &e.Order.Currency }},
	{Name: "order.id", text: func(e *event) *string { return &e.Order.ID }},
	{Name: "order.name", text: func(e *event) *string { return &e.Order.Name }},
	{Name: "order.number", Kind: takesNumber},
	{Name: "order.status", text: func(e *event) *string { return &e.Order.Status }},
	{Name: "order.url", text: func(e *event) *string { return &e.Order.URL }},
	{
		Name: "order.total", Kind: takesAmount, amount: func(e *event) *messaging.Amount { return &e.Order.Total },
		currency: func(e *event) string { return e.Order.Currency },
	},
	{
		Name: "order.items", Kind: takesItems, items: func(e *event) *[]messaging.Item { return &e.Order.Items },
		currency: func(e *event) string { return e.Order.Currency },
	},

	{Name: "deal.currency", Kind: takesCurrency, text: func(e *event) *string { return &e.Deal.Currency }},
	{Name: "deal.id", text: func(e *event) *string { return &e.Deal.ID }},
	{Name: "deal.name", text: func(e *event) *string { return &e.Deal.Name }},
	{Name: "deal.stage", text: func(e *event) *string { return &e.Deal.Stage }},
	{
		Name: "deal.amount", Kind: takesAmount, amount: func(e *event) *messaging.Amount { return &e.Deal.Amount },
		currency: func(e *event) string { return e.Deal.Currency },
	},
	{Name: "deal.owner", text: func(e *event) *string { return &e.Deal.Owner }},

	{Name: "form.id", text: func(e *event) *string { return &e.Form.ID }},
	{Name: "form.name", text: func(e *event) *string { return &e.Form.Name }},
	{Name: "form.url", text: func(e *event) *string { return &e.Form.URL }},
	{Name: "form.answers", Kind: TakesAnswers},

	{Name: "message.text", text: func(e *event) *string { return &e.Message.Text }},
	{Name: "message.button", text: func(e *event) *string { return &e.Message.Button }},
	{Name: "message.says", Kind: takesSays, text: func(e *event) *string { return &e.Message.Says }},
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
	names := make([]string, 0, len(Targets)+len(shortTargets))
	for i := range Targets {
		names = append(names, Targets[i].Name)
		if rest, ok := strings.CutPrefix(Targets[i].Name, "contact."); ok {
			names = append(names, "customer."+rest)
		}
	}
	for name := range shortTargets {
		names = append(names, name)
	}
	return names
}

// TargetIndex finds a target by any of its names; -1 for none.
func TargetIndex(name string) int {
	if full, ok := shortTargets[name]; ok {
		name = full
	}
	if rest, ok := strings.CutPrefix(name, "customer."); ok {
		name = "contact." + rest
	}
	for i := range Targets {
		if Targets[i].Name == name {
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
	out := make([]MapTarget, len(Targets))
	for i := range Targets {
		out[i] = MapTarget{Name: Targets[i].Name, Is: targetWords[Targets[i].Kind]}
		if rest, ok := strings.CutPrefix(Targets[i].Name, "contact."); ok {
			out[i].Short = append(out[i].Short, "customer."+rest)
		}
		for _, short := range slices.Sorted(maps.Keys(shortTargets)) {
			if shortTargets[short] == Targets[i].Name {
				out[i].Short = append(out[i].Short, short)
			}
		}
	}
	return out
}

var targetWords = map[targetKind]string{
	TakesText: "text", takesAmount: "an amount", TakesTime: "a time", takesNumber: "a whole number", TakesPhone: "a phone number",
	TakesConsent: "given, withdrawn or nothing, in many words", TakesTags: "a list of texts or of objects with a name, or one text with `,` or `;`", takesItems: "a list, by `each`",
	TakesAnswers: "an object, or a list by `each`", takesName: "a person's name", takesCountry: "a country: its name, two or three letters, or its dialling code", takesZone: "a name such as Europe/London",
	takesLanguage: "a code such as en or en-GB", takesCurrency: "three letters",
	takesIDs:  "what else joins carts and orders: all of its paths count",
	takesSays: "stop, start or help, where the sender has a word for it; else it is read out of text and button",
}
