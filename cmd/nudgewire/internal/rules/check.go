package rules

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

func (c commands) check() *cobra.Command {
	var strict, withoutSecrets bool
	var against, format string
	cmd := &cobra.Command{
		Use: "check [FILE]", Short: "Report everything that is wrong with the config, each with its line and hint; - is standard input",
		Args:    cobra.MaximumNArgs(1),
		Example: "  nudgewire check\n  nudgewire check --strict --without-secrets --format github",
		RunE: func(cmd *cobra.Command, args []string) error {
			running := c.Config // names the daemon
			if len(args) == 1 {
				c.Config = args[0]
			}
			if against != "" && against != "running" {
				return exit.Fail(exit.Usage, "write --against running", "--against %q: a config is checked against the daemon that runs", against)
			}
			if format != "" && !slices.Contains(formats, format) {
				return exit.Fail(exit.Usage, "write --format "+strings.Join(formats, ", "), "--format %q is not known", format)
			}
			c.JSON = c.JSON || format == "json"
			load, parse := config.Load, config.Parse
			if withoutSecrets {
				load, parse = config.LoadWithoutSecrets, config.ParseWithoutSecrets
			}
			var cfg *config.Config
			var problems yamlpos.Problems
			if c.Config == "-" {
				src, err := io.ReadAll(io.LimitReader(c.In, yamlpos.MaxBytes+1))
				if err != nil {
					return exit.Fail(exit.Usage, "", "read standard input: %w", err)
				}
				c.Config = "standard input"
				cfg, problems = parse(c.Config, src, os.LookupEnv)
			} else if cfg, problems = load(c.Config, os.LookupEnv); missing(c.Config) {
				return c.BadConfig(problems)
			}
			if c.JSON || format != "" {
				if err := c.printProblems(format, problems, strict); err != nil {
					return err
				}
			} else if len(problems) > 0 {
				c.RenderProblems(problems)
			}
			if problems.Errors() > 0 || (strict && len(problems) > 0) {
				return exit.Silent(exit.Config)
			}
			if !c.JSON && format == "" {
				for _, name := range slices.Sorted(maps.Keys(cfg.Receivers)) {
					if believes := cfg.Receivers[name].Believes(); believes != "" {
						c.Note("warning: connector %s: %s", name, believes)
					}
					if cfg.Receivers[name].Info().Duties != "" {
						c.Note("connector %s leaves something to you: see \"nudgewire connectors show %s\"", name, name)
					}
				}
				with := ""
				if n := len(cfg.Included()); n > 0 {
					with = " with " + units.Count(n, "included file")
				}
				c.Say("%s%s is good: %s, %s, version %s\n",
					c.Config, with, units.Count(len(cfg.Receivers), "connector"), units.Count(len(cfg.Triggers.Names()), "trigger"), cfg.Version)
				if n := cfg.StandIns(); n > 0 {
					c.Note("%s not set here, and nothing was said about them", terminal.StandInWords(cfg))
				}
			}
			if against != "" {
				return c.against(cmd.Context(), running, cfg)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", "", "print the problems as json, as github (annotations of GitHub Actions) or as junit, each with its code (docs/problems.md)")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().BoolVar(&strict, "strict", false, "take warnings for errors")
	cmd.Flags().StringVar(&against, "against", "", "running: also say what this config would change of that of the daemon, and what becomes of the messages that wait")
	cmd.Flags().BoolVar(&withoutSecrets, "without-secrets", false, "say nothing of variables and files that are not here")
	return cmd
}

var formats = []string{"json", "github", "junit"}

// printProblems prints them for programs. What is taken for an error by strict is one there, too.
func (c commands) printProblems(format string, problems yamlpos.Problems, strict bool) error {
	switch format {
	case "github":
		for i := range problems {
			p := &problems[i]
			kind := "error"
			if p.Warning && !strict {
				kind = "warning"
			}
			c.Say("%s\n", strings.TrimSuffix(annotation(kind, p.File, fmt.Sprintf("line=%d,col=%d", max(1, p.Line), max(1, p.Col)), string(p.Code), wordsOf(p)), "\n"))
		}
		return nil
	case "junit":
		return c.junitOfProblems(problems, strict)
	default:
		return terminal.PrintAll(c.CLI, problems)
	}
}

// wordsOf is a problem in a line, without its place.
func wordsOf(p *yamlpos.Problem) string {
	text := p.Msg
	if p.Path != "" {
		text = p.Path + ": " + text
	}
	if p.Hint != "" {
		text += "; " + p.Hint
	}
	return text
}

// junitOfProblems prints each problem as a test case, which fails where the problem is an error; a config without any is one that holds.
func (c commands) junitOfProblems(problems yamlpos.Problems, strict bool) error {
	suite := junitSuite{Name: "nudgewire check", Time: seconds(0)}
	for i := range problems {
		p := &problems[i]
		text := plain.Text(wordsOf(p))
		one := junitCase{Name: plain.Text(cmp.Or(p.Path, p.Msg)), Class: string(p.Code), File: p.File, Line: p.Line, Time: seconds(0)}
		if !p.Warning || strict {
			one.Failure = &junitFailure{text, text}
			suite.Failures++
		} else {
			one.Out = "warning: " + text
		}
		suite.Cases = append(suite.Cases, one)
	}
	if len(problems) == 0 {
		suite.Cases = []junitCase{{Name: "the config is good", Class: "check", File: c.Config, Time: seconds(0)}}
	}
	suite.Tests = len(suite.Cases)
	out, err := junitText(suite)
	if err != nil {
		return err
	}
	_, err = c.Out.Write(out)
	return err
}

// against says what the daemon that the config file running names would do to what waits, if it took cfg.
func (c commands) against(ctx context.Context, running string, cfg *config.Config) error {
	c.Config = running
	ask, done, err := c.Daemon()
	if err != nil {
		return err
	}
	defer done()
	plan, err := server.PlanConfig.Call(ctx, ask, server.PlanRequest{Config: cfg.Redacted()})
	if err != nil {
		return err
	}
	return c.tellPlan(&plan)
}

func missing(path string) bool {
	_, err := os.Stat(path)
	return err != nil
}

func (c commands) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "The config as the daemon understands it, and those that were used before", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use: "print", Short: "Print the config with every default filled in and every secret hidden", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := c.LoadConfig()
			if err != nil {
				return err
			}
			if c.JSON {
				values, err := cfg.Values()
				if err != nil {
					return err
				}
				return c.Print(map[string]any{"version": cfg.Version, "config": values})
			}
			return cfg.Print(c.Out)
		},
	}, c.history(), c.show(), c.rollback())
	return cmd
}

func (c commands) schema() *cobra.Command {
	var docs, included bool
	cmd := &cobra.Command{
		Use: "schema", Short: "Print the config's JSON Schema, for editors that complete and check YAML", Args: cobra.NoArgs,
		Long: `schema prints the JSON Schema of config.yaml. Save it beside your config and name it in the
first line, and most editors complete keys and mark mistakes as you type:

  nudgewire schema > config.schema.json
  # yaml-language-server: $schema=./config.schema.json

--included is that of the files that a config includes: connectors, triggers, templates and jobs.`,
		RunE: func(*cobra.Command, []string) error {
			text := config.Schema()
			if included {
				text = config.IncludedSchema()
			}
			if docs {
				text = config.Reference()
			} else if c.JSON {
				return c.Print(json.RawMessage(text))
			}
			_, err := c.Out.Write(text)
			return err
		},
	}
	cmd.Flags().BoolVar(&docs, "docs", false, "print the reference for people instead")
	cmd.Flags().BoolVar(&included, "included", false, "print the schema of included files")
	cmd.MarkFlagsMutuallyExclusive("docs", "included")
	return cmd
}
