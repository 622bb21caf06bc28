package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

// exportFlags are those of the exports of lists.
type exportFlags struct {
	since, until, file string
	csv                bool
	q                  server.ListQuery
}

func (f *exportFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.since, "since", "", "only from this long ago (2h, 3d) or this date on")
	cmd.Flags().StringVar(&f.until, "until", "", "only before this long ago or this date")
	cmd.Flags().StringVarP(&f.file, "output", "o", "", "write to this file; it appears once it is whole")
	cmd.Flags().BoolVar(&f.csv, "csv", false, "as CSV, which it is unless you say --json")
	cmd.Flags().StringVar(&f.q.Phone, "phone", "", "only of this phone")
}

// exportList writes what all gives, one after the other.
func (c *cli) exportList(cmd *cobra.Command, f *exportFlags, what string, all func(*server.Client, server.ListQuery, *export) error) error {
	if f.csv && c.json {
		return fail(exitUsage, "", "--csv and --json cannot be together: keep one of them")
	}
	q := f.q
	var err error
	if q.Since, err = parseSince(f.since, c.now()); err != nil {
		return err
	}
	if q.Until, err = parseSince(f.until, c.now()); err != nil {
		return fail(exitUsage, "", "--until %q: want a duration such as 2h or 3d, or a date such as 2026-11-20", f.until)
	}
	return c.withReader(cmd.Context(), func(ask *server.Client) error {
		to, err := c.openExport(f.file)
		if err != nil {
			return err
		}
		err = all(ask, q, to)
		if err = errors.Join(err, to.close(err == nil)); err != nil {
			return err
		}
		if to.rows == 0 {
			return fail(exitNothing, "", "no %ss", what)
		}
		if to.name != "" {
			c.note("%s in %s", units.Count(to.rows, what), to.name)
		}
		return nil
	})
}

func (c *cli) eventsExport() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use: "export", Short: "All events with what each trigger said, as CSV or JSON lines, the newest first", Args: cobra.NoArgs,
		Long: `export writes all events that match, the newest first. As CSV an event has a row for each trigger
that said something to it. Cells that a spreadsheet would take for a formula begin with an apostrophe.
What webhooks carried is in events show alone.`,
		Example: "  nudgewire events export --since 7d -o events.csv\n  nudgewire events export --kind order.created --json | jq .phone",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.exportList(cmd, &f, "event", func(ask *server.Client, q server.ListQuery, to *export) error {
				return ask.ExportEvents(cmd.Context(), q, func(v *server.EventView) error { return to.putOne(v, server.EventHead, v.Cells()) })
			})
		},
	}
	f.add(cmd)
	eventFlags(cmd, &f.q)
	return cmd
}

func (c *cli) messagesExport() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use: "export", Short: "All messages with what became of them, as CSV or JSON lines, the newest first", Args: cobra.NoArgs,
		Long: `export writes all messages that match, the newest first. Cells that a spreadsheet would take for a
formula begin with an apostrophe.`,
		Example: "  nudgewire messages export --since 30d --state failed -o failed.csv\n  nudgewire messages export --trigger abandoned-cart --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.exportList(cmd, &f, "message", func(ask *server.Client, q server.ListQuery, to *export) error {
				return ask.ExportMessages(cmd.Context(), q, func(v *server.MessageView) error { return to.putOne(v, server.MessageHead, v.Cells()) })
			})
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.q.State, "state", "", "only in this state, as in messages list")
	cmd.Flags().StringVar(&f.q.Trigger, "trigger", "", "only of this trigger")
	cmd.Flags().StringVar(&f.q.Account, "account", "", "only by this account: a name under accounts, or api")
	return cmd
}
