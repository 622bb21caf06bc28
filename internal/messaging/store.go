package messaging

import (
	"errors"
	"time"
)

// What the rooms that work on stored things can decide on, for errors.Is.
var (
	// ErrNotFound means that there is no such row.
	ErrNotFound = errors.New("not found")
	// ErrMoved is a change to a run or part that is not where the caller believed it was: another
	// process, or a person, was faster. Nothing was changed.
	ErrMoved = errors.New("the run has moved on")
	// ErrClaimLost means that the claim an Attempt reports on is not held any more; nothing was changed.
	ErrClaimLost = errors.New("the claim is not held any more")
)

// A ClaimRequest asks for due messages, at most as many as there are idle workers.
type ClaimRequest struct {
	Owner   string // unique to this run of this process; never ""
	Account string // whose messages
	Now     time.Time
	Lease   time.Duration // a claim without an outcome for so long is in doubt

	Authentication, Utility, Marketing int // how many of each category
}

// A ProbeRequest asks for one due message that shows whether the service is well again.
type ProbeRequest struct {
	Owner   string
	Account string
	Now     time.Time
	Lease   time.Duration
	Lanes   [len(Lanes)]bool // of these, the most urgent first

	// What failed last: a message for another phone and with another content comes first, in whatever lane, then one for another phone.
	Phones   []Phone
	Contents []Send
}

// Rescued is how many claims of dead owners were ended.
type Rescued struct {
	Doubtful int // may have been sent
	Unsent   int // surely not
}

// A Contacted is a message that reached a phone, or may reach it yet.
type Contacted struct {
	ID       MessageID
	Phone    Phone
	Trigger  string    // or the name of the job
	Category Category  // "" where it is not known
	Run      RunID     // 0 for one that an event caused
	At       time.Time // when it was accepted; else when it was claimed, or handed over to be sent
}
