package rules

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/simulation"
	"github.com/nudgewire/nudgewire/internal/units"
)

// simulateFlags are what simulate takes.
type simulateFlags struct {
	last    string
	against string
	show    int
}

func (c commands) simulate() *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use: "simulate", Short: "Play the stored events and lists once more, and show who would get something else",
		Long: `simulate plays the events and the lists that were stored once more, by the daemon's own code and under a clock of its own, and shows whose
messages would be new, gone, at another time or with other words. Nothing is sent, and nothing is changed.

With --against it plays them by this config (was) and by the other one (is). Without it what this config would send (is) is compared with what was
really sent (was). Each message that was sent ends as it did then; one that never was is taken for delivered.

Exit status 1: something differs. docs/simulate.md says what is left out.`,
		Example: "  nudgewire simulate --last 30d --against edited.yaml\n  nudgewire simulate --last 7d\n  nudgewire simulate --last 30d --against edited.yaml --json | jq -r .phone",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			got, err := c.compareConfigs(cmd.Context(), &f)
			if err == nil {
				err = c.tellComparison(got, &f)
			}
			if err == nil && got.Differs() {
				err = exit.Silent(exit.Failed)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&f.last, "last", "30d", "events and lists of so long ago (30d), or from a date on")
	cmd.Flags().StringVar(&f.against, "against", "", "the other config: a file, or a folder with config.yaml in it")
	cmd.Flags().IntVar(&f.show, "show", 20, "so many changes, the first ones; --json prints all")
	return cmd
}

func (c commands) compareConfigs(ctx context.Context, f *simulateFlags) (*simulation.Comparison, error) {
	if c.Server != "" {
		return nil, exit.Fail(exit.Usage, "run it on the machine of the data", "simulate reads the data itself, and asks no server")
	}
	cfg, err := c.LoadToLook()
	if err != nil {
		return nil, err
	}
	other, err := c.otherConfig(f.against)
	if err != nil {
		return nil, err
	}
	now := c.Now()
	from, err := terminal.ParseSince(f.last, now)
	if err != nil {
		return nil, err
	}
	if from.IsZero() || !from.Before(now) {
		return nil, exit.Fail(exit.Usage, "write --last 30d", "--last does not say how far to go back")
	}
	if other == nil {
		return c.playBoth(ctx, nil, cfg, from, now)
	}
	return c.playBoth(ctx, cfg, other, from, now)
}

// otherConfig is the one to compare with; nil where none is named.
func (c commands) otherConfig(path string) (*config.Config, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // none is named
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, exit.Fail(exit.Usage, "", "--against: %w", err)
	}
	if info.IsDir() {
		path = filepath.Join(path, "config.yaml")
	}
	other := *c.CLI
	other.Config = path
	return other.LoadToLook()
}

func (c commands) tellComparison(got *simulation.Comparison, f *simulateFlags) error {
	if c.JSON {
		return terminal.PrintAll(c.CLI, got.Changes)
	}
	for _, group := range []struct {
		name string
		of   []simulation.Total
	}{{"trigger", got.Triggers}, {"job", got.Jobs}, {"day", got.Days}} {
		if len(group.of) == 0 {
			continue
		}
		if err := c.Table(group.name+" | was | is | new | gone | moved | other words | points", totalRows(group.of)); err != nil {
			return err
		}
		c.Say("\n")
	}
	c.tellSimulated(got.Changes, f.show)
	for _, note := range got.Notes {
		c.Say("note: %s\n", note)
	}
	return nil
}

func totalRows(all []simulation.Total) (rows [][]string) {
	for i := range all {
		t := &all[i]
		row := []string{t.Name}
		for _, n := range []int64{t.Was, t.Is, t.New, t.Gone, t.Moved, t.Text} {
			row = append(row, units.Number(n))
		}
		points := ""
		if t.WasPoints > 0 || t.IsPoints > 0 {
			points = fmt.Sprintf("%.1f, was %.1f", t.IsPoints, t.WasPoints)
		}
		rows = append(rows, append(row, points))
	}
	return rows
}

// tellSimulated tells of the first of all changes.
func (c commands) tellSimulated(all []simulation.Change, show int) {
	if len(all) == 0 {
		c.Say("nothing differs\n")
		return
	}
	for i := range all[:min(len(all), max(show, 0))] {
		one := &all[i]
		c.Say("%s  %s  %s  %s\n", one.Phone, cmp.Or(one.Trigger, one.Job), one.Kind, plain.Text(changeWords(one)))
	}
	if more := len(all) - max(show, 0); more > 0 {
		c.Say("and %s; --json prints all\n", units.Count(int64(more), "more change"))
	}
}

func changeWords(one *simulation.Change) string {
	var words []string
	if one.Was != nil {
		words = append(words, "was "+versionWords(one.Was, one.Kind))
	}
	if one.Is != nil {
		words = append(words, "is "+versionWords(one.Is, one.Kind))
	}
	if one.Reason != "" {
		words = append(words, "because "+one.Reason)
	}
	return strings.Join(words, "; ")
}

// versionWords is a message as one config sends it; of one that moved the time is what matters.
func versionWords(v *simulation.Version, kind string) string {
	text := v.Due.UTC().Format("2006-01-02 15:04:05 UTC") + " " + v.Template
	switch {
	case kind == simulation.Moved:
	case v.Reads != "":
		text += fmt.Sprintf(" %q", v.Reads)
	case len(v.Variables) > 0:
		text += fmt.Sprintf(" %q", v.Variables)
	}
	return text
}
