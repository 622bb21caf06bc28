package story

import (
	"fmt"
	"strings"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

func TellTried(c *terminal.CLI, e preview.TriedEvent) {
	c.Say("%s\n", c.Paint(c.Out, "1", e.Event))
	row := func(name, value string) {
		if value != "" {
			c.Say("  %-10s %s\n", name, value)
		}
	}
	row("topic", e.Topic)
	row("phone", e.Phone)
	if e.Phone == "" {
		row("phone", "none: "+e.PhoneProblem)
	}
	row("name", e.Name)
	row("country", e.Country)
	row("language", e.Language)
	row("cart", e.Cart.Words())
	row("order", e.Order.Words())
	row("deal", e.Deal.Words())
	row("form", e.Form)
	row("dedupe key", e.DedupeKey)
	if e.Repeats != 0 {
		row("repeats", fmt.Sprintf("event %d, so nothing of it would be stored", e.Repeats))
	}
	for _, text := range LookUpRows(e.LookUp) {
		row("look-up", text)
	}
	if e.LookedUp {
		row("", "the daemon would first fetch what the webhook leaves out, and plan then")
		return
	}
	if len(e.Decisions) == 0 {
		c.Say("  %s\n", NoListener(e.Event))
	}
	for i := range e.Decisions {
		c.Say("  %s ", e.Decisions[i].Trigger)
		tellDecided(c, &e.Decisions[i])
	}
}

// tellDecided prints what a trigger would decide, behind its name, and the messages that it would queue.
func tellDecided(c *terminal.CLI, d *preview.TriedDecision) {
	tellOutcome(c, d)
	if m := d.Message; m != nil && len(d.Steps) == 0 {
		tellTriedMessage(c, m, "")
	}
	for i := range d.Steps {
		m := &d.Steps[i]
		tellTriedMessage(c, m, triggers.StepWords(m.Step, m.Of)+": ")
	}
}

func tellOutcome(c *terminal.CLI, d *preview.TriedDecision) {
	c.Say("%s: %s\n", Outcome(c, d.Outcome), d.Reason)
	for _, clause := range d.Clauses {
		TellClause(c, clause)
	}
}

// TellDecision prints what a trigger would decide, behind words that begin the line, and what the rules would do to its messages: not what they
// say.
func TellDecision(c *terminal.CLI, d *preview.TriedDecision) {
	tellOutcome(c, d)
	all := d.Steps
	if d.Message != nil && len(all) == 0 {
		all = []preview.TriedMessage{*d.Message}
	}
	for i := range all {
		m := &all[i]
		what := m.Send.What()
		if m.Step > 0 {
			what = triggers.StepWords(m.Step, m.Of)
		}
		c.Say("    %s due %s\n", what, c.Clock(m.DueAt))
		tellHeld(c, m.Held)
	}
}

// SendWords say what is sent, in which language, and by which account where that is not that of the section api.
func SendWords(s *messaging.Send, account string) string {
	words := s.What()
	if s.Language != "" {
		words += " in " + s.Language
	}
	if account != "" {
		words += " by account " + account
	}
	return words
}

func tellTriedMessage(c *terminal.CLI, m *preview.TriedMessage, head string) {
	c.Say("    %s%s, due %s\n", head, SendWords(&m.Send, m.Account), c.Clock(m.DueAt))
	tellHeld(c, m.Held)
	for _, text := range m.If {
		c.Say("      sent if     %s\n", text)
	}
	TellSend(c, &m.Send, "      ")
	TellReads(c, &m.Send, m.Reads, "      ")
}

// TellReads prints what a phone shows of a template whose text is known.
func TellReads(c *terminal.CLI, s *messaging.Send, reads, margin string) {
	if reads != "" && reads != s.Text {
		c.Say("%sreads       %s\n", margin, terminal.Sanitized(reads))
	}
}

// tellHeld prints what a rule would do to a message when it falls due.
func tellHeld(c *terminal.CLI, h *preview.TriedHold) {
	switch {
	case h == nil:
	case !h.Until.IsZero():
		c.Say("    %s %s: %s\n", c.Paint(c.Out, "33", "sent "+c.Clock(h.Until)), "("+h.Rule+")", h.Reason)
	default:
		c.Say("    %s %s: %s\n", c.Paint(c.Out, "33", string(h.Action)), "("+h.Rule+")", h.Reason)
	}
}

// TellSend prints what a template is filled in with.
func TellSend(c *terminal.CLI, s *messaging.Send, margin string) {
	for i, v := range s.Variables {
		c.Say("%svariable %d  %s\n", margin, i+1, v)
	}
	if h := s.Header; h != nil {
		c.Say("%sheader      %s %s\n", margin, h.Type, h.URL)
	}
}

// LookUpRows say what the daemon would ask for, and what it is good for.
func LookUpRows(a *connectors.Asked) []string {
	if a == nil {
		return nil
	}
	rows := []string{a.URL + ", not asked here"}
	if a.Missing != "" {
		rows = []string{"cannot be made: " + a.Missing}
		if a.URL != "" {
			rows[0] = a.URL + " cannot be asked: " + a.Missing
		}
	}
	if len(a.Fields) > 0 {
		rows = append(rows, "its answer may fill "+strings.Join(a.Fields, ", "))
	}
	for _, then := range a.Then {
		rows = append(rows, "then "+then)
	}
	return rows
}
