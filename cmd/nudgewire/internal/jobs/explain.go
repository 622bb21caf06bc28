package jobs

import (
	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/story"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

// An explainedJob is a job in sentences.
type explainedJob struct {
	Job       string              `json:"job"`
	Sentences []triggers.Sentence `json:"sentences"`
}

func (c commands) jobsExplain() *cobra.Command {
	return &cobra.Command{
		Use: "explain [NAME]", Short: "Read a job back in sentences, or all of them, defaults included", Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, err := c.LoadToLook()
			if err != nil {
				return err
			}
			names := make([]string, len(cfg.Jobs))
			told := map[string][]triggers.Sentence{}
			for i, j := range cfg.Jobs {
				names[i], told[j.Name] = j.Name, j.Tell()
			}
			return story.TellRules(c.CLI, "job", names, args, func(name string) (any, []triggers.Sentence) { return explainedJob{name, told[name]}, told[name] })
		},
	}
}
