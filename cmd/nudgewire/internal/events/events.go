package events

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/story"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

func (c commands) events() *cobra.Command {
	cmd := &cobra.Command{
		Use: "events", Short: "What arrived: events, and requests that were rejected",
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.eventsList(), c.eventsShow(), c.eventsReplay(), c.eventsRejected(), c.eventsUnused(), c.eventsSeen(), c.eventsExport(), c.eventsSaveAsTest())
	return cmd
}

func (c commands) eventsList() *cobra.Command {
	var f terminal.ListFlags
	var narrow server.ListQuery
	cmd := &cobra.Command{
		Use: "list", Short: "Events with what each trigger said, and rejected requests, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := f.Query(c.Now())
			if err != nil {
				return err
			}
			narrow.Since, narrow.Limit = q.Since, q.Limit
			q = narrow
			ask, done, err := c.Reader(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			events, err := server.ListEvents.Call(cmd.Context(), ask, q)
			if err != nil {
				return err
			}
			var rejected []messaging.RejectedRequest
			if q.Kind == "" && q.Phone == "" && q.Trigger == "" && q.Outcome == "" && !c.JSON {
				if rejected, err = server.ListRejectedRequests.Call(cmd.Context(), ask, q); err != nil {
					return err
				}
			}
			if len(events)+len(rejected) == 0 {
				return exit.Fail(exit.Nothing, "", "no events")
			}
			if c.JSON {
				return terminal.PrintAll(c.CLI, events)
			}
			return c.NoteLimit(c.Table("ID | RECEIVED | EVENT | PHONE | WHAT CAME OF IT", c.eventRows(events, rejected, f.Limit)), len(events)+len(rejected), f.Limit)
		},
	}
	f.Add(cmd)
	eventFlags(cmd, &narrow)
	cmd.Flags().StringVar(&narrow.Phone, "phone", "", "only about this phone")
	return cmd
}

// eventFlags narrow lists of events.
func eventFlags(cmd *cobra.Command, q *server.ListQuery) {
	cmd.Flags().StringVar(&q.Connector, "connector", "", "only from this connector")
	cmd.Flags().StringVar(&q.Kind, "kind", "", "only of this kind, such as cart.updated")
	cmd.Flags().StringVar(&q.Trigger, "trigger", "", "only what this trigger decided about")
	cmd.Flags().StringVar(&q.Outcome, "outcome", "", "only where a decision was this, such as skipped; with --trigger, its decision")
}

// eventRows merges events and rejected requests by time, newest first.
func (c commands) eventRows(events []server.EventView, rejected []messaging.RejectedRequest, limit int) [][]string {
	var rows [][]string
	for len(rows) < limit && len(events)+len(rejected) > 0 {
		if len(rejected) == 0 || (len(events) > 0 && !events[0].ReceivedAt.Before(rejected[0].At)) {
			e := events[0]
			events = events[1:]
			rows = append(rows, []string{
				strconv.FormatInt(int64(e.ID), 10), c.Clock(e.ReceivedAt), e.Event, terminal.OrDash(e.Phone.Masked()), c.cameOf(&e),
			})
			continue
		}
		r := rejected[0]
		rejected = rejected[1:]
		rows = append(rows, []string{"-", c.Clock(r.At), r.Connector, "-", rejectedWords(r)})
	}
	return rows
}

func (c commands) cameOf(e *server.EventView) string {
	switch {
	case e.Unsaid && len(e.Decisions) == 0:
		return "what was decided is not kept any more"
	case e.Lookup == nil && len(e.Decisions) == 0:
		return story.NoListener(e.Event)
	case e.Lookup == nil:
		return decisionsInShort(e.Decisions)
	case len(e.Decisions) == 0:
		return story.LookupWords(c.CLI, e.Lookup)
	default:
		return decisionsInShort(e.Decisions) + "; " + story.LookupWords(c.CLI, e.Lookup)
	}
}

// rejectedWords is a request that was not taken, or was taken unverified because its connector only
// watches.
func rejectedWords(r messaging.RejectedRequest) string {
	if r.Status < http.StatusBadRequest {
		return "taken, but not verified (" + r.Stage + "): " + r.Reason
	}
	return fmt.Sprintf("rejected %d (%s): %s", r.Status, r.Stage, r.Reason)
}

func decisionsInShort(ds []messaging.Decision) string {
	var out []string
	for _, d := range ds {
		text := d.Trigger + ": " + string(d.Outcome)
		if d.Outcome == messaging.Skipped {
			text += " (" + d.Reason + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

func (c commands) eventsRejected() *cobra.Command {
	var f terminal.ListFlags
	var connector string
	cmd := &cobra.Command{
		Use: "rejected", Short: "Requests to a hook that were not taken, and why", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := f.Query(c.Now())
			if err != nil {
				return err
			}
			q.Connector = connector
			ask, done, err := c.Reader(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			rows, err := server.ListRejectedRequests.Call(cmd.Context(), ask, q)
			if err != nil {
				return err
			}
			nothing := exit.Fail(exit.Nothing, "", "no request was rejected")
			return c.NoteLimit(terminal.List(c.CLI, rows, nothing, "AT | CONNECTOR | ANSWER | STAGE | BYTES | REASON", func(r messaging.RejectedRequest) []string {
				return []string{c.Clock(r.At), r.Connector, strconv.Itoa(r.Status), r.Stage, strconv.Itoa(r.Bytes), r.Reason}
			}), len(rows), f.Limit)
		},
	}
	f.Add(cmd)
	cmd.Flags().StringVar(&connector, "connector", "", "only to this connector")
	return cmd
}

func (c commands) eventsShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "One event: payload, decisions clause by clause, messages", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := terminal.Number[messaging.EventID](args[0], "an event's number", `"nudgewire events list" shows the numbers`)
			if err != nil {
				return err
			}
			ask, done, err := c.Reader(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			told, err := server.ShowEvent.Call(cmd.Context(), ask, id)
			if err != nil {
				return err
			}
			if c.JSON {
				return c.Print(told)
			}
			story.TellStory(c.CLI, told)
			if told.Event.Forgotten {
				c.Say("\n  payload not kept: a trigger that it was for keeps no variables\n")
				return nil
			}
			if told.Event.Cleared {
				c.Say("\n  payload not kept any more (retention.payloads)\n")
				return nil
			}
			c.Say("\n  payload (%d bytes)\n%s\n", len(told.Event.Payload), terminal.Indent(told.Event.Payload, "    "))
			return nil
		},
	}
}
