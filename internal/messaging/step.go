package messaging

import "time"

// A PlannedStep is one step of a sequence as its trigger wants it: the message as it would be stored, and
// what is decided when it falls due. The rule of then is kept in words, so that a reload changes nothing of
// what waits.
type PlannedStep struct {
	Message Message
	Rule    StepRule
}

// A StepRule is what is asked of a step when it falls due.
type StepRule struct {
	Of   int      // steps that the sequence has
	If   []string // its conditions; all of them have to hold
	Wait string   // after the step before, as package triggers writes and reads it
}

// A Sequence is the steps that were stored because of one event, or of those that renewed it.
type Sequence struct {
	ID    MessageID // the first of them that was stored, which gives it its name
	Steps []SequenceStep
}

// A SequenceStep is a message of a sequence. A step that was sent again stands here more than once.
type SequenceStep struct {
	ID   MessageID
	Step int // from 1
}

// Previous is what became of the step before, as the conditions of a step see it.
type Previous struct {
	Status     string    `expr:"status"`      // as lists of messages show it: the message's once the service took it, else the state
	ErrorClass string    `expr:"error_class"` // of the service's words; "" for none
	SentAt     time.Time `expr:"sent_at"`     // when the service took it, or may have; zero where it surely did not
}

// StepFacts are what the store knows about a step when it falls due.
type StepFacts struct {
	Rule     StepRule
	Before   *StepBefore // the step right before it; nil for the first
	Previous Previous    // of the nearest step before that was not left out by its own conditions
	Event    *Event      // that it is about; nil where the rule asks nothing
}

// StepBefore is how far the step before is.
type StepBefore struct {
	Step    int
	State   State
	DueAt   time.Time
	EndedAt time.Time // when it was sent, or came to nothing; zero while it waits or is being sent
}

// A StepVerdict is what is decided of a step at its due moment, and the record of it.
type StepVerdict struct {
	Verdict
	Decision *Decision // nil where the step has no conditions, or is put off
}
