package messaging

import "time"

// A PendingLookup is a stored event that waits for what its webhook left out: package
// enricher fetches that, and then the event is planned.
type PendingLookup struct {
	EventID   EventID   `json:"-"`
	Connector string    `json:"-"`
	Attempt   int       `json:"attempt"` // look-ups begun so far
	NextAt    time.Time `json:"next_at"` // of the next one; while one is under way, when it counts as dead
	UnderWay  bool      `json:"under_way,omitempty"`
	Since     time.Time `json:"-"`                            // when the event was received
	Reason    string    `json:"reason,omitempty" kind:"text"` // why the last one led to nothing; "" before that
	Event     Event     `json:"-"`                            // whole when it was claimed; not filled in lists
}

// A LookupRetry puts a claimed look-up off.
type LookupRetry struct {
	EventID EventID
	Attempt int       // as claimed
	At      time.Time // when to try again
	Reason  string    // what went wrong, for people
	Free    bool      // nothing was tried: the attempt does not count
}
