package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/units"
)

// tryFlags are what try takes beside what describes the webhook.
type tryFlags struct {
	sampleFlags
	moment, rules string
}

func (c *cli) try() *cobra.Command {
	var f tryFlags
	cmd := &cobra.Command{
		Use: "try CONNECTOR [FILE]", Short: "Show what a webhook would lead to, without storing or sending anything",
		Long: `try reads a webhook as the daemon would and prints the events in it, what each trigger says
to them clause by clause, the messages that would be queued, and when the rules would let them go.

It asks the config file, and says what it assumes of the contacts. With --server it asks a daemon: by
the rules that it has loaded, and by what it knows of the phone's consent, blocks and limits, and of
what waits and was sent already.
--rules takes the triggers of a file, which begins with "triggers:", in place of those of the same
name, so that an edit is tried before it is made.`,
		Example: "  nudgewire try shopify\n  nudgewire try shopify checkout.json --topic checkouts/update\n  nudgewire try shopify --sample order --at \"2026-12-24 22:00\" --rules edited.yaml",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			edited, err := c.editedRules(f.rules)
			if err != nil {
				return err
			}
			if f.moment != "" {
				if f.at, err = parseSince(f.moment, c.now()); err != nil {
					return fail(exitUsage, "", "--at %q: want a time such as \"2026-12-24 22:00\", or how long ago, such as 3h", f.moment)
				}
			}
			if c.server != "" {
				return c.tryElsewhere(cmd.Context(), args, &f, edited)
			}
			cfg, r, req, err := c.webhook(c.loadToLook, args, &f.sampleFlags)
			if err != nil {
				return err
			}
			if edited != "" {
				with, problems := cfg.With(edited)
				c.render(problems)
				if with == nil {
					return errSilent(exitConfig)
				}
				cfg = with
			}
			trial := app.TrialOf(cfg)
			tried, err := trial.Request(cmd.Context(), r, req)
			if err != nil {
				return err
			}
			return c.tellTry(tried)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.moment, "at", "", "when it arrives: a date, a date and time, or how long ago (default: now)")
	cmd.Flags().StringVar(&f.rules, "rules", "", "a file with edited triggers, in place of those of the same name")
	return cmd
}

// editedRules are those of a file, "" for none.
func (c *cli) editedRules(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fail(exitUsage, "", "read the rules: %w", err)
	}
	if strings.TrimSpace(string(text)) == "" {
		return "", fail(exitUsage, `begin it with "triggers:"`, "%s is empty", file)
	}
	return string(text), nil
}

// tryElsewhere asks a daemon, by the rules that it has loaded.
func (c *cli) tryElsewhere(ctx context.Context, args []string, f *tryFlags, edited string) error {
	ask, done, err := c.remote()
	if err != nil {
		return err
	}
	defer done()
	in := server.TryRequest{Connector: args[0], Sample: f.sample, Number: f.number, Topic: f.topic, Headers: map[string]string{}, Triggers: edited}
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return fail(exitUsage, "", "--header %q: want Name: value", h)
		}
		in.Headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	if file := arg(args, 1); file != "" {
		body, err := c.bodyOf(file, f.now(), &f.sampleFlags)
		if err != nil {
			return err
		}
		in.Payload = server.TryBody(body)
	}
	if !f.at.IsZero() {
		in.At = &f.at
	}
	v, err := ask.Try(ctx, in)
	if err != nil {
		return err
	}
	if v.Edited == nil {
		return c.tellTry(v.TriedRequest)
	}
	c.render(v.Edited.Problems)
	if !v.Edited.Usable {
		return errSilent(exitConfig)
	}
	v.Events, v.Unasked, v.Assumed = v.Edited.Events, v.Edited.Unasked, v.Edited.Assumed
	return c.tellTry(v.TriedRequest)
}

