package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

func (c *cli) webhooks() *cobra.Command {
	cmd := &cobra.Command{
		Use: "webhooks", Short: "Webhooks out: what your own systems are told of messages",
		Long: `webhooks is about the receivers under webhooks_out: in the config. docs/webhooks-out.md says what they
get and how they verify it.`,
	}
	cmd.AddCommand(c.webhooksList(), c.webhooksReplay(), c.webhooksTest())
	return cmd
}

func (c *cli) webhooksList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "Each receiver: what waits, what failed, what was given up", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withReader(cmd.Context(), func(ask *server.Client) error {
				rows, err := ask.WebhookReceivers(cmd.Context())
				if err != nil {
					return err
				}
				now := time.Now()
				none := fail(exitNothing, "write webhooks_out: in the config (docs/webhooks-out.md)", "there are no receivers of webhooks")
				return list(c, rows, none, "RECEIVER | LAST DELIVERED | STATE", func(r server.ReceiverView) []string {
					last := "-"
					if r.DeliveredAt != nil {
						last = c.clock(*r.DeliveredAt)
					}
					return []string{r.Name, last, r.Words(now)}
				})
			})
		},
	}
}

func (c *cli) webhooksReplay() *cobra.Command {
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
				return fail(exitUsage, "add --since 2d, --message N or --given-up", "say what is to be sent again")
			case cmd.Flags().Changed("message") && message < 1:
				return fail(exitUsage, `"nudgewire messages list" shows them`, "%d is not the number of a message", message)
			}
			if in.Since, err = parseSince(since, time.Now()); err != nil {
				return err
			}
			return c.withDaemon(func(ask *server.Client) error {
				found, err := ask.ReplayWebhooks(cmd.Context(), in)
				if err != nil {
					return err
				}
				switch {
				case found.Count == 0:
					return fail(exitNothing, "what still waits follows by itself; what is older than retention.webhooks_out is gone", "nothing matches that was delivered or given up")
				case dryRun && c.json:
					return c.print(found)
				case dryRun:
					c.say("%s\n", units.Count(found.Count, "webhook"))
					return nil
				}
				if err := c.confirm(fmt.Sprintf("Send %s to %s again?", units.Count(found.Count, "webhook"), args[0])); err != nil {
					return err
				}
				in.DryRun = false
				done, err := ask.ReplayWebhooks(cmd.Context(), in)
				if err != nil {
					return err
				}
				if c.json {
					return c.print(done)
				}
				c.say("%s to %s\n", units.Count(done.Count, "webhook")+" on the way", args[0])
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

func (c *cli) webhooksTest() *cobra.Command {
	return &cobra.Command{
		Use: "test RECEIVER", Short: "Post a signed test to a receiver", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withDaemon(func(ask *server.Client) error {
				tested, err := ask.TestWebhooks(cmd.Context(), args[0])
				switch {
				case err != nil:
					return err
				case c.json:
					err = c.print(tested)
				case tested.Error == "":
					c.say("%s took it\n", tested.Receiver)
				default:
					c.say("%s did not take it: %s\n", tested.Receiver, strings.TrimSpace(tested.Error))
				}
				if err == nil && tested.Error != "" {
					return errSilent(exitFailed)
				}
				return err
			})
		},
	}
}
