package triggers

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire"
)

// An until is a wait for a moment instead of a length: a time of day, or what an expression
// gives.
type until struct {
	source string
	daily  *clock
	moment eval
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
		return &until{source: text, moment: unknown.eval}
	}
	t, c := compileText(w.Until)
	b.faults("wait.until", c.faults)
	if len(c.faults) == 0 && t.shape.kind != kindTime && t.shape.kind != kindAny {
		hint := `write a time of day, "09:00", or an expression such as cart.expires_at - 2h`
		switch {
		case t.shape.kind == kindSpan:
			hint = "for a length of time write wait: 45m, without until"
		case t.shape.kind == kindText:
			hint = fmt.Sprintf("time(%s) reads it as a time", text)
		}
		b.report("wait.until", 0, hint, "%s is %s, not a time", text, t.shape.words())
	}
	return &until{source: text, moment: t.eval}
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
// minutes after the cart" means to a customer: a webhook that arrives ten minutes late, or
// again, shortens the wait instead of moving it. It never falls due before the event reached us, since
// expiry counts from there and a late webhook is not the message's fault; max_age is the
// rule for events that are too old.
//
// A moment that an expression gives is a promise about the wall clock ("two hours before the
// cart expires"), so expiry counts from that moment itself: past it by more than
// "expires", the message is refused.
func (r *rule) due(s *scope, now time.Time) (at, expires time.Time, trouble string) {
	reached := arrival(s.event, now)
	switch {
	case r.until == nil:
		at = happened(s.event).Add(r.Wait.For)
	case r.until.daily != nil:
		at = r.until.daily.next(reached, s.zone())
	default:
		s.begin()
		switch v := r.until.moment(s).(type) {
		case time.Time:
			at = v.UTC()
			if r.expires > 0 && now.Sub(at) > r.expires {
				return at, at, fmt.Sprintf("the moment to send, %s, is past by more than %s (expires)", stamp(at), span(r.expires))
			}
			if r.expires > 0 {
				expires = at.Add(r.expires)
			}
		case nil:
			why := s.why()
			if why == "" {
				why = "it gives no time"
			}
			return at, at, "wait until " + r.until.source + ": " + why
		default:
			return at, at, fmt.Sprintf("wait until %s: it is %s, not a time", r.until.source, wordsFor(v))
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
