package tally

import (
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// Known is what a process knows of the rows there are, so that what strangers make up makes few of them. All that write in one process share it.
type Known struct {
	hours   knownHours
	reasons knownReasons
	unused  knownUnused
}

// SetUnused takes in the rows of what came to nothing.
func (k *Known) SetUnused(all []messaging.UnusedCount) { k.unused.set(all) }

// A Tally is what the operations of one transaction add up. Its zero value is not ready: see New.
type Tally struct {
	Totals   Totals
	Hours    Hours
	Unused   Unused
	LastSeen LastSeen
	Words    Words
	reasons  Reasons
}

// New is an empty tally of one that writes.
func New(k *Known) Tally {
	return Tally{Hours: Hours{known: &k.hours}, Unused: Unused{known: &k.unused}, reasons: Reasons{known: &k.reasons}}
}

// Rejected counts a message that the service rejected, or failed, in the state that it is in by then, by the reason.
func (t *Tally) Rejected(state, reason string, at int64) {
	t.Totals.AddNamed(t.reasons.counter(state, reason, at), 1)
}

// Begin forgets what was added up in the transaction before, and keeps its room.
func (t *Tally) Begin() {
	t.Totals.begin()
	clear(t.Hours.counts)
	clear(t.Unused.seen)
	t.LastSeen = t.LastSeen[:0]
	clear(t.Words)
	t.reasons.trim = false
}

// Write writes the sums, at the end of the transaction.
func (t *Tally) Write(tx *engine.Tx) error {
	err := t.Totals.write(tx)
	if err == nil {
		err = t.Hours.write(tx)
	}
	if err == nil {
		err = t.Unused.write(tx)
	}
	if err == nil {
		err = t.LastSeen.write(tx)
	}
	if err == nil {
		err = t.reasons.write(tx)
	}
	if err == nil {
		err = t.Words.write(tx)
	}
	return err
}
