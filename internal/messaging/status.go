package messaging

import "time"

// A ServiceID is the service's identifier of a message: digits, kept as text so that no
// number type can round it.
//
// Source: Messaging Automation Service API v1, section 2 ("integer") and 4.5.
type ServiceID string

// Tracked reports whether the service gave an id to ask by.
func (m *Message) Tracked() bool { return m.ServiceID != "" }

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
	MessageID  MessageID
	Status     Status // "" when the look brought nothing readable: only NextPollAt moves
	Error      string
	ToldAt     time.Time
	Final      bool
	Unasked    bool       // the service was not asked: its time ran out
	Class      ErrorClass // of Error, when Status is failed
	NextPollAt time.Time  // zero when Final
	At         time.Time
}
