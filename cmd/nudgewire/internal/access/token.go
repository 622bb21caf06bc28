package access

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
	"github.com/nudgewire/nudgewire/internal/units"
)

func (c commands) token() *cobra.Command {
	cmd := &cobra.Command{
		Use: "token", Short: "Tokens that let programs use the HTTP API", Args: cobra.NoArgs,
		Long: `token is about who may use the API at console.listen. A token has scopes: read, phones, send, operate, contacts,
admin. docs/api.md says what each of them lets do.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.tokenCreate(), c.tokenList(), c.tokenRevoke())
	return cmd
}

// tokenLasts is how long a token is good unless said.
const tokenLasts = "90d"

func (c commands) tokenCreate() *cobra.Command {
	var scopes []string
	var expires string
	cmd := &cobra.Command{
		Use: "create NAME --scope SCOPE,…", Short: "Make a token, and print it once", Args: cobra.ExactArgs(1),
		Long: `create prints the token on standard output, and nothing else there. It is kept nowhere: who loses it makes another one.
The name says in the audit who did something.`,
		Example: "  nudgewire token create crm --scope send --expires 1y\n  nudgewire token create dashboard --scope read",
		RunE: func(cmd *cobra.Command, args []string) error {
			in := signin.TokenRequest{Name: args[0]}
			for _, s := range scopes {
				in.Scopes = append(in.Scopes, access.Scope(strings.TrimSpace(s)))
			}
			if _, err := signin.CheckScopes(in.Scopes); err != nil {
				return err
			}
			var err error
			if in.ExpiresAt, err = parseExpires(expires, time.Now()); err != nil {
				return err
			}
			return c.WithDaemon(func(ask *server.Client) error {
				v, err := server.CreateToken.Call(cmd.Context(), ask, in)
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(v)
				}
				ends := "never"
				if !v.ExpiresAt.IsZero() {
					ends = c.Clock(v.ExpiresAt)
				}
				c.Note("token %s of %s (%s), until %s; it is not shown again", v.ID, v.Name, scopeWords(v.Scopes), ends)
				c.Say("%s\n", v.Token)
				return nil
			})
		},
	}
	cmd.Flags().StringSliceVar(&scopes, "scope", nil, "what it lets do: read, phones, send, operate, contacts, admin")
	cmd.Flags().StringVar(&expires, "expires", tokenLasts, "how long it is good: a duration such as 90d, or never")
	return cmd
}

// parseExpires reads --expires; the zero time is never.
func parseExpires(text string, now time.Time) (time.Time, error) {
	if text == "never" {
		return time.Time{}, nil
	}
	d, err := units.ParseDuration(text)
	if err != nil || d <= 0 {
		return time.Time{}, exit.Fail(exit.Usage, "", "--expires %q: want a duration such as 90d or 1y, or never", text)
	}
	return now.Add(d.D()).UTC().Truncate(time.Second), nil
}

func scopeWords(scopes []access.Scope) string {
	out := make([]string, len(scopes))
	for i, s := range scopes {
		out[i] = string(s)
	}
	return strings.Join(out, ", ")
}

func (c commands) tokenList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "Each token: what it lets do, until when, when it was used", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.WithReader(cmd.Context(), func(ask *server.Client) error {
				rows, err := server.ListTokens.Call(cmd.Context(), ask, server.None{})
				if err != nil {
					return err
				}
				return terminal.List(c.CLI, rows, exit.Fail(exit.Nothing, "nudgewire token create makes one", "there are no tokens"), "ID | NAME | SCOPES | STATE | EXPIRES | LAST USED | MADE BY", func(t signin.TokenView) []string {
					return []string{t.ID, t.Name, scopeWords(t.Scopes), t.State, c.ClockOrNever(t.ExpiresAt), c.ClockOrNever(t.UsedAt), t.CreatedBy}
				})
			})
		},
	}
}

func (c commands) tokenRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID|NAME", Short: "End a token at once, for good", Args: cobra.ExactArgs(1),
		Long: `revoke ends a token on every node: the next request with it is answered 401. A request that is under way is
carried out.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.WithDaemon(func(ask *server.Client) error {
				v, err := server.RevokeToken.Call(cmd.Context(), ask, args[0])
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(v)
				}
				c.Note("token %s of %s is revoked", v.ID, v.Name)
				return nil
			})
		},
	}
}
