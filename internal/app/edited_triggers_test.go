package app_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

// The table of meetings of a trigger that leaves the config, is renamed, turned off or changed, with every brake of a trigger, in
// every state of what waits of it. It is asked of a whole daemon: what counts is what the service was sent.

// The states in which a message meets the edit.
const (
	isDue     = "due"      // and held by a halt of everything
	isLater   = "later"    // it falls due after the edit
	isStep2   = "step 2"   // the first step was sent, where the brake lets it go
	isPutOff  = "put off"  // by the brake itself
	isInDoubt = "in doubt" // and a person says after the edit that it is to be sent again
	isSent    = "sent"     // what counts is the next event of its key
)

// A triggerBrake is what holds a message of a trigger back.
type triggerBrake struct {
	keys   []string // of a trigger, that make it
	yaml   string
	states []string
	events func(c *triggerCell) []map[string]any // that plan it; one cart of its phone unless said
	bites  func(h *house, c *triggerCell)        // makes it hold, before the edit; nil where it does by itself
	meets  func(h *house, c *triggerCell)        // what comes after the edit
	more   int                                   // that may leave once it is let go, of what is due or later
	says   []string                              // what shows that it holds; what is cancelled needs no word
}

// A triggerCell is one trigger whose messages are in one state, held back by one brake.
type triggerCell struct {
	triggerBrake
	brake, trigger, state string
	n                     int
	waited                bool // something of it did, at the edit
	left                  int  // messages that the service had taken by then
}

func (c *triggerCell) String() string { return c.brake + ", " + c.state }

func (c *triggerCell) phone() string { return fmt.Sprintf("+44791%07d", 2_000_000+10*c.n) }

func (c *triggerCell) other() string { return fmt.Sprintf("+44791%07d", 2_000_001+10*c.n) }

// cart is an event that only the trigger of the cell takes.
func (c *triggerCell) cart(token, phone string) map[string]any {
	return cart(fmt.Sprintf("c%d-%s", c.n, token), phone, fmt.Sprintf("%d.00", 100+c.n))
}

// yaml is the trigger of a cell by a name, with more keys.
func (c *triggerCell) yaml(name, more string) string {
	send := "send: {template: one}"
	switch c.state {
	case isLater:
		send += ", wait: 2s"
	case isStep2:
		send = "steps: [{send: {template: one}}, {wait: 1s, send: {template: two}}]"
	}
	expires := "expires: 48h, "
	if strings.Contains(c.triggerBrake.yaml, "expires") {
		expires = ""
	}
	return fmt.Sprintf("  %s: {on: shopify.cart.created, if: cart.total == %d, key: cart.id, %s%s%s, %s}\n", name, 100+c.n, more, expires, c.triggerBrake.yaml, send)
}

