package messaging

import (
	"slices"
	"strconv"
	"time"
)

// A MessageID is the row number of a stored message, from 1.
type MessageID int64

// A Message goes to one phone because of one event and one trigger, one row of a list, or one order by hand. It is one row from
// planned to read: stored in the same commit as what it is planned by, and claimed by one sender at a time.
type Message struct {
	ID      MessageID `json:"id"`
	EventID EventID   `json:"event"`
	Run     RunID     `json:"run,omitempty"`             // that it is a row of, or that a file named it of; 0 for none
	Part    int       `json:"part,omitempty"`            // of the run, whose upload's answer named it; 0 for none
	Trigger string    `json:"trigger" kind:"ours"`       // name in config.yaml, of the job where Run is set
	Key     string    `json:"key,omitempty" kind:"text"` // the correlation key within the trigger
	Phone   Phone     `json:"phone"`
	SentAs  string    `json:"sent_as,omitempty" kind:"phone"` // the spelling that the shop gave, where it is not Phone; see To

	Category Category `json:"category"`
	Send     Send     `json:"send,omitzero"`

	State     State     `json:"state"`
	Reason    string    `json:"reason,omitempty" kind:"text"` // why it is in this state, where that needs words
	DroppedBy string    `json:"-"`                            // the Rule that dropped it, for counts; set for a row of a list that is stored as dropped, and stored nowhere
	DueAt     time.Time `json:"due_at"`                       // UTC; claimed no earlier
	ExpiresAt time.Time `json:"expires_at,omitzero"`          // past this it is dropped, never late; zero is never
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Attempt   int       `json:"attempt"`                       // claims so far; 0 before the first
	Tries     int       `json:"-"`                             // calls so far that reached the service, or may have: of those before the claim in hand
	Restarts  int       `json:"restarts,omitempty"`            // times a later event of the correlation key renewed it
	Owner     string    `json:"-"`                             // who holds the claim while sending
	LeaseEnds time.Time `json:"-"`                             // a claim older than this is in doubt
	Config    string    `json:"config,omitempty" kind:"ours"`  // version of the config that planned it
	Zone      string    `json:"zone,omitempty" kind:"ours"`    // the contact's own time zone, IANA; "" where the event named none
	Step      int       `json:"step,omitempty"`                // of the trigger's steps, from 1; 0 for a trigger without
	Account   string    `json:"account,omitempty" kind:"ours"` // of the messaging service; "" is that of the section api
	Test      string    `json:"test,omitempty" kind:"ours"`    // of a test of its trigger: the name of the number that it goes to (test_numbers); "" for no test

	// What the service says, from when it took the message on; changed by the tracker alone.
	ServiceID  ServiceID  `json:"message_id,omitempty"`        // "" when the answer carried none: accepted, but cannot be followed
	Status     Status     `json:"status,omitempty"`            // "" before the service took it
	Error      string     `json:"error,omitempty" kind:"text"` // the service's reason when failed
	ErrorClass ErrorClass `json:"class,omitempty"`
	AcceptedAt time.Time  `json:"accepted_at,omitzero"`
	StatusAt   time.Time  `json:"-"`                     // when Status was first seen
	ToldAt     time.Time  `json:"-"`                     // the service's own timestamp of delivery; zero when it gave none
	NextPollAt time.Time  `json:"next_poll_at,omitzero"` // zero when it is not polled any more
	Polls      int        `json:"polls,omitempty"`       // status answers asked for so far
	Final      bool       `json:"-"`                     // of Status: it is not asked about any more

	// When each status was first seen by a poll; zero for one that was skipped over.
	SentAt      time.Time `json:"sent_at,omitzero"`
	DeliveredAt time.Time `json:"delivered_at,omitzero"`
	ReadAt      time.Time `json:"read_at,omitzero"`
	FailedAt    time.Time `json:"failed_at,omitzero"`
}

// To is the number that the service is asked to send to: in the spelling that the shop gave.
func (m *Message) To() string { return m.Phone.Spelled(m.SentAs) }

