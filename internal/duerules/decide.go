package duerules

import (
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A question is one message at its due moment.
type question struct {
	message *messaging.Message
	facts   *messaging.DueFacts
	now     time.Time
	quiet   *quiet        // nil for none
	zones   []*hours.Zone // that the contact may be in
}

// Decide implements messaging.DueRules, for MayGo. The rules are asked in the order of the design, and the first that
// holds the message back answers: consent, quiet hours, limits, the account's limit, the budget, the
// trigger's rate, which only a message uses up that nothing else holds back. Of two policies that hold for it the stricter answers. What is
// put off is asked about again when it falls due, by the rules of then. A message that is claimed already is asked
// about quiet hours only; a row of a file about everything but the account's limit, the budget and the rate, and about quiet hours only on a clock of its own.
func (r *Rules) Decide(d *messaging.Message, f *messaging.DueFacts, now time.Time) messaging.Verdict {
	b := r.of(d)
	if b.unknown != "" {
		return unknownRules(b.unknown, now)
	}
	paced := b.own.paced()
	if b.own == nil && b.also == nil && !r.by(d).holds(d) && !r.purse.holds(d) {
		return messaging.Verdict{}
	}
	if f == nil {
		f = &messaging.DueFacts{}
	}
	q := question{message: d, facts: f, now: now}
	var v messaging.Verdict
	for p := range b.all {
		v = stricter(v, r.askPolicy(p, &q))
	}
	if v.Action != messaging.AllowSend || f.Claimed || f.File {
		return v
	}
	if v := r.by(d).ask(q); v.Action != messaging.AllowSend {
		return v
	}
	if v := r.purse.ask(q); v.Action != messaging.AllowSend || !paced {
		return v
	}
	return r.askRate(b.own.rate, q)
}

// askAgain is how long what no rule is known of waits before it is asked about once more.
const askAgain = 5 * time.Minute

func unknownRules(why string, now time.Time) messaging.Verdict {
	return messaging.Verdict{Action: messaging.DeferSend, Rule: messaging.RuleConfig, Reason: why, Until: now.Add(askAgain).UTC()}
}

// askPolicy asks the consent, the quiet hours and the limits of one policy. What it works out for that stays in q.
func (r *Rules) askPolicy(p *policy, q *question) messaging.Verdict {
	d := q.message
	quiet, limited := p.quietFor(d.Category), p.back(d.Category) > 0 && !q.facts.Claimed
	if v := p.askConsent(q); v.Action != messaging.AllowSend {
		return v
	}
	if q.facts.File && !q.facts.OwnClock {
		quiet = nil
	}
	if q.quiet = quiet; quiet != nil || limited {
		q.zones = r.zonesOf(d, quiet, q.now)
	}
	if v := quiet.ask(*q); v.Action != messaging.AllowSend || !limited {
		return v
	}
	return p.askLimits(*q)
}

// askConsent drops what goes to somebody who has not agreed to it.
func (p *policy) askConsent(q *question) messaging.Verdict {
	switch {
	case !p.asks(q.message.Category) || q.facts.Claimed || q.facts.Consent == messaging.ConsentGiven:
		return messaging.Verdict{}
	case q.facts.Consent == messaging.ConsentWithdrawn:
		return dropped(messaging.RuleConsent, "consent is required, and the contact has withdrawn it")
	}
	return dropped(messaging.RuleConsent, "consent is required, and the contact's consent to messages is not recorded")
}

// stricter is the verdict of two that holds a message back more: one that drops it, else the later.
func stricter(a, b messaging.Verdict) messaging.Verdict {
	switch {
	case a.Action == messaging.AllowSend:
		return b
	case b.Action == messaging.AllowSend, a.Action == messaging.DropSend:
		return a
	case b.Action == messaging.DropSend, b.Until.After(a.Until):
		return b
	}
	return a
}

// zonesOf lists the zones that the contact may be in, or the one of those of whom nothing is known where
// quiet hours leave the others no hour of the day in common: a message to such a number would never go. That
// is a guess, which is told.
func (r *Rules) zonesOf(d *messaging.Message, quiet *quiet, now time.Time) []*hours.Zone {
	zones, guessed := r.zones.Of(string(d.Phone), d.Zone)
	if quiet != nil && len(zones) > 1 {
		if _, ok := quiet.rule.Free(now, zones); !ok {
			zones, guessed = r.zones.Otherwise(), true
		}
	}
	if guessed && r.Guessed != nil {
		r.Guessed()
	}
	return zones
}

// putOff defers the message to the first moment from until on that is outside quiet hours, or drops it
// where that is too late. why is what held it back, without an end.
func (q question) putOff(rule, why string, until time.Time, maxDefer time.Duration) messaging.Verdict {
	if q.quiet != nil {
		free, ok := q.quiet.rule.Free(until, q.zones)
		switch {
		case ok:
		case q.facts.Begun:
			free = until.Add(24 * time.Hour) // check warns of hours that never end; a later config may have others
		default:
			return dropped(rule, why+"; and quiet hours leave no time to send it")
		}
		until = free
	}
	next := "next at " + q.stamp(until)
	first, lives := q.facts.FirstDue, livesUntil(q.message, q.facts)
	if first.IsZero() {
		first = q.message.DueAt
	}
	switch {
	case !lives.IsZero() && !until.Before(lives):
		return dropped(rule, fmt.Sprintf("%s; %s, and it expires at %s", why, next, q.stamp(lives)))
	case maxDefer > 0 && until.Sub(first) > maxDefer:
		return dropped(rule, fmt.Sprintf("%s; %s, which is more than %s (max_defer) after it first fell due", why, next, units.Duration(maxDefer)))
	}
	return messaging.Verdict{Action: messaging.DeferSend, Rule: rule, Reason: why + "; " + next, Until: until.UTC()}
}

func dropped(rule, why string) messaging.Verdict {
	return messaging.Verdict{Action: messaging.DropSend, Rule: rule, Reason: why}
}

// stamp is a moment on the clock of the contact's place, where there is one, else in UTC.
func (q question) stamp(t time.Time) string {
	if len(q.zones) == 0 {
		return units.Stamp(t)
	}
	return stamp(t, q.zones[0])
}
