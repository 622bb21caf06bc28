package app

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/nodes"
)

// renames are those that were carried out, and those that a printed config asks for.
func (a *App) renames(printed string) []store.Rename {
	all := a.store.Renames()
	for _, r := range config.Renames(printed) {
		r.At = a.store.Now().Add(time.Hour) // it is about to be carried out
		all = append(all, r)
	}
	return all
}

// newRenames are those of a printed config that were not carried out before.
func (a *App) newRenames(printed string) []store.Rename {
	done := a.store.Renames()
	return slices.DeleteFunc(config.Renames(printed), func(r store.Rename) bool {
		return slices.ContainsFunc(done, func(d store.Rename) bool { return d.About == r.About && d.Was == r.Was && d.Name == r.Name })
	})
}

// rename carries out the keys "was" of cfg, and takes along what came under an old name since.
func (a *App) rename(ctx context.Context, cfg *config.Config) error {
	for _, r := range a.newRenames(cfg.Redacted()) {
		a.log.Info("a "+r.About+" was renamed: the new name takes along what is open and what is remembered", zap.String("was", r.Was), zap.String("name", r.Name))
	}
	return a.store.Rename(ctx, cfg.Renames)
}

// renewRenames keeps the keys "was" of cfg holding for other nodes: one may decide by the config before for as long as it
// likes, and one that starts may do so anew. Only where one does something comes under an old name.
func (a *App) renewRenames(ctx context.Context, cfg *config.Config) error {
	if len(cfg.Renames) == 0 || !a.store.Shares() {
		return nil
	}
	all, err := a.store.Nodes(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(n nodes.Node) bool { return n.Alive && n.Config != cfg.Version }) {
		return a.store.Rename(ctx, cfg.Renames)
	}
	return a.store.RenewRenames(ctx, cfg.Renames)
}

// configText is an earlier config, in which what was renamed since stands under its new name, too.
func (a *App) configText(ctx context.Context, version string) (string, error) {
	text, err := a.store.Config(ctx, version)
	return config.UnderNewNames(text, a.store.Renames()), err
}
