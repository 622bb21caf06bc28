package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A job with "at" sends to each row when it is that late where its contact is: at the row's turn. It is worked out wherever it is asked about, from
// the times that are stored of the run and from the config of now, so that a restart and another node find the same, and no part of a list is cut
// before it may leave.

// onTime is how much later than its time a run may begin, or be approved, and its turns are still those of its time.
const onTime = time.Hour

// turns find the turns of a run's rows. They are for one goroutine. Without a time of day (nil) each row may go at once.
type turns struct {
	clock hours.Clock
	zones *hours.Zones
	from  time.Time
	known map[**hours.Zone]turn
}

// A turn is when rows may go; the zero value is at once.
type turn struct {
	at   time.Time
	zone string // whose clock it is, the first where a number is used in several
}

// turns are those of the rows of a run; nil where the job has no time of day.
func (c *Compiled) turns(r *messaging.Run, now time.Time) *turns {
	if c == nil || c.At == nil {
		return nil
	}
	return &turns{*c.At, c.zones, turnsFrom(r, now), map[**hours.Zone]turn{}}
}

// turns are those of the run in hand.
func (w *working) turns() *turns { return w.brakes().turns(&w.run, w.Now()) }

// turnsFrom is the moment from which the turns of a run are looked for: its time, or when it began or was approved, where that was later by more than
// an hour. A run that is not there yet, or waits for approval, would begin now.
func turnsFrom(r *messaging.Run, now time.Time) time.Time {
	from := now
	switch by := r.Approvals.By; {
	case awaits(r):
	case len(by) > 0:
		from = by[len(by)-1].At
	case !r.StartedAt.IsZero():
		from = r.StartedAt
	}
	if from.Sub(r.DueAt) <= onTime {
		from = r.DueAt
	}
	return from.UTC()
}

// of is the turn of a contact.
func (t *turns) of(phone messaging.Phone) turn {
	if t == nil {
		return turn{}
	}
	zones, _ := t.zones.Of(string(phone), "")
	found, known := t.known[&zones[0]]
	if !known {
		found = turn{hours.PlacesOf(zones).Next(t.clock, t.from), zones[0].String()}
		t.known[&zones[0]] = found
	}
	return found
}

// due is when a contact's row may go: at its turn, or now where that has come.
func (t *turns) due(phone messaging.Phone, now time.Time) time.Time {
	if at := t.of(phone).at; at.After(now) {
		return at
	}
	return now
}

// waits says why a row waits for its turn.
func (t *turns) waits(at turn) messaging.Verdict {
	return messaging.Verdict{
		Action: messaging.DeferSend, Rule: messaging.RuleAt, Until: at.at, Common: at.zone,
		Reason: fmt.Sprintf("%s in %s is at %s", t.clock, at.zone, units.Stamp(at.at)),
	}
}

// turnWords say when rows have their turns, the first ones by name.
func turnWords(clock hours.Clock, all laterRows) string {
	const most = 4
	slices.SortFunc(all, func(a, b Later) int { return a.Until.Compare(b.Until) })
	var words []string
	left := int64(0)
	for i, one := range all {
		if i >= most {
			left += one.Rows
			continue
		}
		words = append(words, fmt.Sprintf("%s at %s (%s)", units.Count(one.Rows, "row"), units.Stamp(one.Until), one.Zone))
	}
	if left > 0 {
		words = append(words, units.Count(left, "row")+" later")
	}
	return clock.String() + " where its contacts are: " + strings.Join(words, ", ")
}

// awaitTurn waits until rows of a part may go, or until a reload changes the rules.
func (w *working) awaitTurn(ctx context.Context, p *messaging.Part) error {
	what := messaging.WaitLimits
	if w.brakes().At != nil {
		what = messaging.WaitAt
	}
	return w.awaitRules(ctx, what, p.RetryAt, p.Reason)
}

// RowTurn is when a row of a run may go by its job's time of day; zero for one that may go at once.
func (s *Scheduler) RowTurn(r *messaging.Run, phone messaging.Phone) time.Time {
	if at := s.brakesOf(r).turns(r, s.Now()).of(phone).at; at.After(s.Now()) {
		return at.UTC()
	}
	return time.Time{}
}