func triggerBrakes() map[string]triggerBrake {
	two := func(c *triggerCell) []map[string]any {
		if c.state == isStep2 || c.state == isInDoubt {
			return []map[string]any{c.cart("a", c.phone())}
		}
		return []map[string]any{c.cart("a", c.phone()), c.cart("b", c.other())}
	}
	return map[string]triggerBrake{
		"quiet hours": {keys: []string{"quiet_hours"}, yaml: `quiet_hours: "` + nowQuiet() + `"`, states: []string{isDue, isLater, isStep2, isPutOff}, says: []string{"quiet hours are"}},
		"quiet hours that drop": {
			keys: []string{"quiet_hours"}, yaml: `quiet_hours: {hours: "` + nowQuiet() + `", on_hit: drop}`, states: []string{isDue, isLater, isStep2}, says: []string{"quiet hours are"},
		},
		"max_defer": {
			keys: []string{"quiet_hours"}, yaml: `quiet_hours: {hours: "` + nowQuiet() + `", max_defer: 1m}`, states: []string{isDue, isLater, isStep2}, says: []string{"(max_defer)"},
		},
		"limit of nothing": {keys: []string{"limit"}, yaml: "limit: 0 per day", states: []string{isDue, isLater, isStep2}, says: []string{"lets no message go"}},
		"limit": {
			keys: []string{"limit"}, yaml: "limit: 1 per 24h", states: []string{isStep2, isPutOff}, says: []string{"1 of 1 per 24h was sent"},
			events: func(c *triggerCell) []map[string]any {
				if c.state == isStep2 {
					return two(c)
				}
				return []map[string]any{c.cart("a", c.phone()), c.cart("b", c.phone())}
			},
		},
		"consent": {
			keys: []string{"consent"}, yaml: "consent: required", states: []string{isDue, isLater, isStep2, isInDoubt}, says: []string{"has withdrawn it"},
			bites: func(h *house, c *triggerCell) { h.consents(messaging.ConsentWithdrawn, c.phone()) },
		},
		"rate": {
			keys: []string{"rate"}, yaml: "rate: 1/h", states: []string{isDue, isLater, isStep2, isPutOff, isInDoubt}, events: two, more: 1, says: []string{"taken for sending by"},
		},
		"contacts of the account": {keys: []string{"account"}, yaml: "account: tight", states: []string{isDue, isLater, isStep2, isPutOff}, says: []string{"marketing may reach 1"}},
		"expires": {
			keys: []string{"expires"}, yaml: "expires: 1s", states: []string{isDue, isLater}, says: []string{"expired"},
			bites: func(h *house, c *triggerCell) {
				h.eventually(c.String()+" has expired", func() bool {
					return !slices.ContainsFunc(c.messages(h), func(m server.MessageView) bool { return m.ExpiresAt.IsZero() || time.Now().Before(m.ExpiresAt) })
				})
			},
		},
		"cancel_on": {
			keys: []string{"cancel_on", "key", "remember_cancel"}, yaml: "cancel_on: shopify.order.created", states: []string{isDue, isLater, isStep2, isInDoubt},
			meets: func(h *house, c *triggerCell) {
				h.mustTake(h.shopify("orders/create", "", order(fmt.Sprintf("c%d-a", c.n), c.other(), "1.00")))
			},
		},
		"stop_on": {
			keys: []string{"stop_on"}, yaml: "stop_on: shopify.order.created", states: []string{isDue, isLater, isStep2, isInDoubt},
			meets: func(h *house, c *triggerCell) {
				h.mustTake(h.shopify("orders/create", "", order(fmt.Sprintf("c%d-x", c.n), c.phone(), "1.00")))
			},
		},
		"cooldown": {
			keys: []string{"cooldown"}, yaml: "cooldown: once", states: []string{isSent},
			meets: func(h *house, c *triggerCell) { h.mustTake(h.shopify("checkouts/create", "", c.cart("a", c.phone()))) },
		},
		"block": {
			yaml: "category: marketing", states: []string{isDue, isLater, isStep2, isInDoubt}, says: []string{"blocked"},
			bites: func(h *house, c *triggerCell) {
				if _, err := server.BlockContacts.Call(h.t.Context(), h.ask, server.BlockRequest{Phones: []string{c.phone()}}); err != nil {
					h.t.Fatal(err)
				}
			},
		},
	}
}

// noTriggerBrakes are the keys of a trigger that hold nothing back of what waits, and why.
var noTriggerBrakes = map[string]string{
	"on": "what plans a message", "if": "what plans a message", "max_age": "what plans a message", "on_repeat": "what plans a message",
	"wait": "stored with the message: a state of the table", "steps": "stored with the messages: a state of the table", "send": "stored with the message",
	"category": "stored with the message", "keep_variables": "what is kept of it", "on_change": "an edit of the table", "was": "an edit of the table", "mode": "an edit of the table",
	"on_doubt": "TestWhatATriggerThatIsGoneSaidOfDoubts",
}

