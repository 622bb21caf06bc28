package sender

import (
	"sync/atomic"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/apiclient"
)

type counts struct {
	calls, accepted, untracked, rejected, inDoubt, dropped, retried, givenBack, lost, abandoned atomic.Uint64

	underWay atomic.Int64
}

// burned is what may grow while the service is unwell: put back, rejected, in doubt, dropped.
func (c *counts) burned() [4]uint64 {
	return [4]uint64{c.retried.Load(), c.rejected.Load(), c.inDoubt.Load(), c.dropped.Load()}
}

// Stats say what a Sender did since it was made, and what it is doing.
type Stats struct {
	Calls     uint64 `json:"calls"`      // made to the service
	Accepted  uint64 `json:"accepted"`   // recorded so; Untracked of them without a message id
	Untracked uint64 `json:"untracked"`  //
	Rejected  uint64 `json:"rejected"`   //
	InDoubt   uint64 `json:"in_doubt"`   //
	Dropped   uint64 `json:"dropped"`    // expired or given up
	Retried   uint64 `json:"retried"`    // sent back to wait, GivenBack of them without a call
	GivenBack uint64 `json:"given_back"` //
	Lost      uint64 `json:"lost"`       // outcomes that could not be stored
	Rescued   uint64 `json:"abandoned"`  // claims ended that nobody would have finished

	InHand   int `json:"in_hand"`   // messages claimed and not recorded yet
	UnderWay int `json:"under_way"` // calls

	// Trouble is why nothing is sent, "" while things are sent; Halted says it in words, and
	// HaltedUntil is the next probe.
	Trouble     apiclient.Trouble `json:"trouble,omitempty"`
	Halted      string            `json:"halted,omitempty"`
	HaltedSince time.Time         `json:"halted_since,omitzero"`
	HaltedUntil time.Time         `json:"halted_until,omitzero"`

	Lanes []LaneHalt `json:"lanes,omitempty"` // those that are halted alone

	Well time.Time `json:"well,omitzero"` // when the service last took a message, or showed that it is well again
}

// A LaneHalt is why nothing of a category is sent, while others are.
type LaneHalt struct {
	Lane    nudgewire.Category `json:"lane"`
	Trouble apiclient.Trouble  `json:"trouble"`
	Why     string             `json:"why"`
	Since   time.Time          `json:"since"`
	Until   time.Time          `json:"until"` // the next probe
}

// Stats tells how the sender fares.
func (s *Sender) Stats() Stats {
	halted, _ := s.health.halts[everything].State()
	var lanes []LaneHalt
	for lane, of := range nudgewire.Lanes {
		if now, is := s.health.halts[lane].State(); is {
			lanes = append(lanes, LaneHalt{of, apiclient.Trouble(now.Cause), now.Why, now.Since, now.Until})
		}
	}
	return Stats{
		Calls: s.counts.calls.Load(), Accepted: s.counts.accepted.Load(), Untracked: s.counts.untracked.Load(),
		Rejected: s.counts.rejected.Load(), InDoubt: s.counts.inDoubt.Load(), Dropped: s.counts.dropped.Load(),
		Retried: s.counts.retried.Load(), GivenBack: s.counts.givenBack.Load(), Lost: s.counts.lost.Load(),
		Rescued: s.counts.abandoned.Load(), InHand: s.loop.InHand(), UnderWay: int(s.counts.underWay.Load()),
		Trouble: apiclient.Trouble(halted.Cause), Halted: halted.Why, HaltedSince: halted.Since, HaltedUntil: halted.Until,
		Lanes: lanes, Well: s.health.wellAt(),
	}
}
