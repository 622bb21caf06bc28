package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/config"
	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/enricher"
	"github.com/nudgewire/nudgewire/triggers"
)

func (c *cli) try() *cobra.Command {
	var f sampleFlags
	cmd := &cobra.Command{
		Use: "try CONNECTOR [FILE]", Short: "Show what a webhook would lead to, without storing or sending anything",
		Long: `try reads a webhook as the daemon would and prints the events in it, what each trigger says
to them clause by clause, the messages that would be queued, and when quiet hours would let them
go. It looks at no database: what waits or was sent already is not considered, so no limit is reached.`,
		Example: "  nudgewire try shopify\n  nudgewire try shopify checkout.json --topic checkouts/update",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, r, req, err := c.webhook(c.loadToLook, args, &f)
			if err != nil {
				return err
			}
			got, err := r.Receive(req)
			if no, ok := errors.AsType[*connectors.Rejected](err); ok {
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

// A triedItem is a webhook, or an item of one, that makes no event.
type triedItem struct {
	Handshake string `json:"handshake,omitempty"`
	Status    int    `json:"status,omitempty"` // that a handshake is answered with
	Skipped   string `json:"skipped,omitempty"`
}

// A triedEvent is an event as it was read and what the triggers want because of it.
type triedEvent struct {
	Event        string          `json:"event"`
	Topic        string          `json:"topic,omitempty"`
	DedupeKey    string          `json:"dedupe_key"`
	OccurredAt   *time.Time      `json:"occurred_at,omitempty"`
	Phone        string          `json:"phone,omitempty"`
	PhoneProblem string          `json:"phone_problem,omitempty"`
	Name         string          `json:"name,omitempty"`
	Country      string          `json:"country,omitempty"`
	Language     string          `json:"language,omitempty"`
	Cart         *triedMatter    `json:"cart,omitempty"`
	Order        *triedMatter    `json:"order,omitempty"`
	Deal         *triedMatter    `json:"deal,omitempty"`
	Form         string          `json:"form,omitempty"`
	Unread       []string        `json:"unread,omitempty"`    // what was given and cannot be read
	LookedUp     bool            `json:"looked_up,omitempty"` // first, and planned then
	Decisions    []triedDecision `json:"decisions"`
}

// A triedMatter is a cart, an order or a deal.
type triedMatter struct {
	ID       string `json:"id,omitempty"`
	Total    string `json:"total,omitempty"` // decimal
	Currency string `json:"currency,omitempty"`
	Items    int    `json:"items,omitempty"`
}

// A triedDecision is what one trigger says, with the message that would be queued.
type triedDecision struct {
	Trigger string             `json:"trigger"`
	Outcome nudgewire.Outcome  `json:"outcome"`
	Reason  string             `json:"reason,omitempty"`
	Clauses []nudgewire.Clause `json:"clauses,omitempty"`
	Key     string             `json:"key,omitempty"`
	Message *triedMessage      `json:"message,omitempty"`
	Steps   []triedMessage     `json:"steps,omitempty"` // of a sequence: all of them, the first with Message
}

type triedMessage struct {
	Category  nudgewire.Category `json:"category"`
	Account   string             `json:"account,omitempty"` // that sends it; not that of the section api
	Send      nudgewire.Send     `json:"send"`
	DueAt     time.Time          `json:"due_at"`
	ExpiresAt *time.Time         `json:"expires_at,omitempty"`
	Step      int                `json:"step,omitempty"`
	Of        int                `json:"of,omitempty"`   // steps that the sequence has
	If        []string           `json:"if,omitempty"`   // what is asked of the step when it falls due
	Held      *triedHold         `json:"held,omitempty"` // what quiet hours would do to it at that time
}

// A triedHold is what a rule would say to the message when it falls due.
type triedHold struct {
	Action nudgewire.VerdictAction `json:"action"`
	Rule   string                  `json:"rule"`
	Reason string                  `json:"reason"`
	Until  *time.Time              `json:"until,omitempty"` // when it would really be sent
}

func triedMessageOf(d *nudgewire.Dispatch, due nudgewire.DueRules) triedMessage {
	return triedMessage{
		Category: d.Category, Account: d.Account, Send: d.Send, DueAt: d.DueAt.UTC(), ExpiresAt: optional(d.ExpiresAt), Step: d.Step, Held: heldOf(d, due),
	}
}

func (c *cli) tellTry(cfg *config.Config, got connectors.Received, req connectors.Request) error {
	if got.Handshake != "" {
		if c.json {
			return c.print(triedItem{Handshake: got.Handshake, Status: got.Reply.Status})
		}
		c.say("a handshake (%s), answered %d; no event\n", got.Handshake, got.Reply.Status)
		return nil
	}
	for _, s := range got.Skipped {
		if c.json {
			if err := c.print(triedItem{Skipped: s.Reason}); err != nil {
				return err
			}
			continue
		}
		c.say("skipped: %s\n", s.Reason)
	}
	if len(got.Events) == 0 && !c.json {
		c.say("no events in it\n")
	}
	for i := range got.Events {
		plan := enricher.First(cfg.Receivers[got.Events[i].Connector], cfg.Triggers, &got.Events[i], req.Now)
		settled(&plan)
		tried := triedOf(&plan, cfg.Due)
		if c.json {
			if err := c.print(tried); err != nil {
				return err
			}
			continue
		}
		c.tellTried(tried)
	}
	return nil
}

// settled says of each proposal what the ledger would, if it knew of nothing else.
func settled(p *nudgewire.Plan) {
	for i := range p.Proposals {
		w := &p.Proposals[i]
		s := triggers.Settle(*w, nudgewire.Facts{})
		w.Decision.Outcome, w.Decision.Reason = s.Outcome, s.Reason
	}
}

// heldOf is what the rules of the due moment would say to a dispatch if nothing had been sent before; nil where
// they let it go.
func heldOf(d *nudgewire.Dispatch, due nudgewire.DueRules) *triedHold {
	planned := *d
	planned.EventID = 1 // any: without one it would be a job's row
	v := due.Decide(&planned, &nudgewire.DueFacts{}, d.DueAt)
	if v.Action == nudgewire.AllowSend {
		return nil
	}
	return &triedHold{Action: v.Action, Rule: v.Rule, Reason: v.Reason, Until: optional(v.Until)}
}

func triedOf(p *nudgewire.Plan, due nudgewire.DueRules) triedEvent {
	e := &p.Event
	t := triedEvent{
		Event: e.Ref(), Topic: e.Topic, DedupeKey: e.DedupeKey, OccurredAt: optional(e.OccurredAt),
		Phone: string(e.Contact.Phone), PhoneProblem: e.Contact.PhoneProblem,
		Name: e.Contact.Name, Country: e.Contact.Country, Language: e.Contact.Language,
		Cart:  matterOf(e.Cart.ID, e.Cart.Total, e.Cart.Currency, len(e.Cart.Items)),
		Order: matterOf(e.Order.ID, e.Order.Total, e.Order.Currency, len(e.Order.Items)),
		Deal:  matterOf(e.Deal.ID, e.Deal.Amount, e.Deal.Currency, 0),
		Form:  e.Form.ID, Unread: e.Unread, LookedUp: p.Later, Decisions: []triedDecision{},
	}
	for _, w := range p.Proposals {
		d := triedDecision{Trigger: w.Decision.Trigger, Outcome: w.Decision.Outcome, Reason: w.Decision.Reason, Clauses: w.Decision.Clauses, Key: w.Decision.Key}
		if d.Outcome == nudgewire.Planned || d.Outcome == nudgewire.Shadowed {
			one := triedMessageOf(&w.Dispatch, due)
			d.Message = &one
			for i := range w.Steps {
				one := triedMessageOf(&w.Steps[i].Dispatch, due)
				one.Of, one.If = w.Steps[i].Rule.Of, w.Steps[i].Rule.If
				d.Steps = append(d.Steps, one)
			}
		}
		t.Decisions = append(t.Decisions, d)
	}
	return t
}

// optional is t in UTC, nil for a time that is not known.
func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func matterOf(id string, total nudgewire.Amount, currency string, items int) *triedMatter {
	if id == "" && !total.Reported() {
		return nil
	}
	m := &triedMatter{ID: id, Currency: currency, Items: items}
	if total.Reported() {
		m.Total = total.String()
	}
	return m
}

func (m *triedMatter) words() string {
	if m == nil {
		return ""
	}
	text := m.ID
	if m.Total != "" {
		text += "  " + m.Total + " " + m.Currency
	}
	if m.Items > 0 {
		text += fmt.Sprintf("  %d items", m.Items)
	}
	return text
}

func (c *cli) tellTried(e triedEvent) {
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
	row("cart", e.Cart.words())
	row("order", e.Order.words())
	row("deal", e.Deal.words())
	row("form", e.Form)
	row("dedupe key", e.DedupeKey)
	if e.LookedUp {
		row("look-up", "the daemon would first fetch what the webhook leaves out, and plan then")
		return
	}
	if len(e.Decisions) == 0 {
		c.say("  %s\n", unheard(e.Event))
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

func (c *cli) tellTriedMessage(m *triedMessage, head string) {
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
func (c *cli) tellHeld(h *triedHold) {
	switch {
	case h == nil:
	case h.Until != nil:
		c.say("    %s %s: %s\n", c.paint(c.out, "33", "sent "+c.clock(*h.Until)), "("+h.Rule+")", h.Reason)
	default:
		c.say("    %s %s: %s\n", c.paint(c.out, "33", string(h.Action)), "("+h.Rule+")", h.Reason)
	}
}

// tellSend prints what a template is filled in with.
func (c *cli) tellSend(s *nudgewire.Send, margin string) {
	for i, v := range s.Variables {
		c.say("%svariable %d  %s\n", margin, i+1, v)
	}
	if h := s.Header; h != nil {
		c.say("%sheader      %s %s\n", margin, h.Type, h.URL)
	}
}
