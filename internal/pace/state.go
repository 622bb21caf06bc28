package pace

import "time"

// A State is a Budget's standing, for people.
type State struct {
	Configured float64 `json:"configured"` // requests per second, all together; 0 is no limit

	Pace         // of sends
	Status  Pace `json:"status"`  // of questions
	Uploads Pace `json:"uploads"` // of files

	Sends     uint64 `json:"sends"`         // requests let go, files among them
	Polls     uint64 `json:"polls"`         //
	WaitSends int    `json:"waiting_sends"` // requests that wait for their turn
	WaitPolls int    `json:"waiting_polls"` //
}

// A Pace is the standing of one kind of request.
type Pace struct {
	Rate        float64   `json:"rate"`                  // as it is now; 0 is no limit
	Slowed      bool      `json:"slowed"`                // below what is configured, after trouble
	PausedUntil time.Time `json:"paused_until,omitzero"` // zero when nothing is held
	LastTrouble time.Time `json:"last_trouble,omitzero"` // when the rate was last cut
	Cuts        uint64    `json:"cuts"`                  // times the rate was halved
	Busiest     float64   `json:"busiest_recent_second"` // requests in the busiest of the last seconds
}

// State tells where the budget stands.
func (b *Budget) State() State {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	of := func(k kind) Pace {
		p := &b.paces[k]
		one := Pace{Rate: p.rate, Slowed: !p.healthy.Load(), LastTrouble: p.lastCut, Cuts: p.cuts, Busiest: p.meter.busiest(now)}
		if !one.Slowed {
			one.Rate = b.configured
		}
		if p.pausedTill.After(now) {
			one.PausedUntil = p.pausedTill
		}
		return one
	}
	return State{
		Configured: b.configured, Pace: of(sends), Status: of(polls), Uploads: of(uploads),
		Sends: b.granted[Send].Load() + b.granted[Urgent].Load() + b.granted[MostUrgent].Load() + b.granted[Upload].Load(), Polls: b.granted[Poll].Load(),
		WaitSends: len(b.queue[Send]) + len(b.queue[Urgent]) + len(b.queue[MostUrgent]) + len(b.queue[Upload]), WaitPolls: len(b.queue[Poll]),
	}
}
