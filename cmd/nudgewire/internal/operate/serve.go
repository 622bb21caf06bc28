package operate

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/app"
)

func (c commands) serve() *cobra.Command {
	var level, format string
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the daemon until it is stopped", Args: cobra.NoArgs,
		Long: `serve takes webhooks, decides, sends and follows messages until it gets SIGINT or SIGTERM.
Then it takes no more, finishes what is under way and leaves the rest for the next start.
SIGHUP, or "nudgewire reload", makes it take the config as it is now.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := c.Logger(level, format)
			if err != nil {
				return err
			}
			defer app.SpareProcessor()()
			defer app.Bound(cmd.Context(), log, os.Exit)()
			a, err := app.New(cmd.Context(), app.Options{
				ConfigFile: c.Config, Env: os.LookupEnv, Version: c.Version, Log: log, AwaitDisk: true,
				Ready: func() { tellSystemd(log, daemon.SdNotifyReady) },
			})
			if err != nil {
				return c.FailApp(err)
			}
			defer terminal.LeaveNote(c.Config, a.Storage(), log)()
			defer context.AfterFunc(cmd.Context(), func() { tellSystemd(log, daemon.SdNotifyStopping) })()
			stopHUP := reloadOnHUP(cmd.Context(), a, log)
			defer stopHUP()
			return a.Run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&level, "log-level", terminal.EnvOr("NUDGEWIRE_LOG_LEVEL", "info"), "debug, info, warn or error (NUDGEWIRE_LOG_LEVEL)")
	cmd.Flags().StringVar(&format, "log-format", terminal.EnvOr("NUDGEWIRE_LOG_FORMAT", ""), "json or console (NUDGEWIRE_LOG_FORMAT; unless set: console on a terminal, else json)")
	return cmd
}

// tellSystemd says how far the daemon is to the systemd that started it (sd_notify(3)). Started by anything else, it says
// nothing.
func tellSystemd(log *zap.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("systemd was not told", zap.String("state", state), zap.Error(err))
	}
}

// reloadOnHUP reloads a at each SIGHUP until the returned function is called.
func reloadOnHUP(ctx context.Context, a *app.App, log *zap.Logger) (stop func()) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	var done sync.WaitGroup
	done.Go(func() {
		for range hup {
			if err := a.Reload(ctx); err != nil {
				log.Warn("SIGHUP changed nothing")
			}
		}
	})
	return func() {
		signal.Stop(hup)
		close(hup)
		done.Wait()
	}
}
