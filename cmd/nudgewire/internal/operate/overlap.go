package operate

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

func (c commands) overlap() *cobra.Command {
	var last string
	cmd := &cobra.Command{
		Use: "overlap", Short: "Which triggers and jobs reached the same people within a day", Args: cobra.NoArgs,
		Long: `overlap counts, for each two triggers or jobs, the people whom both reached within 24 hours, and how often. "share" is how many that are of those
whom the smaller of the two reached. A limit for each contact keeps people from being messaged so often (docs/when.md).`,
		Example: "  nudgewire overlap\n  nudgewire overlap --last 7d --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			since, err := terminal.ParseSince(last, c.Now())
			if err != nil {
				return err
			}
			return c.WithReader(cmd.Context(), func(ask *server.Client) error {
				_, end := c.Working("looking at what was sent")
				all, err := server.ShowOverlap.Call(cmd.Context(), ask, report.OverlapQuery{Since: since})
				if end(); err != nil {
					return err
				}
				nothing := exit.Fail(exit.Nothing, "", "nobody was reached by two of them within a day")
				return terminal.List(c.CLI, all, nothing, "one | other | people | share | times", func(v report.OverlapView) []string {
					return []string{v.A, v.B, units.Number(v.People), fmt.Sprintf("%d %%", v.People*100/max(v.Of, 1)), units.Number(v.Times)}
				})
			})
		},
	}
	cmd.Flags().StringVar(&last, "last", "30d", "messages of so long ago (30d), or from a date on")
	return cmd
}
