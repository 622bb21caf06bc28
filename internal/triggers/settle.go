package triggers

import (
	"fmt"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/units"
)

// Settle decides what becomes of a proposal by what the store knows of its correlation key. The
// store calls it inside the commit that stores the event, and does what it answers. It is pure; the
// only time it knows is the proposal's own.
//
// For a planned proposal the questions come in this order: was the key cancelled, does a message
// of it still wait (on_repeat), was one sent already (cooldown). Waiting comes before sent, because
// a waiting message was allowed when it was planned: it is sent in any case, and better with fresh
// content.
func Settle(w messaging.Proposal, f messaging.Facts) messaging.Settlement {
	switch w.Decision.Outcome {
	case messaging.Planned:
		return settlePlanned(w, f)
	case messaging.Cancelling:
		return settleCancelling(w, f)
	default:
		return messaging.Settlement{Outcome: w.Decision.Outcome, Reason: w.Decision.Reason}
	}
}

func settlePlanned(w messaging.Proposal, f messaging.Facts) messaging.Settlement {
	if t := f.Tombstone; t != nil && (!w.Correlation.Ordered() && !t.ByPhone || !w.EventAt.After(t.EventAt)) {
		return messaging.Settlement{
			Outcome: messaging.Cancelled,
			Reason: fmt.Sprintf("cancelled before it was planned: %s (event %d) came at %s",
				t.Ref, t.EventID, clockWords(t.EventAt, w.Decision.At)),
		}
	}
	if n := len(f.Waiting); n > 0 && w.OnRepeat.Mode != messaging.Parallel {
		if len(w.Steps) > 0 || f.Sequence != nil {
			return settleSequence(w, f)
		}
		return settleRepeat(w, f.Waiting[n-1])
	}
	if reason := inCooldown(w, f.Last); reason != "" {
		return skip("%s", reason)
	}
	if len(w.Steps) > 0 {
		return messaging.Settlement{Outcome: messaging.Planned, Insert: true, Reason: sequenceWords(&w)}
	}
	return messaging.Settlement{Outcome: messaging.Planned, Insert: true, Reason: w.Message.Send.What() + " " + dueWords(w.Message.DueAt, w.Decision.At)}
}

func skip(format string, args ...any) messaging.Settlement {
	return messaging.Settlement{Outcome: messaging.Skipped, Reason: fmt.Sprintf(format, args...)}
}

// settleRepeat settles a proposal whose correlation key has a message that still waits.
func settleRepeat(w messaging.Proposal, waiting messaging.Waiting) messaging.Settlement {
	if w.OnRepeat.Mode == messaging.Ignore {
		return skip("already waiting (message %d, due %s); on_repeat: ignore", waiting.ID, units.Stamp(waiting.DueAt))
	}
	if !waiting.EventAt.IsZero() && w.EventAt.Before(waiting.EventAt) {
		return skip("message %d waits with newer content: its event happened at %s, this one before it at %s", waiting.ID, units.Stamp(waiting.EventAt), units.Stamp(w.EventAt))
	}
	s := messaging.Settlement{Outcome: messaging.Restarted, Restart: waiting.ID, DueAt: w.Message.DueAt}
	if bound := boundOf(w, waiting); bound != "" {
		s.DueAt = waiting.DueAt
		s.Reason = fmt.Sprintf("message %d takes this event's content; its timer stays at %s: %s", waiting.ID, units.Stamp(waiting.DueAt), bound)
		return s
	}
	s.Reason = fmt.Sprintf("message %d takes this event's content and waits anew, until %s", waiting.ID, units.Stamp(s.DueAt))
	return s
}

// boundOf is why the timer of what waits is not begun anew; "" when it is.
func boundOf(w messaging.Proposal, waiting messaging.Waiting) string {
	switch {
	case w.OnRepeat.Max > 0 && waiting.Restarts >= w.OnRepeat.Max:
		return fmt.Sprintf("it was restarted %d times, the most that on_repeat allows", waiting.Restarts)
	case w.OnRepeat.Within > 0 && w.Decision.At.Sub(waiting.CreatedAt) > w.OnRepeat.Within:
		return fmt.Sprintf("its first event came more than %s ago, the longest that on_repeat allows", units.About(w.OnRepeat.Within))
	default:
		return ""
	}
}

