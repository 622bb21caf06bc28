package messaging

import (
	"regexp"
	"slices"
	"time"
)

// An Outcome is what a trigger answered to an event.
type Outcome string

// The outcomes of a decision. docs/internals/states.md says what each leads to.
const (
	Planned    Outcome = "planned"    // a message waits for its time
	Restarted  Outcome = "restarted"  // the message already waiting took this event's content
	Skipped    Outcome = "skipped"    // a clause or a rule said no
	Cancelled  Outcome = "cancelled"  // a cancelling event had come before this one
	Cancelling Outcome = "cancelling" // this event ends what waits for the same correlation key
	Shadowed   Outcome = "shadowed"   // would have been planned, but the trigger is in mode shadow
	Blocked    Outcome = "blocked"    // this event says that its contact wants no messages
	Allowed    Outcome = "allowed"    // this event says that its contact wants messages again
	Confirmed  Outcome = "confirmed"  // the conditions of a step held when it fell due, and it went on

	Forgetting    Outcome = "forgetting"     // this event asks that its contact be forgotten
	ForgettingAll Outcome = "forgetting_all" // this event asks that all that came by its connector be forgotten
)

// Outcomes are all of them.
var Outcomes = []Outcome{Planned, Restarted, Skipped, Cancelled, Cancelling, Shadowed, Blocked, Allowed, Confirmed, Forgetting, ForgettingAll}

// A Decision is what one trigger said to one event, and why. It is stored with the event
// and never changed.
type Decision struct {
	EventID   EventID     `json:"-"`
	Trigger   string      `json:"trigger" kind:"ours"` // name in config.yaml, kept as text: history outlives the trigger
	Outcome   Outcome     `json:"outcome"`
	Reason    string      `json:"reason" kind:"text"`           // one sentence for people
	Clauses   []Clause    `json:"clauses,omitempty"`            // the "if" lines in order, up to and with the first that failed
	Key       string      `json:"key,omitempty" kind:"text"`    // the correlation key within the trigger; "" when it has none
	MessageID MessageID   `json:"message,omitempty"`            // what was planned or restarted; 0 for none
	Later     []MessageID `json:"later,omitempty"`              // of a sequence: its other steps that were
	Config    string      `json:"config,omitempty" kind:"ours"` // version of the config that decided
	At        time.Time   `json:"at"`
}

// OptOut is the trigger's name in the decisions about what a contact wants. No config can hold it.
const OptOut = "(opt-out)"

// Erasure is the trigger's name in the decisions about who is to be forgotten. No config can hold it.
const Erasure = "(forget)"

// ByHand is the trigger's name in the records of what a person sent. No config can hold it.
const ByHand = "(by hand)"

// A Clause is one condition as it was met: its text, whether it held, and the values it saw.
type Clause struct {
	Text   string  `json:"text" kind:"text"`
	Held   bool    `json:"held"`
	Values []Value `json:"values,omitempty"`
	Error  string  `json:"error,omitempty" kind:"text"` // why it could not be evaluated; then it did not hold
}

// A Value is one name in a clause and what it was, as text.
type Value struct {
	Name  string `json:"name" kind:"ours"`
	Value string `json:"value" kind:"text"`
}

// A Plan is one event with what every listening trigger wants because of it. It is made by
// package triggers from the event alone; what the ledger already holds is met later, when
// the store settles each Proposal inside the commit that stores the event.
type Plan struct {
	Event     Event
	Proposals []Proposal
	// Later says that something is looked up before the event is planned: it is stored as a
	// PendingLookup, with such proposals only that need not wait.
	Later bool
	// Forgets says that a trigger which keeps no variables (keep_variables: false) was asked and its
	// conditions held: what the event says beyond who it is about is not kept.
	Forgets bool
	// Unused says why nothing can come of the event, for people; "" where something may.
	Unused Unused
	// NoPhone says that a trigger wanted to send because of the event, and it has no phone.
	NoPhone bool
	// Window is how long the event's keys are remembered; 0 is 7 days.
	Window time.Duration
}

