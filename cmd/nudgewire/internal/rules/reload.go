package rules

import (
	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

func (c commands) reload() *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use: "reload", Short: "Make the running daemon take the config as it is now; a bad one is rejected and the old one kept",
		Args: cobra.NoArgs,
		Long: `reload makes the running daemon take the config as it is now, all of it or nothing, and says what became
of the messages that wait by a trigger that was edited (on_change: pin, migrate or cancel), turned off
or removed (they are paused). --dry-run says it before, and changes nothing.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ask, done, err := c.Daemon()
			if err != nil {
				return err
			}
			defer done()
			if dryRun {
				changes, err := server.ReloadChanges.Call(cmd.Context(), ask, server.ChangesRequest{Config: ""})
				if err != nil {
					return err
				}
				return c.tellChanges(changes)
			}
			d, err := server.Reload.Call(cmd.Context(), ask, server.None{})
			if err != nil {
				return err
			}
			if c.JSON {
				return c.Print(d)
			}
			c.Say("config %s is active: %s, %s\n", d.Config, units.Count(len(d.Connectors), "connector"), units.Count(len(d.Triggers), "trigger"))
			for _, change := range d.Changes {
				if !change.Paused || change.Run != 0 {
					c.Say("%s\n", change.Words())
				}
			}
			for _, h := range d.Paused {
				isPaused := "they are paused"
				if h.Waiting == 1 {
					isPaused = "it is paused"
				}
				if h.Kind == messaging.HoldGone {
					c.Say("%s; %s: the account %s\n  send    put it back under accounts, then %s\n  cancel  %s\n", h.Waits(), isPaused, h.Reason, h.GoesOn(), h.Cancels())
					continue
				}
				c.Say("%s; %s: the trigger %s\n  send    %s\n  cancel  %s\n", h.Waits(), isPaused, h.Reason, h.GoesOn(), h.Cancels())
			}
			for _, note := range d.SameKeys {
				c.Note("%s", note)
			}
			for _, note := range d.NeedsRestart {
				c.Note("needs a restart: %s", note)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say what would become of what waits, and change nothing")
	return cmd
}

// tellChanges says what a reload would do to what waits.
func (c commands) tellChanges(changes []preview.RuleChange) error {
	if c.JSON {
		return terminal.PrintAll(c.CLI, changes)
	}
	for _, change := range changes {
		c.Say("%s\n", change.Words())
	}
	if len(changes) == 0 {
		c.Say("a reload changes nothing for what waits\n")
	}
	return nil
}
