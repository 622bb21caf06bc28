package duerules

import (
	"fmt"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A limit is how many messages of a category one contact gets in a window.
type limit struct {
	units.Limit
	category messaging.Category
	drop     bool
	maxDefer time.Duration
}

// back is how far back the sends of the window can lie: a unit of the calendar at its longest, with the
// hour that autumn adds, and one to spare.
func (l *limit) back() time.Duration {
	const unit, spare = 24 * time.Hour, 2 * time.Hour
	switch l.Calendar {
	case units.Day:
		return unit + spare
	case units.Week:
		return 7*unit + spare
	case units.Month:
		return 31*unit + spare
	default:
		return l.Per
	}
}

// askLimits holds back what the contact gets too much of.
func (p *policy) askLimits(q question) messaging.Verdict {
	var worst messaging.Verdict
	for i := range p.limits {
		l := &p.limits[i]
		if l.category != q.message.Category {
			continue
		}
		v := l.ask(q)
		switch {
		case v.Action == messaging.DropSend:
			return v
		case v.Action == messaging.DeferSend && v.Until.After(worst.Until):
			worst = v
		}
	}
	return worst
}

// ask counts what was sent in the window. A contact that may be in several zones has several calendars, and
// the limit holds in each of them.
func (l *limit) ask(q question) messaging.Verdict {
	until, full := l.limitReached(q)
	switch {
	case until.IsZero():
		return messaging.Verdict{}
	case l.Most == 0:
		return dropped(messaging.RuleLimit, l.none())
	}
	v := dropped(messaging.RuleLimit, l.limitWords(full, q))
	if !l.drop {
		v = q.putOff(messaging.RuleLimit, v.Reason, until, l.maxDefer)
	}
	v.Common = "the contact is over its limit"
	return v
}

// none is what a limit of nothing says.
func (l *limit) none() string { return l.String() + " lets no message go" }

// limitReached is when there is room again, zero where there is some now, and what was sent in the window.
func (l *limit) limitReached(q question) (until time.Time, full []messaging.PastSend) {
	zones := q.zones
	if l.Calendar == "" {
		zones = zones[:1] // all clocks run alike
	}
	for _, z := range zones {
		from := l.began(q.now, z)
		if int64(l.count(q.facts.Sends, from)) < l.Most {
			continue
		}
		in := l.in(q.facts.Sends, from)
		next := l.next(q.now, z)
		if l.Most > 0 && l.Calendar == "" {
			next = in[l.Most-1].At.Add(l.Per) // when one less than the most is left
		}
		if next.After(until) {
			until, full = next, in
		}
	}
	return until, full
}

// counts reports whether a message is one of those that are limited, sent after from.
func (l *limit) counts(s *messaging.PastSend, from time.Time) bool {
	return s.At.After(from) && (s.Category == l.category || s.Category == "" && l.category == messaging.Marketing)
}

func (l *limit) count(sends []messaging.PastSend, from time.Time) (n int) {
	for i := range sends {
		if l.counts(&sends[i], from) {
			n++
		}
	}
	return n
}

// in lists those that count, the newest first as they come.
func (l *limit) in(sends []messaging.PastSend, from time.Time) (in []messaging.PastSend) {
	for i := range sends {
		if l.counts(&sends[i], from) {
			in = append(in, sends[i])
		}
	}
	return in
}

// began is when the window of now began: a message sent then is not in it.
func (l *limit) began(now time.Time, z *hours.Zone) time.Time {
	if l.Calendar == "" {
		return now.Add(-l.Per)
	}
	return UnitBegins(l.Limit, now, z, 0).Add(-time.Nanosecond)
}

// next is when the next window of the calendar begins; for one that rolls, when it will have rolled over.
func (l *limit) next(now time.Time, z *hours.Zone) time.Time {
	if l.Calendar == "" {
		return now.Add(l.Per)
	}
	return UnitBegins(l.Limit, now, z, 1)
}

// UnitBegins is when the unit of a limit's calendar that now is in begins, by the clock of a zone, or one that comes after it.
func UnitBegins(l units.Limit, now time.Time, z *hours.Zone, after int) time.Time {
	local := now.In(z.Location())
	y, m, d := local.Date()
	switch l.Calendar {
	case units.Week:
		d += 7*after - (int(local.Weekday())+6)%7
	case units.Month:
		m, d = m+time.Month(after), 1
	default:
		d += after
	}
	return dayBegins(y, m, d, z.Location())
}

// dayBegins is the first moment of a day: midnight, the first of two, or where the clock jumps over it the
// moment after the jump.
func dayBegins(y int, m time.Month, d int, loc *time.Location) time.Time {
	const near = 4 * time.Hour // no clock is changed by more
	t := time.Date(y, m, d, 0, 0, 0, 0, loc)
	from, to := t.ZoneBounds()
	if (from.IsZero() || t.Sub(from) > near) && (to.IsZero() || to.Sub(t) > near) {
		return t
	}
	y, m, d = time.Date(y, m, d, 12, 0, 0, 0, time.UTC).Date() // the 32nd is the 1st
	for at := t.Add(-near); at.Before(t.Add(near)); at = at.Add(time.Minute) {
		if ly, lm, ld := at.Date(); ly == y && lm == m && ld == d {
			return at
		}
	}
	return t
}

// mostNamed is how many of the messages that were sent are named.
const mostNamed = 5

// limitWords are the limit's numbers: "2 of 2 per day were sent to this contact: …".
func (l *limit) limitWords(in []messaging.PastSend, q question) string {
	var b strings.Builder
	were := "were"
	if len(in) == 1 {
		were = "was"
	}
	fmt.Fprintf(&b, "%d of %s %s sent to this contact: ", len(in), l.Limit, were)
	for i, s := range in {
		switch {
		case i == mostNamed:
			fmt.Fprintf(&b, ", and %d more", len(in)-mostNamed)
			return b.String()
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString("at " + s.At.In(q.zones[0].Location()).Format("2006-01-02 15:04"))
		if s.Trigger != "" {
			b.WriteString(" by " + s.Trigger)
		}
	}
	return b.String()
}
