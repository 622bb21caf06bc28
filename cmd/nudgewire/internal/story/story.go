// Package story tells people at a terminal what happened, would happen or is ruled, and why: events, rows, messages, tried webhooks, rules.
package story

import (
	"fmt"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/units"
)

// TellStory prints one event with all that came of it.
func TellStory(c *terminal.CLI, s server.StoryView) {
	switch {
	case s.Note != "":
		c.Note("%s", s.Note)
		return
	case s.Block != nil:
		c.Say("%s  blocked since then, %s: %s\n", c.Clock(s.Block.At), terminal.OrDash(s.Block.Source), terminal.OrDash(s.Block.Reason))
		return
	case s.Row != nil:
		tellRow(c, s)
		return
	}
	e := s.Event
	c.Say("%s  %s\n", c.Clock(e.ReceivedAt), c.Paint(c.Out, "1", fmt.Sprintf("event %d  %s", e.ID, e.Event)))
	if e.Topic != "" && e.Topic != strings.TrimPrefix(e.Event, e.Event[:strings.IndexByte(e.Event, '.')+1]) {
		c.Say("  the sender calls it %q\n", e.Topic)
	}
	if !e.OccurredAt.IsZero() && e.ReceivedAt.Sub(e.OccurredAt) > 2*time.Second {
		c.Say("  happened %s before it arrived\n", terminal.ShortDuration(e.ReceivedAt.Sub(e.OccurredAt)))
	}
	if e.Said != "" {
		c.Say("  the contact wrote: %s\n", e.Said)
	}
	if e.Request != "" {
		c.Say("  request %s\n", e.Request)
	}
	if e.Lookup != nil {
		c.Say("  %s\n", LookupWords(c, e.Lookup))
	}
	if e.Unsaid {
		c.Say("  what triggers decided is not kept any more (retention.decisions)\n")
	} else if len(e.Decisions) == 0 && e.Lookup == nil {
		c.Say("  %s\n", NoListener(e.Event))
	}
	for _, d := range e.Decisions {
		c.Say("  %s %s: %s\n", d.Trigger, Outcome(c, d.Outcome), d.Reason)
		for _, clause := range d.Clauses {
			TellClause(c, clause)
		}
	}
	for _, m := range s.Messages {
		TellMessage(c, m, "  ")
	}
}

// NoListener is what is said of an event that no trigger decided about.
func NoListener(event string) string {
	if strings.HasSuffix(event, ".contact.data_requested") {
		return "what is stored about the contact is written to a file; nudgewire contacts requests lists it until it is answered"
	}
	if strings.Contains(event, "."+messaging.TestKinds) {
		return "a test of the sender, which starts nothing"
	}
	return "no trigger listens"
}

// tellRow prints one row of a run with what became of it.
func tellRow(c *terminal.CLI, s server.StoryView) {
	r := s.Row
	place := ""
	switch {
	case r.Row > 0 && r.Part > 0:
		place = fmt.Sprintf("  %s, part %d", PlaceOf(r.Row, r.File), r.Part)
	case r.Part > 0:
		place = fmt.Sprintf("  part %d", r.Part)
	case r.Row > 0:
		place = "  " + PlaceOf(r.Row, r.File)
	}
	c.Say("%s  %s\n", c.Clock(r.At), c.Paint(c.Out, "1", fmt.Sprintf("run %d of %s for %s%s", r.Run, r.Job, r.Slot, place)))
	c.Say("  on the list of %s\n", r.Source)
	if r.PartState != "" {
		c.Say("  %s\n", uploadWords(c, r))
	}
	if r.Excluded != "" {
		c.Say("  %s: %s\n", c.Paint(c.Out, "33", "excluded"), r.Excluded)
	}
	if r.RetryOf != 0 {
		c.Say("  sent again for message %d, which did not reach the phone\n", r.RetryOf)
	}
	for _, m := range s.Messages {
		TellMessage(c, m, "  ")
	}
	if r.RetriedAs != 0 {
		c.Say("  sent again as message %d\n", r.RetriedAs)
	}
}

// uploadWords says what became of the part that a row is on.
func uploadWords(c *terminal.CLI, r *server.RunRowView) string {
	words := "its part is " + strings.ReplaceAll(string(r.PartState), "_", " ")
	if r.PartState == messaging.PartAccepted {
		if words = "uploaded " + c.Clock(r.At) + ", accepted"; r.CampaignID != "" {
			words += " as campaign " + r.CampaignID
		}
	}
	if !r.WaitUntil.IsZero() {
		words += " and waits " + WaitsUntil(r.Waits, c.Clock(r.WaitUntil))
	}
	return WithReason(words, r.PartReason)
}