// A new key of a trigger stands in the table, or says why it holds nothing back.
func TestEachKeyOfATriggerIsInTheTable(t *testing.T) {
	t.Parallel()
	known := maps.Clone(noTriggerBrakes)
	for name, b := range triggerBrakes() {
		for _, key := range b.keys {
			known[key] = name
		}
	}
	allInTheTable(t, "triggers", reflect.TypeFor[triggers.Rule](), known)
}

func triggerCells() (cells []*triggerCell) {
	brakes := triggerBrakes()
	for _, name := range slices.Sorted(maps.Keys(brakes)) {
		for _, state := range brakes[name].states {
			n := len(cells)
			cells = append(cells, &triggerCell{triggerBrake: brakes[name], brake: name, state: state, n: n, trigger: fmt.Sprintf("t%d", n)})
		}
	}
	return cells
}

// messages are those of a cell, whatever its trigger is called.
func (c *triggerCell) messages(h *house) []server.MessageView {
	h.t.Helper()
	var all []server.MessageView
	for _, name := range []string{c.trigger, c.trigger + "-2"} {
		rows, err := server.ListMessages.Call(h.t.Context(), h.ask, server.ListQuery{Trigger: name, Limit: 10})
		if err != nil {
			h.t.Fatal(err)
		}
		all = append(all, rows...)
	}
	return all
}

func (c *triggerCell) taken(h *house) int { return h.sentTo([]string{c.phone(), c.other()}) }

// begin takes the messages of a cell to their state.
func (c *triggerCell) begin(h *house) {
	h.t.Helper()
	if c.brake == "consent" {
		h.consents(messaging.ConsentGiven, c.phone())
	}
	events := []map[string]any{c.cart("a", c.phone())}
	if c.events != nil {
		events = c.events(c)
	}
	faults := h.service.Faults()
	if c.state == isInDoubt {
		cut := faults
		cut.CutAfter = 1
		h.service.SetFaults(cut)
	}
	for _, one := range events {
		h.mustTake(h.shopify("checkouts/create", "", one))
	}
	c.until(h, c.String(), func() bool {
		all := c.messages(h)
		in := func(s messaging.State) func(server.MessageView) bool {
			return func(m server.MessageView) bool { return m.State == s }
		}
		switch c.state {
		case isDue, isLater:
			return len(all) == len(events)
		case isInDoubt:
			return slices.ContainsFunc(all, in(messaging.StateInDoubt))
		case isSent:
			return slices.ContainsFunc(all, in(messaging.StateAccepted))
		case isStep2: // the second one waits for its template
			return slices.ContainsFunc(all, func(m server.MessageView) bool {
				return m.Step == 1 && (m.State == messaging.StateAccepted || c.answered(&m))
			})
		default:
			return c.holds(h)
		}
	})
	if c.state == isInDoubt { // and one that is taken, so that nobody counts two in a row
		h.service.SetFaults(faults)
		between := h.service.Accepted(phone(3)[1:]) + 1
		one := messaging.Send{Template: "between", Language: "en"}
		if _, err := server.SendMessage.Call(h.t.Context(), h.ask, server.SendRequest{Phone: phone(3), Category: messaging.Utility, Send: one}); err != nil {
			h.t.Fatal(err)
		}
		h.eventually("a message between two doubts is taken", func() bool { return h.service.Accepted(phone(3)[1:]) == between })
	}
}

// until is eventually for a cell, whose messages it names in vain.
func (c *triggerCell) until(h *house, what string, ok func() bool) {
	h.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().Before(end) {
			continue
		}
		what = "waited in vain: " + what
		for _, m := range c.messages(h) {
			what += fmt.Sprintf("\n%d of %s, step %d, is %s until %s: %q, %q", m.ID, m.Trigger, m.Step, m.State, m.DueAt, m.Reason, m.Held)
		}
		h.t.Error(what)
		return
	}
}

