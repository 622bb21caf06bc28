package messaging

import (
	"slices"
	"strings"
	"time"
)

// A Change is what a receiver under webhooks_out is told: the data of docs/webhooks-out.md. The texts of a message are not in it.
type Change struct {
	Message    MessageID  `json:"message,omitempty"`    // the number that people see; absent for a run
	MessageID  ServiceID  `json:"message_id,omitempty"` // the service's
	Phone      Phone      `json:"phone,omitempty"`      // E.164 digits, whole; absent where the contact was forgotten
	SentAs     string     `json:"sent_as,omitempty"`    // the phone as it is sent to, where that is another spelling of it
	Trigger    string     `json:"trigger,omitempty"`
	Job        string     `json:"job,omitempty"`
	Run        RunID      `json:"run,omitempty"`
	Event      EventID    `json:"event,omitempty"`
	Request    string     `json:"request,omitempty"` // id of the request that brought the event
	Step       int        `json:"step,omitempty"`
	Account    string     `json:"account,omitempty"` // of the messaging service; absent for that of the section api
	Test       string     `json:"test,omitempty"`    // of a test: the name of the number that it goes to; absent for no test
	State      string     `json:"state,omitempty"`   // of a message or a run
	Status     Status     `json:"status,omitempty"`  // of a message
	Outcome    Outcome    `json:"outcome,omitempty"` // of a decision
	Reason     string     `json:"reason,omitempty"`
	ErrorClass ErrorClass `json:"error_class,omitempty"`
	Rows       int64      `json:"rows,omitempty"` // of a run
}

// An Outgoing is one Change on its way to one receiver. Those of one message go in the order of their ID.
type Outgoing struct {
	ID       int64
	Receiver string // its name in the config
	Kind     string // message.delivered; see ChangeKinds
	Change   Change
	At       time.Time // of the change
	Since    time.Time // when it was first due; given up counts from here
	Attempt  int       // that this claim is, from 1
}

// OutgoingState is where an Outgoing stands.
type OutgoingState string

// The states of an Outgoing.
const (
	OutgoingWaiting   OutgoingState = "waiting"
	OutgoingDelivered OutgoingState = "delivered"
	OutgoingGivenUp   OutgoingState = "given_up" // set aside; replay sends it again
)

// An OutgoingEnd is how one attempt at an Outgoing ended.
type OutgoingEnd struct {
	ID      int64
	Attempt int           // of the claim
	State   OutgoingState // waiting: again at RetryAt
	RetryAt time.Time
	Error   string // "" when it was delivered, or waits again through no fault of the receiver
	At      time.Time
}

// What changes are about: the first word of their kind.
const (
	AboutMessage  = "message"
	AboutRun      = "run"
	AboutDecision = "decision"
)

// OtherStatus stands in a kind for a status that this version has no word for.
const OtherStatus = "other"

// ToldState reports whether a message that comes to the state is told by it. One that is being sent is not: what becomes of it is, within
// seconds. One that the service took is told by its first status.
func ToldState(s State) bool { return s != StateSending && s != StateAccepted }

// ChangeKinds lists every kind of change in the order of docs/webhooks-out.md.
var ChangeKinds = func() (all []string) {
	for _, s := range Statuses {
		all = append(all, AboutMessage+"."+string(s))
	}
	all = append(all, AboutMessage+"."+OtherStatus)
	for _, s := range States {
		if ToldState(s) {
			all = append(all, AboutMessage+"."+string(s))
		}
	}
	for _, s := range RunStates {
		if s.Final() {
			all = append(all, AboutRun+"."+string(s))
		}
	}
	for _, o := range []Outcome{Planned, Restarted, Skipped, Cancelled, Cancelling, Shadowed, Blocked, Allowed, Confirmed, Forgetting, ForgettingAll} {
		all = append(all, AboutDecision+"."+string(o))
	}
	return all
}()

// KindsOf are the kinds that a pattern means: one, or with message.* all about messages; none for a pattern that names nothing.
func KindsOf(pattern string) (kinds []string) {
	if about, all := strings.CutSuffix(pattern, ".*"); all {
		for _, k := range ChangeKinds {
			if strings.HasPrefix(k, about+".") {
				kinds = append(kinds, k)
			}
		}
		return kinds
	}
	if slices.Contains(ChangeKinds, pattern) {
		return []string{pattern}
	}
	return nil
}
