package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

func (c *cli) why() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "why PHONE", Short: "The whole story of a phone: what arrived, what was decided and why, what became of it",
		Long: `why tells everything that is known about a phone, oldest first: each event, what each
trigger that listens to it said clause by clause, each row of a job that delivers message by
message, each row that a run excluded and why, and what became of each message, attempt by attempt.
It tells of messages that were not sent, too.

What ended long ago is not found: its phone is masked (retention.phones).
Excluded rows are known as long as the files of their run are kept (retention.lists), and
a cell that is no phone is found as it stands in the list: nudgewire why "12". So are the rows of files
that were uploaded.`,
		Example: "  nudgewire why +447700900123\n  nudgewire why 447700900123 --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ask, done, err := c.reader(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			stories, err := ask.Why(cmd.Context(), args[0], limit)
			if err != nil {
				return err
			}
			if c.json {
				return printAll(c, stories)
			}
			for i, s := range stories {
				if i > 0 && s.Note == "" {
					c.say("\n")
				}
				c.tell(s)
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "most events and rows, the newest kept")
	return cmd
}

// tell prints one event with all that came of it.
func (c *cli) tell(s server.StoryView) {
	switch {
	case s.Note != "":
		c.note("%s", s.Note)
		return
	case s.Block != nil:
		c.say("%s  blocked since then, %s: %s\n", c.clock(s.Block.At), orDash(s.Block.Source), orDash(s.Block.Reason))
		return
	case s.Row != nil:
		c.tellRow(s)
		return
	}
	e := s.Event
	c.say("%s  %s\n", c.clock(e.ReceivedAt), c.paint(c.out, "1", fmt.Sprintf("event %d  %s", e.ID, e.Event)))
	if e.Topic != "" && e.Topic != strings.TrimPrefix(e.Event, e.Event[:strings.IndexByte(e.Event, '.')+1]) {
		c.say("  the sender calls it %q\n", e.Topic)
	}
	if e.OccurredAt != nil && e.ReceivedAt.Sub(*e.OccurredAt) > 2*time.Second {
		c.say("  happened %s before it arrived\n", short(e.ReceivedAt.Sub(*e.OccurredAt)))
	}
	if e.Request != "" {
		c.say("  request %s\n", e.Request)
	}
	if e.Lookup != nil {
		c.say("  %s\n", c.lookupWords(e.Lookup))
	}
	if e.Unsaid {
		c.say("  what triggers decided is not kept any more (retention.decisions)\n")
	} else if len(e.Decisions) == 0 && e.Lookup == nil {
		c.say("  %s\n", noListener(e.Event))
	}
	for _, d := range e.Decisions {
		c.say("  %s %s: %s\n", d.Trigger, c.outcome(d.Outcome), d.Reason)
		for _, clause := range d.Clauses {
			c.tellClause(clause)
		}
	}
	for _, m := range s.Messages {
		c.tellMessage(m, "  ")
	}
}

// tellRow prints one row of a run with what became of it.
func (c *cli) tellRow(s server.StoryView) {
	r := s.Row
	place := ""
	switch {
	case r.Row > 0 && r.Part > 0:
		place = fmt.Sprintf("  %s, part %d", placeOf(r.Row, r.File), r.Part)
	case r.Part > 0:
		place = fmt.Sprintf("  part %d", r.Part)
	case r.Row > 0:
		place = "  " + placeOf(r.Row, r.File)
	}
	c.say("%s  %s\n", c.clock(r.At), c.paint(c.out, "1", fmt.Sprintf("run %d of %s for %s%s", r.Run, r.Job, r.Slot, place)))
	c.say("  on the list of %s\n", r.Source)
	if r.PartState != "" {
		c.say("  %s\n", c.uploadWords(r))
	}
	if r.Excluded != "" {
		c.say("  %s: %s\n", c.paint(c.out, "33", "excluded"), r.Excluded)
	}
	if r.RetryOf != 0 {
		c.say("  sent again for message %d, which did not reach the phone\n", r.RetryOf)
	}
	for _, m := range s.Messages {
		c.tellMessage(m, "  ")
	}
	if r.RetriedAs != 0 {
		c.say("  sent again as message %d\n", r.RetriedAs)
	}
}

// uploadWords says what became of the part that a row is on.
func (c *cli) uploadWords(r *server.RunRowView) string {
	words := "its part is " + strings.ReplaceAll(string(r.PartState), "_", " ")
	if r.PartState == messaging.PartAccepted {
		if words = "uploaded " + c.clock(r.At) + ", accepted"; r.CampaignID != "" {
			words += " as campaign " + r.CampaignID
		}
	}
	if r.WaitUntil != nil {
		words += " and waits " + waitsUntil(r.Waits, c.clock(*r.WaitUntil))
	}
	return withReason(words, r.PartReason)
}

// lookupWords says how far the look-up of an event is.
func (c *cli) lookupWords(l *server.LookupView) string {
	switch {
	case l.UnderWay:
		return withReason(fmt.Sprintf("being looked up, attempt %d", l.Attempt), l.Reason)
	case l.Attempt == 0:
		return "to be looked up before it is planned"
	default:
		return withReason(fmt.Sprintf("being looked up, attempt %d at %s", l.Attempt+1, c.clock(l.NextAt)), "the last one: the phone "+l.Reason)
	}
}

func (c *cli) outcome(o messaging.Outcome) painted {
	code := "33"
	switch o {
	case messaging.Planned, messaging.Restarted, messaging.Shadowed, messaging.Allowed, messaging.Confirmed:
		code = "32"
	case messaging.Skipped, messaging.Cancelled, messaging.Cancelling, messaging.Blocked:
	}
	return c.paint(c.out, code, string(o))
}

// tellClause prints one condition with its verdict and the values that made it.
func (c *cli) tellClause(cl messaging.Clause) {
	mark := c.paint(c.out, "32", "yes")
	if !cl.Held {
		mark = c.paint(c.out, "31", "no ")
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
	c.say("    %s  %s\n", mark, text)
}

// tellMessage prints the life of one message as lines of time and fact.
func (c *cli) tellMessage(m server.MessageView, margin string) {
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
	c.say("%s%s\n", margin, head)
	for _, at := range m.Timeline(c.clock) {
		if at.Bare {
			c.say("%s  %s\n", margin, at.Words)
			continue
		}
		c.say("%s  %s  %s\n", margin, c.clock(at.At), at.Words)
	}
}

func withReason(text, reason string) string {
	if reason == "" {
		return text
	}
	return text + ": " + reason
}

// short is a duration in its two largest units.
func short(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd %dh", int(d.Hours())/24, int(d.Hours())%24)
	case d >= time.Hour:
		return fmt.Sprintf("%dh %dm", int(d.Hours()), int(d.Minutes())%60)
	case d >= time.Minute:
		return fmt.Sprintf("%dm %ds", int(d.Minutes()), int(d.Seconds())%60)
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	default:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
}
