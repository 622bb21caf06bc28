package duerules

import (
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// MayGo says whether a message may go now, from what is known of it: the one answer for the claim, for the look just before the call, for lists
// and their rows, and for previews. The first reason that keeps it back answers, in the order of messaging.DueReasons. It is pure, and
// changes nothing. rules are those of the config; nil for none.
//
// A caller may leave facts empty that it does not know yet. An empty fact never holds a message back.
func MayGo(rules messaging.DueRules, d *messaging.Message, f *messaging.DueFacts, now time.Time) messaging.Verdict {
	if v := mayGo(d, f, now); v.Action != messaging.AllowSend {
		return v
	}
	var v messaging.Verdict
	if rules != nil {
		if v = rules.Decide(d, f, now); v.Action != messaging.AllowSend {
			return v
		}
	}
	switch {
	case f.Service != "":
		return held(messaging.RuleService, f.Service)
	case f.Step != nil && f.Step.Action != messaging.AllowSend:
		step := *f.Step
		step.Rule = messaging.RuleStep
		return step
	}
	return v
}

// mayGo asks about what no config changes.
func mayGo(d *messaging.Message, f *messaging.DueFacts, now time.Time) messaging.Verdict {
	switch {
	case !d.ExpiresAt.IsZero() && !now.Before(d.ExpiresAt):
		return dropped(messaging.RuleExpires, "expired at "+units.Stamp(d.ExpiresAt)+", before it could be sent")
	case f.CalledOff != "":
		return held(messaging.RuleCancelled, f.CalledOff)
	case f.Held != "":
		return held(messaging.RuleHold, f.Held)
	case f.Blocked != "" && d.Category.Blockable():
		v := dropped(messaging.RuleBlock, f.Blocked)
		v.Common = messaging.BlockedWords("")
		return v
	case f.Forgetting != "" && d.Category == messaging.Marketing:
		return forgetting(d, f, now)
	case f.Messaged != nil:
		return messaged(f)
	}
	return messaging.Verdict{}
}

func held(rule, why string) messaging.Verdict {
	return messaging.Verdict{Action: messaging.HoldSend, Rule: rule, Reason: why}
}

// redactionLook is how often what waits for a decision is asked about again. A decision asks at once.
const redactionLook = time.Hour

// forgetting puts off a message to a contact who may have to be forgotten. It never lives longer by that. A file leaves him out: its list does not
// wait for a person.
func forgetting(d *messaging.Message, f *messaging.DueFacts, now time.Time) messaging.Verdict {
	why := "all that came by " + f.Forgetting + " is asked to be forgotten, and a person has to decide (nudgewire contacts redactions)"
	if f.File {
		return dropped(messaging.RuleRedaction, why)
	}
	until := now.Add(redactionLook)
	if lives := livesUntil(d, f); !lives.IsZero() && until.After(lives) {
		until = lives
	}
	if !until.After(now) {
		return dropped(messaging.RuleRedaction, why+"; it expired meanwhile")
	}
	return messaging.Verdict{Action: messaging.DeferSend, Rule: messaging.RuleRedaction, Reason: why, Until: until}
}

// messaged leaves out who got something within the time that a job excludes by.
func messaged(f *messaging.DueFacts) messaging.Verdict {
	by := "trigger " + f.Messaged.Trigger
	if f.Messaged.Run != 0 {
		by = fmt.Sprintf("run %d of %s", f.Messaged.Run, f.Messaged.Trigger)
	}
	v := dropped(messaging.RuleExclude, "the contact was messaged within "+units.Duration(f.Within).String())
	v.Common = v.Reason
	v.Reason += ", by " + by + " on " + f.Messaged.At.UTC().Format("2006-01-02 15:04 UTC")
	return v
}

// livesUntil is when a message ends however often it is put off; zero for never. Its expiry moves along with each deferral.
func livesUntil(d *messaging.Message, f *messaging.DueFacts) time.Time {
	if d.ExpiresAt.IsZero() || f.FirstDue.IsZero() {
		return d.ExpiresAt
	}
	return f.FirstDue.Add(d.ExpiresAt.Sub(d.DueAt))
}
