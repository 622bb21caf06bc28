package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/connectors"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/contacts"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/data"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/demo"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/events"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/jobs"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/messages"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/operate"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/rules"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/setup"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/nearest"
)

// execute runs one command line and returns its exit status.
func execute(ctx context.Context, s terminal.Streams, args []string) int {
	c := &terminal.CLI{Streams: s, Version: versionText()}
	root := newRoot(c)
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	return exit.Report(s.Err, c.ExplainNoDaemon(ctx, root.ExecuteContext(ctx)))
}

func newRoot(c *terminal.CLI) *cobra.Command {
	root := &cobra.Command{
		Use:   "nudgewire",
		Short: "What happens in your shop or CRM, as messages on a phone",
		Long: `nudgewire takes webhooks from shops and CRMs, decides by rules written in YAML who gets
which message and when, sends each one once through a messaging service, and follows it
until it is delivered. It can always say why a message was sent, or was not.

Start with "nudgewire demo": it needs nothing. "nudgewire setup" begins with your own shop.

Exit status: ` + exit.Words() + ".",
		SilenceErrors: true, SilenceUsage: true,
		Version:                    c.Version,
		SuggestionsMinimumDistance: 2,
		Args:                       cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			hint := `"nudgewire help" lists the commands`
			if near := nearest.Of(args[0], commandNames(cmd)); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			return exit.Fail(exit.Usage, hint, "unknown command %q", args[0])
		},
	}
	root.SetVersionTemplate("nudgewire {{.Version}}\n")
	flags := root.PersistentFlags()
	flags.StringVarP(&c.Config, "config", "c", terminal.EnvOr("NUDGEWIRE_CONFIG", terminal.UsualConfig()), "config file (NUDGEWIRE_CONFIG)")
	flags.StringVar(&c.Server, "server", "", "ask the daemon elsewhere whose console has this address, with the token in NUDGEWIRE_TOKEN")
	flags.BoolVar(&c.JSON, "json", false, "one JSON object a line on standard output")
	flags.BoolVarP(&c.Quiet, "quiet", "q", false, "only data and errors")
	flags.BoolVar(&c.NoColor, "no-color", false, "no colour (NO_COLOR does the same)")
	flags.BoolVarP(&c.Yes, "yes", "y", false, "do not ask")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return serverFits(c, cmd) }
	root.SetFlagErrorFunc(flagError)
	for _, group := range []func(*terminal.CLI) []*cobra.Command{
		demo.Commands, rules.Commands, connectors.Commands, operate.Commands, events.Commands, messages.Commands,
		jobs.Commands, contacts.Commands, data.Commands, access.Commands, setup.Commands,
	} {
		root.AddCommand(group(c)...)
	}
	root.AddCommand(man(), version(c))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion": // what runs nothing gets help whatever it is called with
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		case "help":
			cmd.PreRunE = helpTopic
		}
		usageErrors(cmd)
	}
	addExamples(root)
	c.AddCompletion(root)
	return root
}

// helpTopic refuses help about what is no command.
func helpTopic(cmd *cobra.Command, args []string) error {
	if _, rest, err := cmd.Root().Find(args); err != nil || len(rest) > 0 {
		return exit.Fail(exit.Usage, `"nudgewire help" lists the commands`, "there is no command %q", strings.Join(args, " "))
	}
	return nil
}

// usageErrors gives wrong arguments the exit status of usage, in every command below cmd.
func usageErrors(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return exit.Fail(exit.Usage, "usage: "+cmd.UseLine(), "%w", err)
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		usageErrors(sub)
	}
}

// flagError names the nearest flag, which cobra does for commands only.
func flagError(cmd *cobra.Command, err error) error {
	hint := "usage: " + cmd.UseLine()
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		if near := nearest.Of(unknown.GetSpecifiedName(), flagNames(cmd)); near != "" {
			hint = "did you mean --" + near + "?"
		}
	}
	return exit.Fail(exit.Usage, hint, "%w", err)
}
