package terminal

import (
	"context"

	"github.com/nudgewire/nudgewire/internal/server"
)

// WithDaemon does something through the running daemon; without one it is an error.
func (c *CLI) WithDaemon(do func(*server.Client) error) error {
	ask, done, err := c.Daemon()
	if err != nil {
		return err
	}
	defer done()
	return do(ask)
}

// WithReader reads through the running daemon, or from its database when none runs.
func (c *CLI) WithReader(ctx context.Context, do func(*server.Client) error) error {
	ask, done, err := c.Reader(ctx)
	if err != nil {
		return err
	}
	defer done()
	return do(ask)
}
