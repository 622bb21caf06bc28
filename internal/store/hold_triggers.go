package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// What waits of a trigger stays as it was planned when the config changes. If the new config does
// not send by that trigger, what waits is paused: held by HoldMode, with the due times that it
// has. So the claim, its last look and a restart need to know nothing new.
//
// The rejected design marked each waiting message. A row that was being sent at that moment and comes
// back, and one that is said to be sent again after a doubt, would have escaped it.

// ofMode reports whether a hold is there because the config does not send by its trigger.
func ofMode(h messaging.Hold) bool {
	return h.Kind == messaging.HoldMode || h.Kind == messaging.HoldReleased
}

// PauseTriggers pauses exactly the triggers that why names, each with its reason ("is off"), and lets
// all others go on. One that a person released stays released while why names it.
func (s *Store) PauseTriggers(ctx context.Context, why map[string]string, at time.Time) error {
	ends := func(h messaging.Hold) bool {
		_, named := why[h.Name]
		return ofMode(h) && !named
	}
	s.pausing.Lock()
	defer s.pausing.Unlock()
	ended := s.HoldsOf(ends)
	if len(why)+len(ended) == 0 {
		return nil
	}
	released := s.HoldsOf(func(h messaging.Hold) bool { return h.Kind == messaging.HoldReleased })
	err := s.changeHolds(ctx, ends, func(t *Tx) error {
		for _, h := range ended {
			if _, err := t.endHold(h); err != nil {
				return err
			}
		}
		for name, reason := range why {
			h := messaging.Hold{Scope: messaging.ScopeTrigger, Name: name, Kind: messaging.HoldReleased, Reason: reason, At: at}
			if !slices.ContainsFunc(released, h.Same) {
				h.Kind = messaging.HoldMode
			}
			if err := t.hold(h); err != nil {
				return err
			}
		}
		return nil
	})
	return Wrap(err, "pause triggers")
}

// Release lets go what waits of a paused trigger, until the trigger sends again by itself;
// ErrNotFound when it is not paused.
func (s *Store) Release(ctx context.Context, trigger, who string, at time.Time) error {
	s.pausing.Lock()
	defer s.pausing.Unlock()
	paused := s.HoldsOf(messaging.Hold{Scope: messaging.ScopeTrigger, Name: trigger, Kind: messaging.HoldMode}.Same)
	if len(paused) == 0 {
		return fmt.Errorf("release trigger %q: %w", trigger, messaging.ErrNotFound)
	}
	err := s.changeHolds(ctx, paused[0].Same, func(t *Tx) error {
		was, err := t.endHold(paused[0])
		if err != nil || !was {
			return err
		}
		return t.hold(messaging.Hold{Scope: messaging.ScopeTrigger, Name: trigger, Kind: messaging.HoldReleased, Reason: paused[0].Reason, Who: who, At: at})
	})
	return Wrap(err, "release trigger %q", trigger)
}

// liveStates are those from which a message may still be sent. Each has an index of its own.
var liveStates = []messaging.State{messaging.StateWaiting, messaging.StateSending, messaging.StateInDoubt}

// UnsentTriggers are the triggers of which something is not at its end yet, by name, but for tests, which no pause keeps back.
// It walks all that waits.
func (s *Store) UnsentTriggers(ctx context.Context) (names []string, err error) {
	looks := make([]string, len(liveStates))
	for i, state := range liveStates {
		looks[i] = `SELECT trigger_name FROM messages WHERE ` + stateCondition(state) + ` AND event_id <> 0 AND test = ''`
	}
	names, err = List(ctx, s, strings.Join(looks, " UNION ")+` ORDER BY 1`, nil, engine.Text)
	return names, Wrap(err, "look for triggers of which something waits")
}

// WaitingOf counts what waits of a trigger.
func (s *Store) WaitingOf(ctx context.Context, trigger string) (n int64, err error) {
	err = s.Rows(ctx, `SELECT count(*) FROM messages WHERE state = 'waiting' AND event_id <> 0 AND test = '' AND trigger_name = ?1`, []any{trigger},
		func(r *engine.Row) error { n = r.Int(); return nil })
	return n, Wrap(err, "count what waits of trigger %q", trigger)
}
