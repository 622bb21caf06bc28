package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nudgewire/nudgewire/internal/nearest"
)

// streams are the program's ends. out carries data, err words.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// A cli is what every command shares: the streams and the global flags.
type cli struct {
	streams
	config  string
	server  string // address of a daemon's console; "" asks that of this machine
	json    bool
	quiet   bool
	noColor bool
	yes     bool

	zone *time.Location // once it was asked for; see location
}

// execute runs one command line and returns its exit status.
func execute(ctx context.Context, s streams, args []string) int {
	c := &cli{streams: s}
	root := c.root()
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	return report(s.err, c.explained(ctx, root.ExecuteContext(ctx)))
}

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "nudgewire",
		Short: "What happens in your shop or CRM, as messages on a phone",
		Long: `nudgewire takes webhooks from shops and CRMs, decides by rules written in YAML who gets
which message and when, sends each one once through a messaging service, and follows it
until it is delivered. It can always say why a message was sent, or was not.

Start with "nudgewire demo": it needs nothing.

Exit status: ` + exitWords() + ".",
		SilenceErrors: true, SilenceUsage: true,
		Version:                    versionText(),
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
			return fail(exitUsage, hint, "unknown command %q", args[0])
		},
	}
	root.SetVersionTemplate("nudgewire {{.Version}}\n")
	flags := root.PersistentFlags()
	flags.StringVarP(&c.config, "config", "c", envOr("NUDGEWIRE_CONFIG", usualConfig()), "config file (NUDGEWIRE_CONFIG)")
	flags.StringVar(&c.server, "server", "", "ask the daemon elsewhere whose console has this address, with the token in NUDGEWIRE_TOKEN")
	flags.BoolVar(&c.json, "json", false, "one JSON object a line on standard output")
	flags.BoolVarP(&c.quiet, "quiet", "q", false, "only data and errors")
	flags.BoolVar(&c.noColor, "no-color", false, "no colour (NO_COLOR does the same)")
	flags.BoolVarP(&c.yes, "yes", "y", false, "do not ask")
	root.PersistentPreRunE = c.serverFits
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		c.demo(), c.initCommand(), c.check(), c.try(), c.test(), c.simulate(), c.serve(), c.reload(), c.status(), c.report(), c.console(), c.why(),
		c.events(), c.messages(), c.jobs(), c.contacts(), c.errorsCommand(), c.triggers(), c.trigger(), c.sign(), c.send(), c.halt(), c.resume(), c.backup(), c.restore(), c.review(), c.sandbox(),
		c.connectors(), c.alerts(), c.webhooks(), c.token(), c.user(), c.audit(), c.doctor(), c.compact(), c.storeCommand(),
		c.schema(), c.man(), c.configCommand(), c.version(),
	)
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
	c.complete(root)
	return root
}

// helpTopic refuses help about what is no command.
func helpTopic(cmd *cobra.Command, args []string) error {
	if _, rest, err := cmd.Root().Find(args); err != nil || len(rest) > 0 {
		return fail(exitUsage, `"nudgewire help" lists the commands`, "there is no command %q", strings.Join(args, " "))
	}
	return nil
}

// usageErrors gives wrong arguments the exit status of usage, in every command below cmd.
func usageErrors(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return fail(exitUsage, "usage: "+cmd.UseLine(), "%w", err)
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
	return fail(exitUsage, hint, "%w", err)
}

const (
	ownConfig       = "config.yaml"                // of the folder in which a command runs
	installedConfig = "/etc/nudgewire/config.yaml" // of a daemon that a package installed
)

// usualConfig is the config of this folder or, where there is none, that of the daemon that a package installed.
func usualConfig() string {
	if _, err := os.Stat(ownConfig); errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat(installedConfig); err == nil {
			return installedConfig
		}
	}
	return ownConfig
}

func envOr(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

// note prints words for people, unless they asked for quiet.
func (c *cli) note(format string, args ...any) {
	if !c.quiet {
		c.warn(format+"\n", args...)
	}
}

// confirm asks before something that cannot be taken back. Without a terminal the answer
// is no, and --yes is the way to say yes.
func (c *cli) confirm(question string) error {
	if c.yes {
		return nil
	}
	if !isTerminal(c.in) {
		return fail(exitUsage, "add --yes to go ahead", "%s", question)
	}
	c.warn("%s [y/N] ", question)
	var answer string
	if _, err := fmt.Fscanln(c.in, &answer); err != nil && !errors.Is(err, io.EOF) && err.Error() != "unexpected newline" {
		return fmt.Errorf("read the answer: %w", err)
	}
	if a := strings.ToLower(answer); a != "y" && a != "yes" {
		return fail(exitFailed, "", "nothing was changed")
	}
	return nil
}
