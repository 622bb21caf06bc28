package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/torture"
)

// torture is for those who work on nudgewire, so it is hidden.
func (c *cli) torture() *cobra.Command {
	o := torture.Options{}
	var keep bool
	cmd := &cobra.Command{
		Use: "torture", Short: "Kill, stop and fault this program at random, then audit what came of it", Args: cobra.NoArgs, Hidden: true,
		Long: `torture starts this very program against the sandbox, posts signed carts, orders and replies, breaks
the service, kills, stops and reloads the daemon at random, and then holds the ledger, the shop's memory
and the service's against each other. Everything happens on this machine, in a folder of its own.`,
		Example: "  nudgewire torture --for 10m --seed 7",
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Program, err = os.Executable(); err != nil {
				return err
			}
			if o.Folder, err = os.MkdirTemp("", "nudgewire-torture-"); err != nil {
				return err
			}
			began := time.Now()
			o.Say = func(format string, args ...any) {
				c.note("%7.1fs  "+format, append([]any{time.Since(began).Seconds()}, args...)...)
			}
			report, err := torture.Run(cmd.Context(), o)
			if err != nil {
				c.note("kept: %s", o.Folder)
				return err
			}
			if keep || len(report.Violations) > 0 {
				c.note("kept: %s", o.Folder)
			} else if err := os.RemoveAll(o.Folder); err != nil {
				return err
			}
			return c.tellTorture(report)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&o.For, "for", time.Minute, "how long things break")
	f.Uint64Var(&o.Seed, "seed", 1, "decides the customers, the faults and their order")
	f.Float64Var(&o.Rate, "rate", torture.DefaultRate, "customers a second")
	f.StringVar(&o.Storage, "storage", "", "a PostgreSQL database that several daemons share (postgres://…); a file of its own when empty")
	f.IntVar(&o.Nodes, "nodes", 1, "daemons over that database")
	f.DurationVar(&o.KillEvery, "kill-every", 0, "have nothing else break, and kill one of the daemons that often, ready or not")
	f.BoolVar(&keep, "keep", false, "keep the folder with the config, the database and the log")
	return cmd
}

func (c *cli) tellTorture(r *torture.Report) error {
	if c.json {
		if err := c.print(r); err != nil {
			return err
		}
	} else {
		c.say("seed %d, %s: %s, %d webhooks, %s, %d uploads of %s by hand and %d by the clock\n", r.Seed, r.Took,
			units.Count(r.Customers, "customer"), r.Webhooks, units.Count(r.Messages, "message"), r.Uploads, units.Count(r.Runs, "run"), r.Slots)
		c.say("%s, %s and %s; kills put %d in doubt, %d at most at once; in doubt at the end: %d\n",
			units.Count(r.Kills, "kill"), units.Count(r.Stops, "stop"), units.Count(r.Reloads, "reload"), r.Doubts, r.MaxDoubts, r.InDoubt)
		for _, v := range r.Violations {
			c.say("VIOLATION %s\n", v)
		}
	}
	if n := len(r.Violations); n > 0 {
		return fail(exitFailed, "", "%s", units.Count(n, "violation"))
	}
	c.note("0 violations")
	return nil
}
