package contacts

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

func (c commands) contactsRequests() *cobra.Command {
	return &cobra.Command{
		Use: "requests", Short: "Contacts who asked for what is stored about them, with the file to send", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.WithReader(cmd.Context(), func(ask *server.Client) error {
				rows, err := server.ListDataRequests.Call(cmd.Context(), ask, server.None{})
				if err != nil {
					return err
				}
				return terminal.List(c.CLI, rows, exit.Fail(exit.Nothing, "", "nobody waits for their data"), "EVENT | FROM | PHONE | SINCE | FILE", func(r server.DataRequestView) []string {
					phone := "none: see the event"
					if r.Phone != "" {
						phone = r.Phone.Masked()
					}
					return []string{strconv.FormatInt(int64(r.Event), 10), terminal.OrDash(r.Connector), phone, c.Clock(r.Since), r.File}
				})
			})
		},
	}
}

func (c commands) contactsAnswered() *cobra.Command {
	return &cobra.Command{
		Use: "answered EVENT", Short: "Note that a contact got its data, and remove the file", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || id < 1 {
				return exit.Fail(exit.Usage, `"nudgewire contacts requests" shows them`, "%q is not the number of an event", args[0])
			}
			return c.WithDaemon(func(ask *server.Client) error {
				v, err := server.CloseDataRequest.Call(cmd.Context(), ask, messaging.EventID(id))
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(v)
				}
				c.Say("the request of event %d is answered, and its file is removed\n", v.Event)
				return nil
			})
		},
	}
}
