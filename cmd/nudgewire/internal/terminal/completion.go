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
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// A completer lists what may stand at a place of a command line.
type completer func(ctx context.Context) []string

// AddCompletion gives every command below cmd the names that its arguments and flags take, for shells that
// complete with Tab. What an argument is stands in the command's usage line: NAME, CONNECTOR, RUN.
func (c *CLI) AddCompletion(cmd *cobra.Command) {
	flags := map[string]completer{
		"trigger": c.triggerNames, "connector": c.connectorNames, "account": c.accountNames, "template": c.templateNames,
		"outcome":  wordList(server.OutcomeWords()...),
		"class":    wordList(append(classWords(), "unknown")...),
		"category": wordList(string(messaging.Marketing), string(messaging.Utility), string(messaging.Authentication)),
		"channel":  wordList("phone", "email"),
		"recipe":   recipeNames,
	}
	arguments := map[string]map[string]completer{ // by what is above the command, then by the word in its usage
		"nudgewire":            {"CONNECTOR": c.connectorNames},
		"nudgewire jobs":       {"NAME": c.jobNames, "RUN": c.runNumbers},
		"nudgewire triggers":   {"NAME": c.triggerNames},
		"nudgewire connectors": {"NAME": c.connectorNames},
	}
	states := map[string][]string{"nudgewire jobs": server.RunWords(), "nudgewire messages": server.StateWords()}
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
			if cmd.LocalNonPersistentFlags().Lookup(name) != nil {
				registerFlag(cmd, name, f)
			}
		}
		if cmd.Flags().Lookup("state") != nil && states[above] != nil {
			registerFlag(cmd, "state", wordList(states[above]...))
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
			if f := arguments[above][word]; f != nil {
				return f(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
			}
			if word == "FILE" || word == "DIR" {
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

func wordList(list ...string) completer { return func(context.Context) []string { return list } }

func recipeNames(context.Context) (names []string) {
	all, _ := examples.Recipes() // they are part of the program
	for _, r := range all {
		names = append(names, r.Name+"\t"+r.About)
	}
	return names
}

func classWords() (classes []string) {
	for _, class := range messaging.ErrorClasses {
		classes = append(classes, string(class))
	}
	return classes
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

func (c *CLI) templateNames(context.Context) []string {
	if cfg := c.look(); cfg.Triggers != nil {
		return cfg.Triggers.Templates()
	}
	return nil
}

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
func (c *CLI) runNumbers(ctx context.Context) (numbers []string) {
	_ = c.WithReader(ctx, func(ask *server.Client) error { // without a database there are no runs
		runs, err := server.ListRuns.Call(ctx, ask, server.ListQuery{Limit: 20})
		for _, r := range runs {
			numbers = append(numbers, fmt.Sprintf("%s\t%s for %s: %s", strconv.FormatInt(int64(r.ID), 10), r.Job, r.Slot, r.StatusText()))
		}
		return err
	})
	return numbers
}
