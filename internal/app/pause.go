package app

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

// What waits of a trigger that the config does not send by is paused, and what cancelled it goes on
// cancelling it. The pause is in the store (internal/store/hold_triggers.go), so it needs no care over a restart. What
// cancels is worked out here: from the config for a trigger that is off, and for one that is
// gone from the last config that had it. The store keeps every config for the sake of its decisions,
// so a table of such rules would only say once more what stands there.

// pause pauses what waits of triggers that cfg does not send by, and gives the triggers of cfg with
// what goes on cancelling it. maybe names triggers of which something may come to wait until cfg is
// taken up. What is paused already stays so until goOn: what an edit does to it comes before it may leave.
func (a *App) pause(ctx context.Context, cfg *config.Config, maybe []string) (*triggers.Set, error) {
	names, err := a.store.UnsentTriggers(ctx)
	if err != nil {
		return nil, err
	}
	why := map[string]string{}
	for _, name := range slices.Concat(names, maybe) {
		if words := notSending(name, cfg.Triggers.ModeOf(name)); words != "" {
			why[name] = words
		}
	}
	set, err := a.cancelling(ctx, cfg, why)
	if err != nil {
		return nil, err
	}
	for _, h := range a.ofMode() {
		if notSending(h.Name, cfg.Triggers.ModeOf(h.Name)) == "" {
			why[h.Name] = h.Reason
		}
	}
	return set, a.store.PauseTriggers(ctx, why, a.store.Now())
}

// ofMode are the holds of triggers that the config does not send by, also of those that a person released.
func (a *App) ofMode() []messaging.Hold {
	return a.store.HoldsOf(func(h messaging.Hold) bool {
		return h.Kind == messaging.HoldMode || h.Kind == messaging.HoldReleased
	})
}

// pausedBy are the triggers that are paused and that cfg does not send by, each with the reason.
func (a *App) pausedBy(cfg *config.Config) map[string]string {
	why := map[string]string{}
	for _, h := range a.ofMode() {
		if words := notSending(h.Name, cfg.Triggers.ModeOf(h.Name)); words != "" {
			why[h.Name] = words
		}
	}
	return why
}

// goOn ends the pauses of triggers that cfg sends by.
func (a *App) goOn(ctx context.Context, cfg *config.Config) error {
	return a.store.PauseTriggers(ctx, a.pausedBy(cfg), a.store.Now())
}

// notSending says why a trigger does not send by its mode, "" where the config does not have it; "" when it does.
func notSending(name string, mode triggers.Mode) string {
	switch {
	case name == messaging.ByHand || mode == triggers.Live:
		return ""
	case mode == "":
		return "is gone from the config"
	case mode == triggers.Off:
		return "is off"
	default:
		return "is in mode " + string(mode)
	}
}

// cancelling are the triggers of cfg with those that why names and that only cancel.
func (a *App) cancelling(ctx context.Context, cfg *config.Config, why map[string]string) (*triggers.Set, error) {
	var off, left []string
	for name := range why {
		if cfg.Triggers.ModeOf(name) == "" {
			left = append(left, name)
		} else {
			off = append(off, name)
		}
	}
	earlier, err := a.edited(ctx, cfg)
	if err != nil {
		return nil, err
	}
	a.edits = len(earlier) > 0
	if len(off)+len(left)+len(earlier) == 0 {
		return cfg.Triggers, nil
	}
	slices.Sort(left)
	gone, err := a.lastRules(ctx, left)
	if err != nil {
		return nil, err
	}
	set, known := cfg.Triggers.Holding(off, gone)
	for i, rule := range gone {
		if !known[i] {
			a.log.Warn("what cancels the messages of a trigger that is gone cannot be read any more; they are paused", zap.String("trigger", rule.Name))
		}
	}
	if len(earlier) > 0 {
		set = set.Cancelling(earlier)
	}
	return set, nil
}

