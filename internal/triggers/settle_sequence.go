package triggers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// settleSequence settles a proposal whose correlation key has steps that still wait, or that has steps
// itself. A trigger with one message and the first step of a sequence are the same thing here, so a
// config that changed from one to the other in between needs no rule of its own.
//
// Steps that wait take the content and the times of the proposal. Those that were sent, or ended in
// another way, stay as they are. A step that the sequence never had is added, and one that the trigger
// has no more is cancelled.
func settleSequence(w messaging.Proposal, f messaging.Facts) messaging.Settlement {
	waiting := waitingOf(f)
	first := waiting[0]
	if w.OnRepeat.Mode == messaging.Ignore {
		return skip("already waiting (%s, due %s); on_repeat: ignore", messageWords(first), units.Stamp(first.DueAt))
	}
	if !first.EventAt.IsZero() && w.EventAt.Before(first.EventAt) {
		return skip("%s waits with newer content: its event happened at %s, this one before it at %s", messageWords(first), units.Stamp(first.EventAt), units.Stamp(w.EventAt))
	}
	bound := boundOf(w, first)
	if len(w.Steps) == 0 {
		return settleShortened(w, waiting, bound)
	}
	s := messaging.Settlement{Outcome: messaging.Restarted, Sequence: waiting[0].ID}
	had := []int{1}
	if f.Sequence != nil {
		s.Sequence, had = f.Sequence.ID, nil
		for _, one := range f.Sequence.Steps {
			had = append(had, one.Step)
		}
	}
	var says []string
	for i := range w.Steps {
		d := &w.Steps[i].Message
		at := slices.IndexFunc(waiting, func(one messaging.Waiting) bool { return max(one.Step, 1) == d.Step })
		switch {
		case at >= 0:
			due := d.DueAt
			if bound != "" {
				due = waiting[at].DueAt
			}
			s.Renew = append(s.Renew, messaging.Renewal{Step: i, ID: waiting[at].ID, DueAt: due})
			says = append(says, fmt.Sprintf("step %d (message %d) is due %s", d.Step, waiting[at].ID, units.Stamp(due)))
		case !slices.Contains(had, d.Step):
			s.Renew = append(s.Renew, messaging.Renewal{Step: i, DueAt: d.DueAt})
			says = append(says, fmt.Sprintf("step %d is added, due %s", d.Step, units.Stamp(d.DueAt)))
		}
	}
	of := w.Steps[0].Rule.Of
	for _, one := range waiting {
		if one.Step > of {
			s.Cancel = append(s.Cancel, one.ID)
			says = append(says, fmt.Sprintf("step %d (message %d) is cancelled: the trigger has it no more", one.Step, one.ID))
		}
	}
	if len(s.Renew) == 0 {
		return skip("%s waits, and nothing of this event is for it: %s", messageWords(first), strings.Join(w.LeftOut, "; "))
	}
	s.Reason = "what waits takes this event's content: " + strings.Join(append(says, w.LeftOut...), "; ")
	if bound != "" {
		s.Reason += "; timers stay: " + bound
	}
	return s
}

// settleShortened settles a proposal of a trigger that had steps when the sequence which waits was
// planned, and has none now: its one message is the first step.
func settleShortened(w messaging.Proposal, waiting []messaging.Waiting, bound string) messaging.Settlement {
	first := waiting[0]
	if first.Step > 1 {
		return skip("%s waits, of a sequence whose first step has left; it goes on as it was planned", messageWords(first))
	}
	s := messaging.Settlement{Outcome: messaging.Restarted, Restart: first.ID, DueAt: w.Message.DueAt}
	if bound != "" {
		s.DueAt = first.DueAt
	}
	s.Reason = fmt.Sprintf("message %d takes this event's content and waits until %s", first.ID, units.Stamp(s.DueAt))
	for _, one := range waiting[1:] {
		s.Cancel = append(s.Cancel, one.ID)
		s.Reason += fmt.Sprintf("; step %d (message %d) is cancelled: the trigger has it no more", one.Step, one.ID)
	}
	return s
}

// waitingOf is what waits of the newest sequence, in the order of its steps; the newest message alone
// where that is no step.
func waitingOf(f messaging.Facts) []messaging.Waiting {
	if f.Sequence == nil {
		return f.Waiting[len(f.Waiting)-1:]
	}
	var found []messaging.Waiting
	for _, one := range f.Waiting {
		if slices.ContainsFunc(f.Sequence.Steps, func(of messaging.SequenceStep) bool { return of.ID == one.ID }) {
			found = append(found, one)
		}
	}
	slices.SortStableFunc(found, func(a, b messaging.Waiting) int { return a.Step - b.Step })
	return found
}

// messageWords name a message that waits.
func messageWords(one messaging.Waiting) string {
	if one.Step == 0 {
		return fmt.Sprintf("message %d", one.ID)
	}
	return fmt.Sprintf("message %d, step %d,", one.ID, one.Step)
}
