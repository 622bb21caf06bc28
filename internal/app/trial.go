package app

import (
	"context"
	"strings"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/simulation"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
	"github.com/nudgewire/nudgewire/scheduler"
)

// trial is the config in use, to try something against, or with edited triggers in place of its own. The store is asked what waits and was sent.
func (a *App) trial(edited string) (preview.Trial, yamlpos.Problems) {
	cfg := a.config()
	var problems yamlpos.Problems
	if edited != "" {
		if cfg, problems = cfg.With(edited); cfg == nil {
			return preview.Trial{}, problems
		}
	}
	t := TrialOf(cfg)
	t.Ledger = a.store
	return t, problems
}

// TrialOf is what of a config something can be tried against.
func TrialOf(cfg *config.Config) preview.Trial {
	return preview.Trial{
		Receivers: cfg.Receivers, Triggers: cfg.Triggers, Due: uncounted(cfg), Templates: cfg.Templates, PublicURL: strings.TrimSuffix(cfg.Server.PublicURL, "/"),
		TestNumbers: cfg.TestNumbers, Cost: func(m *messaging.Message) float64 { return costOf(cfg, m.Account, m.Category, m.Phone) },
	}
}

// SimulationOf is what of a config can be played.
func SimulationOf(cfg *config.Config) simulation.Rules {
	return simulation.Rules{
		Points: pointsOf(cfg), Templates: cfg.Templates,
		Receivers: cfg.Receivers, Triggers: cfg.Triggers, Due: uncounted(cfg), Errors: cfg.Errors, Plan: planOf(cfg), Accounts: cfg.AccountNames(),
		Jobs: cfg.Jobs, Prices: func(account string) scheduler.Prices { return pricesOf(cfg, account) },
	}
}

// pointsOf are what a message costs; nil where the config names no price.
func pointsOf(cfg *config.Config) func(account string, c messaging.Category, phone messaging.Phone) float64 {
	if cfg.API.Price == nil {
		return nil
	}
	return func(account string, c messaging.Category, phone messaging.Phone) float64 {
		return costOf(cfg, account, c, phone)
	}
}

// costOf is what a message costs, in points; 0 where the config names no price.
func costOf(cfg *config.Config, account string, c messaging.Category, phone messaging.Phone) float64 {
	by, _ := cfg.Account(account)
	if by.Price == nil {
		return 0
	}
	return by.Price.Of(c, string(phone))
}

// spend is what of the budget is spent.
func (a *App) spend(ctx context.Context) (v report.SpendView, err error) {
	cfg := a.config()
	v.Priced = cfg.API.Price != nil
	for _, name := range cfg.AccountNames() {
		by, _ := cfg.Account(name)
		v.Priced = v.Priced || by.Price != nil
	}
	v.Budget, err = report.Records{Store: a.store}.Budget(ctx, cfg.Due.Purse(), cfg.Dearest(), a.store.Now())
	return v, err
}

// uncounted are the rules of the due moment by which a contact whose zone is a guess is not counted.
func uncounted(cfg *config.Config) *duerules.Rules {
	due := *cfg.Due
	due.Guessed = nil
	return &due
}