// edited are the rules of earlier configs by which something waits of a trigger that sends, where it is cancelled by other events
// or keys now. What is pinned keeps the key that it was planned with, and is found by no other.
func (a *App) edited(ctx context.Context, cfg *config.Config) (found []triggers.Earlier, err error) {
	waits, err := a.store.WaitingByConfig(ctx)
	if err != nil {
		return nil, err
	}
	waits = slices.DeleteFunc(waits, func(w store.PlannedBy) bool {
		return w.Config == cfg.Version || cfg.Triggers.ModeOf(w.Trigger) != triggers.Live
	})
	if len(waits) == 0 {
		return nil, nil
	}
	rules, err := a.earlierRules(ctx, waits, cfg.Version, a.store.Renames())
	if err != nil {
		return nil, err
	}
	now := config.Rules(cfg.Redacted(), a.opt.Env)
	for _, w := range waits {
		if rule, known := rules[w.Config][w.Trigger]; known && !rule.CancelsLike(now[w.Trigger]) {
			found = append(found, triggers.Earlier{Rule: rule, Until: w.Last})
		}
	}
	return found, nil
}

// listenAnew takes up what cancels at present what waits by rules of earlier configs.
func (a *App) listenAnew(ctx context.Context, cfg *config.Config) error {
	set, err := a.cancelling(ctx, cfg, a.pausedBy(cfg))
	if err == nil {
		a.rules.Store(rulesOf(cfg, set))
	}
	return err
}

// lastRules are the rules of the names as the last config that had them wrote them.
func (a *App) lastRules(ctx context.Context, names []string) (found []triggers.Rule, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	left := slices.Clone(names)
	err = history.Records{Store: a.store}.Configs(ctx, func(_, text string) bool {
		rules := config.Rules(config.UnderNewNames(text, a.store.Renames()), a.opt.Env)
		left = slices.DeleteFunc(left, func(name string) bool {
			r, has := rules[name]
			if has {
				found = append(found, r)
			}
			return has
		})
		return len(left) == 0
	})
	for _, name := range left {
		a.log.Warn("no config is known that had this trigger; what waits of it is paused, and nothing cancels it", zap.String("trigger", name))
	}
	return found, err
}

// pauseLook is how often the daemon looks for pauses that hold nothing any more, and how long one
// lasts at the least: what was read under the config before is stored by then.
const pauseLook = time.Minute

// watchPauses ends the pauses of triggers of which nothing waits any more, so that claims and
// cancelling events need no look.
func (a *App) watchPauses(ctx context.Context) error {
	tick := time.NewTicker(pauseLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			if err := a.endPauses(ctx, now.Add(-pauseLook)); err != nil && ctx.Err() == nil {
				a.log.Warn("look for what is paused", zap.Error(err))
			}
			if err := a.jobs.Hold(ctx, !a.store.Shares()); err != nil && ctx.Err() == nil {
				a.log.Warn("look for runs of jobs that left the config", zap.Error(err))
			}
			if err := a.lateRules(ctx, now); err != nil && ctx.Err() == nil {
				a.log.Warn("look for what waits by an edited trigger", zap.Error(err))
			}
		}
	}
}

// endPauses ends the pauses that were made before and hold nothing.
func (a *App) endPauses(ctx context.Context, before time.Time) error {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	keep, ends := map[string]string{}, 0
	for _, h := range a.ofMode() {
		unsent := true
		if h.At.Before(before) {
			var err error
			if unsent, err = a.store.Unsent(ctx, messaging.ScopeTrigger, h.Name); err != nil {
				return err
			}
		}
		if unsent {
			keep[h.Name] = h.Reason
		} else {
			ends++
		}
	}
	if ends == 0 {
		return nil
	}
	cfg := a.config()
	set, err := a.cancelling(ctx, cfg, keep)
	if err != nil {
		return err
	}
	if err := a.store.PauseTriggers(ctx, keep, a.store.Now()); err != nil {
		return err
	}
	a.rules.Store(rulesOf(cfg, set))
	return nil
}
