package pace

import "time"

// A State is a Budget's standing, for people.
type State struct {
	Configured  float64   `json:"configured"`            // requests per second; 0 is no limit
	Rate        float64   `json:"rate"`                  // as it is now; 0 is no limit
	Slowed      bool      `json:"slowed"`                // below what is configured, after trouble
	PausedUntil time.Time `json:"paused_until,omitzero"` // zero when nothing is held
	LastTrouble time.Time `json:"last_trouble,omitzero"` // when the rate was last cut
	Cuts        uint64    `json:"cuts"`                  // times the rate was halved
	Sends       uint64    `json:"sends"`                 // requests let go
	Polls       uint64    `json:"polls"`                 //
	WaitSends   int       `json:"waiting_sends"`         // requests that wait for their turn
	WaitPolls   int       `json:"waiting_polls"`         //
	Busiest     float64   `json:"busiest_recent_second"` // requests in the busiest of the last seconds
}

// State tells where the budget stands.
func (b *Budget) State() State {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	s := State{
		Configured: b.configured, Rate: b.rate, Slowed: !b.healthy.Load(),
		LastTrouble: b.lastCut, Cuts: b.cuts,
		Sends: b.granted[Send].Load() + b.granted[Urgent].Load(), Polls: b.granted[Poll].Load(),
		WaitSends: len(b.queue[Send]) + len(b.queue[Urgent]), WaitPolls: len(b.queue[Poll]),
		Busiest: b.meter.busiest(now),
	}
	if b.pausedTill.After(now) {
		s.PausedUntil = b.pausedTill
	}
	return s
}
