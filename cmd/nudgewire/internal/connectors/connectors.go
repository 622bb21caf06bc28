package connectors

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/nearest"
)

// leastTitle is the room of a title where the terminal is so narrow that lines break anyway.
const leastTitle = 20

func (c commands) connectors() *cobra.Command {
	cmd := &cobra.Command{
		Use: "connectors", Short: "The systems whose webhooks are understood: list them, set one up, try one out",
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.connectorsList(), c.connectorsShow(), c.connectorsTest(), c.connectorsDrift(), c.connectorsDocs())
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

func (c commands) connectorsList() *cobra.Command {
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
			room := terminal.Columns(c.Out)
			if room != terminal.NoColumns {
				name, title := 0, 0
				for _, r := range rows {
					name, title = max(name, utf8.RuneCountInString(r.Name)), max(title, utf8.RuneCountInString(r.Title))
				}
				room = max(leastTitle, room-name-title-len("configured")-3*len("  "))
			}
			nothing := exit.Fail(exit.Nothing, `"nudgewire connectors list" shows the presets`, "the config has no connectors")
			err := terminal.List(c.CLI, rows, nothing, "NAME | SYSTEM | CONFIG | VERIFIED BY", func(r listedConnector) []string {
				mark := "-"
				if r.Configured {
					mark = "configured"
				}
				return []string{r.Name, r.Title, mark, terminal.Truncated(r.Verifier, room)}
			})
			if err == nil && !c.JSON {
				c.Note(`how to set one up: nudgewire connectors show NAME`)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&own, "configured", false, "only those of the config")
	return cmd
}

// optional is the config if there is one that can be used, else an empty one: what is asked
// here can be answered without. It says aloud when there is one that cannot be used.
func (c commands) optional() *config.Config {
	cfg, problems := config.Load(c.Config, os.LookupEnv)
	if cfg == nil {
		if _, err := os.Stat(c.Config); !errors.Is(err, fs.ErrNotExist) {
			c.Note("%s cannot be read; going on without it", c.Config)
		}
		return &config.Config{}
	}
	if n := problems.Errors(); n > 0 {
		c.Note("%s has mistakes (see \"nudgewire check\"); what could be understood of it counts", c.Config)
	}
	return cfg
}

func (c commands) configured() map[string]*connectors.Connector { return c.optional().Receivers }

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
	return exit.Fail(exit.Nothing, hint, "no connector and no preset %q", name)
}
