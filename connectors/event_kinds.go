package connectors

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// A KindInfo is one kind of the canonical vocabulary, the words that all senders share.
type KindInfo struct {
	Kind string
	Says string
}

// CanonicalKinds is the vocabulary of what most senders share. Presets translate into it where they
// can, and have kinds of their own beside it (connectors show lists them). A word that no alias and
// no rule translates becomes a kind itself, cleaned (see cleanKind), so that triggers can listen to
// it as well; longer ones are cut at maxKind bytes.
func CanonicalKinds() []KindInfo { return slices.Clone(canonicalKinds) }

var canonicalKinds = []KindInfo{
	{"cart.created", "somebody began a cart or checkout"},
	{"cart.updated", "its content, or what is known about the person, changed"},
	{"cart.abandoned", "the sender itself judged it abandoned"},
	{"cart.converted", "it became an order"},
	{"cart.deleted", "it is gone without an order"},
	{"order.created", "an order was placed, paid or not"},
	{"order.updated", "something about it changed"},
	{"order.paid", "its money arrived"},
	{"order.fulfilled", "all of it was sent out or handed over"},
	{"order.cancelled", "it will not be carried out"},
	{"order.refunded", "money went back, all or some of it"},
	{"order.deleted", "it was removed from the sender's books"},
	{"shipment.created", "some or all of an order is on its way"},
	{"shipment.updated", "something about that changed: its number, or how far it is"},
	{"payment.failed", "money was asked for and did not come"},
	{"subscription.created", "somebody subscribed, with a trial or without"},
	{"subscription.trial_ending", "the sender says that a trial ends soon"},
	{"subscription.activated", "it goes on after a trial, a pause or a cancellation"},
	{"subscription.renewed", "its next term began"},
	{"subscription.updated", "its plan, date or another field changed"},
	{"subscription.paused", "it rests"},
	{"subscription.cancelled", "it was called off, at once or for the end of its term"},
	{"subscription.expired", "it is over"},
	{"checkout.expired", "a payment page ran out unpaid"},
	{"contact.created", "the sender learned of a person"},
	{"contact.updated", "something about the person changed"},
	{"contact.deleted", "the person was removed, or merged into another"},
	{"contact.subscribed", "the person agreed to be written to"},
	{"contact.unsubscribed", "the person no longer wants to be written to"},
	{"contact.redacted", "the person asks to be forgotten: everything that is stored about it goes"},
	{"contact.data_requested", "the person asks for what is stored about it: a file lies ready for it"},
	{"contact.email_subscribed", "the person agreed to e-mail, which says nothing about messages"},
	{"contact.email_unsubscribed", "the person wants no e-mail any more, which says nothing about messages"},
	{"deal.created", "a sale entered the pipeline"},
	{"deal.updated", "its stage, amount or another field changed"},
	{"deal.won", "it was closed with success"},
	{"deal.lost", "it was closed without"},
	{"deal.deleted", "it was removed"},
	{"form.submitted", "somebody filled in a form"},
	{"booking.created", "somebody made an appointment"},
	{"booking.updated", "something about an appointment changed"},
	{"booking.rescheduled", "an appointment was moved; a sender that tells the new time apart has a booking.created for it"},
	{"booking.cancelled", "an appointment will not take place"},
	{"message.received", "the person wrote"},
	{"ticket.created", "somebody asked for help"},
	{"ticket.updated", "what was asked changed, or was answered"},
	{"ticket.solved", "it is answered for good"},
	{"shop.redacted", "the sender asks that all that came from it is forgotten"},
}

// UnknownKind is the kind of an event whose sender did not say what it is.
const UnknownKind = "unknown"

// maxKind keeps kinds fit for names in config and columns in the store.
const maxKind = 100

// cleanKind makes a kind of a sender's own word: lower case, its parts joined by dots.
// "products_create", "Products/Create" and "ProductsCreate" become "products.create".
func cleanKind(topic string) string {
	var b strings.Builder
	var last rune
	for i, r := range topic {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			// A capital begins a part after a small letter, and before one: HTMLPage, webPage.
			if unicode.IsUpper(r) && last != 0 && (unicode.IsLower(last) || unicode.IsDigit(last) || (unicode.IsUpper(last) && lowerFollows(topic[i:]))) {
				b.WriteByte('.')
			}
			b.WriteRune(unicode.ToLower(r))
			last = r
		default:
			if last != 0 {
				b.WriteByte('.')
			}
			last = 0
		}
	}
	kind := strings.Trim(b.String(), ".")
	if len(kind) > maxKind {
		kind = strings.ToValidUTF8(kind[:maxKind], "")
	}
	if kind == "" {
		return UnknownKind
	}
	return kind
}

func lowerFollows(from string) bool {
	for i, r := range from {
		if i > 0 {
			return unicode.IsLower(r)
		}
	}
	return false
}

// isKind reports whether text can be a kind: small letters, digits and underscores in parts
// joined by dots.
func isKind(text string) bool { return len(text) <= maxKind && kindPattern.MatchString(text) }

var kindPattern = regexp.MustCompile(`^[_\p{Nd}\p{Ll}\p{Lt}\p{Lm}\p{Lo}]+(\.[_\p{Nd}\p{Ll}\p{Lt}\p{Lm}\p{Lo}]+)*$`)
