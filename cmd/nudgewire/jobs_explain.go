package main

import (
	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/triggers"
)

// An explainedJob is a job in sentences.
type explainedJob struct {
	Job       string              `json:"job"`
	Sentences []triggers.Sentence `json:"sentences"`
}

func (c *cli) jobsExplain() *cobra.Command {
	return &cobra.Command{
		Use: "explain [NAME]", Short: "Read a job back in sentences, or all of them, defaults included", Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, err := c.loadToLook()
			if err != nil {
				return err
			}
			var names []string
			told := 0
			for _, j := range cfg.Jobs {
				names = append(names, j.Name)
				if len(args) == 1 && args[0] != j.Name {
					continue
				}
				if told++; c.json {
					if err := c.print(explainedJob{j.Name, j.Tell()}); err != nil {
						return err
					}
					continue
				}
				c.sentences(told > 1, j.Name, j.Tell())
			}
			switch {
			case told > 0:
				return nil
			case len(args) == 0:
				return fail(exitNothing, "", "the config has no jobs")
			}
			hint := `"nudgewire jobs list" shows them`
			if near := nearest.Of(args[0], names); near != "" {
				hint = `did you mean "` + near + `"?`
			}
			return fail(exitNothing, hint, "there is no job %q", args[0])
		},
	}
}

// sentences writes a trigger or a job in sentences, below its name.
func (c *cli) sentences(further bool, name string, told []triggers.Sentence) {
	if further {
		c.say("\n")
	}
	c.say("%s\n", name)
	for _, s := range told {
		c.say("  %-14s  %s\n", s.Key, s.Text)
	}
}
