package rules

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

func (c commands) reload() *cobra.Command {
	return &cobra.Command{
		Use: "reload", Short: "Make the running daemon take the config as it is now; a bad one is rejected and the old one kept",
		Args: cobra.NoArgs,
		Long: `reload makes the running daemon take the config as it is now, all of it or nothing, and says what became
of the messages that wait by a trigger that was edited (on_change: pin, migrate or cancel), turned off
or removed (they are paused). "nudgewire plan" says it before.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.takeUp(cmd.Context(), "") },
	}
}

// takeUp has the daemon take its config files up, if they are a version; "" is any.
func (c commands) takeUp(ctx context.Context, version string) error {
	return c.WithDaemon(func(ask *server.Client) error {
		d, err := server.Reload.Call(ctx, ask, server.ReloadRequest{Version: version})
		if err != nil {
			return err
		}
		if c.JSON {
			return c.Print(d)
		}
		c.tellReload(&d)
		return nil
	})
}

// tellReload says what a daemon took up, and what became of what waits.
func (c commands) tellReload(d *server.DaemonView) {
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
}