// Forget takes out of the plan what the event said, and out of its decisions what their conditions
// saw of it: what is stored of the plan then, but for Proposal.Message, tells of the event and says nothing
// that was in it. It does nothing without Forgets, and not before a look-up, which needs the event whole.
func (p *Plan) Forget() {
	if !p.Forgets || p.Later {
		return
	}
	e := &p.Event
	e.Payload, e.ContentType, e.Unread, e.Forgotten = nil, "", nil, true
	e.Cart, e.Order, e.Deal, e.Form, e.Message = Cart{}, Order{}, Deal{}, Form{}, Inbound{}
	for i := range p.Proposals {
		d := &p.Proposals[i].Decision
		d.Clauses = slices.Clone(d.Clauses)
		for j := range d.Clauses {
			c := &d.Clauses[j]
			if c.Values = nil; c.Error != "" {
				c.Error = "its values could not be used, and are not kept"
			}
		}
		if n := len(d.Clauses); n > 0 && !d.Clauses[n-1].Held {
			d.Reason = d.Clauses[n-1].Text + " does not hold"
		} else {
			d.Reason = quoted.ReplaceAllString(d.Reason, `"…"`)
		}
		p.Proposals[i].LeftOut = slices.Clone(p.Proposals[i].LeftOut)
		for j, why := range p.Proposals[i].LeftOut {
			p.Proposals[i].LeftOut[j] = quoted.ReplaceAllString(why, `"…"`)
		}
	}
}

// quoted is how a reason repeats what an event said.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// A Proposal is what one trigger wants because of one event. Decision.Outcome is Planned,
// Cancelling, Shadowed or Skipped; only the first two have a correlation key to settle.
type Proposal struct {
	Decision    Decision
	Correlation Correlation
	Message     Message       // for Planned: the message as it would be stored
	Steps       []PlannedStep // of a trigger with steps: each of them, the first with Message; nil for others
	LeftOut     []string      // steps that cannot be filled in, each with why
	OnRepeat    OnRepeat
	Cooldown    Cooldown
	Forget      time.Time // for Cancelling: when its tombstone expires
	Until       time.Time // for Cancelling: it means what was first planned by then; zero is everything
	EventAt     time.Time // when the fact happened, for rules of order
	Guessed     Guessed   // what of the contact it goes by and nobody said
	Others      []string  // the matter's other identifiers: a cancelling event finds by any of its own what has any of them
}

// A Correlation is what makes two events the same matter to one trigger: the key, or the phone where
// there is no key.
type Correlation struct {
	Trigger string
	Key     string // "" means by phone
	Phone   Phone
}

// Ordered reports whether more may come after a cancellation: a cart is over once it is ordered,
// but a phone's next cart is another matter, so a tombstone that names a phone ends only what
// happened before it.
func (c Correlation) Ordered() bool { return c.Key == "" || c.Key == string(c.Phone) }

// OnRepeat says what a second event with the same correlation key does to a message that waits.
type OnRepeat struct {
	Mode   RepeatMode
	Max    int           // restarts of one message at the most; 0 is no bound
	Within time.Duration // restarts no later than this after the first event; 0 is no bound
}

// A RepeatMode is one of the words of "on_repeat:" in a trigger.
type RepeatMode string

// The modes of OnRepeat.
const (
	Restart  RepeatMode = "restart"  // fresh content, timer anew
	Ignore   RepeatMode = "ignore"   // the first one stays as it is
	Parallel RepeatMode = "parallel" // each event queues a message of its own
)

// Cooldown says when a correlation key that already got its message may get another.
type Cooldown struct {
	Mode CooldownMode
	For  time.Duration // for CooldownFor
}

// A CooldownMode is the kind of rule in "cooldown:" of a trigger.
type CooldownMode string

