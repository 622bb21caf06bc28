package app

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/regular"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// fileLook is how often the daemon looks whether the config file can still be used. A file that cannot does no harm
// while the daemon runs, and keeps it from starting anew: that is better told before.
const fileLook = 15 * time.Second

// watchConfigFile notes why the config file as it is now could not be used, and that it is not the one in use. It is read again only when it,
// or a file that it includes, was changed.
func (a *App) watchConfigFile(ctx context.Context) error {
	tick := time.NewTicker(fileLook)
	defer tick.Stop()
	seen := stamps(ctx, a.opt.ConfigFile, a.config())
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if now := stamps(ctx, a.opt.ConfigFile, a.config()); now != seen && ctx.Err() == nil {
			seen = now
			a.lookAtConfigFile(ctx)
		}
	}
}

func (a *App) lookAtConfigFile(ctx context.Context) {
	var problems yamlpos.Problems
	cfg, err := regular.Do(ctx, func() (cfg *config.Config, _ error) {
		cfg, problems = config.Load(a.opt.ConfigFile, a.opt.Env)
		return cfg, nil
	})
	if err != nil { // the daemon stops, and waits for no share
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if problems.Errors() == 0 && cfg.Version == a.cfg.Version {
		a.loadError, a.fileError, a.fileVersion = "", "", "" // it was put back
		return
	}
	if a.fileError == "" && a.fileVersion == "" {
		a.fileChangedAt = a.store.Now()
	}
	if problems.Errors() == 0 {
		a.fileError, a.fileVersion = "", cfg.Version
		return
	}
	a.fileVersion = ""
	a.fileError = (&ConfigError{File: a.opt.ConfigFile, Problems: problems}).Error()
	a.log.Warn("the config file was changed and cannot be used as it is; the daemon goes on with what it read before", zap.String("file", a.opt.ConfigFile))
}

// stamps tell a file and those that it includes from what they were.
func stamps(ctx context.Context, path string, cfg *config.Config) string {
	return regular.Stamps(ctx, append([]string{path}, cfg.Included()...)...)
}
