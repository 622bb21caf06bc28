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

func (c commands) webhooks() *cobra.Command {
	cmd := &cobra.Command{
		Use: "webhooks", Short: "Webhooks out: what your own systems are told of messages",
		Long: `webhooks is about the receivers under webhooks_out: in the config. docs/webhooks-out.md says what they
get and how they verify it.`,
	}
	cmd.AddCommand(c.webhooksList(), c.webhooksReplay(), c.webhooksTest())
	return cmd
}

func (c commands) webhooksList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "Each receiver: what waits, what failed, what was given up", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.WithReader(cmd.Context(), func(ask *server.Client) error {
				rows, err := server.ListReceivers.Call(cmd.Context(), ask, server.None{})
				if err != nil {
					return err
				}
				now := time.Now()
				none := exit.Fail(exit.Nothing, "write webhooks_out: in the config (docs/webhooks-out.md)", "there are no receivers of webhooks")
				return terminal.List(c.CLI, rows, none, "RECEIVER | LAST DELIVERED | STATE", func(r server.ReceiverView) []string {
					last := "-"
					if !r.DeliveredAt.IsZero() {
						last = c.Clock(r.DeliveredAt)
					}
					return []string{r.Name, last, r.Words(now)}
				})
			})
		},
	}
}

func (c commands) webhooksReplay() *cobra.Command {
	var since string
	var message int64
	var givenUp, dryRun bool
	cmd := &cobra.Command{
		Use: "replay RECEIVER --since 2d | --message N | --given-up", Short: "Send a receiver again what it was told, or did not take", Args: cobra.ExactArgs(1),
		Long: `replay sends webhooks again that were delivered or given up, in their order and with the ids that they had: a
receiver that knows an id already can pass over it. It counts them and asks. What still waits follows by itself.
They are kept as long as retention.webhooks_out says.`,
		Example: "  nudgewire webhooks replay crm --given-up\n  nudgewire webhooks replay crm --since 6h --dry-run\n  nudgewire webhooks replay crm --message 1042",
		RunE: func(cmd *cobra.Command, args []string) error {
			in := server.ReplayRequest{Receiver: args[0], Message: messaging.MessageID(message), GivenUp: givenUp, DryRun: true}
			var err error
			switch {
			case since == "" && !cmd.Flags().Changed("message") && !givenUp:
				return exit.Fail(exit.Usage, "add --since 2d, --message N or --given-up", "say what is to be sent again")
			case cmd.Flags().Changed("message") && message < 1:
				return exit.Fail(exit.Usage, `"nudgewire messages list" shows them`, "%d is not the number of a message", message)
			}
			if in.Since, err = terminal.ParseSince(since, time.Now()); err != nil {
				return err
			}
			return c.WithDaemon(func(ask *server.Client) error {
				found, err := server.ReplayWebhooks.Call(cmd.Context(), ask, in)
				if err != nil {
					return err
				}
				switch {
				case found.Count == 0:
					return exit.Fail(exit.Nothing, "what still waits follows by itself; what is older than retention.webhooks_out is gone", "nothing matches that was delivered or given up")
				case dryRun && c.JSON:
					return c.Print(found)
				case dryRun:
					c.Say("%s\n", units.Count(found.Count, "webhook"))
					return nil
				}
				if err := c.Confirm(fmt.Sprintf("Send %s to %s again?", units.Count(found.Count, "webhook"), args[0])); err != nil {
					return err
				}
				in.DryRun = false
				done, err := server.ReplayWebhooks.Call(cmd.Context(), ask, in)
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(done)
				}
				c.Say("%s to %s\n", units.Count(done.Count, "webhook")+" on the way", args[0])
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "what changed from this long ago (2h, 3d) or this date on")
	cmd.Flags().Int64Var(&message, "message", 0, "what changed about this message")
	cmd.Flags().BoolVar(&givenUp, "given-up", false, "only what was given up")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "count, and send nothing")
	return cmd
}

func (c commands) webhooksTest() *cobra.Command {
	return &cobra.Command{
		Use: "test RECEIVER", Short: "Post a signed test to a receiver", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.WithDaemon(func(ask *server.Client) error {
				tested, err := server.TestReceiver.Call(cmd.Context(), ask, server.ReceiverTest{Receiver: args[0]})
				switch {
				case err != nil:
					return err
				case c.JSON:
					err = c.Print(tested)
				case tested.Error == "":
					c.Say("%s took it\n", tested.Receiver)
				default:
					c.Say("%s did not take it: %s\n", tested.Receiver, strings.TrimSpace(tested.Error))
				}
				if err == nil && tested.Error != "" {
					return exit.Silent(exit.Failed)
				}
				return err
			})
		},
	}
}
