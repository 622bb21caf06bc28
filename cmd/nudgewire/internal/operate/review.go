package operate

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

const lostAtHelp = "when the machine that had the data ended, such as 2026-11-23 14:02: what was due later was not sent by it, and waits again"

// parseLostAt reads a moment; "" is none.
func (c commands) parseLostAt(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04"} {
		if t, err := time.ParseInLocation(layout, text, c.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, exit.Fail(exit.Usage, "", "--lost-at %q: want a time such as \"2026-11-23 14:02\", in defaults.timezone, or one in RFC 3339", text)
}

func (c commands) review() *cobra.Command {
	var lostAt string
	cmd := &cobra.Command{
		Use: "review", Short: "What to look at before restored data may send", Args: cobra.NoArgs,
		Long: `review tells of data that was restored, or put back by hand: what is in doubt, because whoever had the data after the copy was made may
have sent it, what is sent after the review, which runs are paused, and what nobody can know. It changes nothing.

"nudgewire messages cancel" and "messages resolve" settle many at once; "nudgewire resume --reviewed" lets the rest go on.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			lost, err := c.parseLostAt(lostAt)
			if err != nil {
				return err
			}
			return c.WithReader(cmd.Context(), func(ask *server.Client) error { return c.showReview(cmd.Context(), ask, lost) })
		},
	}
	cmd.Flags().StringVar(&lostAt, "lost-at", "", lostAtHelp)
	return cmd
}

func (c commands) showReview(ctx context.Context, ask *server.Client, lost time.Time) error {
	v, err := server.ShowReview.Call(ctx, ask, lost)
	if err != nil {
		return err
	}
	if c.JSON {
		return c.Print(v)
	}
	c.Say("this data is a copy: %s\n", v.How)
	from := v.CopiedAt
	if from.IsZero() {
		from = v.NewestAt
		c.Say("when the copy was made is not known; the newest that it knows of is of %s\n", c.Clock(from))
	} else {
		c.Say("the copy is of %s\n", c.Clock(from))
	}
	if v.FoundAt.IsZero() {
		c.Say("no daemon has started over it yet; its start puts in doubt what may have been sent, and holds everything\n")
	} else {
		c.Say("until %s whoever had the data may have sent what it says waits\n", c.Clock(v.Until))
	}
	c.reviewDoubts(&v)
	c.reviewWaiting(&v)
	for i := range v.Runs {
		r := &v.Runs[i]
		c.Say("\nrun %d of %s (%s) was open in the copy, and is %s\n", r.ID, r.Job, r.Slot, r.State.Words())
		c.Say("  look at the service's list of campaigns\n")
		for _, p := range r.Parts {
			if p.State == messaging.PartInDoubt {
				c.Say("  part %d, %s, may have left: nudgewire jobs resolve %d %d --as accepted, or --as resend\n", p.Number, units.Count(p.Rows, "row"), r.ID, p.Number)
			}
		}
		c.Say("  then: nudgewire jobs resume %d, or nudgewire jobs cancel %d\n", r.ID, r.ID)
	}
	for _, m := range v.Missed {
		c.Say("\njob %s should have run at %s: if on_missed wants that, the run waits for approval\n", m.Job, m.Slot)
	}
	c.Say("\nnobody here knows what happened from %s on:\n", c.Clock(from))
	for _, words := range []string{
		"webhooks that were answered then are gone: an order that came then cancels nothing, and what they queued is not sent",
		"who said STOP then is not blocked, and who asked to be forgotten is in the data again: say so once more (contacts block, contacts forget)",
		"blocks, consents, halts, cancelled messages and edits of runs from then have to be made again",
		"limits and cooldowns do not count what was sent then",
	} {
		c.Say("  %s\n", words)
	}
	c.Say("\nnothing is sent until: nudgewire resume --reviewed\n")
	return nil
}

func (c commands) reviewDoubts(v *server.ReviewView) {
	if v.Claimed > 0 {
		c.Say("\nin doubt: %s being sent when the copy was made\n", areWere(v.Claimed))
	}
	if len(v.Doubted) == 0 {
		return
	}
	c.Say("\nin doubt, because it was due and may have been sent (settle it: nudgewire messages resolve --state in_doubt):\n")
	for _, g := range v.Doubted {
		c.Say("  %6s  %s, %s, due %s to %s", units.Number(g.Count), g.Trigger, g.Category, c.Clock(g.FirstDue), c.Clock(g.LatestDue))
		if g.New > 0 {
			c.Say("; %s because of events that came since the restoration and happened before", units.Number(g.New))
		}
		c.Say("\n")
		if back := g.Count - g.Past; !v.LostAt.IsZero() && back > 0 {
			c.Say("          %s due after %s, and would wait again\n", areWere(back), c.Clock(v.LostAt))
		}
	}
}

func (c commands) reviewWaiting(v *server.ReviewView) {
	if len(v.Waiting) == 0 {
		c.Say("\nnothing waits to be sent\n")
		return
	}
	c.Say("\nsent after the review (cancel it: nudgewire messages cancel --trigger NAME):\n")
	for _, g := range v.Waiting {
		c.Say("  %6s  %s, %s, due %s to %s", units.Number(g.Count), g.Trigger, g.Category, c.Clock(g.FirstDue), c.Clock(g.LatestDue))
		if g.New > 0 && !v.FoundAt.IsZero() {
			c.Say("; %s since the restoration", units.Number(g.New))
		}
		if g.Past > 0 {
			c.Say("; %s past due by up to %s", units.Number(g.Past), terminal.ShortDuration(time.Since(g.FirstDue)))
		}
		c.Say("\n")
	}
}

// areWere is "1 message was" or "2 messages were".
func areWere(n int64) string {
	if n == 1 {
		return "1 message was"
	}
	return units.Number(n) + " messages were"
}
