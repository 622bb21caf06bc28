package jobs

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

func (c commands) jobsResolve() *cobra.Command {
	var as, reason string
	cmd := &cobra.Command{
		Use: "resolve RUN PART --as accepted|resend", Short: "Say what became of a part in doubt", Args: cobra.ExactArgs(2),
		Long: `A part is in doubt when it was uploaded and no readable answer came back: the service may have
its campaign or not, and offers no way to ask. After a restoration all parts are that the copy does
not know as taken: whoever had the data may have uploaded them, or rows of them. Look for it among the campaigns on the service's
own pages, then say which it was:
  accepted  it is there; nothing is sent
  resend    it is not; upload it again, and let the run go on
Your name and your word are kept with the part.`,
		Example: "  nudgewire jobs resolve 12 3 --as accepted --reason 'campaign 417 on the dashboard'",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := runID(args[0])
			if err != nil {
				return err
			}
			number, err := strconv.Atoi(args[1])
			if err != nil || number < 1 {
				return exit.Fail(exit.Usage, fmt.Sprintf(`"nudgewire jobs show %d" shows the parts`, id), "%q is not a part's number", args[1])
			}
			how := messaging.Resolution(as)
			if how != messaging.ResolveAccepted && how != messaging.ResolveResend {
				return exit.Fail(exit.Usage, "", "--as %q: want accepted or resend", as)
			}
			return c.WithDaemon(func(ask *server.Client) error {
				r, err := server.ShowRun.Call(cmd.Context(), ask, id)
				if err != nil {
					return err
				}
				if err := c.Confirm(resolveQuestion(r, number, how)); err != nil {
					return err
				}
				if r, err = server.ResolvePart.Call(cmd.Context(), ask, server.PartWord{Run: id, Part: number, As: how, Reason: reason}); err != nil {
					return err
				}
				return c.ran(r)
			})
		},
	}
	cmd.Flags().StringVar(&as, "as", "", "accepted or resend")
	cmd.Flags().StringVar(&reason, "reason", "", "how you know, for the record")
	return cmd
}

// resolveQuestion says what happens, and what if the person is wrong.
func resolveQuestion(r server.RunView, number int, how messaging.Resolution) string {
	rows := ""
	for _, p := range r.Parts {
		if p.Number == number {
			rows = ", " + units.Count(p.Rows, "row")
		}
	}
	what := fmt.Sprintf("part %d of run %d of %s%s", number, r.ID, r.Job, rows)
	if how == messaging.ResolveResend {
		return "Upload " + what + ", again? If it did arrive, everybody on it gets the message twice."
	}
	return "Count " + what + ", as accepted? If it did not arrive, nobody on it gets the message, and nothing will tell."
}
