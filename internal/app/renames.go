package app

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/nodes"
)

// renames are those that were carried out, and those that a printed config asks for.
func (a *App) renames(text string) []store.Rename {
	all := a.store.Renames()
	for _, r := range config.Renames(text) {
		r.At = a.store.Now().Add(time.Hour) // it is about to be carried out
		all = r.After(all)
	}
	return all
}

// namesAgain are the renames of a rollback: what has its name of earlier again takes along what is open and what is remembered, as it did when it got
// the other name. No file says so, since those are as they were.
func (a *App) namesAgain(running, older *config.Config) (found []store.Rename) {
	jobs := func(cfg *config.Config) (names []string) {
		for _, j := range cfg.Jobs {
			names = append(names, j.Name)
		}
		return names
	}
	all := a.store.Renames()
	found = formerNames(all, store.RenamedTrigger, running.Triggers.Names(), older.Triggers.Names())
	found = append(found, formerNames(all, store.RenamedJob, jobs(running), jobs(older))...)
	return slices.DeleteFunc(found, func(r store.Rename) bool {
		return slices.ContainsFunc(older.Renames, func(said store.Rename) bool { return said.About == r.About && said.Was == r.Was })
	})
}

// formerNames say of the names that only now has which of then they were.
func formerNames(all []store.Rename, about string, now, then []string) (found []store.Rename) {
	for _, name := range now {
		if slices.Contains(then, name) {
			continue
		}
		for _, old := range store.NamesOf(all, about, name)[1:] {
			taken := slices.Contains(now, old) || slices.ContainsFunc(found, func(r store.Rename) bool { return r.Name == old })
			if slices.Contains(then, old) && !taken {
				found = append(found, store.Rename{About: about, Was: name, Name: old})
				break
			}
		}
	}
	return found
}

// withRenames is a config as it is kept, with all that it renames.
func withRenames(cfg *config.Config) string { return config.WithRenames(cfg.Redacted(), cfg.Renames) }

// newRenames are those of a printed config that were not carried out before.
func (a *App) newRenames(text string) []store.Rename {
	done := a.store.Renames()
	return slices.DeleteFunc(config.Renames(text), func(r store.Rename) bool {
		return slices.ContainsFunc(done, func(d store.Rename) bool { return d.About == r.About && d.Was == r.Was && d.Name == r.Name })
	})
}

// rename carries out the renames of cfg, and takes along what came under an old name since.
func (a *App) rename(ctx context.Context, cfg *config.Config) error {
	for _, r := range a.newRenames(withRenames(cfg)) {
		a.log.Info("a "+r.About+" was renamed: the new name takes along what is open and what is remembered", zap.String("was", r.Was), zap.String("name", r.Name))
	}
	err := a.store.Rename(ctx, cfg.Renames)
	a.renamed = err == nil
	return err
}

// renameAgain takes along what came under an old name since cfg was taken up. What another node took back since stays so: the two would move it
// to and fro.
func (a *App) renameAgain(ctx context.Context, cfg *config.Config) error {
	return a.store.Rename(ctx, a.standing(cfg))
}

// standing are the renames of cfg that nobody took back.
func (a *App) standing(cfg *config.Config) []store.Rename {
	if !a.renamed { // they were not carried out yet
		return cfg.Renames
	}
	all := a.store.Renames()
	return slices.DeleteFunc(slices.Clone(cfg.Renames), func(r store.Rename) bool { return !slices.ContainsFunc(all, r.Same) })
}

// renewRenames keeps the renames of cfg holding for other nodes: one may decide by the config before for as long as it
// likes, and one that starts may do so anew. Only where one does something comes under an old name.
func (a *App) renewRenames(ctx context.Context, cfg *config.Config) error {
	renames := a.standing(cfg)
	if len(renames) == 0 || !a.store.Shares() {
		return nil
	}
	all, err := a.store.Nodes(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(n nodes.Node) bool { return n.Alive && n.Config != cfg.Version }) {
		return a.store.Rename(ctx, renames)
	}
	return a.store.RenewRenames(ctx, renames)
}

// configText is an earlier config, in which what was renamed since stands under its new name, too.
func (a *App) configText(ctx context.Context, version string) (string, error) {
	text, err := history.Records{Store: a.store}.Config(ctx, version)
	return config.UnderNewNames(text, a.store.Renames()), err
}
