package app

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

// silenceLook is how often the daemon looks for connectors that have gone silent. The
// shortest silent_after is a minute, so nothing is told much too late.
const silenceLook = 30 * time.Second

// Silent lists the connectors whose last event is longer ago than their silent_after, by name.
// One that was never heard of is measured from since: when it was first listened to.
func Silent(receivers map[string]*connectors.Connector, last map[string]time.Time, since, now time.Time) []server.SilentView {
	var out []server.SilentView
	for name, r := range receivers {
		patience := r.SilentAfter()
		if patience == 0 {
			continue
		}
		from, heard := last[name], !last[name].IsZero()
		if !heard {
			from = since
		}
		quiet := now.Sub(from)
		if quiet <= patience {
			continue
		}
		v := server.SilentView{Connector: name, For: units.Brief(quiet), Since: from.UTC()}
		if heard {
			at := from.UTC()
			v.Last = at
		}
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b server.SilentView) int { return cmp.Compare(a.Connector, b.Connector) })
	return out
}

// watchSilence warns, where this process leads, once of each connector that goes silent, and says when it is heard of
// again.
func (a *App) watchSilence(ctx context.Context) error {
	warned := map[string]bool{}
	tick := time.NewTicker(silenceLook)
	defer tick.Stop()
	for {
		if err := a.lookForSilence(ctx, warned); err != nil && ctx.Err() == nil {
			a.log.Warn("look for silent connectors", zap.Error(err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (a *App) lookForSilence(ctx context.Context, warned map[string]bool) error {
	a.mu.Lock()
	receivers, since := a.cfg.Receivers, a.loadedAt
	a.mu.Unlock()
	var silent []server.SilentView
	if slices.ContainsFunc(slices.Collect(maps.Values(receivers)), func(r *connectors.Connector) bool { return r.SilentAfter() > 0 }) {
		last, err := report.Records{Store: a.store}.LastEvents(ctx)
		if err != nil {
			return err
		}
		silent = Silent(receivers, last, since, a.store.Now())
	}
	a.mu.Lock()
	a.silent = silent
	a.mu.Unlock()
	if !a.store.Leads() { // status shows it at every node, and one writes it to its log
		clear(warned)
		return nil
	}
	now := map[string]bool{}
	for _, s := range silent {
		now[s.Connector] = true
		if !warned[s.Connector] {
			a.log.Warn("a connector is silent", zap.String("connector", s.Connector), zap.String("words", s.Words()))
		}
		warned[s.Connector] = true
	}
	for name := range warned {
		if !now[name] {
			delete(warned, name)
			a.log.Info("a connector is heard of again, or no longer watched", zap.String("connector", name))
		}
	}
	return nil
}