// Send is what to ask of the messaging service: exactly one of Template, Campaign and Text.
type Send struct {
	Template  string   `json:"template,omitempty" kind:"ours"` // approved template's name
	Language  string   `json:"language,omitempty" kind:"text"`
	Variables []string `json:"variables,omitempty" kind:"text"` // in order, already filled in
	Header    *Header  `json:"header,omitempty"`
	Campaign  string   `json:"campaign,omitempty" kind:"ours"` // campaign_id; the service fills it in itself
	Text      string   `json:"text,omitempty" kind:"text"`
	Forget    bool     `json:"forget,omitempty"` // what is filled in is kept no longer than it takes to send it
}

// Content is what the messaging service knows the send by: "template" and its name, "campaign" and its id, or "text" and "".
func (s Send) Content() (kind, name string) {
	switch {
	case s.Template != "":
		return "template", s.Template
	case s.Campaign != "":
		return "campaign", s.Campaign
	default:
		return "text", ""
	}
}

// Ended is what is kept of the send once nobody will make it any more: all of it, or with Forget
// what it names, without what was filled in.
func (s Send) Ended() Send {
	if s.Forget {
		s.Variables, s.Header, s.Text = nil, nil, ""
	}
	return s
}

// What names the send for people: `template "cart_reminder"`, `campaign "417"`, "text".
func (s Send) What() string {
	switch {
	case s.Template != "":
		return `template "` + s.Template + `"`
	case s.Campaign != "":
		return `campaign "` + s.Campaign + `"`
	default:
		return "text"
	}
}

// Same reports whether the two ask for the same.
func (s Send) Same(other Send) bool {
	if (s.Header == nil) != (other.Header == nil) || s.Header != nil && *s.Header != *other.Header || !slices.Equal(s.Variables, other.Variables) {
		return false
	}
	return s.Template == other.Template && s.Language == other.Language && s.Campaign == other.Campaign && s.Text == other.Text && s.Forget == other.Forget
}

// A Header is the media above a template's text.
type Header struct {
	Type     string `json:"type" validate:"oneof=image video document" kind:"ours"`
	URL      string `json:"url" validate:"required,http_url" kind:"text"` // publicly reachable
	Filename string `json:"filename,omitempty" kind:"text"`
}

// Origin is what has the message sent: "run 12", or "trigger reminder".
func (m *Message) Origin() string {
	if run, ok := RunOfKey(m.Key); ok && m.EventID == 0 {
		return "run " + strconv.FormatInt(int64(run), 10)
	}
	return "trigger " + m.Trigger
}

// A Category is the messaging network's class of a message; it decides the lane it travels
// in and what may be done when nobody knows whether it was taken.
type Category string

// The categories, as the messaging network names them.
const (
	Marketing      Category = "marketing"
	Utility        Category = "utility"
	Authentication Category = "authentication"
)

// Blockable reports whether a block keeps messages of the category back: a code that the person asks for by logging in comes all the same.
func (c Category) Blockable() bool { return c != Authentication }

// Lanes lists the categories by urgency. Each is a lane of its own: none is held back by trouble of another one, or by what fills it.
var Lanes = [...]Category{Authentication, Utility, Marketing}

// Lane is the place of the category in Lanes.
func (c Category) Lane() int {
	switch c {
	case Authentication:
		return 0
	case Utility:
		return 1
	default:
		return 2
	}
}

// Urgent reports whether the category travels in a lane that marketing cannot fill.
func (c Category) Urgent() bool { return c != Marketing }

// ResendsInDoubt reports whether a send with an unknown end is tried again by itself where its trigger does
// not say (on_doubt): a login code that comes twice does no harm, one that never comes locks a person out.
func (c Category) ResendsInDoubt() bool { return c == Authentication }

// A State is where a message stands. docs/internals/states.md holds the law; the schema repeats it.
type State string

// The states of a message.
const (
	StateWaiting   State = "waiting"   // for DueAt; the sender claims it
	StateSending   State = "sending"   // claimed; a crash here makes it in doubt
	StateAccepted  State = "accepted"  // taken by the service; final; Status says how it goes on
	StateRejected  State = "rejected"  // the service said no; final
	StateInDoubt   State = "in_doubt"  // may have been taken; a person decides, or the category
	StateCancelled State = "cancelled" // a cancelling event or a person ended it; final
	StateDropped   State = "dropped"   // expired or given up; final
)

// States lists every state in the order of a message's life.
var States = []State{
	StateWaiting, StateSending, StateAccepted, StateRejected, StateInDoubt, StateCancelled, StateDropped,
}

