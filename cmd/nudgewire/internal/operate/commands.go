// Package operate has the commands of whoever runs the daemon: serve, status, halt and resume, review, doctor, report, alerts, webhooks.
package operate

import (
	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
)

type commands struct{ *terminal.CLI }

// Commands are the group's, for the root of the program.
func Commands(cli *terminal.CLI) []*cobra.Command {
	c := commands{cli}
	return []*cobra.Command{c.serve(), c.status(), c.halt(), c.resume(), c.review(), c.doctor(), c.report(), c.overlap(), c.alerts(), c.webhooks()}
}
