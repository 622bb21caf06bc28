package triggers

import (
	"fmt"

	"github.com/nudgewire/nudgewire/internal/expressions"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// Replan is what the trigger of that name would have proposed because of a stored event, had it been then what it is now:
// Planned with the message, or Skipped with the reason. Everything that counts from now counts from
// when the event reached us, so that a long wait makes no event too old. The event must be whole.
func (s *Set) Replan(name string, e *messaging.Event) messaging.Proposal {
	for _, r := range s.rules {
		if r.Name != name {
			continue
		}
		now := arrival(e, e.Time())
		scope := expressions.NewScope(e, now, s.home)
		defer scope.Free()
		m := matching{set: s, event: e, scope: scope, now: now, version: s.version}
		if !matchesAny(r.on, ref{e.Connector, e.Kind}) {
			return skipped(m.proposal(r), fmt.Sprintf("it does not listen to %s any more", e.Ref()))
		}
		return m.plan(r)
	}
	return messaging.Proposal{Decision: messaging.Decision{Trigger: name, Outcome: messaging.Skipped, Reason: "it is gone from the config", Config: s.version}}
}
