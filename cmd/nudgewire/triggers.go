package main

import (
	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/triggers"
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
				return []string{t.Trigger, string(t.Mode), tamed(t.On), t.Wait, tamed(t.Sends)}
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
			names := cfg.Triggers.Names()
			if len(args) == 1 {
				if cfg.Triggers.ModeOf(args[0]) == "" {
					hint := `"nudgewire triggers list" shows them`
					if near := nearest.Of(args[0], names); near != "" {
						hint = `did you mean "` + near + `"?`
					}
					return fail(exitNothing, hint, "there is no trigger %q", args[0])
				}
				names = args
			}
			if len(names) == 0 {
				return fail(exitNothing, "", "the config has no triggers")
			}
			for i, name := range names {
				told := explainedTrigger{name, cfg.Triggers.Tell(name)}
				if c.json {
					if err := c.print(told); err != nil {
						return err
					}
					continue
				}
				c.sentences(i > 0, name, told.Sentences)
			}
			return nil
		},
	}
}
