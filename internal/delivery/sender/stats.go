package sender

import (
	"sync/atomic"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
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

	Halts []messaging.SendingHalt `json:"halts,omitempty"` // why nothing is sent, or nothing of a category

	Well time.Time `json:"well,omitzero"` // when the service last took a message, or showed that it is well again
}

// Halt is why nothing is sent at all; the zero value while things are sent.
func (s *Stats) Halt() (h messaging.SendingHalt) {
	if len(s.Halts) > 0 && s.Halts[0].Lane == "" {
		h = s.Halts[0]
	}
	return h
}

// Stats tells how the sender fares.
func (s *Sender) Stats() Stats {
	var halts []messaging.SendingHalt
	for i := range s.health.halts {
		scope := (everything + i) % len(s.health.halts) // that of all lanes first
		if now, is := s.health.halts[scope].State(); is {
			h := messaging.SendingHalt{Cause: now.Cause, Why: now.Why, Since: now.Since, NextProbe: now.Until}
			if scope != everything {
				h.Lane = messaging.Lanes[scope]
			}
			halts = append(halts, h)
		}
	}
	return Stats{
		Calls: s.counts.calls.Load(), Accepted: s.counts.accepted.Load(), Untracked: s.counts.untracked.Load(),
		Rejected: s.counts.rejected.Load(), InDoubt: s.counts.inDoubt.Load(), Dropped: s.counts.dropped.Load(),
		Retried: s.counts.retried.Load(), GivenBack: s.counts.givenBack.Load(), Lost: s.counts.lost.Load(),
		Rescued: s.counts.abandoned.Load(), InHand: s.loop.InHand(), UnderWay: int(s.counts.underWay.Load()),
		Halts: halts, Well: s.health.wellAt(),
	}
}
