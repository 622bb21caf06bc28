package access

import (
	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
)

func (c commands) user() *cobra.Command {
	cmd := &cobra.Command{
		Use: "user", Short: "People who sign in to the console", Args: cobra.NoArgs,
		Long: `user is about who may sign in to the console at console.listen. A user has a role: viewer (looks, without whole
phones), operator (runs messaging, and sees phones) or admin (everything, users included). docs/sign-in.md has more.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.userAdd(), c.userList(), c.userRole(),
		c.userChange("disable", "Keep a user from signing in, and end the sessions at once", "%s is disabled, and signed out everywhere", server.DisableUser),
		c.userChange("enable", "Let a user sign in again", "%s may sign in again", server.EnableUser),
		c.userReset(),
		c.userChange("remove", "Remove a user, and end the sessions at once", "%s is removed, and signed out everywhere", server.RemoveUser))
	return cmd
}

// setupLink prints the link by which somebody chooses a password.
func (c commands) setupLink(v signin.UserView) error {
	if c.JSON {
		return c.Print(v)
	}
	c.Note("%s (%s) chooses a password by this link. It works once, until %s, and is not shown again", v.Name, v.Role, c.Clock(v.SetupUntil))
	c.Say("%s\n", v.SetupURL)
	return nil
}

func (c commands) userAdd() *cobra.Command {
	in := signin.UserRequest{Role: access.RoleViewer}
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Add a user, and print a link by which they choose a password", Args: cobra.ExactArgs(1),
		Long: `add prints the link on standard output, and nothing else there. Whoever opens it within 24 hours chooses the password,
once. It is kept nowhere: user reset makes another one.`,
		Example: "  nudgewire user add ann --role operator",
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Name = args[0]
			if err := access.CheckRole(in.Role); err != nil {
				return err
			}
			return c.WithDaemon(func(ask *server.Client) error {
				v, err := server.AddUser.Call(cmd.Context(), ask, in)
				if err != nil {
					return err
				}
				return c.setupLink(v)
			})
		},
	}
	cmd.Flags().StringVar((*string)(&in.Role), "role", string(in.Role), "what they may do: viewer, operator or admin")
	return cmd
}

func (c commands) userReset() *cobra.Command {
	return &cobra.Command{
		Use: "reset NAME", Short: "Take a password away, end the sessions, and print a new link", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.WithDaemon(func(ask *server.Client) error {
				v, err := server.ResetUser.Call(cmd.Context(), ask, args[0])
				if err != nil {
					return err
				}
				return c.setupLink(v)
			})
		},
	}
}

func (c commands) userList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "Each user: role, state, when they signed in last", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.WithReader(cmd.Context(), func(ask *server.Client) error {
				rows, err := server.ListUsers.Call(cmd.Context(), ask, server.None{})
				if err != nil {
					return err
				}
				return terminal.List(c.CLI, rows, exit.Fail(exit.Nothing, "nudgewire user add makes one", "there are no users"), "NAME | ROLE | STATE | SIGNS IN BY | SIGNED IN LAST | ADDED BY", func(u signin.UserView) []string {
					return []string{u.Name, string(u.Role), u.State, u.SignsIn, c.ClockOrNever(u.SignedInAt), u.CreatedBy}
				})
			})
		},
	}
}

func (c commands) userRole() *cobra.Command {
	return &cobra.Command{
		Use: "role NAME viewer|operator|admin", Short: "Give a user another role, at once", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			role := access.Role(args[1])
			if err := access.CheckRole(role); err != nil {
				return err
			}
			return c.changesUser("%s has another role now", func(ask *server.Client) (signin.UserView, error) {
				return server.SetRole.Call(cmd.Context(), ask, signin.RoleRequest{User: args[0], Role: role})
			})
		},
	}
}

func (c commands) userChange(use, short, said string, change *server.Operation[string, signin.UserView]) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.changesUser(said, func(ask *server.Client) (signin.UserView, error) { return change.Call(cmd.Context(), ask, args[0]) })
		},
	}
}

func (c commands) changesUser(said string, change func(*server.Client) (signin.UserView, error)) error {
	return c.WithDaemon(func(ask *server.Client) error {
		v, err := change(ask)
		if err != nil {
			return err
		}
		if c.JSON {
			return c.Print(v)
		}
		c.Note(said, v.Name)
		return nil
	})
}
