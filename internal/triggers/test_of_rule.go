package triggers

import (
	"time"

	"github.com/nudgewire/nudgewire/internal/expressions"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// named is the rule of a name; nil for none.
func (s *Set) named(name string) *rule {
	for _, r := range s.rules {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// StepsOf is how many steps a trigger has; 0 for one with a single message, or none of that name.
func (s *Set) StepsOf(name string) int {
	if r := s.named(name); r != nil {
		return len(r.steps)
	}
	return 0
}

// Begins reports whether an event may queue a message of a trigger, whatever its mode.
func (s *Set) Begins(name, connector, kind string) bool {
	r := s.named(name)
	return r != nil && matchesAny(r.on, ref{connector, kind})
}

// On are the events that may queue a message of a trigger, as they are written.
func (s *Set) On(name string) []string {
	if r := s.named(name); r != nil {
		return r.On
	}
	return nil
}

// TestOf is what a trigger sends because of an event, whatever its conditions, waits and mode say: the message of a step, from 1, of a trigger
// with steps. It goes to nobody yet, has no times, and is no step of a sequence. trouble is why it cannot be filled in.
func (s *Set) TestOf(name string, step int, e *messaging.Event, now time.Time) (_ messaging.Message, trouble string) {
	r := s.named(name)
	if r == nil || step > len(r.steps) || (step > 0) != (len(r.steps) > 0) {
		return messaging.Message{}, "there is no such message"
	}
	what := &r.send
	if step > 0 {
		what = &r.steps[step-1].send
	}
	scope := expressions.NewScope(e, now, s.home)
	defer scope.Free()
	m := matching{set: s, event: e, scope: scope, now: now.UTC(), version: s.version, account: s.sends[e.Connector]}
	send, trouble := what.fill(scope)
	if trouble != "" {
		return messaging.Message{}, trouble
	}
	return messaging.Message{
		Trigger: r.Name, Category: r.category, Send: send, State: messaging.StateWaiting, CreatedAt: m.now, UpdatedAt: m.now, Config: s.version, Account: m.accountOf(r),
	}, ""
}
