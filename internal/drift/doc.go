// Package drift watches whether senders go on sending what they sent: which fields the events of each kind have, with their types, is counted
// by hour, and what is gone, changed or new against the week before is told, with the YAML that mends what reads it.
//
// Names of fields and their types are kept, and nothing of what stands in them; a name that looks like somebody's data is kept as *. It is
// counted after the commit of the events, by the one process that reads what they say of contacts, in the transaction that takes them from
// what is unread: so each event counts once, whatever dies when. At most EventsPerMinute of a kind are looked at, so the cost does not grow
// with the load.
//
// shape.go says which fields an event has, counts.go adds up, judge.go finds what differs: these are pure. watch.go counts, records.go has
// the SQL, and view.go tells it with who reads what (reads.go) and the YAML (mend.go).
package drift

import (
	"time"

	"github.com/nudgewire/nudgewire/internal/store"
)

const (
	// Week is how far back events are the ground that others are held against, and how long a difference is told: after that, what is sent
	// now is what was sent in the week before.
	Week = 7 * 24 * time.Hour
	// Kept is how long counts stay: a week, and the hour that is not over, with a day to spare for clocks and late look-ups.
	Kept = Week + 24*time.Hour
	// Ground is how many events there must have been before something can be said to differ from them.
	Ground = 20
	// Enough is how many events must show a difference before it is told.
	Enough = 10
	// EventsPerMinute is how many events of a kind are looked at in a minute.
	EventsPerMinute = 60
)

// Records are the counts of fields, as the store has them.
type Records struct{ *store.Store }
