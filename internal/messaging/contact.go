package messaging

import (
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/phones"
)

// A Phone is who somebody is, wherever people are compared: a number in the only shape the messaging service takes, digits
// that start with the country code, no plus sign and no separators ("447700900123"), in the one spelling that stands for
// all of its own (internal/phones, identity.go). "" is no phone.
//
// PhoneOf makes it of digits that come from outside; phone_test.go finds whoever makes it otherwise.
//
// Source: Messaging Automation Service API v1, section 2, "Phone number format".
type Phone string

// PhoneOf is whose the digits of an international number are. sentAs is how they spell it, and what is to be sent to, where
// that is not the phone itself; else "".
func PhoneOf(digits string) (phone Phone, sentAs string) {
	if phone = Phone(phones.Identity(digits)); string(phone) != digits {
		sentAs = digits
	}
	return phone, sentAs
}

// Spelled is the phone as it is sent to: sentAs, where that is another spelling of this phone, else the phone itself.
func (p Phone) Spelled(sentAs string) string {
	if of, other := PhoneOf(sentAs); other != "" && of == p {
		return sentAs
	}
	return string(p)
}

// Masked is the phone as it may appear in logs, metrics and error texts: the first four
// digits and the last two, the rest hidden ("4477******23"). A number of fewer than nine digits shows
// nothing but its length.
func (p Phone) Masked() string { return mask.Number(string(p)) }

// Kind says that every phone in an answer is masked for who may see none.
func (Phone) Kind() mask.Kind { return mask.OfPhone }

// IsMasked reports whether the phone was masked, so that too little of it is left to send to or to find by.
func (p Phone) IsMasked() bool { return strings.Contains(string(p), "*") }

// A Contact is the person an event is about, as far as the sender told.
type Contact struct {
	Phone        Phone  `expr:"phone" json:"phone,omitempty"`
	SentAs       string `expr:"-" json:"sent_as,omitempty"`       // how the sender spells it, where that differs; see PhoneOf
	PhoneProblem string `expr:"-" json:"phone_problem,omitempty"` // why Phone is empty, in words; "" when there is a phone

	ID        string `expr:"id" json:"id,omitempty"` // the sender's own identifier
	Name      string `expr:"name" json:"name,omitempty"`
	FirstName string `expr:"first_name" json:"first_name,omitempty"`
	LastName  string `expr:"last_name" json:"last_name,omitempty"`
	Email     string `expr:"email" json:"email,omitempty"`
	Language  string `expr:"language" json:"language,omitempty"` // as the sender writes it: "en", "pt_BR", "de-AT"
	Country   string `expr:"country" json:"country,omitempty"`   // ISO 3166-1 alpha-2, upper case
	Timezone  string `expr:"timezone" json:"timezone,omitempty"` // IANA name
	Tags      Tags   `expr:"tags" json:"tags,omitempty"`

	// AcceptsMarketing is the sender's own flag of consent to be messaged on the phone; Consent tells
	// it apart from silence. Permission to be sent e-mail is not consent to that.
	AcceptsMarketing bool `expr:"accepts_marketing" json:"accepts_marketing,omitempty"`
	Consent          bool `expr:"consent_known" json:"consent_known,omitempty"`

	// AcceptsEmail is the sender's flag of permission to be sent e-mail.
	AcceptsEmail bool `expr:"accepts_email" json:"accepts_email,omitempty"`
	EmailConsent bool `expr:"email_consent_known" json:"email_consent_known,omitempty"`

	Empty Names `expr:"-" json:"empty,omitempty"` // what the sender gave and left empty
}

// A KnownContact is what the events of a connector said of a contact: of each field the newest word, by when its event came. It is shown and searched,
// and audiences are chosen by it; no rule asks it.
type KnownContact struct {
	Phone     Phone     `json:"phone"`
	Connector string    `json:"connector" kind:"ours"`
	Name      string    `json:"name,omitempty" kind:"text"`
	Email     string    `json:"email,omitempty" kind:"email"`
	Language  string    `json:"language,omitempty" kind:"text"`
	Country   string    `json:"country,omitempty" kind:"text"`  // ISO 3166-1 alpha-2
	Timezone  string    `json:"timezone,omitempty" kind:"text"` // IANA
	Tags      Tags      `json:"tags,omitempty"`
	FirstAt   time.Time `json:"first_at"` // when the first event came
	LastAt    time.Time `json:"last_at"`  // and the newest

	Orders    int64     `json:"orders,omitempty"`                 // that were placed or paid, each once
	OrderAt   time.Time `json:"order_at,omitzero"`                // when the newest of them happened, by the sender's clock
	OrderName string    `json:"order_name,omitempty" kind:"text"` // as the customer sees it, else its id
	Spent     Sums      `json:"spent,omitempty"`                  // what was paid, each order once
}

// A FoundContact is one that a search found.
type FoundContact struct {
	Phone Phone     `json:"phone"`
	Name  string    `json:"name,omitempty" kind:"text"`
	By    string    `json:"by" kind:"ours"`  // what of it is like the text: name, e-mail, order or cart
	Event EventID   `json:"event,omitempty"` // that says so; 0 where no single one is known
	At    time.Time `json:"at"`              // when that came, else the newest event of the contact
}

// Tags are free labels of a contact, compared without regard to case or outer space.
type Tags []string

// Kind says that tags are what strangers wrote.
func (Tags) Kind() mask.Kind { return mask.OfText }

// Has reports whether one of the tags is tag.
func (t Tags) Has(tag string) bool {
	for _, one := range t {
		if strings.EqualFold(strings.TrimSpace(one), strings.TrimSpace(tag)) {
			return true
		}
	}
	return false
}
