package enricher

import (
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

// Plans are those of the events that a request brought.
func Plans(c *connectors.Connector, set *triggers.Set, events []messaging.Event, request string, now time.Time) []messaging.Plan {
	plans := make([]messaging.Plan, len(events))
	for i := range events {
		events[i].Request = request
		plans[i] = First(c, set, &events[i], now)
		plans[i].Window = c.DedupeWindow()
	}
	return plans
}

// First is the plan of an event that has just arrived. Where something must be looked up
// before the triggers can speak, it is a plan for Later, with those proposals only that need
// not wait: a cancellation by key, which would be worthless if it came late.
//
// Nothing is looked up for events that no trigger listens to. What should be looked up and
// cannot be, for want of a token, say, is planned at once, and the refusals say so.
func First(c *connectors.Connector, set *triggers.Set, e *messaging.Event, now time.Time) messaging.Plan {
	plan := match(c, set, e, now)
	if !c.Enriches() {
		return plan
	}
	var ready []messaging.Proposal
	for _, w := range plan.Proposals {
		if w.Decision.Outcome == messaging.Cancelling && w.Correlation.Key != "" || (w.Decision.Trigger == messaging.OptOut || w.Decision.Trigger == messaging.Erasure) && w.Correlation.Phone != "" {
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
func without(c *connectors.Connector, set *triggers.Set, e *messaging.Event, reason string, now time.Time) messaging.Plan {
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
		if w.Decision.Outcome != messaging.Planned && w.Decision.Outcome != messaging.Shadowed {
			continue
		}
		w.Decision.Outcome, w.Decision.Reason, w.Message = messaging.Skipped, reason, messaging.Message{}
	}
	return plan
}

// Known is the plan of an event by what is known of it: nothing is looked up.
func Known(c *connectors.Connector, set *triggers.Set, e *messaging.Event, now time.Time) messaging.Plan {
	plan := match(c, set, e, now)
	if c != nil {
		plan.Window = c.DedupeWindow()
	}
	return plan
}

// match is what every trigger wants because of the event, and before them what its contact wants.
func match(c *connectors.Connector, set *triggers.Set, e *messaging.Event, now time.Time) messaging.Plan {
	plan := set.Match(e, now)
	plan.Unused = unused(c, &plan)
	trigger, says, reason := word(c, e)
	if says == "" {
		return plan
	}
	if e.Contact.Phone == "" && (says == messaging.Blocked || says == messaging.Allowed || says == messaging.Forgetting) {
		nobody := "blocks nobody: "
		if says != messaging.Allowed {
			plan.Unused = messaging.UnusedOptOut
		}
		if says == messaging.Forgetting {
			nobody = "forgets nobody (do it with nudgewire contacts forget PHONE): "
		}
		says, reason = messaging.Skipped, nobody+"the event names no phone"
		if e.Contact.PhoneProblem != "" {
			reason = nobody + e.Contact.PhoneProblem
		}
	}
	proposal := messaging.Proposal{
		Decision:    messaging.Decision{Trigger: trigger, Outcome: says, Reason: reason, Config: set.Version(), At: now.UTC()},
		Correlation: messaging.Correlation{Trigger: trigger, Phone: e.Contact.Phone},
		EventAt:     e.Time(),
	}
	plan.Proposals = append([]messaging.Proposal{proposal}, plan.Proposals...)
	return plan
}

// unused is why nothing can come of an event, by what the triggers say; "" where something may, or where nobody asked for anything.
func unused(c *connectors.Connector, plan *messaging.Plan) messaging.Unused {
	e := &plan.Event
	switch listened := len(plan.Proposals) > 0; {
	case strings.HasPrefix(e.Kind, messaging.TestKinds):
		return ""
	case plan.NoPhone && !slices.ContainsFunc(plan.Proposals, func(w messaging.Proposal) bool { return w.Decision.Outcome != messaging.Skipped }):
		return messaging.UnusedPhone
	case listened:
		return ""
	case e.Kind == connectors.UnknownKind:
		return messaging.UnusedKind
	case c != nil && !c.Knows(e.Kind):
		return messaging.UnusedTopic
	default:
		return ""
	}
}

// word is what an event says of what its contact wants, whatever the triggers say; "" for nothing.
func word(c *connectors.Connector, e *messaging.Event) (trigger string, says messaging.Outcome, reason string) {
	if c == nil {
		return "", "", ""
	}
	switch e.Kind {
	case "contact.unsubscribed":
		says = messaging.Blocked
	case "contact.subscribed":
		says = messaging.Allowed
	case "message.received":
		switch e.Message.Says {
		case messaging.SaysStop:
			says = messaging.Blocked
		case messaging.SaysStart:
			says = messaging.Allowed
		}
	case "contact.redacted", "shop.redacted":
		says = messaging.Forgetting
		if e.Kind == "shop.redacted" {
			says = messaging.ForgettingAll
		}
		if !c.Verifies() {
			return messaging.Erasure, messaging.Skipped, "forgets nobody: its connector verifies nothing, and anybody could ask for that"
		}
		return messaging.Erasure, says, ""
	}
	if says == "" || !c.HeedsOptOuts() {
		return "", "", ""
	}
	return messaging.OptOut, says, ""
}
