package operate

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

func (c commands) halt() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "halt [all|trigger NAME|template NAME|job NAME]", Short: "Stop sending now, until resume", Args: cobra.MaximumNArgs(2), ValidArgsFunction: c.CompleteScope,
		Long: `halt stops sending within a second, also over a restart of the daemon: everything, or what
one trigger, template or job sends. Calls under way end as they would. What is halted waits
and keeps its due time; what expires meanwhile is dropped. Webhooks are taken as before.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := haltRequest(args)
			if err != nil {
				return err
			}
			r.Reason = reason
			return c.switchHalt(cmd.Context(), r, server.Halt)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return cmd
}

func (c commands) resume() *cobra.Command {
	var reviewed bool
	var lostAt string
	cmd := &cobra.Command{
		Use: "resume [all|trigger NAME|template NAME|job NAME]", Short: "End a halt", Args: cobra.MaximumNArgs(2), ValidArgsFunction: c.CompleteScope,
		Long: `resume ends the halt that was made with the same words. Other halts stay: "resume" after
"halt" does not wake a trigger that was halted by its name. A run that is paused goes on with
"jobs resume". "resume trigger NAME" also sends what waits of a trigger that is paused because it is
off, in mode shadow or gone from the config.

After the log of the database was damaged, the daemon takes webhooks and sends nothing, because it may not know what it
has sent. Look at "messages list --state waiting" and at the service's own list, cancel what was sent, and then
let the rest go with "resume --reviewed". Data that was restored is reviewed in the same way: "review" shows what to look at.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := haltRequest(args)
			if err != nil {
				return err
			}
			if reviewed {
				if len(args) > 0 {
					return exit.Fail(exit.Usage, "resume --reviewed first, then what else is halted", "--reviewed takes no name")
				}
				r.Reviewed = true
				if r.LostAt, err = c.parseLostAt(lostAt); err != nil {
					return err
				}
			} else if lostAt != "" {
				return exit.Fail(exit.Usage, "resume --reviewed --lost-at TIME", "--lost-at belongs to --reviewed")
			}
			return c.switchHalt(cmd.Context(), r, server.Resume)
		},
	}
	cmd.Flags().BoolVar(&reviewed, "reviewed", false, "end the halt after damage or a restoration: somebody has looked at what would be sent again")
	cmd.Flags().StringVar(&lostAt, "lost-at", "", lostAtHelp)
	return cmd
}

// haltRequest reads what to halt or to resume; nothing is all.
func haltRequest(args []string) (r server.HaltRequest, err error) {
	r.Scope = messaging.ScopeAll
	if len(args) > 0 {
		r.Scope = messaging.HoldScope(args[0])
	}
	switch r.Scope {
	case messaging.ScopeAll:
		if len(args) > 1 {
			return r, exit.Fail(exit.Usage, "", "all takes no name")
		}
	case messaging.ScopeTrigger, messaging.ScopeTemplate, messaging.ScopeJob:
		if len(args) < 2 || args[1] == "" {
			return r, exit.Fail(exit.Usage, "", "which %s?", r.Scope)
		}
		r.Name = args[1]
	default:
		name := ""
		if len(args) > 1 {
			name = args[1]
		}
		return r, exit.Fail(exit.Usage, server.HaltHint(args[0], name), "%q: want all, trigger NAME, template NAME or job NAME", args[0])
	}
	return r, nil
}

// switchHalt asks the daemon and tells what is halted then.
func (c commands) switchHalt(ctx context.Context, r server.HaltRequest, do *server.Operation[server.HaltRequest, []messaging.Hold]) error {
	ask, done, err := c.Daemon()
	if err != nil {
		return err
	}
	defer done()
	before, err := server.ShowStatus.Call(ctx, ask, server.None{})
	if err != nil {
		return err
	}
	holds, err := do.Call(ctx, ask, r)
	if err != nil {
		return err
	}
	if c.JSON {
		return terminal.PrintAll(c.CLI, holds)
	}
	for _, h := range before.Holds {
		if !slices.ContainsFunc(holds, h.Same) {
			c.Say("goes on  %s\n", h.Ended())
		}
	}
	var halts []messaging.SendingHalt // what keeps an account from sending, which no person made
	if before.Daemon != nil {
		halts = before.Daemon.Halts
	}
	for i := range halts {
		c.Say("waits  %s\n", halts[i].Words(time.Now()))
	}
	if len(holds)+len(halts) == 0 {
		c.Say("nothing is halted now\n")
	}
	for _, h := range holds {
		c.Say("%s  %s\n", h.State(), h.Words())
	}
	return nil
}
