package nudgewire

import "time"

// A MessageID is the service's identifier of a message: digits, kept as text so that no
// number type can round it.
//
// Source: Messaging Automation Service API v1, section 2 ("integer") and 4.5.
type MessageID string

// A Message is what the service accepted. It shares its row number with the dispatch that
// led to it and is changed by the tracker alone.
type Message struct {
	DispatchID DispatchID
	ID         MessageID // "" when the answer carried none: accepted, but cannot be followed
	Phone      Phone
	Category   Category
	Account    string // of the service, that it is asked about at; "" is that of the section api
	Status     Status
	Error      string // the service's reason when failed
	ErrorClass ErrorClass
	AcceptedAt time.Time
	StatusAt   time.Time // when Status was first seen
	ToldAt     time.Time // the service's own timestamp of delivery; zero when it gave none
	NextPollAt time.Time // zero when it is not polled any more
	Polls      int       // status answers asked for so far
	Final      bool

	// When each status was first seen by a poll; zero for one that was skipped over.
	SentAt, DeliveredAt, ReadAt, FailedAt time.Time
}

// Tracked reports whether the service gave an id to ask by.
func (m Message) Tracked() bool { return m.ID != "" }

// A Status is where the service says a message stands; other words than these are kept as
// they came and polled on.
//
// Source: Messaging Automation Service API v1, section 3. Expired and Untracked are ours.
type Status string

// The statuses of a message.
const (
	StatusAccepted  Status = "accepted" // ours: taken, not asked about yet
	StatusQueued    Status = "queued"
	StatusSent      Status = "sent"
	StatusDelivered Status = "delivered"
	StatusRead      Status = "read"
	StatusFailed    Status = "failed"
	StatusExpired   Status = "expired"   // ours: no final status came within tracking.give_up
	StatusUntracked Status = "untracked" // ours: the answer carried no message id
)

// Statuses lists every status in the order of a message's life.
var Statuses = []Status{
	StatusAccepted, StatusQueued, StatusSent, StatusDelivered, StatusRead, StatusFailed, StatusExpired, StatusUntracked,
}

// A Poll is what one look at a message's status brought, as the tracker reports it.
type Poll struct {
	DispatchID DispatchID
	Status     Status // "" when the look brought nothing readable: only NextPollAt moves
	Error      string
	ToldAt     time.Time
	Final      bool
	Unasked    bool       // the service was not asked: its time ran out
	Class      ErrorClass // of Error, when Status is failed
	NextPollAt time.Time  // zero when Final
	At         time.Time
}
