package access

import (
	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
)

func (c commands) console() *cobra.Command {
	var r signin.LinkRequest
	cmd := &cobra.Command{
		Use: "console", Short: "A link to the console in the browser, which signs in once",
		Long: `console asks the running daemon for a link that signs you in to its pages in the browser
(console.listen). The link works once, for ten minutes. The session that it begins ends when you
sign out, after twelve hours without a look, and after a week. Unless --role says less, it may do
everything. For people who come often: nudgewire user add.`,
		Example: "  nudgewire console\n  nudgewire console --role viewer      # for somebody who looks, and need not see phones",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if r.Role != "" {
				if err := access.CheckRole(r.Role); err != nil {
					return err
				}
			}
			return c.WithDaemon(func(ask *server.Client) error {
				made, err := server.LinkToConsole.Call(cmd.Context(), ask, r)
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(made)
				}
				c.Say("%s\n", made.URL)
				c.Note("it works once, until %s", c.Clock(made.Until))
				return nil
			})
		},
	}
	cmd.Flags().StringVar((*string)(&r.Role), "role", "", "what whoever signs in by it may do: viewer, operator or admin")
	cmd.Flags().BoolVar(&r.Masked, "masked", false, "the same as --role viewer: no whole phones")
	return cmd
}
