package operate

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/internal/alerts"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

func (c commands) alerts() *cobra.Command {
	cmd := &cobra.Command{
		Use: "alerts", Short: "What is wrong at present, who was told, and who could not be told", Args: cobra.NoArgs,
		Long: `alerts lists what was told to the receivers under alerts: in the config and lasts, what ended within a week,
and how each receiver was reached last. docs/alert-names.md says of each alert what to do.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.WithReader(cmd.Context(), func(ask *server.Client) error {
				v, err := server.ShowAlerts.Call(cmd.Context(), ask, server.None{})
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(v)
				}
				c.printAlerts(&v)
				return nil
			})
		},
	}
	cmd.AddCommand(c.alertsTest())
	return cmd
}

func (c commands) alertsTest() *cobra.Command {
	return &cobra.Command{
		Use: "test [RECEIVER]", Short: "Send a test to a receiver of alerts, or to all of them", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			return c.WithDaemon(func(ask *server.Client) error {
				tested, err := server.TestAlerts.Call(cmd.Context(), ask, server.TestRequest{Name: name})
				if err != nil {
					return err
				}
				return c.tellTested(tested)
			})
		},
	}
}

func (c commands) tellTested(tested []alerts.Tested) error {
	failed := 0
	for _, one := range tested {
		if one.Error != "" {
			failed++
		}
		switch {
		case c.JSON:
			if err := c.Print(one); err != nil {
				return err
			}
		case one.Error != "":
			c.Say("%s  %s: %s\n", c.Paint(c.Out, "31", "failed "), one.Name, one.Error)
		default:
			c.Say("%s  %s\n", c.Paint(c.Out, "32", "reached"), one.Name)
		}
	}
	switch {
	case len(tested) == 0:
		c.Note("no receivers: write alerts: in the config (docs/alerts.md)")
		return exit.Silent(exit.Nothing)
	case failed > 0:
		c.Note("%d of %s could not be reached", failed, units.Count(len(tested), "receiver"))
		return exit.Silent(exit.Failed)
	}
	return nil
}

func (c commands) printAlerts(v *alerts.View) {
	now := time.Now()
	lasting := 0
	for i := range v.Alerts {
		a := &v.Alerts[i]
		if !a.EndedAt.IsZero() {
			continue
		}
		lasting++
		c.Say("%s  since %s, for %s: %s\n", c.Paint(c.Out, "31", string(a.Code)), c.Clock(a.Since), units.Brief(now.Sub(a.Since)), a.Words)
		if a.Hint != "" {
			c.Say("  what to do: %s\n", a.Hint)
		}
		told := "told"
		if a.Waiting {
			told = "still to be told"
		}
		c.Say("  %s to %s (when: %s)\n", told, a.Receiver, a.Condition)
	}
	if lasting == 0 {
		c.Say("no alert lasts\n")
	}
	for i := range v.Alerts {
		if a := &v.Alerts[i]; !a.EndedAt.IsZero() {
			c.Say("over   %s, after %s: %s (%s)\n", c.Clock(a.EndedAt), units.Brief(a.EndedAt.Sub(a.Since)), a.Words, a.Receiver)
		}
	}
	for i := range v.Receivers {
		c.Say("%s\n", c.receiver(&v.Receivers[i], now))
	}
	if len(v.Receivers) == 0 {
		c.Note("nobody is told: write alerts: in the config (docs/alerts.md)")
	}
}

// receiver is how it goes with a receiver, in a line.
func (c commands) receiver(r *alerts.ReceiverView, now time.Time) string {
	words := "receiver " + r.Name + ": "
	switch {
	case !r.FailingSince.IsZero():
		words += fmt.Sprintf("not reached since %s (%s ago): %s", c.Clock(r.FailingSince), units.Brief(now.Sub(r.FailingSince)), r.LastError)
	case !r.DeliveredAt.IsZero():
		words += "reached last at " + c.Clock(r.DeliveredAt)
	default:
		words += "was told nothing yet; nudgewire alerts test tries it"
	}
	if r.Waiting > 0 {
		words += "; " + units.Count(r.Waiting, "message") + " to be told"
	}
	return words
}
