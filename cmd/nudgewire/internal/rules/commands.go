// Package rules has the commands for writing a config: init, check, schema, config, triggers, test and simulate, and for taking it up: plan, apply and reload.
package rules

import (
	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
)

type commands struct{ *terminal.CLI }

// Commands are the group's, for the root of the program.
func Commands(cli *terminal.CLI) []*cobra.Command {
	c := commands{cli}
	return []*cobra.Command{c.initCommand(), c.check(), c.schema(), c.configCommand(), c.triggers(), c.test(), c.simulate(), c.plan(), c.apply(), c.reload()}
}
