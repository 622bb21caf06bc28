package tracker

import (
	"time"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// Defaults of a Plan.
const (
	DefaultGiveUp     = 30 * 24 * time.Hour
	DefaultCompleteAt = messaging.StatusDelivered
)

// DefaultSchedule is when a message is asked about, counted from its acceptance.
func DefaultSchedule() []time.Duration {
	return []time.Duration{
		5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 6 * time.Hour,
	}
}

// spread is how far jitter may move a poll, as a part of the wait it is in: messages accepted
// in one burst do not come back as one.
const spread = 0.1

// A Plan says when to ask about messages and when a message has come to its end. Its methods
// are pure: the same arguments give the same answer.
type Plan struct {
	// Schedule holds the times of the polls, counted from acceptance, rising; after the last
	// one its value is the interval.
	Schedule []time.Duration
	// GiveUp is how long after acceptance a message without a final status expires.
	GiveUp time.Duration
	// FinalStatus is StatusDelivered, or StatusRead to follow a delivered message on until it is
	// read or GiveUp has passed; in the latter case it stays delivered.
	FinalStatus messaging.Status
}

// withDefaults is p with its zero fields filled in.
func (p Plan) withDefaults() Plan {
	if len(p.Schedule) == 0 {
		p.Schedule = DefaultSchedule()
	}
	if p.GiveUp <= 0 {
		p.GiveUp = DefaultGiveUp
	}
	if p.FinalStatus == "" {
		p.FinalStatus = DefaultCompleteAt
	}
	return p
}

// First is when a message accepted at the given time is asked about first. jitter is from 0
// up to but not including 1, as in Next.
func (p Plan) First(accepted time.Time, jitter float64) time.Time {
	return accepted.Add(sway(p.Schedule[0], jitter))
}

// Next is what a look at m at now brings. answer is nil when the look brought nothing
// readable: the answer was none of the service's status answers, 404 among them, or there was
// none.
//
// Where statuses come in an odd order the furthest one stands: queued after sent is no step
// back, and what was delivered does not fail. Words that the API document does not know are
// kept as they came.
func (p Plan) Next(m *messaging.Message, now time.Time, answer *apiclient.Status, jitter float64) messaging.Poll {
	poll := messaging.Poll{MessageID: m.ID, At: now}
	status := m.Status
	if answer != nil {
		poll.Status = furthest(m.Status, messaging.Status(answer.Status))
		status = poll.Status
		if poll.Status == messaging.Status(answer.Status) {
			poll.Error, poll.ToldAt = answer.Error, answer.Timestamp
		}
	}
	switch {
	case p.ends(status):
		poll.Status, poll.Final = status, true
	case !now.Before(m.AcceptedAt.Add(p.GiveUp)):
		poll.Final = true
		if poll.Status = status; rank(status) < rank(messaging.StatusDelivered) {
			poll.Status, poll.Error, poll.ToldAt = messaging.StatusExpired, lastWord(status, p.GiveUp), time.Time{}
		}
	default:
		poll.NextPollAt = p.after(m, now, answer != nil, jitter)
	}
	return poll
}

// after is when to look again at a message that has not come to its end, never later than the
// moment it expires.
func (p Plan) after(m *messaging.Message, now time.Time, readable bool, jitter float64) time.Time {
	age := max(0, now.Sub(m.AcceptedAt))
	wait := p.Schedule[len(p.Schedule)-1]
	for _, at := range p.Schedule {
		// A poll may have come early by its jitter; it was this one all the same.
		if float64(at)*(1-spread) > float64(age) {
			wait = at - age
			break
		}
	}
	if !readable {
		// Nothing was learned, so the next look does not wait for the next step, which may be
		// hours away: a quarter of the age is soon after a slip and rare for a lasting trouble.
		wait = min(wait, max(age/4, p.Schedule[0]))
	}
	next := now.Add(max(sway(wait, jitter), time.Second))
	if end := m.AcceptedAt.Add(p.GiveUp); next.After(end) {
		return end
	}
	return next
}

// sway moves d by up to a tenth either way.
func sway(d time.Duration, jitter float64) time.Duration {
	return d + time.Duration(float64(d)*spread*(2*jitter-1))
}

// ends reports whether a status is the last one that is asked for.
func (p Plan) ends(s messaging.Status) bool {
	switch s {
	case messaging.StatusFailed, messaging.StatusRead, messaging.StatusExpired:
		return true
	case messaging.StatusDelivered:
		return p.FinalStatus != messaging.StatusRead
	default:
		return false
	}
}

// furthest is the status that stands when the service says told of a message at was. Accepted
// and untracked are words of ours; from the service they would say nothing new.
func furthest(was, told messaging.Status) messaging.Status {
	if told == messaging.StatusUntracked || rank(told) < rank(was) {
		return was
	}
	return told
}

// rank orders statuses by how far a message has come. Failed comes before delivered, because
// a message that was on the phone has arrived whatever is said of it later; a word that we do
// not know may stand anywhere before that.
func rank(s messaging.Status) int {
	switch s {
	case messaging.StatusAccepted:
		return 0
	case messaging.StatusQueued:
		return 1
	case messaging.StatusSent:
		return 2
	case messaging.StatusFailed, messaging.StatusExpired:
		return 3
	case messaging.StatusDelivered:
		return 4
	case messaging.StatusRead:
		return 5
	default:
		return 2
	}
}

// lastWord says why a message expired.
func lastWord(s messaging.Status, giveUp time.Duration) string {
	within := " within " + units.Duration(giveUp).String()
	if s == messaging.StatusAccepted {
		return "the service told no status" + within
	}
	return "the service told nothing after " + string(s) + within
}
