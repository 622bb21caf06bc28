package contacts

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

func (c commands) contactsRedactions() *cobra.Command {
	cmd := &cobra.Command{
		Use: "redactions", Short: "Connectors all of which is asked to be forgotten: a person does it or refuses it", Args: cobra.NoArgs,
		Long: `redactions lists the senders that asked for all that came by them to be forgotten, such as a shop
that was uninstalled (shop/redact). Nobody carries that out but a person:

  nudgewire contacts redactions do CONNECTOR       forgets all that came by it, which cannot be undone
  nudgewire contacts redactions refuse CONNECTOR   keeps it; whoever waited gets its messages again

Until then its contacts get no marketing. Utility and codes go on.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.WithReader(cmd.Context(), func(ask *server.Client) error {
				rows, err := server.ListRedactions.Call(cmd.Context(), ask, server.None{})
				if err != nil {
					return err
				}
				return terminal.List(c.CLI, rows, exit.Fail(exit.Nothing, "", "no connector asks for all that came by it to be forgotten"), "CONNECTOR | SINCE | CONTACTS | EVENTS | BY EVENT", func(r privacy.RedactionView) []string {
					return []string{r.Connector, c.Clock(r.Since), units.Number(r.Contacts), units.Number(r.Events), strconv.FormatInt(int64(r.Event), 10)}
				})
			})
		},
	}
	cmd.AddCommand(
		c.decideRedaction("do", "Forget all that came by a connector, as it asks: it cannot be undone", server.CarryOutRedaction),
		c.decideRedaction("refuse", "Keep what came by a connector: marketing to its contacts goes on", server.RefuseRedaction),
	)
	return cmd
}

func (c commands) decideRedaction(name, short string, decide *server.Operation[string, privacy.RedactionView]) *cobra.Command {
	carryOut := decide == server.CarryOutRedaction
	return &cobra.Command{
		Use: name + " CONNECTOR", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.WithDaemon(func(ask *server.Client) error {
				open, err := server.ListRedactions.Call(cmd.Context(), ask, server.None{})
				if err != nil {
					return err
				}
				at := slices.IndexFunc(open, func(r privacy.RedactionView) bool { return r.Connector == args[0] })
				if at < 0 {
					return exit.Fail(exit.Nothing, `"nudgewire contacts redactions" shows those that are open`, "no request to forget all that came by %q is open", args[0])
				}
				about := fmt.Sprintf("%s of %s", units.Count(open[at].Events, "event"), units.Count(open[at].Contacts, "contact"))
				if carryOut {
					if err := c.Confirm(fmt.Sprintf("Forget all that came by %s for good, %s?", args[0], about)); err != nil {
						return err
					}
				}
				v, err := decide.Call(cmd.Context(), ask, args[0])
				if err != nil {
					return err
				}
				switch {
				case c.JSON:
					return c.Print(v)
				case carryOut:
					c.Say("all that came by %s is being forgotten, %s; status says how far it is\n", v.Connector, about)
					c.Note("%s", untouched)
				default:
					c.Say("refused: what came by %s stays, and marketing to its contacts goes on\n", v.Connector)
				}
				return nil
			})
		},
	}
}
