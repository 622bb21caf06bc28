package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

func (c *cli) triggers() *cobra.Command {
	cmd := &cobra.Command{
		Use: "triggers", Short: "The triggers of the config: list, explain",
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.triggersList(), c.triggersExplain())
	return cmd
}

// A listedTrigger is a trigger in short.
type listedTrigger struct {
	Trigger string        `json:"trigger"`
	Mode    triggers.Mode `json:"mode"`
	On      string        `json:"on"`
	Wait    string        `json:"wait"`
	Sends   string        `json:"sends"`
}

func (c *cli) triggersList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "The triggers in the order of the config, a line each", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := c.loadToLook()
			if err != nil {
				return err
			}
			var rows []listedTrigger
			for _, name := range cfg.Triggers.Names() {
				s := cfg.Triggers.Summary(name)
				rows = append(rows, listedTrigger{name, cfg.Triggers.ModeOf(name), s.On, s.Wait, s.Sends})
			}
			return list(c, rows, fail(exitNothing, "", "the config has no triggers"), "TRIGGER | MODE | ON | WAIT | SENDS", func(t listedTrigger) []string {
				return []string{t.Trigger, string(t.Mode), sanitized(t.On), t.Wait, sanitized(t.Sends)}
			})
		},
	}
}

// An explainedTrigger is a trigger in sentences.
type explainedTrigger struct {
	Trigger   string              `json:"trigger"`
	Sentences []triggers.Sentence `json:"sentences"`
}

func (c *cli) triggersExplain() *cobra.Command {
	return &cobra.Command{
		Use: "explain [NAME]", Short: "Read a trigger back in sentences, or all of them, defaults included", Args: cobra.MaximumNArgs(1),
		Long: `explain says in sentences what a trigger does, as the daemon understands it: what begins it, how long it
waits, what cancels it, what holds it back, and what it sends. It reads the config and no database.`,
		Example: "  nudgewire triggers explain abandoned-cart",
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, err := c.loadToLook()
			if err != nil {
				return err
			}
			return c.explain("trigger", cfg.Triggers.Names(), args, func(name string) (any, []triggers.Sentence) {
				told := cfg.Triggers.Tell(name)
				return explainedTrigger{name, told}, told
			})
		},
	}
}

// explain reads back one of the triggers or jobs of the config, or all of them. what is the word for one; tell gives it as
// --json shows it, and its sentences.
func (c *cli) explain(what string, names, args []string, tell func(name string) (any, []triggers.Sentence)) error {
	if len(args) == 1 {
		if !slices.Contains(names, args[0]) {
			hint := fmt.Sprintf(`"nudgewire %ss list" shows them`, what)
			if near := nearest.Of(args[0], names); near != "" {
				hint = `did you mean "` + near + `"?`
			}
			return fail(exitNothing, hint, "there is no %s %q", what, args[0])
		}
		names = args
	}
	if len(names) == 0 {
		return fail(exitNothing, "", "the config has no %ss", what)
	}
	for i, name := range names {
		shown, told := tell(name)
		if c.json {
			if err := c.print(shown); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			c.say("\n")
		}
		c.say("%s\n", name)
		for _, s := range told {
			c.say("  %-14s  %s\n", s.Key, s.Text)
		}
	}
	return nil
}
