// Package connectors has the commands about senders of webhooks: connectors, and try, trigger and sign, which take a webhook of one.
package connectors

import (
	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
)

type commands struct{ *terminal.CLI }

// Commands are the group's, for the root of the program.
func Commands(cli *terminal.CLI) []*cobra.Command {
	c := commands{cli}
	return []*cobra.Command{c.connectors(), c.try(), c.trigger(), c.sign()}
}
