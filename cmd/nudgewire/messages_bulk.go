package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

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
		return false, fail(exitUsage, `"`+cmd.CommandPath()+` --help" lists the flags`, "name a message by its number, or many by flags such as --trigger")
	case len(args) > 0 && (narrowed || dryRun):
		return false, fail(exitUsage, "", "a message's number and flags that name many do not go together")
	}
	return len(args) == 0, nil
}

// request is what the flags ask for.
func (f *bulkFlags) request(now time.Time, reason string) (r server.BulkRequest, err error) {
	r = server.BulkRequest{Trigger: f.trigger, Template: f.template, Account: f.account, Run: messaging.RunID(f.run), Reason: reason}
	if r.Since, err = parseSince(f.since, now); err != nil {
		return r, err
	}
	r.DueBefore, err = parseDueBefore(f.dueBefore, now)
	return r, err
}

// parseDueBefore reads a time to come: 2h is two hours from now.
func parseDueBefore(text string, now time.Time) (time.Time, error) {
	var d units.Duration
	if text != "" && d.UnmarshalText([]byte(text)) == nil {
		return now.Add(d.D()), nil
	}
	t, err := parseSince(text, now)
	if err != nil {
		return t, fail(exitUsage, "", "--due-before %q: want a duration such as 2h or 3d, or a date such as 2026-11-20", text)
	}
	return t, nil
}

// many counts what an order is about, shows it, asks, and gives the order.
func (c *cli) many(cmd *cobra.Command, r server.BulkRequest, dryRun bool, question func(n int64) string, done string,
	do func(*server.Client, context.Context, server.BulkRequest) (server.BulkView, error),
) error {
	return c.withDaemon(func(ask *server.Client) error {
		r.DryRun = true
		found, err := do(ask, cmd.Context(), r)
		if err != nil {
			return err
		}
		if c.json && dryRun && found.Count > 0 {
			return c.print(found)
		}
		for _, g := range found.Stay {
			c.note("%6s  not again: %s", units.Number(g.Count), g.Words)
		}
		if found.Count == 0 {
			return fail(exitNothing, "", "no message matches")
		}
		for _, g := range found.Groups {
			c.note("%6s  %s", units.Number(g.Count), g.Words)
		}
		if dryRun {
			c.say("%s\n", units.Count(found.Count, "message"))
			return nil
		}
		if err := c.confirm(question(found.Count)); err != nil {
			return err
		}
		r.DryRun = false
		changed, err := do(ask, cmd.Context(), r)
		if err != nil {
			return err
		}
		if c.json {
			return c.print(changed)
		}
		c.say("%s %s\n", units.Count(changed.Count, "message"), done)
		return nil
	})
}

func (c *cli) messagesRetry() *cobra.Command {
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
			r, err := f.request(c.now(), "")
			if err != nil {
				return err
			}
			r.State, r.Class = state, class
			if r.MinWait, err = parseFlagDuration("--min-wait", minWait); err != nil {
				return err
			}
			if r.Deadline, err = parseDeadline(deadline, c.now()); err != nil {
				return err
			}
			return c.many(cmd, r, dryRun, func(n int64) string { return "Send " + units.Count(n, "message") + " again?" }, "sent again", (*server.Client).RetryMany)
		},
	}
	cmd.Flags().StringVar(&state, "state", "", "rejected, failed or dropped")
	cmd.Flags().StringVar(&class, "class", "", "all whose words have this class: no_points, recipient_limit, opt_out, template, permanent, retry or unknown")
	retryTimes(cmd, &minWait, &deadline, "they get as long as they had at first")
	cmd.Flags().StringVar(&f.trigger, "trigger", "", "all of this trigger")
	cmd.Flags().StringVar(&f.template, "template", "", "all with this template")
	cmd.Flags().StringVar(&f.account, "account", "", "all by this account: a name under accounts, or api")
	cmd.Flags().StringVar(&f.since, "since", "24h", "all planned from this long ago (2h, 3d) or this date on")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "count what would go again, by reason, and change nothing")
	return cmd
}

// retryTimes are the flags that say when what failed goes again; otherwise is what becomes of it without a deadline.
func retryTimes(cmd *cobra.Command, minWait, deadline *string, otherwise string) {
	cmd.Flags().StringVar(minWait, "min-wait", "", "only what ended at least this long ago (1h, 2d)")
	cmd.Flags().StringVar(deadline, "deadline", "", "drop what is not sent within this time (6h), or by this time of the clock (18:00) or date; else "+otherwise)
}

// parseDeadline reads a time to come as how long it is until then, 0 for none: 6h, the next 18:00 or a date, with its time.
func parseDeadline(text string, now time.Time) (time.Duration, error) {
	var d units.Duration
	if text == "" {
		return 0, nil
	}
	if d.UnmarshalText([]byte(text)) == nil && d > 0 {
		return d.D(), nil
	}
	for _, layout := range []string{"2006-01-02 15:04", time.DateOnly, time.RFC3339} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			if !t.After(now) {
				return 0, fail(exitUsage, "", "--deadline %q: is past", text)
			}
			return t.Sub(now), nil
		}
	}
	t, err := time.Parse("15:04", text)
	if err != nil {
		return 0, fail(exitUsage, "", "--deadline %q: want a duration such as 6h, a time such as 18:00, or a date such as 2026-11-20 or 2026-11-20 18:00", text)
	}
	year, month, day := now.Date()
	at := time.Date(year, month, day, t.Hour(), t.Minute(), 0, 0, now.Location())
	if !at.After(now) {
		at = time.Date(year, month, day+1, t.Hour(), t.Minute(), 0, 0, now.Location())
	}
	return at.Sub(now), nil
}

// parseFlagDuration reads the duration of a flag, 0 for none.
func parseFlagDuration(flag, text string) (time.Duration, error) {
	var d units.Duration
	if text == "" {
		return 0, nil
	}
	if err := d.UnmarshalText([]byte(text)); err != nil || d <= 0 {
		return 0, fail(exitUsage, "", "%s %q: want a duration such as 2h or 3d", flag, text)
	}
	return d.D(), nil
}

func (c *cli) resolveMany(cmd *cobra.Command, f *bulkFlags, as messaging.Resolution, reason string, dryRun bool) error {
	r, err := f.request(c.now(), reason)
	if err != nil {
		return err
	}
	r.As = as
	return c.many(cmd, r, dryRun, func(n int64) string {
		if as == messaging.ResolveResend {
			return "Send " + units.Count(n, "message") + " again? Whoever got one gets it twice."
		}
		return "Resolve " + units.Count(n, "message") + " as " + string(as) + "?"
	}, "resolved as "+string(as), (*server.Client).ResolveMany)
}