// PlaceOf names a row of a source.
func PlaceOf(row int64, file string) string {
	if file == "" {
		return "row " + units.Number(row)
	}
	return "row " + units.Number(row) + " of " + file
}

// WaitsUntil says until when a run waits, and for what.
func WaitsUntil(what messaging.RunWait, clock string) string {
	return "until " + clock + ": " + map[messaging.RunWait]string{
		messaging.WaitSource:     "its source is read once more then",
		messaging.WaitCanary:     "its canary looks at the first rows then",
		messaging.WaitQuietHours: "quiet hours",
		messaging.WaitRate:       "the rate of the job is used up",
		messaging.WaitBudget:     "the budget has no points left; then it is asked again",
		messaging.WaitLimits:     "the account has no room for more contacts (unique_contacts); then it is asked again",
		messaging.WaitAt:         "the time of day where the contact is (at)",
	}[what]
}

// LookupWords says how far the look-up of an event is.
func LookupWords(c *terminal.CLI, l *messaging.PendingLookup) string {
	switch {
	case l.UnderWay:
		return WithReason(fmt.Sprintf("being looked up, attempt %d", l.Attempt), l.Reason)
	case l.Attempt == 0:
		return "to be looked up before it is planned"
	default:
		return WithReason(fmt.Sprintf("being looked up, attempt %d at %s", l.Attempt+1, c.Clock(l.NextAt)), "the last one: the phone "+l.Reason)
	}
}

func Outcome(c *terminal.CLI, o messaging.Outcome) terminal.Painted {
	code := "33"
	switch o {
	case messaging.Planned, messaging.Restarted, messaging.Shadowed, messaging.Allowed, messaging.Confirmed:
		code = "32"
	case messaging.Skipped, messaging.Cancelled, messaging.Cancelling, messaging.Blocked:
	}
	return c.Paint(c.Out, code, string(o))
}

// TellClause prints one condition with its verdict and the values that made it.
func TellClause(c *terminal.CLI, cl messaging.Clause) {
	mark := c.Paint(c.Out, "32", "yes")
	if !cl.Held {
		mark = c.Paint(c.Out, "31", "no ")
	}
	var values []string
	for _, v := range cl.Values {
		values = append(values, v.Name+" = "+v.Value)
	}
	text := cl.Text
	if len(values) > 0 {
		text += "   (" + strings.Join(values, ", ") + ")"
	}
	if cl.Error != "" {
		text += "   " + cl.Error
	}
	c.Say("    %s  %s\n", mark, text)
}

// TellMessage prints the life of one message as lines of time and fact.
func TellMessage(c *terminal.CLI, m server.MessageView, margin string) {
	head := fmt.Sprintf("message %d  %s to %s for %s", m.ID, m.What, m.To(), m.Trigger)
	if m.Step > 0 {
		head += ", " + triggers.StepWords(m.Step, m.Steps)
	}
	switch {
	case m.Part > 0 && m.Phone == "":
		head = fmt.Sprintf("message %d  %s, run %d part %d of %s; the service did not say to whom", m.ID, m.What, m.Run, m.Part, m.Trigger)
	case m.Part > 0:
		head = fmt.Sprintf("message %d  %s to %s, run %d part %d of %s", m.ID, m.What, m.To(), m.Run, m.Part, m.Trigger)
	}
	if m.Account != "" {
		head += ", by account " + m.Account
	}
	if m.Test != "" {
		head += ", a test to " + m.Test
	}
	c.Say("%s%s\n", margin, head)
	if m.RetryOf != 0 {
		c.Say("%s  sent again for message %d, which did not reach the phone\n", margin, m.RetryOf)
	}
	for _, at := range m.Timeline(c.Clock) {
		if at.Bare {
			c.Say("%s  %s\n", margin, at.Words)
			continue
		}
		c.Say("%s  %s  %s\n", margin, c.Clock(at.At), at.Words)
	}
	if m.RetriedAs != 0 {
		c.Say("%s  sent again as message %d\n", margin, m.RetriedAs)
	}
}

func WithReason(text, reason string) string {
	if reason == "" {
		return text
	}
	return text + ": " + reason
}
