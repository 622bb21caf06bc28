package jobs

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

func (c commands) jobsExport() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "export RUN", Short: "Every row of a run with what became of it, and the excluded rows, as CSV or JSON lines", Args: cobra.ExactArgs(1),
		Long: `export writes every row of a run: first those that it kept, in the order in which they are sent
(number), then those that it excluded, with the reason. row is the row of the list as a spreadsheet
shows it, where the column names are row 1. Phones are whole: it is your own list, so keep the file
as you keep the list.

The rows of a run that uploads files come from those files, and stand as their part stands; what
became of one message is known only where the service's answer named it with its phone. A file
that is gone or was changed is named, the others are written, and the command ends with status 1.`,
		Example: "  nudgewire jobs export 12 -o winback.csv\n  nudgewire jobs export 12 --json | jq 'select(.status == \"failed\")'",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := runID(args[0])
			if err != nil {
				return err
			}
			return c.WithReader(cmd.Context(), func(ask *server.Client) error {
				to, err := c.OpenExport(file)
				if err != nil {
					return err
				}
				err = server.ExportRows.Each(cmd.Context(), ask, id, func(r *server.RowView) error { return to.Put(r, server.RowHead, [][]string{r.Cells()}) })
				if err = errors.Join(err, to.Close(err == nil)); err != nil {
					return err
				}
				return c.exported(id, to)
			})
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to this file; it appears once it is whole")
	return cmd
}

// exported says how an export ended.
func (c commands) exported(id messaging.RunID, to *terminal.Export) error {
	if to.Rows == 0 {
		return exit.Fail(exit.Nothing, fmt.Sprintf("its counts are kept: nudgewire jobs show %d", id), "run %d has no rows, or they are not kept any more", id)
	}
	if to.Name != "" {
		c.Note("%s in %s", units.Count(to.Rows, "row"), to.Name)
	}
	return nil
}
