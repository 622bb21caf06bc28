package tally

import (
	"fmt"
	"maps"
	"slices"

	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// A Counter is a total since the data began. Totals live in a table of their own and are
// written once a batch, because counting history grows slower with every row of it.
type Counter int

const (
	CountEvents Counter = iota // also the newest event's number
	CountDuplicates
	CountPlanned
	CountRestarted
	CountSkippedDecisions
	CountCancelledDecisions
	CountCancelling
	CountShadowed
	CountOptOuts
	CountOptIns
	CountForgetting
	CountConfirmed
	CountMessages // with CountFollowed also the newest number given to a message
	CountAttempts
	CountRetries
	CountAccepted
	CountRejected
	CountInDoubt
	CountCancelled
	CountDropped
	CountUntracked
	CountFollowed // messages that the answers to uploads named, which have a number of the same sequence
	CountPolls
	CountSent
	CountDelivered
	CountRead
	CountFailed
	CountExpired
	CountRejectedRequests
	counterCount
)

// String is what the rest of the program, and its metrics, know a counter by.
func (c Counter) String() string { return counterNames[c] }

// counterNames are what the rest of the program, and its metrics, know the counters by.
var counterNames = [counterCount]string{
	CountEvents:             "events",
	CountDuplicates:         "events_duplicate",
	CountPlanned:            "decisions_planned",
	CountRestarted:          "decisions_restarted",
	CountSkippedDecisions:   "decisions_skipped",
	CountCancelledDecisions: "decisions_cancelled",
	CountCancelling:         "decisions_cancelling",
	CountShadowed:           "decisions_shadowed",
	CountOptOuts:            "decisions_blocked",
	CountOptIns:             "decisions_allowed",
	CountForgetting:         "decisions_forgetting",
	CountConfirmed:          "decisions_confirmed",
	CountMessages:           "messages",
	CountAttempts:           "attempts",
	CountRetries:            "attempts_again",
	CountAccepted:           "messages_accepted",
	CountRejected:           "messages_rejected",
	CountInDoubt:            "messages_in_doubt",
	CountCancelled:          "messages_cancelled",
	CountDropped:            "messages_dropped",
	CountUntracked:          "messages_untracked",
	CountFollowed:           "messages_of_uploads",
	CountPolls:              "polls",
	CountSent:               "messages_sent",
	CountDelivered:          "messages_delivered",
	CountRead:               "messages_read",
	CountFailed:             "messages_failed",
	CountExpired:            "messages_expired",
	CountRejectedRequests:   "requests_rejected",
}

// CounterNames are what the counters that are always there are called.
func CounterNames() []string { return counterNames[:] }

// CountSQL adds to a counter. Each writer counts in a row of its own, or all would wait for one. The view "counters" has the sums.
var CountSQL = engine.SQL(`INSERT INTO counts (name, writer, value) VALUES (?1, {{writer}}, ?2)
		ON CONFLICT (name, writer) DO UPDATE SET value = counts.value + excluded.value`)

// Totals are what a transaction adds to the counters.
type Totals struct {
	fixed [counterCount]int64
	named map[string]int64
}

// Add counts n.
func (t *Totals) Add(c Counter, n int64) { t.fixed[c] += n }

// AddNamed counts n by a name that has a slash in it, beside the counters that are always there.
func (t *Totals) AddNamed(name string, n int64) {
	if t.named == nil {
		t.named = map[string]int64{}
	}
	t.named[name] += n
}

func (t *Totals) begin() {
	clear(t.fixed[:])
	clear(t.named)
}

// write adds what was counted.
func (t *Totals) write(tx *engine.Tx) error {
	for c, n := range t.fixed {
		if n == 0 {
			continue
		}
		if err := tx.Put(CountSQL, counterNames[c], n); err != nil {
			return fmt.Errorf("counter %s: %w", counterNames[c], err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.named)) { // in one order, or two machines would wait for each other
		if err := tx.Put(CountSQL, name, t.named[name]); err != nil {
			return fmt.Errorf("counter %s: %w", name, err)
		}
	}
	return nil
}

// SetCountSQL gives a counter a value.
var SetCountSQL = engine.SQL(`INSERT INTO counts (name, writer, value) VALUES (?1, 0, ?2)
		ON CONFLICT (name, writer) DO UPDATE SET value = excluded.value`)
