package main

import (
	"context"

	"github.com/nudgewire/nudgewire/internal/server"
)

// withDaemon does something through the running daemon; without one it is an error.
func (c *cli) withDaemon(do func(*server.Client) error) error {
	ask, done, err := c.daemon()
	if err != nil {
		return err
	}
	defer done()
	return do(ask)
}

// withReader reads through the running daemon, or from its database when none runs.
func (c *cli) withReader(ctx context.Context, do func(*server.Client) error) error {
	ask, done, err := c.reader(ctx)
	if err != nil {
		return err
	}
	defer done()
	return do(ask)
}
