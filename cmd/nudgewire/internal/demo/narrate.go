package demo

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/story"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A narrator tells the demo as it happens.
type narrator struct {
	c     *terminal.CLI
	start time.Time

	mu    sync.Mutex
	quiet bool
	names map[messaging.MessageID]string
	seen  map[messaging.MessageID]messaging.Status
	runs  map[messaging.RunID]messaging.Run
	parts map[messaging.RunID][]messaging.Part // those whose upload has ended
	held  map[messaging.MessageID]string       // what rules said last
}

func newNarrator(c *terminal.CLI) *narrator {
	return &narrator{
		c: c, start: time.Now(),
		names: map[messaging.MessageID]string{},
		seen:  map[messaging.MessageID]messaging.Status{},
		runs:  map[messaging.RunID]messaging.Run{},
		parts: map[messaging.RunID][]messaging.Part{},
		held:  map[messaging.MessageID]string{},
	}
}

// saysBefore is how many signs say puts before what is said.
const saysBefore = len("1234.5s  nudgewire  ")

// say prints one line: the time since the curtain, who speaks, and what. The caller holds mu.
func (n *narrator) say(who, color, format string, args ...any) {
	if n.quiet {
		return
	}
	n.c.Say("%6.1fs  %s  %s\n", time.Since(n.start).Seconds(),
		n.c.Paint(n.c.Out, color, fmt.Sprintf("%-9s", who)), fmt.Sprintf(format, args...))
}

func (n *narrator) silence() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.quiet = true
}

func (n *narrator) shop(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.say("shop", "36", format, args...)
}

func (n *narrator) observer() store.Observer {
	return store.Observer{
		Accepted: n.accepted, Rejected: n.turnedAway, Finished: n.finished, Polled: n.polled,
		Run: n.ran, Part: n.uploaded,
	}
}

func (n *narrator) accepted(p messaging.Plan, r messaging.Receipt) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r.Duplicate {
		n.say("nudgewire", "35", "  the same webhook as event %d: stored once, decided once", r.EventID)
		return
	}
	who := p.Event.Contact.FirstName
	for _, d := range r.Decisions {
		n.say("nudgewire", "35", "  %s %s: %s", d.Trigger, d.Outcome, d.Reason)
		for _, id := range append([]messaging.MessageID{d.MessageID}, d.Later...) {
			n.names[id] = who
		}
	}
}

func (n *narrator) turnedAway(r messaging.RejectedRequest) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.say("nudgewire", "35", "  rejected with %d: %s", r.Status, r.Reason)
}

func (n *narrator) finished(a messaging.Attempt) {
	n.mu.Lock()
	defer n.mu.Unlock()
	text := fmt.Sprintf("message %d to %s: %s", a.MessageID, n.names[a.MessageID], a.State)
	if a.Message != nil && a.Message.Tracked() {
		text += ", message_id " + string(a.Message.ServiceID)
	}
	n.say("service", "34", "%s", story.WithReason(text, a.Reason))
}

func (n *narrator) polled(p messaging.Poll) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p.Status == "" || n.seen[p.MessageID] == p.Status {
		return
	}
	n.seen[p.MessageID] = p.Status
	color := "34"
	switch p.Status {
	case messaging.StatusDelivered, messaging.StatusRead:
		color = "32"
	case messaging.StatusFailed:
		color = "31"
	default:
	}
	n.say("service", color, "%s", story.WithReason(fmt.Sprintf("message %d to %s: %s", p.MessageID, n.names[p.MessageID], p.Status), p.Error))
}

// watch tells what rules say to messages that fall due, until ctx is done.
func (n *narrator) watch(ctx context.Context, ask *server.Client) {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, state := range []messaging.State{messaging.StateDropped, messaging.StateWaiting} {
			messages, err := server.ListMessages.Call(ctx, ask, server.ListQuery{State: string(state), Limit: 100})
			if err != nil {
				return // the demo is over
			}
			for i := range messages {
				n.judged(&messages[i])
			}
		}
	}
}

func (n *narrator) judged(m *server.MessageView) {
	n.mu.Lock()
	defer n.mu.Unlock()
	said := string(m.State) + m.Reason
	if m.State == messaging.StateWaiting && m.FirstDue.IsZero() || n.held[m.ID] == said {
		return
	}
	n.held[m.ID] = said
	word := "dropped"
	if m.State == messaging.StateWaiting {
		word = "held back until " + n.c.Clock(m.DueAt)
	}
	n.say("nudgewire", "33", "  message %d to %s: %s", m.ID, n.names[m.ID], story.WithReason(word, m.Reason))
}

// totals prints what the ledger counted.
func (c commands) totals(s server.StatusView, optedOut int) {
	n := func(names ...string) (sum int64) {
		for _, name := range names {
			sum += s.Counts[name]
		}
		return sum
	}
	c.Say("  %s stored, %d delivered twice and stored once, %s rejected\n",
		units.Count(n("events"), "event"), n("events_duplicate"), units.Count(n("requests_rejected"), "request"))
	c.Say("  %s delivered, %d failed, %d cancelled by an order or a reply, %d not queued\n",
		units.Count(n("messages_delivered"), "message"), n("messages_failed"), n("messages_cancelled", "decisions_cancelled"), n("decisions_skipped"))
	rules := map[string]int64{}
	for _, r := range s.Rules {
		rules[r.Rule] += r.Times
	}
	c.Say("  held back: %d by quiet hours, %d by the limit of one a day; opted out: %d\n", rules["quiet_hours"], rules["limit"], optedOut)
	c.Say("  still waiting: %d, being followed: %d, in doubt: %d\n", s.Waiting, s.Tracking, s.InDoubt)
}

// demoService is the pretended service: two templates, statuses that move within seconds.
func demoService(key string) sandbox.Options {
	return sandbox.Options{
		Keys: []string{key},
		Templates: []sandbox.Template{
			{Name: "cart_reminder", Language: "en", ID: 1041, Variables: 3},
			{Name: "order_update", Language: "en", ID: 1042, Variables: 3},
			{Name: "welcome", Language: "en", ID: 1044, Variables: 1},
			{Name: "welcome_offer", Language: "en", ID: 1045, Variables: 0},
			{Name: "spring_news", Language: "en", ID: 1043, Variables: 1},
		},
		Points: 10_000,
		Pace:   sandbox.Pace{Sent: 800 * time.Millisecond, Delivered: 1500 * time.Millisecond, Read: 5 * time.Second},
	}
}