// maxAttemptsInDoubt is how many attempts a message whose category is sent again in doubt may have
// had when it is: a person who gets a code three times is served, thirty times annoyed.
const maxAttemptsInDoubt = 3

// An OnDoubt is what is done about a message of which nobody knows whether the service took it. "" is as its
// category has it.
type OnDoubt string

// The rules for doubt, as on_doubt of a trigger takes them.
const (
	DoubtHold   OnDoubt = "hold"   // it is in doubt until a person says what became of it
	DoubtResend OnDoubt = "resend" // it is sent again, three times at the most
	DoubtDrop   OnDoubt = "drop"   // it is let be
)

// InDoubt is the rule for a message whose trigger says rule. A test is never sent again by itself.
func (m *Message) InDoubt(rule OnDoubt) OnDoubt {
	switch {
	case m.Test != "":
		return DoubtHold
	case rule != "":
		return rule
	case m.Category.ResendsInDoubt():
		return DoubtResend
	default:
		return DoubtHold
	}
}

// SaysResend is what has a message sent again in doubt, for people.
func (m *Message) SaysResend(rule OnDoubt) string {
	if rule == "" {
		return "its category (" + string(m.Category) + ")"
	}
	return "on_doubt"
}

// ResendsInDoubt reports whether the message is sent again by itself at the given time although the try in hand
// may have been taken: its trigger's rule or its category has it so, it was not tried three
// times, and it has not expired by then.
func (m *Message) ResendsInDoubt(rule OnDoubt, at time.Time) bool {
	return m.InDoubt(rule) == DoubtResend && m.Tries+1 < maxAttemptsInDoubt && (m.ExpiresAt.IsZero() || at.Before(m.ExpiresAt))
}

// Forgotten reports whether what the message said is kept no more, so that it cannot be sent again.
func (m *Message) Forgotten() bool {
	return m.Send.Forget && m.State != StateWaiting && m.State != StateSending
}

// Final reports whether no one leaves the state.
func (s State) Final() bool {
	switch s {
	case StateAccepted, StateRejected, StateCancelled, StateDropped:
		return true
	default:
		return false
	}
}

// An Attempt is how one claimed send ended, as the sender reports it to the store.
type Attempt struct {
	MessageID MessageID  `json:"-"`
	Owner     string     `json:"-"`                            // must still hold the claim
	Number    int        `json:"number"`                       // Message.Attempt of the claim
	State     State      `json:"state"`                        // accepted, rejected, in_doubt, dropped, or waiting to try again
	Reason    string     `json:"reason,omitempty" kind:"text"` // the service's words or ours; "" for a plain acceptance
	RetryAt   time.Time  `json:"-"`
	PutOff    bool       `json:"-"` // with waiting: RetryAt is its due time from now on, and its expiry moves along
	Decision  *Decision  `json:"-"` // of a step with conditions: what they said when it fell due
	Doubtful  bool       `json:"-"` // with waiting: it is sent again although it may have been taken; with dropped: it is let be
	Called    bool       `json:"-"` // with waiting: the call reached the service, or may have
	Refused   Refused    `json:"-"` // with waiting: what the service refuses again and again, and what waits for it to take it
	Answer    string     `json:"-"` // the raw answer, first 4 KB
	DroppedBy string     `json:"-"` // with dropped: the Rule or EndedBy, for counts
	Words     string     `json:"-"` // the service's own about the message, "" for none
	Class     ErrorClass `json:"class,omitempty"`
	Message   *Message   `json:"-"`
	At        time.Time  `json:"at"`
}

// Refused says what the service refuses one message of after the other; "" is nothing.
type Refused string

// What may be refused: the template, campaign or texts that a message is sent with, as its trigger or run sends them, or whoever does.
const (
	RefusedOrigin  Refused = "origin"
	RefusedContent Refused = "content"
)

// A Resolution is a person's word on a message in doubt.
type Resolution string

// The resolutions, as "messages resolve" takes them.
const (
	ResolveAccepted Resolution = "accepted" // it did arrive; nothing is sent
	ResolveResend   Resolution = "resend"   // it did not; send it again
	ResolveDrop     Resolution = "drop"     // let it be
)