// answered reports whether the brake has answered to a message. What is planned anew keeps the time, and not the word.
func (c *triggerCell) answered(m *server.MessageView) bool {
	says := slices.ContainsFunc(c.says, func(one string) bool { return strings.Contains(m.Reason, one) })
	anew := strings.HasPrefix(m.Reason, "planned anew") && m.DueAt.After(time.Now().Add(30*time.Minute))
	return m.State == messaging.StateCancelled || m.State == messaging.StateDropped && says || m.State == messaging.StateWaiting && (says || anew)
}

// holds reports whether the brake has answered to all that was not taken.
func (c *triggerCell) holds(h *house) bool {
	all := c.messages(h)
	return len(all) > 0 && !slices.ContainsFunc(all, func(m server.MessageView) bool { return m.State != messaging.StateAccepted && !c.answered(&m) })
}

// A triggerEdit is what becomes of all triggers.
type triggerEdit struct {
	yaml     func(c *triggerCell) string
	defaults string // more of them, after the edit, which let nothing go
	paused   string // why what waits is paused; "" where it is not
	forgets  bool   // what was sent
}

var triggerEdits = map[string]triggerEdit{
	"leaves":                    {yaml: func(*triggerCell) string { return "" }, paused: "is gone from the config"},
	"leaves, and defaults hold": {yaml: func(*triggerCell) string { return "" }, paused: "is gone from the config", defaults: `, quiet_hours: "` + nowQuiet() + `"`},
	"is renamed":                {yaml: func(c *triggerCell) string { return c.yaml(c.trigger+"-2", "was: "+c.trigger+", ") }},
	"is renamed without a word": {yaml: func(c *triggerCell) string { return c.yaml(c.trigger+"-2", "") }, paused: "is gone from the config", forgets: true},
	"is off":                    {yaml: func(c *triggerCell) string { return c.yaml(c.trigger, "mode: off, ") }, paused: "is off"},
	"is in shadow":              {yaml: func(c *triggerCell) string { return c.yaml(c.trigger, "mode: shadow, ") }, paused: "is in mode shadow"},
	"is changed, pin":           {yaml: changedTo("pin")},
	"is changed, migrate":       {yaml: changedTo("migrate")},
	"is changed, cancel":        {yaml: changedTo("cancel")},
	"is renamed and changed": {yaml: func(c *triggerCell) string {
		return changedTo("migrate")(&triggerCell{triggerBrake: c.triggerBrake, state: c.state, n: c.n, trigger: c.trigger + "-2, was: " + c.trigger})
	}},
}

func changedTo(onChange string) func(*triggerCell) string {
	return func(c *triggerCell) string {
		name, more, _ := strings.Cut(c.trigger, ", ")
		if more != "" {
			more += ", "
		}
		return strings.Replace(c.yaml(name, more+"on_change: "+onChange+", "), "template: one", "template: spring", 1)
	}
}

