package app

import (
	"context"
	"strings"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

// saveConfig keeps a config with its files, so that what it decided can be held against others, and it can be had again.
func (a *App) saveConfig(ctx context.Context, cfg *config.Config) error {
	return history.Records{Store: a.store}.SaveConfig(ctx, &history.Config{Version: cfg.Version, Text: cfg.Redacted(), Files: cfg.Files(a.store.Marks.Secret)}, a.store.Now())
}

// Plan says what taking up a config would change; see server.Daemon. It is worked out by what a reload goes by.
func (d daemon) Plan(ctx context.Context, in server.PlanRequest) (p server.ConfigPlan, err error) {
	running := d.config()
	text := in.Config
	var renames []store.Rename
	var set *triggers.Set
	if text == "" {
		var cfg *config.Config
		if in.Version != "" {
			if _, cfg, err = d.earlier(ctx, in.Version, d.today()); err == nil {
				renames = d.namesAgain(running, cfg)
			}
		} else {
			o := d.opt
			o.Log = zap.NewNop() // its warnings are told at the reload
			cfg, err = load(o)
		}
		if err != nil {
			return p, err
		}
		p.Version, text, set = cfg.Version, cfg.Redacted(), cfg.Triggers
	}
	p.Running, p.Edits = running.Version, configEdits(running.Redacted(), text)
	for i := range p.Edits {
		p.Edits[i].Means = meaning(set, p.Edits[i].Path)
	}
	p.Waiting, err = d.waitingChanges(ctx, p.Version, config.WithRenames(text, renames))
	return p, err
}

// configEdits are what two printed configs do not have alike.
func configEdits(was, is string) (all []server.ConfigEdit) {
	edits, err := config.Edits(was, is)
	if err != nil { // this program printed both
		return nil
	}
	for _, e := range edits {
		all = append(all, server.ConfigEdit{Path: e.Path, Was: e.Was, Is: e.Is})
	}
	return all
}

// meaning is the sentence of a key of a trigger; "" for what has none.
func meaning(set *triggers.Set, path string) string {
	rest, is := strings.CutPrefix(path, "triggers.")
	if !is || set == nil {
		return ""
	}
	for _, name := range set.Names() {
		key, below := strings.CutPrefix(rest, name+".")
		if !below {
			continue
		}
		key, _, _ = strings.Cut(key, ".")
		key, _, _ = strings.Cut(key, "[")
		for _, s := range set.Tell(name) {
			if s.Key == key {
				return s.Text
			}
		}
	}
	return ""
}
