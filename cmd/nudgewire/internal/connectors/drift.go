package connectors

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/drift"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

func (c commands) connectorsDrift() *cobra.Command {
	var accept string
	cmd := &cobra.Command{
		Use: "drift [CONNECTOR]", Short: "What senders changed: fields that are gone, of another type or new, and kinds that nobody knows", Args: cobra.MaximumNArgs(1),
		Long: `drift holds the fields of the last events of each kind against those of the week before. "!" marks what somebody reads and has to look at; below the
table stands the YAML that reads each field where it is now: add it to the entry of the connector, then "nudgewire reload". What is meant as it is
now is taken with --accept: it is what later events are held against.`,
		Example: "  nudgewire connectors drift\n  nudgewire connectors drift shopify --json\n  nudgewire connectors drift --accept shopify/order.created",
		RunE: func(cmd *cobra.Command, args []string) error {
			if accept != "" {
				if len(args) > 0 {
					return exit.Fail(exit.Usage, `name it behind --accept alone: --accept shopify/order.created`, "a connector beside --accept")
				}
				return c.acceptDrift(cmd, accept)
			}
			q := drift.Query{}
			if len(args) > 0 {
				q.Connector = args[0]
			}
			return c.WithReader(cmd.Context(), func(ask *server.Client) error {
				all, err := server.ListDrift.Call(cmd.Context(), ask, q)
				if err != nil {
					return err
				}
				return c.listDrift(all)
			})
		},
	}
	cmd.Flags().StringVar(&accept, "accept", "", "take what CONNECTOR or CONNECTOR/KIND sends now for what it is to send")
	return cmd
}

func (c commands) listDrift(all []drift.View) error {
	nothing := exit.Fail(exit.Nothing, "", "nothing differs from the week before")
	err := terminal.List(c.CLI, all, nothing, " | CONNECTOR | KIND | FIELD | WHAT | SINCE | BEFORE | NOW | READ BY", func(v drift.View) []string {
		mark, since := " ", "-"
		if v.Todo {
			mark = "!"
		}
		if !v.Since.IsZero() {
			since = c.Clock(v.Since)
		}
		before, now := counted(&v)
		return []string{mark, v.Connector, v.Kind, cmp.Or(v.Path, "-"), what(&v), since, before, now, cmp.Or(strings.Join(v.ReadBy, ", "), "-")}
	})
	if err != nil || c.JSON {
		return err
	}
	var mends []string
	for i := range all {
		for _, text := range append([]string{all[i].YAML}, all[i].Edits...) {
			if text != "" && !slices.Contains(mends, text) {
				mends = append(mends, text)
			}
		}
	}
	if len(mends) > 0 {
		c.Say("\n%s\n", strings.Join(mends, "\n"))
	}
	return nil
}

// what is the change in words.
func what(v *drift.View) string {
	switch {
	case v.What == drift.Changed:
		return fmt.Sprintf("%s, was %s", v.Is, v.Was)
	case v.What == drift.New:
		return "new, " + string(v.Is)
	case v.What == drift.Gone && v.Is != "":
		return "gone, now " + string(v.Is)
	case v.What == drift.Gone && v.Instead != "":
		return "gone; " + v.Instead + " is read"
	case v.What == drift.Topic:
		return "unknown kind"
	case v.What == drift.NotEnough:
		return "not enough events yet"
	default:
		return string(v.What)
	}
}

// counted are the events before and since, with the field and without.
func counted(v *drift.View) (before, now string) {
	switch v.What {
	case drift.Gone:
		return fmt.Sprintf("%s of %s", units.Number(v.With), units.Number(v.Of)), "0 of " + units.Number(v.Without)
	case drift.Changed:
		return fmt.Sprintf("%s of %s", units.Number(v.With), units.Number(v.Of)), units.Number(v.Without)
	case drift.New:
		return "0 of " + units.Number(v.Of), units.Number(v.With)
	case drift.Topic:
		return "-", units.Number(v.Without)
	default:
		return units.Number(v.Of), "-"
	}
}

func (c commands) acceptDrift(cmd *cobra.Command, of string) error {
	var in drift.AcceptRequest
	in.Connector, in.Kind, _ = strings.Cut(of, "/")
	return c.WithDaemon(func(ask *server.Client) error {
		all, err := server.AcceptDrift.Call(cmd.Context(), ask, in)
		if err != nil {
			return err
		}
		if c.JSON {
			return c.Print(all)
		}
		for i := range all {
			c.Say("%s\n", all[i].Words())
		}
		c.Say("taken as it is; what comes from now on is held against it once %d events came\n", drift.Ground)
		return nil
	})
}
