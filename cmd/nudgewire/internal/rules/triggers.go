package rules

import (
	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/story"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

func (c commands) triggers() *cobra.Command {
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

func (c commands) triggersList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "The triggers in the order of the config, a line each", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := c.LoadToLook()
			if err != nil {
				return err
			}
			var rows []listedTrigger
			for _, name := range cfg.Triggers.Names() {
				s := cfg.Triggers.Summary(name)
				rows = append(rows, listedTrigger{name, cfg.Triggers.ModeOf(name), s.On, s.Wait, s.Sends})
			}
			return terminal.List(c.CLI, rows, exit.Fail(exit.Nothing, "", "the config has no triggers"), "TRIGGER | MODE | ON | WAIT | SENDS", func(t listedTrigger) []string {
				return []string{t.Trigger, string(t.Mode), terminal.Sanitized(t.On), t.Wait, terminal.Sanitized(t.Sends)}
			})
		},
	}
}

func (c commands) triggersExplain() *cobra.Command {
	return &cobra.Command{
		Use: "explain [NAME]", Short: "Read a trigger back in sentences, or all of them, defaults included", Args: cobra.MaximumNArgs(1),
		Long: `explain says in sentences what a trigger does, as the daemon understands it: what begins it, how long it
waits, what cancels it, what holds it back, and what it sends. It reads the config and no database.`,
		Example: "  nudgewire triggers explain abandoned-cart",
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, err := c.LoadToLook()
			if err != nil {
				return err
			}
			return story.TellRules(c.CLI, "trigger", cfg.Triggers.Names(), args, func(name string) (any, []triggers.Sentence) {
				told := cfg.Triggers.Tell(name)
				return explainedTrigger{name, told}, told
			})
		},
	}
}

// An explainedTrigger is a trigger in sentences.
type explainedTrigger struct {
	Trigger   string              `json:"trigger"`
	Sentences []triggers.Sentence `json:"sentences"`
}
