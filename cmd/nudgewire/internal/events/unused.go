package events

import (
	"cmp"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

func (c commands) eventsUnused() *cobra.Command {
	return &cobra.Command{
		Use: "unused", Short: "What was taken and came to nothing: without a kind, a phone, or anybody to block", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ask, done, err := c.Reader(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			all, err := server.ListUnused.Call(cmd.Context(), ask, server.None{})
			if err != nil {
				return err
			}
			return terminal.List(c.CLI, all, exit.Fail(exit.Nothing, "", "nothing came to nothing"), "CONNECTOR | WHY | KIND | COUNT | SINCE | EVENT", func(u server.UnusedView) []string {
				event := "-"
				if u.Event > 0 {
					event = strconv.FormatInt(int64(u.Event), 10)
				}
				return []string{u.Connector, string(u.Why), cmp.Or(u.Kind, "-"), units.Number(u.Count), c.Clock(u.Since), event}
			})
		},
	}
}

func (c commands) eventsSeen() *cobra.Command {
	return &cobra.Command{
		Use: "seen [CONNECTOR]", Short: "Say that you have seen to what came to nothing, of a connector or of all: it is counted anew", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			connector := ""
			if len(args) > 0 {
				connector = args[0]
			}
			return c.WithDaemon(func(ask *server.Client) error {
				ended, err := server.EndUnused.Call(cmd.Context(), ask, server.UnusedRequest{Connector: connector})
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(ended)
				}
				for i := range ended {
					c.Say("%s\n", ended[i].Words())
				}
				c.Say("seen; what comes from now on is counted anew\n")
				return nil
			})
		},
	}
}
