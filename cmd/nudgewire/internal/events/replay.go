package events

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/story"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

func (c commands) eventsReplay() *cobra.Command {
	var in preview.ReplayEventsRequest
	var since string
	cmd := &cobra.Command{
		Use: "replay ID... | --since TIME", Short: "Decide about stored events again, by the rules of now",
		Long: `replay decides about stored events again, by the rules that the daemon has now: after a rule was wrong, say. Each is stored
as a new event with the payload and the time of the old one, so max_age, expires and cooldowns count from when it happened.

Nobody gets a message twice by it. A trigger that queued a message for the event passes it over, and so does one for which it came
after its cancellation. An event is replayed once; --again replays it once more, and passes over what any replay of it queued. What the
event says of opt-outs and of forgetting is not carried out again, and nothing is looked up again.

Look first with --dry-run: it says what each trigger would say. What the event is part of may have gone on since: an order that came
days after a cart cancels nothing any more once remember_cancel is over. At most 1,000 events at a time.`,
		Example: "  nudgewire events replay 4711 --dry-run\n  nudgewire events replay --since 3h --connector shopify --kind cart.updated",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			for _, text := range args {
				id, err := terminal.Number[messaging.EventID](text, "an event's number", `"nudgewire events list" shows the numbers`)
				if err != nil {
					return err
				}
				in.Events = append(in.Events, id)
			}
			if in.Since, err = terminal.ParseSince(since, c.Now()); err != nil {
				return err
			}
			if len(args) == 0 && since == "" {
				return exit.Fail(exit.Usage, `"nudgewire events list" shows the numbers`, "name events by their numbers, or from when on with --since")
			}
			return c.WithDaemon(func(ask *server.Client) error {
				dry := in
				dry.DryRun = true
				found, err := server.ReplayEvents.Call(cmd.Context(), ask, dry)
				if err != nil {
					return err
				}
				if in.DryRun {
					return c.tellReplay(found)
				}
				if found.Count == 0 {
					if err := c.tellReplay(found); err != nil {
						return err
					}
					return exit.Fail(exit.Nothing, "", "nothing is replayed")
				}
				if err := c.Confirm("Decide about " + units.Count(found.Count, "event") + " again, and queue " + units.Count(wouldQueue(found), "message") + " at the most?"); err != nil {
					return err
				}
				done, err := server.ReplayEvents.Call(cmd.Context(), ask, in)
				if err != nil {
					return err
				}
				return c.tellReplay(done)
			})
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "all that arrived from this long ago (2h, 3d) or this date on")
	cmd.Flags().StringVar(&in.Connector, "connector", "", "only from this connector")
	cmd.Flags().StringVar(&in.Kind, "kind", "", "only of this kind, such as cart.updated")
	cmd.Flags().BoolVar(&in.Again, "again", false, "also what was replayed before")
	cmd.Flags().BoolVar(&in.DryRun, "dry-run", false, "say what each trigger would say, and store nothing")
	return cmd
}

// wouldQueue is how many messages a replay would queue, cooldowns and what waits left aside.
func wouldQueue(found preview.ReplayedEvents) (n int64) {
	for _, e := range found.Events {
		if e.Would == nil {
			continue
		}
		for _, d := range e.Would.Decisions {
			if d.Outcome == messaging.Planned {
				n += int64(max(1, len(d.Steps)))
			}
		}
	}
	return n
}

func (c commands) tellReplay(found preview.ReplayedEvents) error {
	if c.JSON {
		return terminal.PrintAll(c.CLI, found.Events)
	}
	if len(found.Events) == 0 {
		return exit.Fail(exit.Nothing, "", "no event matches")
	}
	for _, e := range found.Events {
		switch {
		case e.Refused != "":
			c.Say("event %d is not replayed: %s\n", e.ID, e.Refused)
		case e.Before != 0:
			c.Say("event %d was replayed before, as event %d; --again does it once more\n", e.ID, e.Before)
		case e.Would != nil:
			c.Say("event %d, if it was not replayed before:\n", e.ID)
			story.TellTried(c.CLI, *e.Would)
		default:
			var said []string
			for _, d := range e.Decisions {
				said = append(said, d.Trigger+" "+string(d.Outcome)+": "+d.Reason)
			}
			if len(said) == 0 {
				said = []string{"no trigger listens"}
			}
			c.Say("event %d is event %d: %s\n", e.ID, e.As, strings.Join(said, "; "))
		}
	}
	return nil
}
