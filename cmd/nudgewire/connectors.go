package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/nearest"
)

func (c *cli) connectors() *cobra.Command {
	cmd := &cobra.Command{
		Use: "connectors", Short: "The systems whose webhooks are understood: list them, set one up, try one out",
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.connectorsList(), c.connectorsShow(), c.connectorsTest(), c.connectorsDocs())
	return cmd
}

// A listedConnector is a row of the list.
type listedConnector struct {
	Name       string   `json:"name"`
	Title      string   `json:"title"`
	Preset     string   `json:"preset,omitempty"`
	Verifier   string   `json:"verifier"`
	Kinds      []string `json:"kinds"`
	Configured bool     `json:"configured"`
}

func (c *cli) connectorsList() *cobra.Command {
	var own bool
	cmd := &cobra.Command{
		Use: "list", Short: "Every preset, and the connectors of your config", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			var rows []listedConnector
			row := func(i connectors.Info, configured bool) {
				rows = append(rows, listedConnector{
					Name: i.Name, Title: i.Title, Preset: i.Preset, Verifier: i.Verifier, Kinds: i.Kinds, Configured: configured,
				})
			}
			mine := c.configured()
			for _, r := range mine {
				row(r.Info(), true)
			}
			for _, i := range connectors.Presets() {
				if _, taken := mine[i.Name]; !taken && !own {
					row(i, false)
				}
			}
			slices.SortFunc(rows, func(a, b listedConnector) int { return strings.Compare(a.Name, b.Name) })
			room := columns(c.out)
			if room != noColumns {
				name, title := 0, 0
				for _, r := range rows {
					name, title = max(name, utf8.RuneCountInString(r.Name)), max(title, utf8.RuneCountInString(r.Title))
				}
				room = max(leastTold, room-name-title-len("configured")-3*len("  "))
			}
			nothing := fail(exitNothing, `"nudgewire connectors list" shows the presets`, "the config has no connectors")
			err := list(c, rows, nothing, "NAME | SYSTEM | CONFIG | VERIFIED BY", func(r listedConnector) []string {
				mark := "-"
				if r.Configured {
					mark = "configured"
				}
				return []string{r.Name, r.Title, mark, truncated(r.Verifier, room)}
			})
			if err == nil && !c.json {
				c.note(`how to set one up: nudgewire connectors show NAME`)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&own, "configured", false, "only those of the config")
	return cmd
}

// optional is the config if there is one that can be used, else an empty one: what is asked
// here can be answered without. It says aloud when there is one that cannot be used.
func (c *cli) optional() *config.Config {
	cfg, problems := config.Load(c.config, os.LookupEnv)
	if cfg == nil {
		if _, err := os.Stat(c.config); !errors.Is(err, fs.ErrNotExist) {
			c.note("%s cannot be read; going on without it", c.config)
		}
		return &config.Config{}
	}
	if n := problems.Errors(); n > 0 {
		c.note("%s has mistakes (see \"nudgewire check\"); what could be understood of it counts", c.config)
	}
	return cfg
}

func (c *cli) configured() map[string]*connectors.Connector { return c.optional().Receivers }

// noConnector is the error for a name that is neither in the config nor a preset.
func noConnector(name string, mine map[string]*connectors.Connector) error {
	names := connectors.PresetNames()
	for n := range mine {
		names = append(names, n)
	}
	hint := `"nudgewire connectors list" shows them; a system that is not among them can be described in a few lines, see docs/connectors/own.md`
	if near := nearest.Of(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return fail(exitNothing, hint, "no connector and no preset %q", name)
}
