package rules

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/simulation"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/units"
)

// plannedConfig is what plan prints as JSON.
type plannedConfig struct {
	server.ConfigPlan
	Simulated *simulatedDays `json:"simulated,omitempty"` // nil where no events were played
}

type simulatedDays struct {
	Since    time.Time          `json:"since"`
	Triggers []simulation.Total `json:"triggers"`
	Jobs     []simulation.Total `json:"jobs,omitempty"`
	Changes  int                `json:"changes"`
	Notes    []string           `json:"notes,omitempty"`
}

func (c commands) plan() *cobra.Command {
	f := simulateFlags{show: 5}
	cmd := &cobra.Command{
		Use: "plan", Short: "Say what the config files as they are now would change, and how to take them up",
		Long: `plan holds the config files as they are now against the config that the daemon uses. It says what differs, how many messages and runs wait
and what becomes of each, and who would have got something else in the last days (docs/simulate.md). It changes nothing.

Its last line is the command that takes up exactly what was shown.`,
		Example: "  nudgewire plan\n  nudgewire plan --last 30d\n  nudgewire plan --last 0d      # without playing events",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.WithDaemon(func(ask *server.Client) error {
				_, end := c.Working("looking at what waits")
				plan, err := server.PlanConfig.Call(cmd.Context(), ask, server.PlanRequest{})
				if end(); err == nil {
					err = c.showPlan(cmd.Context(), ask, &plan, &f)
				}
				switch {
				case err != nil || c.JSON:
				case plan.Version == plan.Running:
					c.Say("\nconfig %s is in use: there is nothing to take up\n", plan.Running)
				default:
					c.Say("\nto take it up: nudgewire apply %s\n", plan.Version)
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&f.last, "last", "7d", "play the events of so long ago (30d), or from a date on; 0d plays none")
	cmd.Flags().IntVar(&f.show, "show", f.show, "so many simulated changes, the first ones")
	return cmd
}

// showPlan prints a plan with what it would have changed of the last days.
func (c commands) showPlan(ctx context.Context, ask *server.Client, plan *server.ConfigPlan, f *simulateFlags) error {
	got, from, err := c.simulatePlan(ctx, ask, plan, f)
	if err != nil {
		return err
	}
	if c.JSON {
		out := plannedConfig{ConfigPlan: *plan}
		if got != nil {
			out.Simulated = &simulatedDays{Since: from.UTC(), Triggers: got.Triggers, Jobs: got.Jobs, Changes: len(got.Changes), Notes: got.Notes}
		}
		return c.Print(out)
	}
	if err := c.tellPlan(plan); err != nil || got == nil {
		return err
	}
	c.Say("\nplayed since %s:\n", from.UTC().Format("2006-01-02 15:04 UTC"))
	return c.tellComparison(got, f)
}

// tellPlan says what differs, and what becomes of what waits.
func (c commands) tellPlan(plan *server.ConfigPlan) error {
	if c.JSON {
		return c.Print(plan)
	}
	for i := range plan.Edits {
		c.Say("%s\n", plan.Edits[i].Words())
		if plan.Edits[i].Means != "" {
			c.Say("    %s\n", plan.Edits[i].Means)
		}
	}
	if len(plan.Edits) == 0 {
		if plan.Version != "" && plan.Version != plan.Running {
			c.Say("nothing differs but comments, how it is written, or a secret\n")
		} else {
			c.Say("nothing differs\n")
		}
	}
	for _, change := range plan.Waiting {
		c.Say("%s\n", change.Words())
	}
	if len(plan.Waiting) == 0 {
		c.Say("nothing changes for what waits\n")
	}
	return nil
}

// simulatePlan plays the last days by the config in use and by the planned one; nil where that is not asked for, or nothing that plays differs.
func (c commands) simulatePlan(ctx context.Context, ask *server.Client, plan *server.ConfigPlan, f *simulateFlags) (*simulation.Comparison, time.Time, error) {
	now := c.Now()
	from, err := terminal.ParseSince(f.last, now)
	if err != nil || from.IsZero() || !from.Before(now) || len(plan.Edits) == 0 {
		return nil, from, err
	}
	if c.Server != "" {
		c.Note("the events of the last days are not played: that is done on the machine of the data")
		return nil, from, nil
	}
	was, err := c.versionToLook(ctx, ask, plan.Running)
	if err != nil {
		return nil, from, err
	}
	is, err := c.versionToLook(ctx, ask, plan.Version)
	if err == nil && is == nil { // it was never in use: it is that of the files
		is, err = c.LoadToLook()
	}
	switch {
	case err != nil:
		return nil, from, err
	case was == nil || is.Version != plan.Version:
		c.Note("the events of the last days are not played: the files of both configs are not here")
		return nil, from, nil
	}
	got, err := c.playBoth(ctx, was, is, from, now)
	return got, from, err
}

// versionToLook is a config that was used, without its secrets; nil where its files are not kept.
func (c commands) versionToLook(ctx context.Context, ask *server.Client, version string) (*config.Config, error) {
	kept, err := server.ShowVersion.Call(ctx, ask, version)
	if no, is := errors.AsType[*refusal.Error](err); is && no.Status == http.StatusNotFound {
		return nil, nil //nolint:nilnil // it was never in use
	} else if err != nil {
		return nil, err
	}
	var files []history.ConfigFile
	for _, one := range kept.Files {
		files = append(files, history.ConfigFile{Name: one.Name, Text: strings.Join(one.Lines, "\n")})
	}
	cfg, problems := config.ParseFilesWithoutSecrets(c.Config, files, os.LookupEnv)
	if problems.Errors() > 0 {
		return nil, exit.Fail(exit.Config, "", "config %s: %s", version, problems.Faults()[0].Error())
	}
	return cfg, nil
}

// playBoth plays what is stored by two configs, or by one and as it was where was is nil. The data is that of the first.
func (c commands) playBoth(ctx context.Context, was, is *config.Config, from, now time.Time) (*simulation.Comparison, error) {
	first := cmp.Or(was, is)
	data, err := store.Open(ctx, store.Options{DSN: first.Storage, ReadOnly: true})
	switch {
	case errors.Is(err, os.ErrNotExist) || errors.Is(err, store.ErrNoData):
		return nil, exit.Fail(exit.Nothing, "", "there are no data yet at %s", engine.Name(first.Storage))
	case err != nil:
		return nil, cmp.Or(terminal.FailServer(err), err)
	}
	defer data.Close()
	past := simulation.Past{Store: data, From: from.UTC(), Warm: simulation.Warm, Until: now.UTC(), Zone: terminal.ZoneOf(first.Defaults.Timezone)}
	detail, end := c.Working("playing what was stored")
	defer end()
	past.Progress = func(events int64) { detail(units.Count(events, "event")) }
	edited := app.SimulationOf(is)
	if was == nil {
		return simulation.Compare(ctx, past, nil, &edited)
	}
	before := app.SimulationOf(was)
	return simulation.Compare(ctx, past, &before, &edited)
}

func (c commands) apply() *cobra.Command {
	return &cobra.Command{
		Use: "apply VERSION", Short: "Take up the config files, if they are still what plan showed",
		Long: `apply makes the running daemon take the config files up, as reload does, if they are the version that plan showed. Where they were changed since,
nothing is changed.`,
		Example: "  nudgewire apply 3f2a9c81d07e",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.takeUp(cmd.Context(), args[0]) },
	}
}

func (c commands) history() *cobra.Command {
	var limit int
	var before int64
	cmd := &cobra.Command{
		Use: "history", Short: "List which config was taken up when, by whom, and what it changed",
		Example: "  nudgewire config history\n  nudgewire config history --json | jq -r .version",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.WithDaemon(func(ask *server.Client) error {
				all, err := server.ListVersions.Call(cmd.Context(), ask, server.AuditQuery{Limit: limit, Before: before})
				if err != nil || c.JSON {
					return cmp.Or(err, terminal.PrintAll(c.CLI, all))
				}
				for i := range all {
					one := &all[i]
					c.Say("%s  %s  %s by %s (%s)\n", c.Clock(one.At), one.Version, one.How, one.Who, one.Via)
					for _, e := range one.Edits {
						c.Say("    %s\n", e.Words())
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "so many, the newest first")
	cmd.Flags().Int64Var(&before, "before", 0, "only those before this entry of the audit")
	return cmd
}

func (c commands) show() *cobra.Command {
	return &cobra.Command{
		Use: "show VERSION", Short: "Print the files of a config that was used, as they were written, with marks in place of secrets",
		Example: "  nudgewire config show 3f2a9c81d07e",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.WithDaemon(func(ask *server.Client) error {
				kept, err := server.ShowVersion.Call(cmd.Context(), ask, args[0])
				if err != nil {
					return err
				}
				if c.JSON {
					return c.Print(kept)
				}
				for _, f := range kept.Files {
					if len(kept.Files) > 1 {
						c.Say("# ---- %s\n", f.Name)
					}
					for i, line := range f.Lines {
						if line = strings.TrimSuffix(line, "\r"); i+1 < len(f.Lines) || line != "" {
							c.Say("%s\n", line)
						}
					}
				}
				return nil
			})
		},
	}
}

func (c commands) rollback() *cobra.Command {
	f := simulateFlags{show: 5}
	cmd := &cobra.Command{
		Use: "rollback VERSION", Short: "Have an earlier config again: say what that changes, ask, write its files and take them up",
		Long: `rollback shows what going back to an earlier config would change, as plan does, and asks. Then the daemon writes the files of that version where its
config is read from, keeps those of today beside them by names that begin with a dot, and takes them up. All of it or nothing.

A secret that was written into a file is taken from today's files; where they do not have it any more, nothing is changed and the line is named.
What has ended stays ended. What waits and is past its time is sent at once, or dropped where it has expired.`,
		Example: "  nudgewire config rollback 3f2a9c81d07e",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.WithDaemon(func(ask *server.Client) error { return c.goBack(cmd.Context(), ask, args[0], &f) })
		},
	}
	cmd.Flags().StringVar(&f.last, "last", "0d", "play the events of so long ago (30d), or from a date on; 0d plays none")
	return cmd
}

func (c commands) goBack(ctx context.Context, ask *server.Client, version string, f *simulateFlags) error {
	_, end := c.Working("looking at what waits")
	plan, err := server.PlanConfig.Call(ctx, ask, server.PlanRequest{Version: version})
	if end(); err == nil && !c.JSON {
		err = c.showPlan(ctx, ask, &plan, f)
	}
	if err == nil {
		err = c.Confirm("go back to config " + version + "?")
	}
	if err != nil {
		return err
	}
	v, err := server.RollBack.Call(ctx, ask, server.RollbackRequest{Version: version})
	if err != nil {
		return err
	}
	if c.JSON {
		return c.Print(v)
	}
	c.tellReload(&v.Daemon)
	c.Say("written: %s\n", units.Enumerate(v.Wrote))
	if len(v.Removed) > 0 {
		c.Say("removed: %s\n", units.Enumerate(v.Removed))
	}
	c.Say("what the files were before is in %s\n", units.Enumerate(v.Kept))
	return nil
}
