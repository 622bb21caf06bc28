package operate

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

func (c commands) status() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "The state of the daemon, what waits, what is in doubt, totals", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ask, done, err := c.Reader(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			s, err := server.ShowStatus.Call(cmd.Context(), ask, server.None{})
			if err != nil {
				return err
			}
			if c.JSON {
				err = c.Print(s)
			} else {
				c.printStatus(s)
			}
			if err == nil && s.Daemon == nil {
				return exit.Silent(exit.NoDaemon)
			}
			return err
		},
	}
}

func (c commands) printStatus(s server.StatusView) {
	row := func(name, format string, args ...any) {
		c.Say("%-11s "+format+"\n", append([]any{name}, args...)...)
	}
	label := "trouble"
	for _, t := range s.Troubles {
		if t.Severity == messaging.Note {
			continue // the numbers below show it
		}
		color := map[messaging.Severity]string{messaging.Stops: "31", messaging.Bad: "33"}[t.Severity]
		row(label, "%s", c.Paint(c.Out, color, t.Words))
		row("", "  %s", t.Hint)
		label = ""
	}
	if d := s.Daemon; d != nil {
		row("daemon", "running for %s (pid %d, %s), hooks on %s", terminal.ShortDuration(time.Since(d.StartedAt)), d.PID, d.Version, d.Listen)
		row("config", "%s, version %s, active since %s", d.ConfigFile, d.Config, c.Clock(d.LoadedAt))
		accounts := d.Accounts
		if len(accounts) == 0 {
			accounts = []server.AccountView{{API: d.API, Rate: d.Rate}}
		}
		for i, a := range accounts {
			label, name := []string{"service", ""}[min(i, 1)], ""
			if a.Name != "" {
				name = a.Name + ": "
			}
			row(label, "%s%s, %s", name, a.API, a.Rate)
		}
		row("connectors", "%s", terminal.OrDash(strings.Join(d.Connectors, ", ")))
		for _, v := range d.Turned {
			row("", "%s", c.Paint(c.Out, "33", v.Words(time.Now())))
		}
		row("triggers", "%s", terminal.OrDash(strings.Join(d.TriggersAndModes(), ", ")))
		for _, words := range guessedWords(d) {
			row("", "%s", c.Paint(c.Out, "33", words))
		}
	} else {
		row("daemon", "not running; this is what the database holds")
	}
	row("database", "%s", s.Storage)
	if s.Backup != nil {
		row("backup", "%s", s.Backup.Words(time.Now()))
	}
	if r := s.Retention; r != nil {
		row("", "%s", r.SpaceWords())
		row("retention", "%s", r.Words(time.Now()))
		if words := r.OldestWords(); words != "" {
			row("", "%s", words)
		}
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		words := n.Name + " " + n.Words()
		if !n.Alive {
			words = string(c.Paint(c.Out, "33", words))
		}
		row([]string{"nodes", ""}[min(i, 1)], "%s", words)
	}
	for _, h := range s.Holds {
		if h.Kind == messaging.HoldReleased { // nothing needs to be done, and somebody may wonder
			row(h.State(), "%s", c.Paint(c.Out, "33", h.Words()))
		}
	}
	deferred := ""
	if s.Deferred > 0 {
		deferred = fmt.Sprintf(", %d of them put off by a rule", s.Deferred)
	}
	row("waiting", "%d%s", s.Waiting, deferred)
	if s.Overdue != "" {
		row("", "%s", c.Paint(c.Out, "33", "the oldest is "+s.Overdue+" past its time"))
	}
	row("sending", "%d", s.Sending)
	row("in doubt", "%d", s.InDoubt)
	first := func(name string, i int, words string) {
		if i > 0 {
			name = ""
		}
		if i < mostShown {
			row(name, "%s", c.Paint(c.Out, "33", words))
		}
	}
	for i := range s.Redactions {
		first("to decide", i, s.Redactions[i].Words())
	}
	for i := range s.Forgetting {
		first("forgetting", i, s.Forgetting[i].Words())
	}
	if s.ForgettingRest != "" {
		row("forgetting", "%s", c.Paint(c.Out, "33", s.ForgettingRest))
	}
	row("tracking", "%d", s.Tracking)
	for i, v := range s.Rejected {
		first("rejected", i, v.Words())
	}
	if s.Lookups > 0 {
		row("look-ups", "%s", lookupsWait(s.Lookups))
	}
	for _, group := range totalGroups {
		var parts []string
		for _, t := range group.totals {
			if n := s.Counts[t.counter]; n > 0 || len(parts) == 0 {
				parts = append(parts, fmt.Sprintf("%d %s", n, t.word))
			}
		}
		row(group.name, "%s", strings.Join(parts, ", "))
	}
	var rules []string
	for _, one := range s.Rules {
		rules = append(rules, fmt.Sprintf("%d %s by %s", one.Times, one.Action, one.Rule))
	}
	if len(rules) > 0 {
		row("rules", "%s", strings.Join(rules, ", "))
	}
}

// guessedWords say how often a contact's zone and language were not known.
func guessedWords(d *server.DaemonView) (out []string) {
	if d.Guessed > 0 {
		out = append(out, "a contact's time zone was not known, and a default was taken, "+units.Count(d.Guessed, "time")+" since the start: see docs/when.md")
	}
	if d.Languages > 0 {
		out = append(out, "a contact's language was not known, and the number's or a default was taken, "+units.Count(d.Languages, "time")+" since the start: see docs/connectors/own.md")
	}
	return out
}

// mostShown is how many reasons are shown.
const mostShown = 5

// totalGroups are the counters as status shows them: the first of each line always, the
// others when they are not 0.
var totalGroups = []struct {
	name   string
	totals []struct{ counter, word string }
}{
	{"events", []struct{ counter, word string }{
		{"events", "stored"}, {"events_duplicate", "came again"}, {"requests_rejected", "requests rejected"},
	}},
	{"decisions", []struct{ counter, word string }{
		{"decisions_planned", "planned"},
		{"decisions_restarted", "restarted"},
		{"decisions_skipped", "skipped"},
		{"decisions_cancelled", "cancelled"},
		{"decisions_cancelling", "cancelling"},
		{"decisions_shadowed", "shadowed"},
		{"decisions_confirmed", "steps confirmed"},
		{"decisions_blocked", "opted out"},
		{"decisions_allowed", "opted in again"},
	}},
	{"messages", []struct{ counter, word string }{
		{"messages_accepted", "accepted"},
		{"messages_rejected", "rejected"},
		{"messages_in_doubt", "came in doubt"},
		{"messages_cancelled", "cancelled"},
		{"messages_dropped", "dropped"},
		{"attempts_again", "attempts again"},
	}},
	{"statuses", []struct{ counter, word string }{
		{"messages_delivered", "delivered"},
		{"messages_read", "read"},
		{"messages_failed", "failed"},
		{"messages_expired", "expired"},
		{"messages_untracked", "untracked"},
	}},
}

func lookupsWait(n int64) string {
	if n == 1 {
		return "1 event waits for a look-up"
	}
	return units.Number(n) + " events wait for look-ups"
}
