package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/config"
	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/enricher"
)

func (c *cli) try() *cobra.Command {
	var f sampleFlags
	cmd := &cobra.Command{
		Use: "try CONNECTOR [FILE]", Short: "Show what a webhook would lead to, without storing or sending anything",
		Long: `try reads a webhook as the daemon would and prints the events in it, what each trigger says
to them clause by clause, and the messages that would be owed. It looks at no database: what
waits or was sent already is not considered.`,
		Example: "  nudgewire try shopify\n  nudgewire try shopify checkout.json --topic checkouts/update",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, r, req, err := c.webhook(c.loadToLook, args, &f)
			if err != nil {
				return err
			}
			got, err := r.Receive(req)
			if no, ok := errors.AsType[*connectors.Refused](err); ok {
				return fail(exitFailed, "", "the daemon would answer %d (%s): %s", no.Status, no.Stage, no.Reason)
			}
			if err != nil {
				return err
			}
			return c.tellTry(cfg, got, req)
		},
	}
	f.add(cmd)
	return cmd
}

func (c *cli) tellTry(cfg *config.Config, got connectors.Received, req connectors.Request) error {
	if got.Handshake != "" {
		c.say("a handshake (%s), answered %d; no event\n", got.Handshake, got.Reply.Status)
		return nil
	}
	for _, s := range got.Skipped {
		c.say("skipped: %s\n", s.Reason)
	}
	if len(got.Events) == 0 {
		c.say("no events in it\n")
	}
	for i := range got.Events {
		plan := enricher.First(cfg.Receivers[got.Events[i].Connector], cfg.Triggers, &got.Events[i], req.Now)
		if c.json {
			if err := c.print(plan); err != nil {
				return err
			}
			continue
		}
		c.tellPlan(plan)
	}
	return nil
}

// tellPlan prints an event as it was read and what the triggers want because of it.
func (c *cli) tellPlan(p nudgewire.Plan) {
	e := &p.Event
	c.say("%s\n", c.paint(c.out, "1", e.Ref()))
	row := func(name, value string) {
		if value != "" {
			c.say("  %-10s %s\n", name, value)
		}
	}
	row("topic", e.Topic)
	row("phone", string(e.Contact.Phone))
	if e.Contact.Phone == "" {
		row("phone", "none: "+e.Contact.PhoneProblem)
	}
	row("name", e.Contact.Name)
	row("country", e.Contact.Country)
	row("language", e.Contact.Language)
	row("cart", describe(e.Cart.ID, e.Cart.Total, e.Cart.Currency, len(e.Cart.Items)))
	row("order", describe(e.Order.ID, e.Order.Total, e.Order.Currency, len(e.Order.Items)))
	row("deal", describe(e.Deal.ID, e.Deal.Amount, e.Deal.Currency, 0))
	row("form", e.Form.ID)
	row("dedupe key", e.DedupeKey)
	if p.Later {
		row("look-up", "the daemon would first fetch what the webhook leaves out, and plan then")
		return
	}
	if len(p.Wishes) == 0 {
		c.say("  no trigger listens to it\n")
	}
	for _, w := range p.Wishes {
		c.say("  %s %s: %s\n", w.Decision.Trigger, c.outcome(w.Decision.Outcome), w.Decision.Reason)
		for _, clause := range w.Decision.Clauses {
			c.tellClause(clause)
		}
		if w.Decision.Outcome == nudgewire.Planned || w.Decision.Outcome == nudgewire.Shadowed {
			c.say("    %s in %s, due %s\n", w.Owe.Send.What(), w.Owe.Send.Language, clock(w.Owe.DueAt))
			for i, v := range w.Owe.Send.Variables {
				c.say("      variable %d  %s\n", i+1, v)
			}
			if h := w.Owe.Send.Header; h != nil {
				c.say("      header      %s %s\n", h.Type, h.URL)
			}
		}
	}
}

func describe(id string, total nudgewire.Amount, currency string, items int) string {
	if id == "" && !total.Told() {
		return ""
	}
	text := id
	if total.Told() {
		text += "  " + total.String() + " " + currency
	}
	if items > 0 {
		text += fmt.Sprintf("  %d items", items)
	}
	return text
}
