package messaging

import "time"

// A Channel is a way to reach a contact. Consent to be reached by one is none for another.
type Channel string

// The channels of a consent.
const (
	ChannelPhone Channel = "phone" // messages, which is all that is sent here
	ChannelEmail Channel = "email" // kept for the record; it never counts as consent to messages
)

// A ConsentRecord is what a contact agreed to, by channel and category, and how that is known.
type ConsentRecord struct {
	Phone    Phone     `json:"phone"`
	Channel  Channel   `json:"channel"`
	Category Category  `json:"category"`
	Consent  Consent   `json:"consent"`
	Since    time.Time `json:"since,omitzero"`               // when the present word was said first
	At       time.Time `json:"at,omitzero"`                  // when it was said last
	Source   string    `json:"source,omitempty" kind:"text"` // who said so first: connector and kind, "by hand", a file's name
	Proof    string    `json:"proof,omitempty" kind:"text"`  // in words: a form's address, a sentence that was agreed to; "" where the event is all there is
	Event    EventID   `json:"event,omitempty"`              // that said so first; 0 for a person or a file
}

// ConsentOf is what an event says of its contact's consent to marketing on the phone; without a Consent where it says nothing.
func ConsentOf(e *Event, id EventID) ConsentRecord {
	if e.Contact.Phone == "" || !e.Contact.Consent {
		return ConsentRecord{}
	}
	word := ConsentWithdrawn
	if e.Contact.AcceptsMarketing {
		word = ConsentGiven
	}
	return ConsentRecord{Phone: e.Contact.Phone, Channel: ChannelPhone, Category: Marketing, Consent: word, At: e.Time(), Source: e.Ref(), Event: id}
}

// Overrules reports whether this word counts where the stored one is known, as it does in the store: the later one, and of two at the same
// microsecond the no. The zero record is silence.
func (c ConsentRecord) Overrules(stored ConsentRecord) bool {
	if stored.Consent == "" {
		return c.Consent != ""
	}
	at, before := c.At.UnixMicro(), stored.At.UnixMicro()
	return at > before || at == before && c.Consent == ConsentWithdrawn && stored.Consent == ConsentGiven
}
