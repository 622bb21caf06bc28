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
	Phone    Phone
	Channel  Channel
	Category Category
	Consent  Consent
	Since    time.Time // when the present word was said first
	At       time.Time // when it was said last
	Source   string    // who said so first: connector and kind, "by hand", a file's name
	Proof    string    // in words: a form's address, a sentence that was agreed to; "" where the event is all there is
	Event    EventID   // that said so first; 0 for a person or a file
}
