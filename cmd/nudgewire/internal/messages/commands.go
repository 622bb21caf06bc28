// Package messages has the commands about what is sent: messages, send, why, errors.
package messages

import (
	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
)

type commands struct{ *terminal.CLI }

// Commands are the group's, for the root of the program.
func Commands(cli *terminal.CLI) []*cobra.Command {
	c := commands{cli}
	return []*cobra.Command{c.messages(), c.send(), c.sendTest(), c.why(), c.errorsCommand()}
}
