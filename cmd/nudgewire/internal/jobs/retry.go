package jobs

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

func (c commands) jobsRetry() *cobra.Command {
	var only, classes, minWait, deadline string
	var dry bool
	cmd := &cobra.Command{
		Use: "retry RUN", Short: "Send again what of an ended run surely did not arrive, as a new run", Args: cobra.ExactArgs(1),
		Long: `retry makes a new run of what an ended one did not bring to the phone. It counts first, and
asks before it sends.

A run that uploads files: the parts that the service did not accept, from the same files. Parts in
doubt are excluded, because whoever is on them may have the message: look at the service's
dashboard, then use jobs resolve, or add --only in_doubt.

Who was blocked since, or was messaged by another campaign within the job's exclude: messaged_within, is
excluded from it: a file goes again without those rows.

A run that sends message by message: the rows whose message
  was rejected by the service: read its reason, and mend it first
  failed at the service, in its own words
  was dropped before it was sent: it expired, or was given up
Excluded are rows in doubt, or that were once; rows that the service took and does not call
failed; rows still on their way; what a person cancelled; blocked contacts; log-in codes.

With --class only those rows go whose newest failure has one of these classes by the rules of today
(docs/errors.md; unknown is what no rule knows). What was dropped before the service said anything is unknown.
They rest first as their class has it: a day for recipient_limit, an hour for retry; --min-wait says another time.

Asking twice sends nothing twice: a row goes again once, and what fails again is retried from the
new run.`,
		Example: "  nudgewire jobs retry 12 --dry-run\n  nudgewire jobs retry 12\n  nudgewire jobs retry 12 --class no_points,recipient_limit --min-wait 2h --deadline 18:00",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := runID(args[0])
			if err != nil {
				return err
			}
			if only != "retriable" && only != "in_doubt" {
				return exit.Fail(exit.Usage, "", "--only %q: want retriable or in_doubt", only)
			}
			doubtful := only == "in_doubt"
			order := server.RetryOrder{Run: id, InDoubt: doubtful, Classes: classes}
			if order.MinWait, err = terminal.ParseDuration("--min-wait", minWait); err != nil {
				return err
			}
			if order.Deadline, err = terminal.ParseDeadline(deadline, c.Now()); err != nil {
				return err
			}
			return c.WithReader(cmd.Context(), func(ask *server.Client) error {
				_, end := c.Working("looking at its rows")
				f, err := server.ForecastRetry.Call(cmd.Context(), ask, order)
				if end(); err != nil {
					return err
				}
				if dry {
					return c.wouldRetry(f)
				}
				if err := c.Confirm(retryQuestion(f, order)); err != nil {
					return err
				}
				return c.WithDaemon(func(ask *server.Client) error {
					r, err := server.RetryRun.Call(cmd.Context(), ask, order)
					if err != nil {
						return err
					}
					return c.ran(r)
				})
			})
		},
	}
	cmd.Flags().StringVar(&only, "only", "retriable", "retriable: surely did not arrive; in_doubt: uploaded parts in doubt, too")
	cmd.Flags().StringVar(&classes, "class", "", "only rows whose words have one of these classes: no_points, recipient_limit, opt_out, template, permanent, retry, unknown; with commas between them")
	terminal.AddRetryFlags(cmd, &minWait, &deadline, "they get as long as the job has it (expires)")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "count, and send nothing")
	return cmd
}

func retryQuestion(f server.RetryView, order server.RetryOrder) string {
	what := amount(f.Tally)
	if order.Classes != "" {
		what += " (" + order.Classes + ")"
	}
	if order.InDoubt {
		return fmt.Sprintf("Send %s of run %d of %s again, parts in doubt among them? If these did arrive, people get the message twice.", what, f.Run, f.Job)
	}
	return fmt.Sprintf("Send %s of run %d of %s again?", what, f.Run, f.Job)
}

// amount says how much a run sends.
func amount(t messaging.Tally) string {
	if t.Parts == 0 {
		return units.Count(t.Kept, "row")
	}
	return units.Count(t.Kept, "row") + " in " + units.Count(t.Parts, "part")
}

// wouldRetry prints what a retry would send.
func (c commands) wouldRetry(f server.RetryView) error {
	if c.JSON {
		return c.Print(f)
	}
	c.Say("retry of run %d of %s\n", f.Run, c.Paint(c.Out, "1", f.Job))
	c.tellTally(f.Tally, false)
	for _, x := range f.Causes {
		c.Say("  goes again  %s: %s%s\n", units.Number(x.Count), x.Reason, firstIn(x))
	}
	c.Note("\nnothing was sent")
	return nil
}

// nextSteps are what a person can do about a run that left something open.
func nextSteps(r server.RunView) (steps []string) {
	var left int64
	for _, p := range r.Parts {
		switch {
		case p.State == messaging.PartInDoubt:
			steps = append(steps, fmt.Sprintf("part %d: look for it on the service's dashboard, then: nudgewire jobs resolve %d %d --as accepted|resend", p.Number, r.ID, p.Number))
		case p.State == messaging.PartRejected && r.Deliver == messaging.DeliverCSV:
			left += p.Rows
		}
	}
	if n := r.Messages[string(messaging.StateInDoubt)]; n > 0 {
		steps = append(steps, fmt.Sprintf("%s in doubt: nudgewire messages list --trigger %s --state in_doubt shows them, nudgewire messages resolve --state in_doubt --run %d settles them", units.Number(n), r.Job, r.ID))
	}
	if r.Deliver == messaging.DeliverPerMessage {
		left += r.Messages[string(messaging.StateRejected)] + r.Messages[string(messaging.StateDropped)] + r.Messages[string(messaging.StatusFailed)]
	}
	switch {
	case r.State == messaging.RunAwaiting:
		steps = append(steps, fmt.Sprintf("nudgewire jobs approve %d lets it go, nudgewire jobs cancel %d ends it", r.ID, r.ID))
	case r.State == messaging.RunPaused:
		steps = append(steps, fmt.Sprintf("nudgewire jobs resume %d lets it go on, nudgewire jobs cancel %d ends it", r.ID, r.ID))
	case left == 0 || !r.State.Final():
	case r.Retries > 0:
		times := "once"
		if r.Retries > 1 {
			times = units.Count(r.Retries, "time")
		}
		steps = append(steps, fmt.Sprintf("retried %s, as jobs history %s shows; what is left of it: nudgewire jobs retry %d --dry-run", times, r.Job, r.ID))
	default:
		steps = append(steps, fmt.Sprintf("what did not arrive may go again: nudgewire jobs retry %d --dry-run", r.ID))
	}
	return steps
}
