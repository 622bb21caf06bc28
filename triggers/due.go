package triggers

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/expressions"
	"github.com/nudgewire/nudgewire/internal/units"
)

// An until is a wait for a moment instead of a length: a time of day, or what an expression
// gives.
type until struct {
	source string
	daily  *clock
	moment *expressions.Expression
}

// clocklike is what was meant as a time of day: "25:00", "9am", "MON 09:00", "9".
var clocklike = regexp.MustCompile(`(?i)^((mon|tue|wed|thu|fri|sat|sun)[a-z]*\s+)?\d{1,2}([:.]\d{1,2})?\s*(am|pm|h|uhr)?$`)

// wait compiles the "wait" of a rule; nil is a plain length of time.
func (b *builder) wait(w Wait) *until {
	text := strings.TrimSpace(w.Until)
	if text == "" {
		return nil
	}
	if c, err := parseClock(text); err == nil {
		return &until{source: text, daily: &c}
	}
	if clocklike.MatchString(text) {
		b.report("wait.until", 0, `write hours and minutes, from "00:00" to "23:59"; days are not known here`, `%q is no time of day: one is written "09:00"`, text)
		return nil
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
	return &until{source: text, moment: moment}
}

// happened is when the fact happened, and never later than it reached us: a sender's clock
// may be wrong, and a message must not wait for it.
func happened(e *nudgewire.Event) time.Time {
	if t := e.Time(); t.Before(e.ReceivedAt) || e.ReceivedAt.IsZero() {
		return t.UTC()
	}
	return e.ReceivedAt.UTC()
}

// arrival is when the event reached us, now where it does not say.
func arrival(e *nudgewire.Event, now time.Time) time.Time {
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
func (r *rule) due(e *nudgewire.Event, s *expressions.Scope, now time.Time) (at, expires time.Time, trouble string) {
	reached := arrival(e, now)
	switch {
	case r.until == nil:
		at = happened(e).Add(r.Wait.For)
	case r.until.daily != nil:
		at = r.until.daily.next(reached, s.Zone())
	default:
		moment, why := r.until.moment.Time(s)
		if at = moment; why != "" {
			return at, at, "wait until " + r.until.source + ": " + why
		}
		if r.expires > 0 {
			if now.Sub(at) > r.expires {
				return at, at, fmt.Sprintf("the moment to send, %s, is past by more than %s (expires)", units.Stamp(at), units.About(r.expires))
			}
			expires = at.Add(r.expires)
		}
	}
	if at.Before(reached) {
		at = reached
	}
	if r.expires > 0 && expires.IsZero() {
		expires = at.Add(r.expires)
	}
	return at, expires, ""
}
