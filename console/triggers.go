package console

import (
	"net/http"
	"slices"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/server"
	"github.com/nudgewire/nudgewire/store"
)

type triggersPage struct {
	Rows  []ruleRow
	Other []server.HaltView // what is halted besides triggers
}

// A ruleRow is a trigger and what holds it.
type ruleRow struct {
	Rule
	Halts []server.HaltView
}

// Halted reports whether a person halted this one.
func (r ruleRow) Halted() bool {
	return slices.ContainsFunc(r.Halts, func(h server.HaltView) bool { return h.Scope == store.HaltTrigger })
}

// holds are the halts that hold a trigger, its own and those of everything.
func holds(name string, halts []server.HaltView) (out []server.HaltView) {
	for _, h := range halts {
		switch h.Scope {
		case store.HaltAll, store.HaltDamage, store.HaltRestored:
			out = append(out, h)
		case store.HaltTrigger, store.HaltMode, store.Released:
			if h.Name == name {
				out = append(out, h)
			}
		}
	}
	return out
}

func (c *Console) triggers(r *http.Request) (page, error) {
	status, err := c.Ask.Status(r.Context())
	if err != nil {
		return page{}, err
	}
	var v triggersPage
	for _, rule := range c.Rules() {
		v.Rows = append(v.Rows, ruleRow{rule, holds(rule.Name, status.Halts)})
	}
	for _, h := range status.Halts {
		if !slices.Contains([]store.HaltScope{store.HaltTrigger, store.HaltMode, store.Released}, h.Scope) {
			v.Other = append(v.Other, h)
		}
	}
	return page{Name: "triggers", Title: "Triggers", Here: "/triggers", Data: v}, nil
}

// lookedAt is how many of the newest messages, and of the newest events, are counted for a trigger.
const lookedAt = 500

type triggerPage struct {
	ruleRow
	Messages   []counted // by state, of the newest
	OfMessages int
	Decisions  []counted // by outcome, of the newest events
	OfEvents   int
	Reasons    []counted // why it said no
	Most       int
}

func (c *Console) trigger(r *http.Request) (page, error) {
	name := r.PathValue("name")
	rules := c.Rules()
	i := slices.IndexFunc(rules, func(one Rule) bool { return one.Name == name })
	if i < 0 {
		return page{}, &server.Error{Status: http.StatusNotFound, Words: "the config has no trigger of that name", Hint: "the page Triggers lists those that it has"}
	}
	ctx := r.Context()
	status, err := c.Ask.Status(ctx)
	if err != nil {
		return page{}, err
	}
	v := triggerPage{ruleRow: ruleRow{rules[i], holds(name, status.Halts)}, Most: lookedAt}
	messages, err := c.Ask.Messages(ctx, server.ListQuery{Trigger: name, Limit: lookedAt})
	if err != nil {
		return page{}, err
	}
	states := map[string]int64{}
	for i := range messages {
		states[stateOf(&messages[i])]++
	}
	v.Messages, v.OfMessages = byCount(states), len(messages)
	events, err := c.Ask.Events(ctx, server.ListQuery{Limit: lookedAt})
	if err != nil {
		return page{}, err
	}
	outcomes, reasons := map[string]int64{}, map[string]int64{}
	for i := range events {
		for _, d := range events[i].Decisions {
			if d.Trigger != name {
				continue
			}
			outcomes[string(d.Outcome)]++
			if d.Outcome == nudgewire.Skipped && len(d.Clauses) > 0 {
				if last := d.Clauses[len(d.Clauses)-1]; !last.Held {
					reasons[last.Text+" did not hold"]++
					continue
				}
			}
			if d.Outcome == nudgewire.Skipped || d.Outcome == nudgewire.Cancelled {
				reasons[d.Reason]++
			}
		}
	}
	v.Decisions, v.Reasons, v.OfEvents = byCount(outcomes), byCount(reasons), len(events)
	v.Reasons = v.Reasons[:min(len(v.Reasons), 10)]
	return page{Name: "trigger", Title: "Trigger " + name, Here: "/triggers", Data: v}, nil
}

// stateOf is how far a message is: what the service says of it, once it has it.
func stateOf(m *server.MessageView) string {
	if m.State == nudgewire.StateAccepted && m.Status != "" {
		return string(m.Status)
	}
	return string(m.State)
}
