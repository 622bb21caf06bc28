package messaging

import (
	"slices"
	"strings"
	"time"
)

// TestKinds is what the kinds begin with of events that their sender calls tests: they are stored, and no rule hears them. No sender's
// own word becomes such a kind: those have no underscore.
const TestKinds = "webhook_test."

// An EventID is the row number of a stored event, from 1; 0 before it is stored.
type EventID int64

// Guessed says what of a contact is the number's or a default's, because nobody said it or nobody can read what was said. A zone that
// was not said is counted by the rules of the due moment.
type Guessed struct{ Language, Timezone bool }

// An Event is one fact from a connector: what happened, to whom, with what. It is made by
// package connectors out of one item of a verified webhook and never changed afterwards, except
// that a look-up (PendingLookup) adds what the webhook left out before the event is planned.
type Event struct {
	ID        EventID
	Connector string // name under "connectors:" in config.yaml
	Kind      string // canonical, without the connector: "cart.updated", "order.paid"
	Topic     string // the sender's own word for it: "checkouts/update"
	DedupeKey string // unique within the connector and its window; never ""
	// ContentKey names topic and payload where DedupeKey comes from a header that nobody signed, and
	// is "" otherwise. An event whose ContentKey is known is as much a repetition as one whose
	// DedupeKey is: else a copied request would be a new event under each id that is written on it.
	// It is not read back from the store.
	ContentKey string

	Request string // id of the request that brought it, as its answer said in X-Request-Id; "" where it is not known

	OccurredAt time.Time // by the sender's clock; zero when it does not say
	ReceivedAt time.Time // by ours, UTC

	Contact Contact
	Cart    Cart
	Order   Order
	Deal    Deal
	Form    Form
	Message Inbound

	// Unread names what the sender gave and nobody can read, each in words: "amount is "12,50", which
	// is no amount". Decisions repeat it; it is not read back from the store.
	Unread []string
	// Unreadable names the fields whose value is there and cannot be read, as expressions know them: "order.total",
	// "order.items.price", "event.occurred_at". Nothing takes their place: what uses one of them is not sent.
	Unreadable []string

	// Guessed is counted where a message goes by it, and not read back from the store.
	Guessed Guessed

	// Payload is this event's part of the request body, byte for byte (one item of a batch, or
	// all of it) until the answers of look-ups join it, and ContentType what that is: "application/json" for what was sent as a form,
	// too, because it is stored as the tree that mapping saw.
	Payload     []byte
	ContentType string

	// History says that it was posted as history (connectors.<name>.history): it is stored, it cancels, and
	// it sends nothing.
	History bool

	// Forgotten says that Payload, Cart, Order, Deal, Form and Message were not kept, by Plan.Forget.
	Forgotten bool

	// Cleared says that Payload is not kept any more, by retention, and FactsCleared that what was mapped from it is not either.
	Cleared      bool
	FactsCleared bool
}

// Ref is the name triggers listen by: connector and kind, "shopify.cart.updated".
func (e *Event) Ref() string { return e.Connector + "." + e.Kind }

// ReplayKey begins the dedupe key of a replay, before the number of the event that it repeats.
const ReplayKey = "replay:"

// Replays reports whether the event is a replay of another one.
func (e *Event) Replays() bool { return strings.HasPrefix(e.DedupeKey, ReplayKey) }

// People is the connector of what people asked for by hand. No config can hold it.
const People = "people"

// TestRequested is the kind of an event by which a person asked for a test of a trigger; see Message.Test.
const TestRequested = "test.requested"

// OfTest reports whether a person asked for a test by it.
func (e *Event) OfTest() bool { return e.ByHand() && e.Kind == TestRequested }

// ByHand reports whether a person asked for a message, and no sender told of anything.
func (e *Event) ByHand() bool { return e.Connector == People }

// Time is when the fact happened: the sender's word for it, else when it reached us. It is never later than that: a
// sender's clock may be fast, and then a message would wait for it, and no later word of the contact would count.
func (e *Event) Time() time.Time {
	if e.OccurredAt.IsZero() || !e.ReceivedAt.IsZero() && e.OccurredAt.After(e.ReceivedAt) {
		return e.ReceivedAt
	}
	return e.OccurredAt
}

