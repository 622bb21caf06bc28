package server

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// A Moment is one thing that happened to a message, in words for people.
type Moment struct {
	At    time.Time
	Words string
	Bare  bool // it belongs to the one before it, and has no time of its own
}

// Timeline is the life of the message: what was planned, what rules and people said, each attempt, and what became of it. clock is how
// a moment inside of the words is written.
func (v *MessageView) Timeline(clock func(time.Time) string) (out []Moment) {
	say := func(at time.Time, words string) { out = append(out, Moment{At: at, Words: words}) }
	if v.Part == 0 {
		first := v.DueAt
		if !v.FirstDue.IsZero() {
			first = v.FirstDue
		}
		planned := "planned, due " + clock(first)
		triedAgain := v.Attempt > 1 || v.Attempt == 1 && v.State == messaging.StateWaiting
		if v.Restarts > 0 || triedAgain && v.FirstDue.IsZero() {
			planned = "planned" // its due time is another one by now; the decision has that of then
		}
		say(v.CreatedAt, planned)
	}
	said, last := v.pastMoments(clock)
	out = append(out, said...)
	reason := v.Reason
	if n := len(v.Verdicts); n > 0 && reason == v.Verdicts[n-1].Reason {
		reason = "" // it was told
	}
	if v.State == messaging.StateAccepted && last == messaging.ResolveAccepted && v.ServiceID == "" {
		return out // a person's word is not the service's
	}
	switch v.State {
	case messaging.StateWaiting:
		say(v.UpdatedAt, withReason("waiting until "+clock(v.DueAt), reason))
		if v.Held != "" {
			out = append(out, Moment{Words: v.Held, Bare: true})
		}
	case messaging.StateAccepted:
		accepted := "accepted by the service"
		if v.ServiceID != "" {
			accepted += ", message_id " + string(v.ServiceID)
		} else {
			accepted += " without a message_id, so it cannot be followed"
		}
		if !v.AcceptedAt.IsZero() {
			say(v.AcceptedAt, accepted)
		}
	default:
		say(v.UpdatedAt, withReason(strings.ReplaceAll(string(v.State), "_", " "), reason))
	}
	for _, s := range []struct {
		at    time.Time
		words string
	}{{v.SentAt, "sent"}, {v.DeliveredAt, "delivered"}, {v.ReadAt, "read"}, {v.FailedAt, withReason("failed", withClass(v.Error, v.ErrorClass))}} {
		if !s.at.IsZero() {
			say(s.at, s.words)
		}
	}
	if !v.NextPollAt.IsZero() {
		say(v.NextPollAt, fmt.Sprintf("will be asked about again; now %s", v.Status))
	}
	return out
}

// pastMoments is what rules, attempts and people said, in the order in which they did, and the last word of a person.
func (v *MessageView) pastMoments(clock func(time.Time) string) (out []Moment, last messaging.Resolution) {
	for _, one := range v.Verdicts {
		out = append(out, Moment{At: one.At, Words: verdictWords(&one, clock)})
	}
	for _, a := range v.Attempts {
		if a.State == messaging.StateAccepted && a.Reason == "" {
			continue // told with its message_id
		}
		out = append(out, Moment{At: a.At, Words: fmt.Sprintf("attempt %d: %s: %s", a.Number, a.State, withClass(a.Reason, a.Class))})
	}
	for _, r := range v.Resolved {
		out = append(out, Moment{At: r.At, Words: r.Reason})
		last = r.As
	}
	slices.SortStableFunc(out, func(a, b Moment) int { return a.At.Compare(b.At) })
	return out, last
}

// verdictWords say what a rule said.
func verdictWords(v *store.Verdict, clock func(time.Time) string) string {
	words := fmt.Sprintf("%s by %s", v.Action, v.Rule)
	switch {
	case v.Rule == messaging.RuleOnChange && !v.Until.IsZero():
		words = v.Reason + ", due " + clock(v.Until)
	case !v.Until.IsZero():
		words += " until " + clock(v.Until) + ": " + v.Reason
	default:
		words += ": " + v.Reason
	}
	if v.Times > 1 {
		words += fmt.Sprintf(" (said %d times, the last %s)", v.Times, clock(v.LastAt))
	}
	return words
}

// withClass adds what the service's words mean, where a rule knew them.
func withClass(words string, class messaging.ErrorClass) string {
	if class == messaging.ErrorUnknown {
		return words
	}
	return words + " (class " + string(class) + ")"
}

func withReason(text, reason string) string {
	if reason == "" {
		return text
	}
	return text + ": " + reason
}
