package main

import (
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/internal/server"
)

// asksServer are the commands that ask a daemon, and nothing else of this machine: --server is for them.
var asksServer = []string{
	"status", "why", "events", "messages", "jobs", "contacts", "errors list", "alerts", "webhooks", "send", "halt", "resume", "review", "reload", "token", "user", "audit", "try",
}

// remote returns a client of the daemon that --server names.
func (c *cli) remote() (ask *server.Client, done func(), err error) {
	ask, err = server.Remote(c.server, os.Getenv("NUDGEWIRE_TOKEN"))
	if err != nil {
		return nil, nil, err
	}
	return ask, ask.Close, nil
}

// serverFits refuses --server for what works with the files of this machine.
func (c *cli) serverFits(cmd *cobra.Command, _ []string) error {
	if c.server == "" {
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
	return fail(exitUsage, "run it on the machine of the daemon, without --server", "%q works with the files of this machine", cmd.CommandPath())
}
