package duerules

import (
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/units"
)

// MayGo says whether a message may go now, from what is known of it: the one answer for the claim, for the look just before the call, for rows of
// lists (List.MayGo) and for previews. The first reason that keeps it back answers, in the order of nudgewire.DueReasons. It is pure, and
// changes nothing. rules are those of the config; nil for none.
//
// Who knows less asks with less: what a claim has not read yet, or what nobody knows beforehand, stands empty in the facts and holds nothing.
func MayGo(rules nudgewire.DueRules, d *nudgewire.Message, f *nudgewire.DueFacts, now time.Time) nudgewire.Verdict {
	if v := mayGo(d, f, now); v.Action != nudgewire.AllowSend {
		return v
	}
	var v nudgewire.Verdict
	if rules != nil {
		if v = rules.Decide(d, f, now); v.Action != nudgewire.AllowSend {
			return v
		}
	}
	switch {
	case f.Service != "":
		return held(nudgewire.RuleService, f.Service)
	case f.Step != nil && f.Step.Action != nudgewire.AllowSend:
		step := *f.Step
		step.Rule = nudgewire.RuleStep
		return step
	}
	return v
}

// mayGo asks about what no config changes.
func mayGo(d *nudgewire.Message, f *nudgewire.DueFacts, now time.Time) nudgewire.Verdict {
	switch {
	case !d.ExpiresAt.IsZero() && !now.Before(d.ExpiresAt):
		return dropped(nudgewire.RuleExpires, "expired at "+units.Stamp(d.ExpiresAt)+", before it could be sent")
	case f.CalledOff != "":
		return held(nudgewire.RuleCancelled, f.CalledOff)
	case f.Held != "":
		return held(nudgewire.RuleHold, f.Held)
	case f.Blocked != "" && d.Category.Blockable():
		return dropped(nudgewire.RuleBlock, f.Blocked)
	case f.Forgetting != "" && d.Category == nudgewire.Marketing:
		return forgetting(d, f, now)
	}
	return nudgewire.Verdict{}
}

func held(rule, why string) nudgewire.Verdict {
	return nudgewire.Verdict{Action: nudgewire.HoldSend, Rule: rule, Reason: why}
}

// redactionLook is how often what waits for a decision is asked about again. A decision asks at once.
const redactionLook = time.Hour

// forgetting puts off a message to a contact who may have to be forgotten. It never lives longer by that.
func forgetting(d *nudgewire.Message, f *nudgewire.DueFacts, now time.Time) nudgewire.Verdict {
	why := "all that came by " + f.Forgetting + " is asked to be forgotten, and a person has to decide (nudgewire contacts redactions)"
	until := now.Add(redactionLook)
	if lives := livesUntil(d, f); !lives.IsZero() && until.After(lives) {
		until = lives
	}
	if !until.After(now) {
		return dropped(nudgewire.RuleRedaction, why+"; it expired meanwhile")
	}
	return nudgewire.Verdict{Action: nudgewire.DeferSend, Rule: nudgewire.RuleRedaction, Reason: why, Until: until}
}

// livesUntil is when a message ends however often it is put off; zero for never. Its expiry moves along with each deferral.
func livesUntil(d *nudgewire.Message, f *nudgewire.DueFacts) time.Time {
	if d.ExpiresAt.IsZero() || f.FirstDue.IsZero() {
		return d.ExpiresAt
	}
	return f.FirstDue.Add(d.ExpiresAt.Sub(d.DueAt))
}

// MayGo is MayGo of one row of the list. Its quiet hours are the list's (At, Free), and the account's limit is asked about a whole part
// (Rules.Reach). first is when the list was due, for max_defer.
func (l List) MayGo(phone nudgewire.Phone, f *nudgewire.DueFacts, first, now time.Time) (v nudgewire.Verdict) {
	d := &nudgewire.Message{Trigger: l.job, Category: l.category, Phone: phone, DueAt: first}
	if v = mayGo(d, f, now); v.Action != nudgewire.AllowSend || l.rules == nil {
		return v
	}
	if l.bound.unknown != "" {
		return unknownRules(l.bound.unknown, now)
	}
	q := question{message: d, facts: f, now: now}
	for p := range l.bound.all {
		one := p.askConsent(&q)
		if one.Action == nudgewire.AllowSend && p.back(l.category) > 0 {
			q.zones = l.rules.zonesOf(d, nil, now)
			one = p.askLimits(q)
		}
		v = stricter(v, one)
	}
	return v
}
