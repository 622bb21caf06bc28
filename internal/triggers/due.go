package triggers

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/expressions"
	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A delay is a Wait compiled: a length of time, calendar days, a time of day, or what an expression
// gives.
type delay struct {
	length time.Duration
	days   int
	at     *hours.Clock // with days; nil is the time of day of what it counts from
	daily  *hours.Clock
	moment *expressions.Expression
	source string // of the moment
}

// clocklike is what was meant as a time of day: "25:00", "9am", "MON 09:00", "9".
var clocklike = regexp.MustCompile(`(?i)^((mon|tue|wed|thu|fri|sat|sun)[a-z]*\s+)?\d{1,2}([:.]\d{1,2})?\s*(am|pm|h|uhr)?$`)

// delay compiles a "wait".
func (b *builder) delay(w Wait) delay {
	text := strings.TrimSpace(w.Until)
	if text == "" {
		d := delay{length: w.For, days: w.Days}
		if c, err := hours.ParseClock(w.At); err == nil {
			d.at = &c
		}
		return d
	}
	if c, err := hours.ParseClock(text); err == nil {
		return delay{daily: &c}
	}
	if clocklike.MatchString(text) {
		b.report("wait.until", 0, hours.ClockHint+"; days of the week are not known here", `%q is no time of day: one is written "09:00"`, text)
		return delay{}
	}
	moment, faults := expressions.Compile(w.Until)
	b.faults("wait.until", faults)
	if kind := moment.Kind(); len(faults) == 0 && kind != expressions.KindTime && kind != expressions.KindAny {
		hint := `write a time of day, "09:00", or an expression such as cart.expires_at - 2h`
		switch kind {
		case expressions.KindSpan:
			hint = "for a length of time write wait: 45m, without until"
		case expressions.KindText:
			hint = fmt.Sprintf("time(%s) reads it as a time", text)
		}
		b.report("wait.until", 0, hint, "%s is %s, not a time", text, moment.Words())
	}
	return delay{moment: moment, source: text}
}

// arrival is when the event reached us, now where it does not say.
func arrival(e *messaging.Event, now time.Time) time.Time {
	if e.ReceivedAt.IsZero() {
		return now.UTC()
	}
	return e.ReceivedAt.UTC()
}

// due is when the message of an event falls due and when it expires, the zero time for
// never; trouble is why there is no such time.
//
// A length of time counts from the moment when the fact happened, because that is what "45
// minutes after the cart" means to a customer: a webhook that arrives ten minutes late, or twice,
// shortens the wait instead of moving it. It never falls due before the event reached us: expiry
// counts from there, and a late webhook must not make the message expire. max_age is the rule for
// events that are too old.
//
// A moment that an expression gives is a promise about the wall clock ("two hours before the cart
// expires"), so expiry counts from that moment: past it by more than "expires", the event is
// skipped.
//
// A step after the first counts from the due time of the step before it, and never falls due before that.
func (r *rule) due(d *delay, e *messaging.Event, s *expressions.Scope, zones func() hours.Places, before, now time.Time) (at, expires time.Time, trouble string) {
	from, earliest := e.Time().UTC(), arrival(e, now)
	if !before.IsZero() {
		from, earliest = before, before
	}
	switch {
	case d.moment != nil:
		moment, why := d.moment.Time(s)
		if at = moment; why != "" {
			return at, at, "wait until " + d.source + ": " + why
		}
		if r.expires > 0 {
			if now.Sub(at) > r.expires {
				return at, at, fmt.Sprintf("the moment to send, %s, is past by more than %s (expires)", units.Stamp(at), units.About(r.expires))
			}
			expires = at.Add(r.expires)
		}
	case d.daily != nil && before.IsZero():
		at = zones().Next(*d.daily, earliest)
	case d.days > 0 || d.daily != nil:
		at = d.after(from, zones())
	default:
		at = from.Add(d.length)
	}
	if at.Before(earliest) {
		at = earliest
		if !before.IsZero() {
			expires = time.Time{}
		}
	}
	if r.expires > 0 && expires.IsZero() {
		expires = at.Add(r.expires)
	}
	return at, expires, ""
}

// after is the moment that is so much later than from; from itself for a moment of its own.
func (d *delay) after(from time.Time, zones hours.Places) time.Time {
	switch {
	case d.days > 0 && d.at != nil:
		return zones.OnDay(*d.at, from, d.days)
	case d.days > 0:
		return zones.Days(from, d.days)
	case d.daily != nil: // two steps at one time of day are two days
		return zones.Next(*d.daily, from.Add(time.Minute))
	default:
		return from.Add(d.length)
	}
}

// String is the delay in words that parseDelay reads: 3d, 3 days, 3 days at 10:00, until 10:00. A moment
// that only the event knows is no time at all after anything else.
func (d *delay) String() string {
	switch {
	case d.days > 0 && d.at != nil:
		return units.Count(int64(d.days), "day") + " at " + d.at.String()
	case d.days > 0:
		return units.Count(int64(d.days), "day")
	case d.daily != nil:
		return "until " + d.daily.String()
	default:
		return units.Duration(d.length).String()
	}
}

// parseDelay reads what String writes, as it is stored with a step.
func parseDelay(text string) (d delay, err error) {
	if rest, ok := strings.CutPrefix(text, "until "); ok {
		var c hours.Clock
		c, err = hours.ParseClock(rest)
		return delay{daily: &c}, err
	}
	days, at, timed := strings.Cut(text, " at ")
	if number, _, ok := strings.Cut(days, " day"); ok {
		if d.days, err = strconv.Atoi(number); err == nil && timed {
			var c hours.Clock
			c, err = hours.ParseClock(at)
			d.at = &c
		}
		return d, err
	}
	length, err := units.ParseDuration(text)
	return delay{length: length.D()}, err
}
