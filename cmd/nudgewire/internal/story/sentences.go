package story

import (
	"fmt"
	"slices"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

// TellRules reads back one of the triggers or jobs of the config, or all of them. what is the word for one; tell gives it as
// --json shows it, and its sentences.
func TellRules(c *terminal.CLI, what string, names, args []string, tell func(name string) (any, []triggers.Sentence)) error {
	if len(args) == 1 {
		if !slices.Contains(names, args[0]) {
			hint := fmt.Sprintf(`"nudgewire %ss list" shows them`, what)
			if near := nearest.Of(args[0], names); near != "" {
				hint = `did you mean "` + near + `"?`
			}
			return exit.Fail(exit.Nothing, hint, "there is no %s %q", what, args[0])
		}
		names = args
	}
	if len(names) == 0 {
		return exit.Fail(exit.Nothing, "", "the config has no %ss", what)
	}
	for i, name := range names {
		shown, told := tell(name)
		if c.JSON {
			if err := c.Print(shown); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			c.Say("\n")
		}
		c.Say("%s\n", name)
		for _, s := range told {
			c.Say("  %-14s  %s\n", s.Key, s.Text)
		}
	}
	return nil
}
