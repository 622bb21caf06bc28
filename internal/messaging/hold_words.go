package messaging

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/units"
)

// Holds in words: the same for logs, reasons of messages, the console and commands.

// State is what was done to it, in a word: halted, paused or released.
func (h Hold) State() string {
	return HoldKinds[slices.IndexFunc(HoldKinds, func(r HoldRule) bool { return r.Kind == h.Kind })].State
}

// What names what is held: "everything", `trigger "reminder"`, "run 12 of winback", `campaign "417" of trigger reminder`.
func (h Hold) What() string {
	words := string(h.Scope) + ` "` + h.Name + `"`
	of := h.Part
	switch h.Scope {
	case ScopeAll:
		return Everything
	case ScopeRun:
		words, of = "run "+h.Name, h.Job
	case ScopeText:
		words = "texts"
	}
	if of != "" {
		words += " of " + of
	}
	return words
}

// Content is the template or campaign that is held, as a person names it: "texts" for those.
func (h Hold) Content() string {
	if h.Scope == ScopeText {
		return "texts"
	}
	return h.Name
}

// Why says why a message is not sent: `trigger "reminder" is halted`, "run 12: paused by Ann".
func (h Hold) Why() string {
	switch h.Kind {
	case HoldRun:
		return h.What() + ": " + h.Reason
	case HoldMode, HoldGone:
		return h.What() + " " + h.Reason
	case HoldService:
		does := " is paused by the service until "
		if h.Cause == CauseRefused {
			does = " is refused by the service, one message after the other, and waits until "
		}
		return h.What() + does + units.Stamp(h.Until) + ": " + h.Reason
	case HoldDamage:
		return h.What() + " is halted until somebody has reviewed what was lost"
	case HoldRestored:
		return h.What() + " is halted until somebody has reviewed the restored data"
	}
	return h.What() + " is halted"
}

// GoesOn is the command that lets it go on.
func (h Hold) GoesOn() string {
	switch h.Kind {
	case HoldDamage, HoldRestored:
		return "nudgewire resume --reviewed"
	case HoldRun:
		return "nudgewire jobs resume " + h.Name
	case HoldGone:
		return "nudgewire reload"
	case HoldService:
		return "nudgewire resume template " + shellWord(h.Content())
	}
	if h.Scope == ScopeAll {
		return "nudgewire resume"
	}
	return "nudgewire resume " + string(h.Scope) + " " + shellWord(h.Name)
}

// Cancels is the command that cancels what waits of a paused trigger, or of an account that is gone.
func (h Hold) Cancels() string {
	return "nudgewire messages cancel --" + string(h.Scope) + " " + shellWord(h.Name)
}

// shellWord is a name as a shell takes it for one word.
func shellWord(name string) string {
	if strings.ContainsAny(name, " \t\"'`$&|;<>()*?!\\") {
		return fmt.Sprintf("%q", name)
	}
	return name
}

// Waits says how much of it waits: "1 message of cart waits".
func (h Hold) Waits() string {
	switch {
	case h.Kind == HoldGone && h.Waiting == 0:
		return "a run of " + h.Name + " waits"
	case h.Waiting == 1:
		return "1 message of " + h.Name + " waits"
	}
	return units.Count(h.Waiting, "message") + " of " + h.Name + " wait"
}

// Words are the hold for people, with the command that ends it.
func (h Hold) Words() string {
	switch h.Kind {
	case HoldReleased:
		return h.What() + " " + h.Reason + ", and " + h.Waits() + "; they are sent all the same, by a person's word"
	case HoldMode:
		return h.What() + " " + h.Reason + ", and " + h.Waits() + "; send: " + h.GoesOn() + "; cancel: " + h.Cancels()
	case HoldGone:
		return h.What() + " " + h.Reason + ", and " + h.Waits() + "; send: put it back under accounts, then " + h.GoesOn() + "; cancel: " + h.Cancels()
	case HoldService:
		return h.What() + h.sinceAndWhy() + "; or at once with: " + h.GoesOn()
	case HoldDamage:
		return h.What() + h.sinceAndWhy() + "; what would be sent again: nudgewire messages list --state waiting; it goes on with: " + h.GoesOn()
	case HoldRestored:
		return h.What() + h.sinceAndWhy() + "; what is to be looked at: nudgewire review; it goes on with: " + h.GoesOn()
	}
	return h.What() + h.sinceAndWhy() + "; it goes on with: " + h.GoesOn()
}

// Stands is the hold as a sentence: "everything is halted since 2026-11-22 14:02:00 UTC: wrong price".
func (h Hold) Stands() string {
	switch {
	case h.Kind == HoldService && h.Cause == CauseRefused:
		return h.What() + " is refused by the service, one message after the other, and waits" + h.sinceAndWhy()
	case h.Kind == HoldService:
		return h.What() + " is not sent by the service" + h.sinceAndWhy()
	}
	return h.What() + " is " + h.State() + strings.TrimPrefix(h.sinceAndWhy(), ",")
}

// Ended is a hold that is over: "everything: it was halted since 2026-11-22 14:02:00 UTC by Ann: wrong price".
func (h Hold) Ended() string {
	words := h.What() + ": it was " + h.State()
	if !h.At.IsZero() {
		words += " since " + units.Stamp(h.At)
	}
	if h.Who != "" {
		words += " by " + h.Who
	}
	if h.Reason != "" {
		words += ": " + h.Reason
	}
	return words
}

func (h Hold) sinceAndWhy() (words string) {
	if h.Account != "" {
		words = " of account " + h.Account
	}
	if !h.At.IsZero() {
		words += ", since " + units.Stamp(h.At)
	}
	if h.Reason != "" {
		words += ": " + h.Reason
	}
	switch {
	case h.Probe != 0:
		words += fmt.Sprintf("; message %d shows now whether it is sent again", h.Probe)
	case h.Kind == HoldService:
		words += "; from " + units.Stamp(h.Until) + " one message shows whether it is sent again"
	}
	return words
}

// Words say it in a line.
func (h *SendingHalt) Words(now time.Time) string {
	probe := "the next message is the probe"
	if h.NextProbe.After(now) {
		probe = "next probe at " + h.NextProbe.UTC().Format("15:04:05 UTC")
	}
	what := "sending"
	if h.Lane != "" {
		what += " of category " + string(h.Lane)
	}
	return fmt.Sprintf("%s is halted since %s: %s; %s", what, h.Since.UTC().Format("2006-01-02 15:04:05 UTC"), h.Why, probe)
}
