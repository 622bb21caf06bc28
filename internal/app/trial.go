package app

import (
	"strings"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// trial is the config in use, to try something against, or with edited triggers in place of its own. The store is asked what waits and was sent.
func (a *App) trial(edited string) (server.Trial, yamlpos.Problems) {
	cfg := a.config()
	var problems yamlpos.Problems
	if edited != "" {
		if cfg, problems = cfg.With(edited); cfg == nil {
			return server.Trial{}, problems
		}
	}
	t := TrialOf(cfg)
	t.Ledger = a.store
	return t, problems
}

// TrialOf is what of a config something can be tried against. A contact whose zone is a guess is not counted for it.
func TrialOf(cfg *config.Config) server.Trial {
	due := *cfg.Due
	due.Guessed = nil
	return server.Trial{Receivers: cfg.Receivers, Triggers: cfg.Triggers, Due: &due, PublicURL: strings.TrimSuffix(cfg.Server.PublicURL, "/")}
}
