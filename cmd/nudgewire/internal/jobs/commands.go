// Package jobs has the commands about lists: jobs and their runs.
package jobs

import (
	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
)

type commands struct{ *terminal.CLI }

// Commands are the group's, for the root of the program.
func Commands(cli *terminal.CLI) []*cobra.Command {
	c := commands{cli}
	return []*cobra.Command{c.jobs()}
}
