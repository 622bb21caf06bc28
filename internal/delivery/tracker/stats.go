package tracker

import (
	"sync/atomic"
	"time"
)

type counts struct {
	polls, unreadable, moved, arrived, failed, expired, lost atomic.Uint64
}

// Stats say what a Tracker did since it was made, and what it is doing.
type Stats struct {
	Polls      uint64 `json:"polls"`      // looks made
	Unreadable uint64 `json:"unreadable"` // of them without a status: 404, errors, junk
	Moved      uint64 `json:"moved"`      // messages that came further without coming to their end
	Arrived    uint64 `json:"arrived"`    // ended delivered or read
	Failed     uint64 `json:"failed"`     // ended so by the service's word
	Expired    uint64 `json:"expired"`    // ended without a word in time
	Lost       uint64 `json:"lost"`       // looks that could not be stored; they are repeated

	InHand int `json:"in_hand"` // messages claimed and not recorded yet

	// Halted says why nothing is asked, "" while things are asked; HaltedUntil is the next probe.
	Halted      string    `json:"halted,omitempty"`
	HaltedUntil time.Time `json:"halted_until,omitzero"`
}

// Stats tells how the tracker fares.
func (t *Tracker) Stats() Stats {
	halted, _ := t.halt.State()
	return Stats{
		Polls: t.counts.polls.Load(), Unreadable: t.counts.unreadable.Load(), Moved: t.counts.moved.Load(),
		Arrived: t.counts.arrived.Load(), Failed: t.counts.failed.Load(), Expired: t.counts.expired.Load(),
		Lost: t.counts.lost.Load(), InHand: t.loop.InHand(), Halted: halted.Why, HaltedUntil: halted.Until,
	}
}
