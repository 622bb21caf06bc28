package messages

import (
	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/server"
)

func (c commands) messagesExport() *cobra.Command {
	var f terminal.ExportFlags
	cmd := &cobra.Command{
		Use: "export", Short: "All messages with what became of them, as CSV or JSON lines, the newest first", Args: cobra.NoArgs,
		Long: `export writes all messages that match, the newest first. Cells that a spreadsheet would take for a
formula begin with an apostrophe.`,
		Example: "  nudgewire messages export --since 30d --state failed -o failed.csv\n  nudgewire messages export --trigger abandoned-cart --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.ExportList(cmd, &f, "message", func(ask *server.Client, q server.ListQuery, to *terminal.Export) error {
				return server.ExportMessages.Each(cmd.Context(), ask, q, func(v *server.MessageView) error { return to.Put(v, server.MessageHead, v.Cells()) })
			})
		},
	}
	f.Add(cmd)
	cmd.Flags().StringVar(&f.Q.State, "state", "", "only in this state, as in messages list")
	cmd.Flags().StringVar(&f.Q.Trigger, "trigger", "", "only of this trigger")
	cmd.Flags().StringVar(&f.Q.Account, "account", "", "only by this account: a name under accounts, or api")
	return cmd
}