// The modes of Cooldown.
const (
	CooldownNone CooldownMode = "none"
	CooldownOnce CooldownMode = "once"
	CooldownFor  CooldownMode = "duration"
)

// Facts are what the ledger holds about a correlation key at the moment of settling.
type Facts struct {
	Waiting   []Waiting  // messages in state waiting, oldest first
	Sequence  *Sequence  // of the newest that waits; nil where it is no step
	Open      []Open     // those that may come back to wait, oldest first
	Last      *Sent      // the newest message that may have reached the phone; nil for none
	Tombstone *Tombstone // nil for none, or expired
}

// Waiting is a message of the correlation key that has not been claimed.
type Waiting struct {
	ID        MessageID
	Step      int // as in Message
	DueAt     time.Time
	CreatedAt time.Time
	EventAt   time.Time // when the fact whose content it holds happened; zero when not known
	Restarts  int
	ByPerson  bool // it has no key of its own, and was found by the phone of an event that has one
}

// Open is a message of the correlation key that does not wait at present and may wait again: it is being
// sent, it is in doubt, it was taken and has failed or may fail yet, or it was rejected or dropped and
// a person may send it again.
type Open struct {
	ID      MessageID
	State   State
	EventAt time.Time // as in Waiting

	ByPerson bool // as in Waiting
}

// Sent is a message of the correlation key that was accepted, is being sent, or is in doubt.
type Sent struct {
	ID    MessageID
	State State
	At    time.Time
}

// A Tombstone is the memory of a cancelling event, so that an order which arrives before its
// cart still cancels it.
type Tombstone struct {
	EventID   EventID
	Ref       string    // connector and kind of the cancelling event
	EventAt   time.Time // when the cancelling fact happened
	ExpiresAt time.Time
	ByPhone   bool // the cancelling event had no key: it ends what happened to the phone before it
}

// A Settlement is what to do about a Proposal, now that the facts are known. The store carries
// it out as it stands.
type Settlement struct {
	Outcome         Outcome
	Reason          string
	Insert          bool        // store Proposal.Message, or all of Proposal.Steps, as new messages
	Restart         MessageID   // give this waiting message the content of Proposal.Message; 0 for none
	DueAt           time.Time   // for Restart: its due time from now on
	Renew           []Renewal   // instead of Restart where the proposal has steps
	Sequence        MessageID   // for Renew: the sequence that they belong to
	Cancel          []MessageID // end these waiting messages
	CallOff         []MessageID // end these open messages should they come back to wait
	RecordTombstone bool        // remember the cancelling event until Proposal.Forget
}

// A Renewal is what becomes of one of Proposal.Steps where its sequence waits already.
type Renewal struct {
	Step  int       // index in Proposal.Steps
	ID    MessageID // the waiting message that takes its content; 0 stores a new one
	DueAt time.Time // its due time from now on
}

// A Receipt says what became of one event of a Plan.
type Receipt struct {
	EventID   EventID
	Duplicate bool // seen before: nothing was stored, EventID is the first one's
	Decisions []Decision
}

// A RejectedRequest is a request to a hook that was not taken, kept without its secrets so that
// "why did nothing arrive" has an answer.
type RejectedRequest struct {
	ID        int64     `json:"id"`
	Connector string    `json:"connector" kind:"text"` // as in the URL, at most 100 bytes; it may not exist
	Status    int       `json:"status"`                // the HTTP status answered
	Stage     string    `json:"stage" kind:"ours"`     // where it ended: connector, method, size, address, verify, content, body, map
	Reason    string    `json:"reason" kind:"text"`    // what was wrong, for the operator; never a secret
	Empty     bool      `json:"-"`                     // it was taken, and has no event in it; not kept with the trace
	Method    string    `json:"method" kind:"text"`
	Bytes     int       `json:"bytes"`
	Sample    string    `json:"sample,omitempty" kind:"carried"` // first 512 bytes of a body that passed verification; "" otherwise
	At        time.Time `json:"at"`
}