// Names are fields of a noun, as expressions call them. The zero value of a field that is in none was not told: missing is
// not empty, so no condition over it holds. Its value is empty where its name is in Empty: the sender gave an empty text,
// an empty list, null, or for a whole number 0.
type Names []string

// Has reports whether name is one of them.
func (n Names) Has(name string) bool { return slices.Contains(n, name) }

// A Cart is a basket or checkout that may become an order.
type Cart struct {
	ID        string    `expr:"id" json:"id,omitempty"` // joins cart, checkout and order; "" when the sender has none
	URL       string    `expr:"url" json:"url,omitempty"`
	Total     Amount    `expr:"total" json:"total,omitzero"`
	Currency  string    `expr:"currency" json:"currency,omitempty"`
	Items     []Item    `expr:"items" json:"items,omitempty"`
	ExpiresAt time.Time `expr:"expires_at" json:"expires_at,omitzero"`
	OtherIDs  []string  `expr:"-" json:"other_ids,omitempty"` // what else joins it, under other names of the sender's

	Empty Names `expr:"-" json:"empty,omitempty"` // what the sender gave and left empty
}

// An Item is one line of a cart or an order.
type Item struct {
	ID       string `expr:"id" json:"id,omitempty"`
	SKU      string `expr:"sku" json:"sku,omitempty"`
	Title    string `expr:"title" json:"title,omitempty"`
	Quantity int    `expr:"quantity" json:"quantity,omitempty"`
	Price    Amount `expr:"price" json:"price,omitzero"`
	URL      string `expr:"url" json:"url,omitempty"`
	Image    string `expr:"image" json:"image,omitempty"`

	Empty Names `expr:"-" json:"empty,omitempty"` // what the sender gave and left empty
}

// An Order is a purchase.
type Order struct {
	ID       string `expr:"id" json:"id,omitempty"`
	Name     string `expr:"name" json:"name,omitempty"`     // as the customer sees it: "#1001"
	Number   int    `expr:"number" json:"number,omitempty"` // which order of this customer it is, from 1, where the sender says so; else 0
	Status   string `expr:"status" json:"status,omitempty"`
	URL      string `expr:"url" json:"url,omitempty"` // status page, or the page to pay at
	Total    Amount `expr:"total" json:"total,omitzero"`
	Currency string `expr:"currency" json:"currency,omitempty"`
	Items    []Item `expr:"items" json:"items,omitempty"`

	Empty Names `expr:"-" json:"empty,omitempty"` // what the sender gave and left empty
}

// A Deal is a sale in a CRM's pipeline.
type Deal struct {
	ID       string `expr:"id" json:"id,omitempty"`
	Name     string `expr:"name" json:"name,omitempty"`
	Stage    string `expr:"stage" json:"stage,omitempty"`
	Amount   Amount `expr:"amount" json:"amount,omitzero"`
	Currency string `expr:"currency" json:"currency,omitempty"`
	Owner    string `expr:"owner" json:"owner,omitempty"`

	Empty Names `expr:"-" json:"empty,omitempty"` // what the sender gave and left empty
}

// An Inbound is what a contact wrote, or tapped.
type Inbound struct {
	Text   string `expr:"text" json:"text,omitempty"`     // of a button or an entry of a list: its title
	Button string `expr:"button" json:"button,omitempty"` // what whoever made the button gave it to send back, else its title; "" for what was written
	Says   string `expr:"says" json:"says,omitempty"`     // SaysStop, SaysStart or SaysHelp; "" for anything else

	Empty Names `expr:"-" json:"empty,omitempty"` // what the sender gave and left empty
}

// What a message may say of whether its writer wants more.
const (
	SaysStop  = "stop"
	SaysStart = "start"
	SaysHelp  = "help"
)

// A Form is a filled-in form, survey or booking page.
type Form struct {
	ID      string            `expr:"id" json:"id,omitempty"` // of this submission
	Name    string            `expr:"name" json:"name,omitempty"`
	URL     string            `expr:"url" json:"url,omitempty"`
	Answers map[string]string `expr:"answers" json:"answers,omitempty"`

	Empty Names `expr:"-" json:"empty,omitempty"` // what the sender gave and left empty
}
