package messaging

import "time"

// A PendingLookup is a stored event that waits for what its webhook left out: package
// enricher fetches that, and then the event is planned.
type PendingLookup struct {
	EventID   EventID
	Connector string
	Attempt   int       // look-ups begun so far
	NextAt    time.Time // of the next one; while one is under way, when it counts as dead
	UnderWay  bool
	Since     time.Time // when the event was received
	Reason    string    // why the last one led to nothing; "" before that
	Event     Event     // whole when it was claimed; not filled in lists
}

// A LookupRetry puts a claimed look-up off.
type LookupRetry struct {
	EventID EventID
	Attempt int       // as claimed
	At      time.Time // when to try again
	Reason  string    // what went wrong, for people
	Free    bool      // nothing was tried: the attempt does not count
}
