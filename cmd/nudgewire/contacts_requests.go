package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

func (c *cli) contactsRequests() *cobra.Command {
	return &cobra.Command{
		Use: "requests", Short: "Contacts who asked for what is stored about them, with the file to send", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withReader(cmd.Context(), func(ask *server.Client) error {
				rows, err := ask.DataRequests(cmd.Context())
				if err != nil {
					return err
				}
				return list(c, rows, fail(exitNothing, "", "nobody waits for their data"), "EVENT | FROM | PHONE | SINCE | FILE", func(r server.DataRequestView) []string {
					phone := "none: see the event"
					if r.Phone != "" {
						phone = r.Phone.Masked()
					}
					return []string{strconv.FormatInt(int64(r.Event), 10), orDash(r.Connector), phone, c.clock(r.Since), r.File}
				})
			})
		},
	}
}

func (c *cli) contactsAnswered() *cobra.Command {
	return &cobra.Command{
		Use: "answered EVENT", Short: "Note that a contact got its data, and remove the file", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || id < 1 {
				return fail(exitUsage, `"nudgewire contacts requests" shows them`, "%q is not the number of an event", args[0])
			}
			return c.withDaemon(func(ask *server.Client) error {
				v, err := ask.CloseDataRequest(cmd.Context(), messaging.EventID(id))
				if err != nil {
					return err
				}
				if c.json {
					return c.print(v)
				}
				c.say("the request of event %d is answered, and its file is removed\n", v.Event)
				return nil
			})
		},
	}
}
