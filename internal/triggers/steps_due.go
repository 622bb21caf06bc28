package triggers

import (
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/expressions"
	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A step's decision is made when it falls due, with the facts of then and the rule it was planned by.
//
// The step before has to have ended first, or its end could not be asked for and two messages would
// leave together: until then the step is put off, and its wait counts from that end. A step that is in
// doubt has ended: it may never be more than that.

const (
	// stepPause is how long a step is put off at the least: the call of the step before may be under way.
	stepPause = 5 * time.Second

	// heldPause is the same where the step before is past its due time: something holds it, and the end
	// of that is not known.
	heldPause = time.Minute

	// slackMost is how much later than planned the step before may have ended without a change of the
	// times after it: a message leaves some seconds after it falls due, and nobody means those by 7d.
	slackMost = time.Minute
)

// Step decides about a message that is a step of a sequence, just before it would be sent. A rule that
// cannot be read any more sends nothing.
func (s *Set) Step(d *messaging.Message, f *messaging.StepFacts, now time.Time) messaging.StepVerdict {
	name := StepWords(d.Step, f.Rule.Of)
	wait, err := parseDelay(f.Rule.Wait)
	if err != nil {
		return s.stepDecided(d, now, messaging.Skipped, name+": its wait cannot be read: "+err.Error(), nil)
	}
	if until, why := wait.putOff(f.Before, s.zones.Places(string(d.Phone), d.Zone), now); why != "" {
		return messaging.StepVerdict{Verdict: messaging.Verdict{Action: messaging.DeferSend, Rule: "wait", Reason: name + " is put off: " + why, Until: until}}
	}
	if len(f.Rule.If) == 0 {
		return messaging.StepVerdict{}
	}
	scope := expressions.NewScope(f.Event, now, s.home)
	defer scope.Free()
	scope.After(f.Previous)
	clauses := make([]messaging.Clause, 0, len(f.Rule.If))
	for _, text := range f.Rule.If {
		c, faults := expressions.CompileStep(text)
		if len(faults) > 0 {
			return s.stepDecided(d, now, messaging.Skipped, name+": "+text+" cannot be read: "+faults[0].Msg, clauses)
		}
		if f.Event.FactsCleared && slices.ContainsFunc(c.Roots(), asksOfFacts) {
			return s.stepDecided(d, now, messaging.Skipped, name+": "+text+" asks about what is not kept any more (retention.facts)", clauses)
		}
		met := c.Evaluate(scope)
		clauses = append(clauses, met)
		if !met.Held {
			return s.stepDecided(d, now, messaging.Skipped, name+": "+whyNot(met), clauses)
		}
	}
	return s.stepDecided(d, now, messaging.Confirmed, name+": its conditions hold", clauses)
}

// asksOfFacts reports whether a name of a condition is about what was mapped from what an event carried.
func asksOfFacts(name string) bool { return name != "previous" && name != "now" && name != "event" }

func (s *Set) stepDecided(d *messaging.Message, now time.Time, o messaging.Outcome, reason string, clauses []messaging.Clause) messaging.StepVerdict {
	v := messaging.StepVerdict{Decision: &messaging.Decision{
		EventID: d.EventID, Trigger: d.Trigger, Outcome: o, Reason: reason, Clauses: clauses, Key: d.Key,
		MessageID: d.ID, Config: d.Config, At: now.UTC(),
	}}
	if o == messaging.Skipped {
		v.Verdict = messaging.Verdict{Action: messaging.DropSend, Rule: "if", Reason: reason}
	}
	return v
}

// putOff is until when a step waits for the one before it, and why; "" when it need not.
func (d *delay) putOff(before *messaging.StepBefore, zones hours.Places, now time.Time) (until time.Time, why string) {
	if before == nil {
		return until, ""
	}
	name := fmt.Sprintf("step %d ", before.Step)
	switch {
	case before.State == messaging.StateWaiting && before.DueAt.After(now):
		return later(d.after(before.DueAt, zones), now.Add(stepPause)), name + "waits until " + units.Stamp(before.DueAt)
	case before.State == messaging.StateWaiting:
		return later(d.after(now, zones), now.Add(heldPause)), name + "has not been sent yet"
	case before.State == messaging.StateSending:
		return later(d.after(now, zones), now.Add(stepPause)), name + "is being sent"
	}
	until = d.after(before.EndedAt, zones)
	slack := min(slackMost, until.Sub(before.EndedAt)/10)
	if !until.After(now.Add(slack)) {
		return until, ""
	}
	return until, fmt.Sprintf("%sended at %s, and the wait after it is %s", name, units.Stamp(before.EndedAt), d)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
