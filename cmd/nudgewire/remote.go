package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
)

// asksServer are the commands that ask a daemon, and nothing else of this machine: --server is for them.
var asksServer = []string{
	"status", "why", "events", "messages", "jobs", "contacts", "errors list", "alerts", "webhooks", "send", "halt", "resume", "review", "reload", "token", "user", "audit", "try",
}

// serverFits refuses --server for what works with the files of this machine.
func serverFits(c *terminal.CLI, cmd *cobra.Command) error {
	if c.Server == "" {
		return nil
	}
	for at := cmd; at.HasParent(); at = at.Parent() {
		name := at.Name()
		if at.Parent().HasParent() {
			name = at.Parent().Name() + " " + name
		}
		if slices.Contains(asksServer, name) {
			return nil
		}
	}
	return exit.Fail(exit.Usage, "run it on the machine of the daemon, without --server", "%q works with the files of this machine", cmd.CommandPath())
}
