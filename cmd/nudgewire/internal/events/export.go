package events

import (
	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/server"
)

func (c commands) eventsExport() *cobra.Command {
	var f terminal.ExportFlags
	cmd := &cobra.Command{
		Use: "export", Short: "All events with what each trigger said, as CSV or JSON lines, the newest first", Args: cobra.NoArgs,
		Long: `export writes all events that match, the newest first. As CSV an event has a row for each trigger
that said something to it. Cells that a spreadsheet would take for a formula begin with an apostrophe.
What webhooks carried is in events show alone.`,
		Example: "  nudgewire events export --since 7d -o events.csv\n  nudgewire events export --kind order.created --json | jq .phone",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.ExportList(cmd, &f, "event", func(ask *server.Client, q server.ListQuery, to *terminal.Export) error {
				return server.ExportEvents.Each(cmd.Context(), ask, q, func(v *server.EventView) error { return to.Put(v, server.EventHead, v.Cells()) })
			})
		},
	}
	f.Add(cmd)
	eventFlags(cmd, &f.Q)
	return cmd
}
