package app

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/scheduler"
)

// What an edit takes from a run is told by the keys of its job as two configs print them: a new key is told without a word
// here. What a run was built from it keeps; all else holds at once.

// builtKeys are what a run keeps as it was read and built, or as it was fired.
var builtKeys = []string{"source", "columns", "country", "unique", "campaign", "send", "deliver", "account", "category", "cron", "on_missed", "overlap", "mode"}

// printedJobs are the jobs of a config as it is printed, key by key.
func printedJobs(printed string) map[string]map[string]any {
	var in struct {
		Jobs map[string]map[string]any `yaml:"jobs"`
	}
	if yaml.Unmarshal([]byte(printed), &in) != nil {
		return nil // it was printed by this program, so it can be read; without it nothing is told as edited
	}
	for _, job := range in.Jobs {
		delete(job, "was") // whose memory it has takes nothing from a run
	}
	return in.Jobs
}

// runChanges are the runs that a config, as it is printed, means something for that the config in use does not.
func (a *App) runChanges(ctx context.Context, printed string) (changes []preview.RuleChange, err error) {
	all := a.renames(printed)
	before, after := printedJobs(config.UnderNewNames(a.config().Redacted(), all)), printedJobs(printed)
	modes := config.Keep("", printed, a.opt.Env, filepath.Dir(a.opt.ConfigFile)).Jobs
	heldBy := func(job string) string {
		switch _, there := after[job]; {
		case !there:
			return "is gone from the config"
		case modes[job] != nil && modes[job].Mode == scheduler.Off:
			return "is off"
		}
		return ""
	}
	runs, err := a.store.OpenRuns(ctx, "")
	if err != nil {
		return nil, err
	}
	sent, err := a.store.RunsUnsent(ctx, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	for i := range sent {
		if sent[i].State.Final() && sent[i].State != messaging.RunCancelled {
			runs = append(runs, sent[i])
		}
	}
	slices.SortFunc(runs, func(x, y messaging.Run) int { return cmp.Compare(x.ID, y.ID) })
	printedBy := a.printedJob()
	for i := range runs {
		r := &runs[i]
		r.Job = store.NameNow(all, store.RenamedJob, r.Job, a.store.Now())
		c := preview.RuleChange{Run: r.ID, Job: r.Job, State: r.State, Waits: waitWords(r)}
		if c.Change = heldBy(r.Job); c.Change != "" {
			if c.Released = r.Released != ""; !c.Released {
				c.Paused = true
			}
			if _, there := after[r.Job]; !there {
				c.Config = r.Config
				c.Brakes = said(printedBy(ctx, r))
			}
		} else if c.Change = "edited"; before[r.Job] != nil {
			c.Brakes, c.Built = edits(before[r.Job], after[r.Job], keptBy(r))
			if len(c.Brakes)+len(c.Built) == 0 {
				continue
			}
		} else {
			continue // its job is back
		}
		changes = append(changes, c)
	}
	for _, r := range a.newRenames(printed) {
		c := preview.RuleChange{Was: r.Was, Change: "was " + r.Was, Done: true}
		if c.Job = r.Name; r.About == store.RenamedTrigger {
			c.Trigger, c.Job = r.Name, ""
		}
		changes = append(changes, c)
	}
	changes = append(changes, renamed(before, after)...)
	return append(changes, renamedTriggers(a.rulesBefore(a.config(), printed), config.Rules(printed, a.opt.Env))...), nil
}

// printedJob gives the job of a run as the config had it that the run began with; nil where that is not known. It reads each config once.
func (a *App) printedJob() func(context.Context, *messaging.Run) map[string]any {
	read := map[string]map[string]map[string]any{}
	return func(ctx context.Context, r *messaging.Run) map[string]any {
		jobs, known := read[r.Config]
		if !known {
			if text, err := a.configText(ctx, r.Config); err == nil {
				jobs = printedJobs(text)
			}
			read[r.Config] = jobs
		}
		return jobs[r.Job]
	}
}

// waitWords say what a run waits for, and until when; "" for nothing.
func waitWords(r *messaging.Run) string {
	switch {
	case r.State == messaging.RunAwaiting || r.State == messaging.RunPaused:
		return "for a person: " + r.Why()
	case r.State.Final():
		return "for its messages to leave"
	case r.Waits == "":
		return ""
	}
	return "until " + units.Stamp(r.WaitUntil) + ": " + strings.ReplaceAll(string(r.Waits), "_", " ")
}

// said are the keys of a job that hold its runs back, with their values.
func said(job map[string]any) (all []string) {
	for _, key := range slices.Sorted(maps.Keys(job)) {
		if !slices.Contains(builtKeys, key) && !empty(job[key]) {
			all = append(all, key+": "+flow(job[key]))
		}
	}
	return all
}

// keptBy are the keys of which a run keeps what they said.
func keptBy(r *messaging.Run) []string {
	switch {
	case r.State == messaging.RunPlanned || r.Waits == messaging.WaitSource:
		return nil
	case r.State.Final(): // its rows were handed over, each with the time at which it falls due
		return append(slices.Clone(builtKeys), "at")
	}
	return builtKeys
}

// edits are the keys that two states of a job differ in: those that hold at once, each with what becomes of it, and those
// that a run keeps as it was built.
func edits(before, after map[string]any, kept []string) (brakes, built []string) {
	keys := slices.Sorted(maps.Keys(before))
	for key := range after {
		if _, had := before[key]; !had {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		switch {
		case reflect.DeepEqual(before[key], after[key]):
		case slices.Contains(kept, key):
			built = append(built, key)
		default:
			brakes = append(brakes, fmt.Sprintf("%s: %s becomes %s", key, flow(before[key]), flow(after[key])))
		}
	}
	return brakes, built
}

// renamed are the jobs that are new and have the rule of one that is gone.
func renamed(before, after map[string]map[string]any) (found []preview.RuleChange) {
	for _, old := range slices.Sorted(maps.Keys(before)) {
		if _, there := after[old]; there {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(after)) {
			if _, had := before[name]; had || !reflect.DeepEqual(before[old], after[name]) {
				continue
			}
			found = append(found, preview.RuleChange{Job: name, Was: old, Change: "has the rule that " + old + " had"})
			break
		}
	}
	return found
}

// renamedTriggers are the triggers that are new and have the rule of one that is gone.
func renamedTriggers(before, after map[string]triggers.Rule) (found []preview.RuleChange) {
	for _, old := range slices.Sorted(maps.Keys(before)) {
		if _, there := after[old]; there {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(after)) {
			now := after[name]
			now.Name = old
			if _, had := before[name]; !had && config.SameRule(before[old], now) {
				found = append(found, preview.RuleChange{Trigger: name, Was: old, Change: "has the rule that " + old + " had"})
				break
			}
		}
	}
	return found
}

func empty(v any) bool {
	return v == nil || v == "" || v == false || v == "off" || reflect.DeepEqual(v, map[string]any{})
}

// flow is a value of YAML on one line.
func flow(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case map[string]any:
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, key+": "+flow(v[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for _, one := range v {
			parts = append(parts, flow(one))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v)
}
