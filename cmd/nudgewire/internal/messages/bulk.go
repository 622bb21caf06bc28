package messages

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

// bulkFlags narrow an order about many messages.
type bulkFlags struct {
	trigger, template, account, since, dueBefore string
	run                                          int64
}

func (f *bulkFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.trigger, "trigger", "", "all of this trigger or job")
	cmd.Flags().StringVar(&f.template, "template", "", "all with this template")
	cmd.Flags().StringVar(&f.account, "account", "", "all by this account: a name under accounts, or api")
	cmd.Flags().Int64Var(&f.run, "run", 0, "all rows of this run")
	cmd.Flags().StringVar(&f.since, "since", "", "all planned from this long ago (2h, 3d) or this date on")
}

// asked reports whether the flags name many messages, and not args one.
func (f *bulkFlags) asked(cmd *cobra.Command, args []string, dryRun bool) (bool, error) {
	narrowed := *f != bulkFlags{}
	switch {
	case len(args) == 0 && !narrowed:
		return false, exit.Fail(exit.Usage, `"`+cmd.CommandPath()+` --help" lists the flags`, "name a message by its number, or many by flags such as --trigger")
	case len(args) > 0 && (narrowed || dryRun):
		return false, exit.Fail(exit.Usage, "", "a message's number and flags that name many do not go together")
	}
	return len(args) == 0, nil
}

// request is what the flags ask for.
func (f *bulkFlags) request(now time.Time, reason string) (r server.BulkRequest, err error) {
	r = server.BulkRequest{Trigger: f.trigger, Template: f.template, Account: f.account, Run: messaging.RunID(f.run), Reason: reason}
	if r.Since, err = terminal.ParseSince(f.since, now); err != nil {
		return r, err
	}
	r.DueBefore, err = terminal.ParseDueBefore(f.dueBefore, now)
	return r, err
}

// many counts what an order is about, shows it, asks, and gives the order.
func (c commands) many(cmd *cobra.Command, r server.BulkRequest, dryRun bool, question func(n int64) string, done string,
	do *server.Operation[server.BulkRequest, server.BulkView],
) error {
	return c.WithDaemon(func(ask *server.Client) error {
		r.DryRun = true
		found, err := do.Call(cmd.Context(), ask, r)
		if err != nil {
			return err
		}
		if c.JSON && dryRun && found.Count > 0 {
			return c.Print(found)
		}
		for _, g := range found.Stay {
			c.Note("%6s  not again: %s", units.Number(g.Count), g.Words)
		}
		if found.Count == 0 {
			return exit.Fail(exit.Nothing, "", "no message matches")
		}
		for _, g := range found.Groups {
			c.Note("%6s  %s", units.Number(g.Count), g.Words)
		}
		if dryRun {
			c.Say("%s\n", units.Count(found.Count, "message"))
			return nil
		}
		if err := c.Confirm(question(found.Count)); err != nil {
			return err
		}
		r.DryRun = false
		changed, err := do.Call(cmd.Context(), ask, r)
		if err != nil {
			return err
		}
		if c.JSON {
			return c.Print(changed)
		}
		c.Say("%s %s\n", units.Count(changed.Count, "message"), done)
		return nil
	})
}

func (c commands) messagesRetry() *cobra.Command {
	var dryRun bool
	var state, class, minWait, deadline string
	var f bulkFlags
	cmd := &cobra.Command{
		Use: "retry --state rejected|failed|dropped | --class CLASS", Short: "Send again once what surely did not reach the phone", Args: cobra.NoArgs,
		Long: `retry sends messages again that the service rejected (rejected), that it took and did not send
(failed), or that were dropped before they could be sent (dropped), each once, with a fresh expiry. Mend the reason
first: it counts them by reason and asks. What may have reached the phone, was cancelled, is blocked, or has a later
message of the same matter does not go, nor does what a trigger queued that does not send any more. Rows of a run go
again with "jobs retry".

With --class only those go whose words have that class by the rules of today (docs/errors.md; unknown is
what no rule knows), whatever their state. They rest first as their class has it: a day for
recipient_limit, an hour for retry; --min-wait says another time.`,
		Example: "  nudgewire messages retry --class recipient_limit --since 3d --deadline 6h\n  nudgewire messages retry --state rejected --since 24h --dry-run\n  nudgewire messages retry --state failed --trigger abandoned-cart",
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := f.request(c.Now(), "")
			if err != nil {
				return err
			}
			r.State, r.Class = state, class
			if r.MinWait, err = terminal.ParseDuration("--min-wait", minWait); err != nil {
				return err
			}
			if r.Deadline, err = terminal.ParseDeadline(deadline, c.Now()); err != nil {
				return err
			}
			return c.many(cmd, r, dryRun, func(n int64) string { return "Send " + units.Count(n, "message") + " again?" }, "sent again", server.RetryMessages)
		},
	}
	cmd.Flags().StringVar(&state, "state", "", "rejected, failed or dropped")
	cmd.Flags().StringVar(&class, "class", "", "all whose words have this class: no_points, recipient_limit, opt_out, template, permanent, retry or unknown")
	terminal.AddRetryFlags(cmd, &minWait, &deadline, "they get as long as they had at first")
	cmd.Flags().StringVar(&f.trigger, "trigger", "", "all of this trigger")
	cmd.Flags().StringVar(&f.template, "template", "", "all with this template")
	cmd.Flags().StringVar(&f.account, "account", "", "all by this account: a name under accounts, or api")
	cmd.Flags().StringVar(&f.since, "since", "24h", "all planned from this long ago (2h, 3d) or this date on")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "count what would go again, by reason, and change nothing")
	return cmd
}

func (c commands) resolveMany(cmd *cobra.Command, f *bulkFlags, as messaging.Resolution, reason string, dryRun bool) error {
	r, err := f.request(c.Now(), reason)
	if err != nil {
		return err
	}
	r.As = as
	return c.many(cmd, r, dryRun, func(n int64) string {
		if as == messaging.ResolveResend {
			return "Send " + units.Count(n, "message") + " again? Whoever got one gets it twice."
		}
		return "Resolve " + units.Count(n, "message") + " as " + string(as) + "?"
	}, "resolved as "+string(as), server.ResolveMessages)
}
