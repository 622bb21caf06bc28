package messages

import (
	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/story"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/server"
)

func (c commands) why() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "why PHONE", Short: "The whole story of a phone: what arrived, what was decided and why, what became of it",
		Long: `why tells everything that is known about a phone, oldest first: each event, what each
trigger that listens to it said clause by clause, each row of a job that delivers message by
message, each row that a run excluded and why, and what became of each message, attempt by attempt.
It tells of messages that were not sent, too.

What ended long ago is not found: its phone is masked (retention.phones).
Excluded rows are known as long as the files of their run are kept (retention.lists), and
a cell that is no phone is found as it stands in the list: nudgewire why "12". So are the rows of files
that were uploaded.`,
		Example: "  nudgewire why +447700900123\n  nudgewire why 447700900123 --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ask, done, err := c.Reader(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			stories, err := server.Why.Call(cmd.Context(), ask, server.ListQuery{Phone: args[0], Limit: limit})
			if err != nil {
				return err
			}
			if c.JSON {
				return terminal.PrintAll(c.CLI, stories)
			}
			for i, s := range stories {
				if i > 0 && s.Note == "" {
					c.Say("\n")
				}
				story.TellStory(c.CLI, s)
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "most events and rows, the newest kept")
	return cmd
}