// inCooldown is why a correlation key that got its message gets no other one now; "" when it may.
func inCooldown(w messaging.Proposal, last *messaging.Sent) string {
	if last == nil {
		return ""
	}
	was := fmt.Sprintf("message %d for %s %s at %s", last.ID, correlationWords(w.Correlation), sentWords(last.State), units.Stamp(last.At))
	switch w.Cooldown.Mode {
	case messaging.CooldownOnce:
		return was + "; cooldown: once"
	case messaging.CooldownFor:
		if ends := last.At.Add(w.Cooldown.For); w.Decision.At.Before(ends) {
			return fmt.Sprintf("%s; cooldown: %s ends %s", was, cooldownWords(w.Cooldown), units.Stamp(ends))
		}
	}
	return ""
}

func settleCancelling(w messaging.Proposal, f messaging.Facts) messaging.Settlement {
	s := messaging.Settlement{Outcome: messaging.Cancelling, RecordTombstone: w.Forget.After(w.Decision.At)}
	var ended, kept []string
	later := func(at time.Time) bool { return !w.Until.IsZero() && at.After(w.Until) }
	for _, one := range f.Waiting {
		if later(one.CreatedAt) {
			continue
		}
		if (w.Correlation.Ordered() || one.ByPerson) && one.EventAt.After(w.EventAt) {
			kept = append(kept, fmt.Sprintf("message %d", one.ID))
			continue
		}
		s.Cancel = append(s.Cancel, one.ID)
		ended = append(ended, fmt.Sprintf("message %d (due %s)", one.ID, units.Stamp(one.DueAt)))
	}
	var open []string
	for _, one := range f.Open {
		if later(one.EventAt) || (w.Correlation.Ordered() || one.ByPerson) && one.EventAt.After(w.EventAt) {
			continue
		}
		s.CallOff = append(s.CallOff, one.ID)
		if words := openWords(one); words != "" {
			open = append(open, words)
		}
	}
	var says []string
	switch {
	case len(ended) > 0:
		says = append(says, "cancels "+strings.Join(ended, ", "))
	case len(open) == 0:
		says = append(says, "no message waited for "+correlationWords(w.Correlation))
	}
	says = append(says, open...)
	if len(kept) > 0 {
		says = append(says, strings.Join(kept, ", ")+" stays: its event happened later")
	}
	if f.Last != nil && f.Last.State == messaging.StateAccepted && len(ended) == 0 {
		says = append(says, fmt.Sprintf("message %d %s at %s", f.Last.ID, sentWords(f.Last.State), units.Stamp(f.Last.At)))
	}
	if s.RecordTombstone {
		says = append(says, "an older event that comes before "+units.Stamp(w.Forget)+" brings none")
	}
	s.Reason = strings.Join(says, "; ")
	return s
}

// openWords says what a cancelling event means for a message that does not wait, "" for nothing
// that is worth reporting.
func openWords(o messaging.Open) string {
	switch o.State {
	case messaging.StateSending:
		return fmt.Sprintf("message %d is being sent: it is cancelled if the service does not take it", o.ID)
	case messaging.StateInDoubt:
		return fmt.Sprintf("message %d is in doubt, it may have arrived: it is not sent again", o.ID)
	default:
		return ""
	}
}

// correlationWords names what is settled without showing a phone.
func correlationWords(a messaging.Correlation) string {
	if a.Key == "" || a.Key == string(a.Phone) {
		return "this phone"
	}
	return "key " + plain.Crop(plain.OneLine(a.Key), 60)
}

func sentWords(s messaging.State) string {
	switch s {
	case messaging.StateSending:
		return "began to be sent"
	case messaging.StateInDoubt:
		return "is in doubt, it may have arrived; sent"
	case messaging.StateDropped:
		return "may have arrived and was let be; sent"
	case messaging.StateCancelled:
		return "may have arrived and was cancelled before it was sent again; sent"
	default:
		return "was " + string(s)
	}
}

func dueWords(due, now time.Time) string {
	if !due.After(now) {
		return "due at once"
	}
	return "due " + units.Stamp(due) + " (in " + units.About(due.Sub(now)) + ")"
}

// clockWords is a moment as people say it: the time alone where it is the day of now.
func clockWords(t, now time.Time) string {
	t, now = t.UTC(), now.UTC()
	if t.Year() == now.Year() && t.YearDay() == now.YearDay() {
		return t.Format("15:04:05") + " UTC"
	}
	return units.Stamp(t)
}
