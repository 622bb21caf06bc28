package messaging

import "time"

// Unused is why an event that was taken, or a request that was answered 2xx, came to nothing.
type Unused string

// The reasons. Each is a trouble of its own (TroubleCode) once it came often enough.
const (
	UnusedOptOut   Unused = "opt_out_missed" // somebody wants no messages, or to be forgotten, and nobody can tell who
	UnusedKind     Unused = "unknown_kind"   // the sender does not say what happened
	UnusedPhone    Unused = "no_phone"       // it is about nobody who can be messaged
	UnusedTopic    Unused = "unknown_topic"  // the preset does not know the sender's word, and no trigger listens to it
	UnusedRepeated Unused = "repeated_id"    // it says something else than the event that came first under its id
	UnusedRequest  Unused = "no_event"       // the request has no event in it
)

// AtOnce reports whether one alone is a trouble, and stays one until a person says so.
func (u Unused) AtOnce() bool { return u == UnusedOptOut }

// UnusedFor is how long something that came to nothing is told after the last time, but for what a person has to end.
const UnusedFor = 24 * time.Hour

// An UnusedCount is how often one sort of event came to nothing, without a pause of UnusedFor between; of those without a phone
// since the last one that had one.
type UnusedCount struct {
	Connector string
	Why       Unused
	Kind      string // of the events, without the connector; "" where it says nothing, "other" for those beyond the room for kinds
	Count     int64
	First     time.Time // UTC
	Last      time.Time
	Event     EventID // the newest; 0 where there is none
}
