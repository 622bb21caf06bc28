package store

import (
	"fmt"
	"maps"
	"slices"

	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// A counter is a total since the data began. Totals live in a table of their own and are
// written once a batch, because counting history grows slower with every row of it.
type counter int

const (
	countEvents counter = iota // also the newest event's number
	countDuplicates
	countPlanned
	countRestarted
	countSkippedDecisions
	countCancelledDecisions
	countCancelling
	countShadowed
	countOptOuts
	countOptIns
	countForgetting
	countConfirmed
	countMessages // with countFollowed also the newest number given to a message
	countAttempts
	countRetries
	countAccepted
	countRejected
	countInDoubt
	countCancelled
	countDropped
	countUntracked
	countFollowed // messages that the answers to uploads named, which have a number of the same sequence
	countPolls
	countSent
	countDelivered
	countRead
	countFailed
	countExpired
	countRejectedRequests
	counterCount
)

// counterNames are what the rest of the program, and its metrics, know the counters by.
var counterNames = [counterCount]string{
	countEvents:             "events",
	countDuplicates:         "events_duplicate",
	countPlanned:            "decisions_planned",
	countRestarted:          "decisions_restarted",
	countSkippedDecisions:   "decisions_skipped",
	countCancelledDecisions: "decisions_cancelled",
	countCancelling:         "decisions_cancelling",
	countShadowed:           "decisions_shadowed",
	countOptOuts:            "decisions_blocked",
	countOptIns:             "decisions_allowed",
	countForgetting:         "decisions_forgetting",
	countConfirmed:          "decisions_confirmed",
	countMessages:           "messages",
	countAttempts:           "attempts",
	countRetries:            "attempts_again",
	countAccepted:           "messages_accepted",
	countRejected:           "messages_rejected",
	countInDoubt:            "messages_in_doubt",
	countCancelled:          "messages_cancelled",
	countDropped:            "messages_dropped",
	countUntracked:          "messages_untracked",
	countFollowed:           "messages_of_uploads",
	countPolls:              "polls",
	countSent:               "messages_sent",
	countDelivered:          "messages_delivered",
	countRead:               "messages_read",
	countFailed:             "messages_failed",
	countExpired:            "messages_expired",
	countRejectedRequests:   "requests_rejected",
}

// CounterNames are what the counters that are always there are called.
func CounterNames() []string { return counterNames[:] }

// Each writer counts in a row of its own, or all would wait for one. The view "counters" has the sums.
var countSQL = engine.SQL(`INSERT INTO counts (name, writer, value) VALUES (?1, {{writer}}, ?2)
		ON CONFLICT (name, writer) DO UPDATE SET value = counts.value + excluded.value`)

// writeCounts adds what the group counted.
func (t *Tx) writeCounts() error {
	for c, n := range t.counts {
		if n == 0 {
			continue
		}
		if err := t.Put(countSQL, counterNames[c], n); err != nil {
			return fmt.Errorf("counter %s: %w", counterNames[c], err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.named)) { // in one order, or two machines would wait for each other
		n := t.named[name]
		if err := t.Put(countSQL, name, n); err != nil {
			return fmt.Errorf("counter %s: %w", name, err)
		}
	}
	return nil
}

// CountNamed counts n by a name that has a slash in it, beside the counters that are always there.
func (t *Tx) CountNamed(name string, n int64) {
	if t.named == nil {
		t.named = map[string]int64{}
	}
	t.named[name] += n
}

// SetCountSQL gives a counter a value.
var SetCountSQL = engine.SQL(`INSERT INTO counts (name, writer, value) VALUES (?1, 0, ?2)
		ON CONFLICT (name, writer) DO UPDATE SET value = excluded.value`)
