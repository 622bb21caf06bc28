// Package demo has the commands that pretend: demo, a shop and a service around the real daemon, and sandbox, the service alone.
package demo

import (
	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
)

type commands struct{ *terminal.CLI }

// Commands are the group's, for the root of the program.
func Commands(cli *terminal.CLI) []*cobra.Command {
	c := commands{cli}
	return []*cobra.Command{c.demo(), c.sandbox()}
}