// A triedItem is a webhook, or an item of one, that makes no event.
type triedItem struct {
	Handshake string `json:"handshake,omitempty"`
	Status    int    `json:"status,omitempty"` // that a handshake is answered with
	Skipped   string `json:"skipped,omitempty"`
}

func (c *cli) tellTry(t server.TriedRequest) error {
	if no := t.Rejected; no != nil {
		return fail(exitFailed, "", "the daemon would answer %d (%s): %s", no.Status, no.Stage, no.Reason)
	}
	if t.Handshake != "" {
		if c.json {
			return c.print(triedItem{Handshake: t.Handshake, Status: t.Status})
		}
		c.say("a handshake (%s), answered %d; no event\n", t.Handshake, t.Status)
		return nil
	}
	for _, reason := range t.Skipped {
		if c.json {
			if err := c.print(triedItem{Skipped: reason}); err != nil {
				return err
			}
			continue
		}
		c.say("skipped: %s\n", reason)
	}
	if len(t.Events) == 0 && !c.json {
		c.say("no events in it\n")
	}
	for _, e := range t.Events {
		if c.json {
			if err := c.print(e); err != nil {
				return err
			}
			continue
		}
		c.tellTried(e)
	}
	for _, what := range t.Assumed {
		if len(t.Events) > 0 {
			c.warn("assumed: %s\n", what)
		}
	}
	if t.Cut > 0 {
		c.warn("%s more are left out\n", units.Count(t.Cut, "event"))
	}
	if t.Unasked > 0 {
		c.warn("the rules took too long to try: some triggers were not asked\n")
	}
	return nil
}

func (c *cli) tellTried(e server.TriedEvent) {
	c.say("%s\n", c.paint(c.out, "1", e.Event))
	row := func(name, value string) {
		if value != "" {
			c.say("  %-10s %s\n", name, value)
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
	for _, text := range lookUpRows(e.LookUp) {
		row("look-up", text)
	}
	if e.LookedUp {
		row("", "the daemon would first fetch what the webhook leaves out, and plan then")
		return
	}
	if len(e.Decisions) == 0 {
		c.say("  %s\n", noListener(e.Event))
	}
	for _, d := range e.Decisions {
		c.say("  %s %s: %s\n", d.Trigger, c.outcome(d.Outcome), d.Reason)
		for _, clause := range d.Clauses {
			c.tellClause(clause)
		}
		if m := d.Message; m != nil && len(d.Steps) == 0 {
			c.tellTriedMessage(m, "")
		}
		for i := range d.Steps {
			m := &d.Steps[i]
			c.tellTriedMessage(m, triggers.StepWords(m.Step, m.Of)+": ")
		}
	}
}

func (c *cli) tellTriedMessage(m *server.TriedMessage, head string) {
	what := m.Send.What()
	if m.Send.Language != "" {
		what += " in " + m.Send.Language
	}
	if m.Account != "" {
		what += " by account " + m.Account
	}
	c.say("    %s%s, due %s\n", head, what, c.clock(m.DueAt))
	c.tellHeld(m.Held)
	for _, text := range m.If {
		c.say("      sent if     %s\n", text)
	}
	c.tellSend(&m.Send, "      ")
}

// tellHeld prints what a rule would do to a message when it falls due.
func (c *cli) tellHeld(h *server.TriedHold) {
	switch {
	case h == nil:
	case h.Until != nil:
		c.say("    %s %s: %s\n", c.paint(c.out, "33", "sent "+c.clock(*h.Until)), "("+h.Rule+")", h.Reason)
	default:
		c.say("    %s %s: %s\n", c.paint(c.out, "33", string(h.Action)), "("+h.Rule+")", h.Reason)
	}
}

// tellSend prints what a template is filled in with.
func (c *cli) tellSend(s *messaging.Send, margin string) {
	for i, v := range s.Variables {
		c.say("%svariable %d  %s\n", margin, i+1, v)
	}
	if h := s.Header; h != nil {
		c.say("%sheader      %s %s\n", margin, h.Type, h.URL)
	}
}
