package terminal

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/examples"
	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
)

// A completer lists what may stand at a place of a command line.
type completer func(ctx context.Context) []string

// AddCompletion gives every command below cmd the names that its arguments and flags take, for shells that
// complete with Tab. What an argument is stands in the command's usage line: NAME, CONNECTOR, RUN, given|withdrawn.
func (c *CLI) AddCompletion(cmd *cobra.Command) {
	flags := map[string]completer{
		"trigger": c.triggerNames, "connector": c.connectorNames, "account": c.accountNames, "template": c.templateNames, "job": c.jobNames, "run": c.runNumbers,
		"kind": c.eventKinds, "accept": c.connectorNames, "to": c.testNumbers,
		"outcome":  wordList(server.OutcomeWords()...),
		"class":    wordList(append(words(messaging.ErrorClasses), "unknown")...),
		"category": wordList(string(messaging.Marketing), string(messaging.Utility), string(messaging.Authentication)),
		"channel":  wordList("phone", "email"),
		"recipe":   recipeNames,
		"role":     wordList(words(access.Roles)...),
		"scope":    wordList(words(access.Scopes)...),
		"by":       wordList("hour", "day"),
		"group":    wordList("trigger", "job", "template", "country", "connector", "day"),
		"method":   wordList("POST", "GET", "PUT", "PATCH", "DELETE"),
		"shape":    wordList("flat", "string", "nested", "bare"), "log-level": wordList("debug", "info", "warn", "error"), "log-format": wordList("json", "console"),
	}
	// By the word in the usage, the command's own path before it where that decides.
	arguments := map[string]completer{
		"CONNECTOR": c.connectorNames, "TRIGGER": c.triggerNames, "RUN": c.runNumbers, "VERSION": c.configVersions, "NAME|RUN": c.jobNames,
		"nudgewire jobs NAME": c.jobNames, "nudgewire triggers NAME": c.triggerNames, "nudgewire connectors NAME": c.connectorNames,
		"nudgewire user NAME": c.userNames, "nudgewire token ID|NAME": c.tokenNames,
		"nudgewire alerts RECEIVER": c.alertReceivers, "nudgewire webhooks RECEIVER": c.outReceivers,
	}
	flagsBelow := map[string]map[string][]string{ // by the command above
		"nudgewire jobs":     {"state": server.RunWords(), "as": {"accepted", "resend"}, "only": {"retriable", "in_doubt"}},
		"nudgewire messages": {"state": server.StateWords(), "as": {"accepted", "resend", "drop"}},
	}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		above := ""
		if cmd.HasParent() {
			above = cmd.Parent().CommandPath()
		}
		for name, f := range flags {
			if flag := cmd.LocalNonPersistentFlags().Lookup(name); flag != nil && flag.Value.Type() != "bool" && (name != "to" || cmd.Name() == "send-test") {
				registerFlag(cmd, name, f)
			}
		}
		for name, list := range flagsBelow[above] {
			if cmd.Flags().Lookup(name) != nil {
				registerFlag(cmd, name, wordList(list...))
			}
		}
		if cmd.ValidArgsFunction != nil || cmd.HasSubCommands() || above == "" {
			return
		}
		usage := strings.Fields(cmd.Use)[1:]
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) >= len(usage) {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			word := strings.Trim(usage[len(args)], "[].")
			for _, key := range []string{above + " " + word, word} {
				if f := arguments[key]; f != nil {
					return f(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
				}
			}
			switch {
			case strings.Contains(word, "|") && strings.ToLower(word) == word:
				return strings.Split(word, "|"), cobra.ShellCompDirectiveNoFileComp
			case word == "FILE" || word == "DIR" || word == "FILE|FOLDER":
				return nil, cobra.ShellCompDirectiveDefault
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
	walk(cmd)
}

func registerFlag(cmd *cobra.Command, name string, f completer) {
	// It fails for a flag that is not there or has one already: both would be a mistake of ours, seen in every test.
	if err := cmd.RegisterFlagCompletionFunc(name, completion(f)); err != nil {
		panic(err)
	}
}

func completion(f completer) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return f(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteScope is for halt and resume: a scope, then a name of it.
func (c *CLI) CompleteScope(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	switch {
	case len(args) == 0:
		names = []string{"all", "trigger", "template", "job"}
	case len(args) > 1:
	default:
		if f := (map[string]completer{"trigger": c.triggerNames, "template": c.templateNames, "job": c.jobNames})[args[0]]; f != nil {
			names = f(cmd.Context())
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// words are the values of a list of ours.
func words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, one := range list {
		out[i] = string(one)
	}
	return out
}

func wordList(list ...string) completer { return func(context.Context) []string { return list } }

func recipeNames(context.Context) (names []string) {
	all, _ := examples.Recipes() // they are part of the program
	for _, r := range all {
		names = append(names, r.Name+"\t"+r.About)
	}
	return names
}

// look is the config, as far as it can be read: a shell that completes prints nothing about what is wrong with it.
func (c *CLI) look() *config.Config {
	cfg, _ := config.LoadWithoutSecrets(c.Config, os.LookupEnv)
	if cfg == nil {
		return &config.Config{}
	}
	return cfg
}

func (c *CLI) triggerNames(context.Context) []string {
	if cfg := c.look(); cfg.Triggers != nil {
		return cfg.Triggers.Names()
	}
	return nil
}

func (c *CLI) templateNames(context.Context) []string { return c.look().TemplateNames() }

func (c *CLI) accountNames(context.Context) []string {
	return append([]string{messaging.DefaultAccount}, c.look().AccountNames()...)
}

func (c *CLI) jobNames(context.Context) (names []string) {
	for _, j := range c.look().Jobs {
		names = append(names, j.Name)
	}
	return names
}

// connectorNames are those of the config, and where it has none the presets.
func (c *CLI) connectorNames(context.Context) (names []string) {
	for name := range c.look().Receivers {
		names = append(names, name)
	}
	if len(names) == 0 {
		return connectors.PresetNames()
	}
	slices.Sort(names)
	return names
}

// runNumbers are the newest runs, each with its job and its state behind a tab, as cobra wants descriptions.
func (c *CLI) runNumbers(ctx context.Context) []string {
	return fromData(ctx, c, server.ListRuns.Call, server.ListQuery{Limit: 20}, func(r server.RunView) string {
		return fmt.Sprintf("%s\t%s for %s: %s", strconv.FormatInt(int64(r.ID), 10), r.Job, r.Slot, r.StatusText())
	})
}

// fromData are names that only the data has; none without data.
func fromData[Q, T any](ctx context.Context, c *CLI, list func(context.Context, *server.Client, Q) ([]T, error), of Q, words func(T) string) (names []string) {
	_ = c.WithReader(ctx, func(ask *server.Client) error { // a shell that completes prints nothing about what is wrong
		all, err := list(ctx, ask, of)
		for _, one := range all {
			names = append(names, words(one))
		}
		return err
	})
	return names
}

// eventKinds are those that the senders of the config can send, as --kind wants them.
func (c *CLI) eventKinds(context.Context) (kinds []string) {
	for _, r := range c.look().Receivers {
		kinds = append(kinds, r.Info().Kinds...)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

func (c *CLI) testNumbers(context.Context) (names []string) {
	for _, one := range c.look().TestNumbers {
		names = append(names, one.Name)
	}
	return names
}

func (c *CLI) alertReceivers(context.Context) (names []string) {
	if plan := c.look().Alerts; plan != nil {
		for _, r := range plan.Receivers {
			names = append(names, r.Name)
		}
	}
	return names
}

func (c *CLI) outReceivers(context.Context) (names []string) {
	if plan := c.look().Outgoing; plan != nil {
		for _, r := range plan.Receivers {
			names = append(names, r.Name)
		}
	}
	return names
}

// configVersions are those that were used lately, with when.
func (c *CLI) configVersions(ctx context.Context) []string {
	return fromData(ctx, c, server.ListVersions.Call, server.AuditQuery{Limit: 20}, func(v server.ConfigTakenView) string { return v.Version + "\t" + c.Clock(v.At) })
}

func (c *CLI) userNames(ctx context.Context) []string {
	return fromData(ctx, c, server.ListUsers.Call, server.None{}, func(u signin.UserView) string { return u.Name + "\t" + string(u.Role) })
}

func (c *CLI) tokenNames(ctx context.Context) []string {
	return fromData(ctx, c, server.ListTokens.Call, server.None{}, func(t signin.TokenView) string { return t.Name + "\t" + t.State })
}
