package sandbox

import "time"

// Reasons of the sandbox itself.
const (
	reasonPoints  = "insufficient points"
	reasonNobody  = "recipient is not on the network"
	reasonRefused = "recipient has opted out"
)

// What the last four digits of a phone decide.
const (
	endFails     = 0
	endQueued    = 1
	endSent      = 2
	endDelivered = 3
	endRefused   = 4
)

// A progress is the status of a message at one moment.
type progress struct {
	status    string // "" while the message is not known yet
	reason    string // when failed
	since     time.Time
	delivered time.Time // zero before delivery
}

// progress computes the status of message id at now. Nothing runs for a message between two
// look-ups: its whole life follows from when it was accepted, its phone, and the seed.
func (o *Options) progress(e entry, id int64, now time.Time) progress {
	at := time.Unix(0, e.at).UTC()
	step := func(d time.Duration, n uint64) bool {
		if d < 0 {
			return false
		}
		if o.Pace.Jitter > 0 {
			d += time.Duration(float64(d) * o.Pace.Jitter * (2*fraction(mix(o.Seed^mix(uint64(id))^n)) - 1))
		}
		at = at.Add(d)
		return !at.After(now)
	}
	if !step(o.Pace.Queued, 1) {
		return progress{}
	}
	s := progress{status: "queued", since: at}
	if e.short {
		s.status, s.reason = "failed", reasonPoints
		return s
	}
	end := e.phone.ending()
	if end == endQueued || !step(o.Pace.Sent, 2) {
		return s
	}
	if end == endFails {
		return progress{status: "failed", reason: reasonNobody, since: at}
	}
	if die := mix(o.Seed ^ mix(uint64(id)) ^ 5); o.FailRate > 0 && fraction(die) < o.FailRate {
		return progress{status: "failed", reason: o.Reasons[mix(die)%uint64(len(o.Reasons))], since: at}
	}
	s = progress{status: "sent", since: at}
	if end == endSent || !step(o.Pace.Delivered, 3) {
		return s
	}
	s = progress{status: "delivered", since: at, delivered: at}
	if end == endDelivered || !step(o.Pace.Read, 4) {
		return s
	}
	return progress{status: "read", since: at, delivered: s.delivered}
}
