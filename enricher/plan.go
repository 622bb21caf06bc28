package enricher

import (
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/triggers"
)

// First is the plan of an event that has just arrived. Where something must be looked up
// before the triggers can speak, it is a plan for Later, with those proposals only that need
// not wait: a cancellation by key, which would be worthless if it came late.
//
// Nothing is looked up for events that no trigger listens to. What should be looked up and
// cannot be, for want of a token, say, is planned at once, and the refusals say so.
func First(c *connectors.Connector, set *triggers.Set, e *nudgewire.Event, now time.Time) nudgewire.Plan {
	plan := match(c, set, e, now)
	if !c.Enriches() {
		return plan
	}
	var ready []nudgewire.Proposal
	for _, w := range plan.Proposals {
		if w.Decision.Outcome == nudgewire.Cancelling && w.Correlation.Key != "" || (w.Decision.Trigger == nudgewire.OptOut || w.Decision.Trigger == nudgewire.Erasure) && w.Correlation.Phone != "" {
			ready = append(ready, w)
		}
	}
	if len(ready) == len(plan.Proposals) {
		return plan
	}
	_, needed, err := c.Lookup(*e)
	switch {
	case err != nil:
		return without(c, set, e, err.Error(), now)
	case needed:
		plan.Proposals, plan.Later, plan.Unused = ready, true, ""
	}
	return plan
}

// without is the plan of an event whose look-up came to nothing: what a trigger would have
// sent is refused, because it was to say what nobody knows now. reason goes on from "the
// phone".
func without(c *connectors.Connector, set *triggers.Set, e *nudgewire.Event, reason string, now time.Time) nudgewire.Plan {
	if e.Contact.Phone == "" {
		reason = "the phone " + reason
		if had := e.Contact.PhoneProblem; had != "" {
			reason += "; " + had
		}
		e.Contact.PhoneProblem = reason
	} else {
		reason = "what the webhook leaves out " + reason
	}
	plan := match(c, set, e, now)
	for i := range plan.Proposals {
		w := &plan.Proposals[i]
		if w.Decision.Outcome != nudgewire.Planned && w.Decision.Outcome != nudgewire.Shadowed {
			continue
		}
		w.Decision.Outcome, w.Decision.Reason, w.Message = nudgewire.Skipped, reason, nudgewire.Message{}
	}
	return plan
}

// match is what every trigger wants because of the event, and before them what its contact wants.
func match(c *connectors.Connector, set *triggers.Set, e *nudgewire.Event, now time.Time) nudgewire.Plan {
	plan := set.Match(e, now)
	plan.Unused = unused(c, &plan)
	trigger, says, reason := word(c, e)
	if says == "" {
		return plan
	}
	if e.Contact.Phone == "" && (says == nudgewire.Blocked || says == nudgewire.Allowed || says == nudgewire.Forgetting) {
		nobody := "blocks nobody: "
		if says != nudgewire.Allowed {
			plan.Unused = nudgewire.UnusedOptOut
		}
		if says == nudgewire.Forgetting {
			nobody = "forgets nobody (do it with nudgewire contacts forget PHONE): "
		}
		says, reason = nudgewire.Skipped, nobody+"the event names no phone"
		if e.Contact.PhoneProblem != "" {
			reason = nobody + e.Contact.PhoneProblem
		}
	}
	proposal := nudgewire.Proposal{
		Decision:    nudgewire.Decision{Trigger: trigger, Outcome: says, Reason: reason, Config: set.Version(), At: now.UTC()},
		Correlation: nudgewire.Correlation{Trigger: trigger, Phone: e.Contact.Phone},
		EventAt:     e.Time(),
	}
	plan.Proposals = append([]nudgewire.Proposal{proposal}, plan.Proposals...)
	return plan
}

// unused is why nothing can come of an event, by what the triggers say; "" where something may, or where nobody asked for anything.
func unused(c *connectors.Connector, plan *nudgewire.Plan) nudgewire.Unused {
	e := &plan.Event
	switch listened := len(plan.Proposals) > 0; {
	case strings.HasPrefix(e.Kind, nudgewire.TestKinds):
		return ""
	case plan.NoPhone && !slices.ContainsFunc(plan.Proposals, func(w nudgewire.Proposal) bool { return w.Decision.Outcome != nudgewire.Skipped }):
		return nudgewire.UnusedPhone
	case listened:
		return ""
	case e.Kind == connectors.UnknownKind:
		return nudgewire.UnusedKind
	case c != nil && !c.Knows(e.Kind):
		return nudgewire.UnusedTopic
	default:
		return ""
	}
}

// word is what an event says of what its contact wants, whatever the triggers say; "" for nothing.
func word(c *connectors.Connector, e *nudgewire.Event) (trigger string, says nudgewire.Outcome, reason string) {
	if c == nil {
		return "", "", ""
	}
	switch e.Kind {
	case "contact.unsubscribed":
		says = nudgewire.Blocked
	case "contact.subscribed":
		says = nudgewire.Allowed
	case "message.received":
		switch e.Message.Says {
		case nudgewire.SaysStop:
			says = nudgewire.Blocked
		case nudgewire.SaysStart:
			says = nudgewire.Allowed
		}
	case "contact.redacted", "shop.redacted":
		says = nudgewire.Forgetting
		if e.Kind == "shop.redacted" {
			says = nudgewire.ForgettingAll
		}
		if !c.Verifies() {
			return nudgewire.Erasure, nudgewire.Skipped, "forgets nobody: its connector verifies nothing, and anybody could ask for that"
		}
		return nudgewire.Erasure, says, ""
	}
	if says == "" || !c.HeedsOptOuts() {
		return "", "", ""
	}
	return nudgewire.OptOut, says, ""
}
