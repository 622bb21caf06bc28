package main

import (
	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/internal/units"
)

func (c *cli) reload() *cobra.Command {
	return &cobra.Command{
		Use: "reload", Short: "Make the running daemon take the config as it is now; a bad one is rejected and the old one kept",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ask, done, err := c.daemon()
			if err != nil {
				return err
			}
			defer done()
			d, err := ask.Reload(cmd.Context())
			if err != nil {
				return err
			}
			if c.json {
				return c.print(d)
			}
			c.say("config %s is active: %s, %s\n", d.Config, units.Count(len(d.Connectors), "connector"), units.Count(len(d.Triggers), "trigger"))
			for _, h := range d.Paused {
				isPaused := "they are paused"
				if h.Waiting == 1 {
					isPaused = "it is paused"
				}
				c.say("%s; %s: the trigger %s\n  send    %s\n  cancel  %s\n", h.Waits(), isPaused, h.Reason, h.GoesOn(), h.Ends())
			}
			for _, note := range d.NeedsRestart {
				c.note("needs a restart: %s", note)
			}
			return nil
		},
	}
}