func TestATriggerThatIsEditedKeepsItsBrakes(t *testing.T) {
	t.Parallel()
	for name, edit := range triggerEdits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cells := triggerCells()
			if edit.defaults != "" {
				for _, c := range cells {
					c.more, c.says = 0, append(slices.Clone(c.says), "quiet hours are")
				}
			}
			config := func(defaults string, trigger func(c *triggerCell) string) string {
				text := "\ndefaults: {country: GB, language: en, timezone: UTC" + defaults + "}\n" +
					"accounts: {tight: {key: " + brandKey + ", limits: {unique_contacts: 1 per 24h}}}\n" +
					"connectors:\n  shopify: {secret: \"${SHOP_SECRET}\", defaults: {country: GB}}\ntriggers:\n" +
					"  first: {on: shopify.order.updated, account: tight, quiet_hours: off, send: {template: first}}\n" +
					"  probe: {on: shopify.order.updated, category: utility, cooldown: none, send: {template: probe}}\n"
				for _, c := range cells {
					text += trigger(c)
				}
				return text
			}
			folder := t.TempDir()
			before := config("", func(c *triggerCell) string { return c.yaml(c.trigger, "") })
			after := config(edit.defaults, edit.yaml)
			keys := sandbox.Options{Keys: []string{brandKey}}
			h := open(t, options{folder: folder, config: before, sandbox: keys})
			h.mustTake(h.shopify("orders/updated", "", order("first", phone(0), "1.00")))
			h.eventually("the account has its contact", func() bool { return h.service.Accepted(phone(0)[1:]) == 2 })
			begin := func(states ...string) {
				for _, c := range cells {
					if slices.Contains(states, c.state) {
						c.begin(h)
					}
				}
			}
			second := server.HaltRequest{Scope: messaging.ScopeTemplate, Name: "two"}
			if _, err := server.Halt.Call(t.Context(), h.ask, second); err != nil {
				t.Fatal(err)
			}
			begin(isPutOff, isSent, isStep2, isInDoubt)
			all := server.HaltRequest{Scope: messaging.ScopeAll}
			if _, err := server.Halt.Call(t.Context(), h.ask, all); err != nil {
				t.Fatal(err)
			}
			begin(isDue, isLater)
			for _, c := range cells {
				if c.bites != nil {
					c.bites(h, c)
				}
				// What has expired is dropped as soon as somebody looks at it.
				c.waited = c.brake != "expires" && slices.ContainsFunc(c.messages(h), func(m server.MessageView) bool { return m.State == messaging.StateWaiting })
			}
			h.edit(before, after)
			v, err := server.Reload.Call(t.Context(), h.ask, server.ReloadRequest{})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range cells {
				if c.meets != nil {
					c.meets(h, c)
				}
				c.left = c.taken(h)
			}
			for _, r := range []server.HaltRequest{second, all} {
				if _, err := server.Resume.Call(t.Context(), h.ask, r); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range cells {
				if c.state != isInDoubt {
					continue
				}
				for _, m := range c.messages(h) {
					if m.State == messaging.StateInDoubt {
						if _, err := server.ResolveMessage.Call(t.Context(), h.ask, server.ResolveRequest{ID: m.ID, As: messaging.ResolveResend, Reason: ""}); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			h.mustTake(h.shopify("orders/updated", "", order("probe", phone(1), "1.00")))
			h.eventually("what is not edited is sent", func() bool { return h.service.Accepted(phone(1)[1:]) == 1 })
			if edit.paused != "" {
				for _, c := range cells {
					if n := c.taken(h); n != c.left && c.state != isSent {
						t.Errorf("%s: %d left at the reload", c, n-c.left)
					}
					paused := slices.ContainsFunc(v.Paused, func(p messaging.Hold) bool { return p.Name == c.trigger && p.Reason == edit.paused })
					_, err := server.Resume.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeTrigger, Name: c.trigger})
					if c.waited && (!paused || err != nil) {
						t.Errorf("%s: the reload says that it is paused: %v; resumed: %v", c, paused, err)
					}
				}
			}
			held := func(when string, before map[*triggerCell]int) {
				t.Helper()
				for _, c := range cells {
					more := 0
					if c.state == isDue || c.state == isLater {
						more = c.more
					}
					if c.state == isSent && edit.forgets {
						more = 1
					}
					c.until(h, c.String()+" is held back "+when, func() bool { return c.holds(h) })
					if n := before[c] + c.taken(h); n > c.left+more {
						t.Errorf("%s: %d left %s, of which %d before the edit, and %d more may", c, n, when, c.left, more)
					}
				}
			}
			held("when it is let go", nil)
			sent := map[*triggerCell]int{}
			for _, c := range cells {
				sent[c] = c.taken(h)
			}
			h.stop()
			h = open(t, options{folder: folder, config: after, sandbox: keys})
			h.mustTake(h.shopify("orders/updated", "", order("again", phone(2), "1.00")))
			h.eventually("what is not edited is sent", func() bool { return h.service.Accepted(phone(2)[1:]) == 1 })
			held("after a restart", sent)
		})
	}
}
