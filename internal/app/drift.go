package app

import (
	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/drift"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/webhooks"
)

// reads are the places that the config in use reads in the events of a kind.
func (a *App) reads(connector, kind string) (reads []drift.Read, known bool) {
	rules := a.rules.Load()
	if rules == nil {
		return nil, false
	}
	return readsOf(rules.Receivers, rules.Triggers, connector, kind)
}

// ReadsBeside is the same of a config that no daemon uses here; nil where it has no triggers that can be read.
func ReadsBeside(cfg *config.Config) func(connector, kind string) ([]drift.Read, bool) {
	if cfg.Triggers == nil {
		return nil
	}
	return func(connector, kind string) ([]drift.Read, bool) {
		return readsOf(cfg.Receivers, cfg.Triggers, connector, kind)
	}
}

func readsOf(receivers map[string]*connectors.Connector, set *triggers.Set, connector, kind string) (reads []drift.Read, known bool) {
	c := receivers[connector]
	if c == nil {
		return nil, false
	}
	return drift.ReadsOf(c, set, kind), true
}

// newWatch is who counts the fields of events while this process leads.
func (a *App) newWatch() *drift.Watch {
	w := &drift.Watch{Records: drift.Records{Store: a.store}}
	var by *webhooks.Rules
	names := map[string]func(string) bool{}
	w.Known = func(connector string) func(string) bool {
		rules := a.rules.Load()
		if rules == nil {
			return nil
		}
		if rules != by {
			by = rules
			clear(names)
		}
		if c := rules.Receivers[connector]; names[connector] == nil && c != nil {
			names[connector] = drift.NamesOf(c, rules.Triggers)
		}
		return names[connector]
	}
	return w
}
