package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// listFlags are the flags of every list.
type listFlags struct {
	since string
	limit int
}

func (f *listFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.since, "since", "", "only from this long ago (2h, 3d) or this date on")
	cmd.Flags().IntVar(&f.limit, "limit", 50, "most rows")
}

// cut ends a list: one that is as long as was asked for may go on. Nobody counts what is not shown:
// that would walk all of history.
func (c *cli) cut(err error, n, limit int) error {
	if err == nil && n >= limit {
		c.warn("the newest %d; --limit shows more, if there are more\n", limit)
	}
	return err
}

func (f *listFlags) query(now time.Time) (server.ListQuery, error) {
	since, err := parseSince(f.since, now)
	if err != nil {
		return server.ListQuery{}, err
	}
	if f.limit < 1 || f.limit > server.MaxRows {
		return server.ListQuery{}, fail(exitUsage, "", "--limit %d: want 1 to %d", f.limit, server.MaxRows)
	}
	return server.ListQuery{Since: since, Limit: f.limit}, nil
}

func (c *cli) events() *cobra.Command {
	cmd := &cobra.Command{
		Use: "events", Short: "What arrived: events, and requests that were rejected",
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.eventsList(), c.eventsShow(), c.eventsReplay(), c.eventsRejected(), c.eventsUnused(), c.eventsSeen(), c.eventsExport(), c.eventsSaveAsTest())
	return cmd
}

func (c *cli) eventsList() *cobra.Command {
	var f listFlags
	var narrow server.ListQuery
	cmd := &cobra.Command{
		Use: "list", Short: "Events with what each trigger said, and rejected requests, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := f.query(c.now())
			if err != nil {
				return err
			}
			narrow.Since, narrow.Limit = q.Since, q.Limit
			q = narrow
			ask, done, err := c.reader(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			events, err := ask.Events(cmd.Context(), q)
			if err != nil {
				return err
			}
			var rejected []server.RejectedRequestView
			if q.Kind == "" && q.Phone == "" && q.Trigger == "" && q.Outcome == "" && !c.json {
				if rejected, err = ask.RejectedRequests(cmd.Context(), q); err != nil {
					return err
				}
			}
			if len(events)+len(rejected) == 0 {
				return fail(exitNothing, "", "no events")
			}
			if c.json {
				return printAll(c, events)
			}
			return c.cut(c.table("ID | RECEIVED | EVENT | PHONE | WHAT CAME OF IT", c.eventRows(events, rejected, f.limit)), len(events)+len(rejected), f.limit)
		},
	}
	f.add(cmd)
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
func (c *cli) eventRows(events []server.EventView, rejected []server.RejectedRequestView, limit int) [][]string {
	var rows [][]string
	for len(rows) < limit && len(events)+len(rejected) > 0 {
		if len(rejected) == 0 || (len(events) > 0 && !events[0].ReceivedAt.Before(rejected[0].At)) {
			e := events[0]
			events = events[1:]
			rows = append(rows, []string{
				strconv.FormatInt(int64(e.ID), 10), c.clock(e.ReceivedAt), e.Event, orDash(e.Phone.Masked()), c.cameOf(&e),
			})
			continue
		}
		r := rejected[0]
		rejected = rejected[1:]
		rows = append(rows, []string{"-", c.clock(r.At), r.Connector, "-", rejectedWords(r)})
	}
	return rows
}

func (c *cli) cameOf(e *server.EventView) string {
	switch {
	case e.Unsaid && len(e.Decisions) == 0:
		return "what was decided is not kept any more"
	case e.Lookup == nil && len(e.Decisions) == 0:
		return noListener(e.Event)
	case e.Lookup == nil:
		return decisionsInShort(e.Decisions)
	case len(e.Decisions) == 0:
		return c.lookupWords(e.Lookup)
	default:
		return decisionsInShort(e.Decisions) + "; " + c.lookupWords(e.Lookup)
	}
}

// rejectedWords is a request that was not taken, or was taken unverified because its connector only
// watches.
func rejectedWords(r server.RejectedRequestView) string {
	if r.Status < http.StatusBadRequest {
		return "taken, but not verified (" + r.Stage + "): " + r.Reason
	}
	return fmt.Sprintf("rejected %d (%s): %s", r.Status, r.Stage, r.Reason)
}

// noListener is what is said of an event that no trigger decided about.
func noListener(event string) string {
	if strings.HasSuffix(event, ".contact.data_requested") {
		return "what is stored about the contact is written to a file; nudgewire contacts requests lists it until it is answered"
	}
	if strings.Contains(event, "."+messaging.TestKinds) {
		return "a test of the sender, which starts nothing"
	}
	return "no trigger listens"
}

func decisionsInShort(ds []server.DecisionView) string {
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

func (c *cli) eventsRejected() *cobra.Command {
	var f listFlags
	var connector string
	cmd := &cobra.Command{
		Use: "rejected", Short: "Requests to a hook that were not taken, and why", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := f.query(c.now())
			if err != nil {
				return err
			}
			q.Connector = connector
			ask, done, err := c.reader(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			rows, err := ask.RejectedRequests(cmd.Context(), q)
			if err != nil {
				return err
			}
			nothing := fail(exitNothing, "", "no request was rejected")
			return c.cut(list(c, rows, nothing, "AT | CONNECTOR | ANSWER | STAGE | BYTES | REASON", func(r server.RejectedRequestView) []string {
				return []string{c.clock(r.At), r.Connector, strconv.Itoa(r.Status), r.Stage, strconv.Itoa(r.Bytes), r.Reason}
			}), len(rows), f.limit)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&connector, "connector", "", "only to this connector")
	return cmd
}

func (c *cli) eventsShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "One event: payload, decisions clause by clause, messages", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := number[messaging.EventID](args[0], "an event's number", `"nudgewire events list" shows the numbers`)
			if err != nil {
				return err
			}
			ask, done, err := c.reader(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			story, err := ask.Event(cmd.Context(), id)
			if err != nil {
				return err
			}
			if c.json {
				return c.print(story)
			}
			c.tell(story)
			if story.Event.Forgotten {
				c.say("\n  payload not kept: a trigger that it was for keeps no variables\n")
				return nil
			}
			if story.Event.Cleared {
				c.say("\n  payload not kept any more (retention.payloads)\n")
				return nil
			}
			c.say("\n  payload (%d bytes)\n%s\n", len(story.Event.Payload), indent(story.Event.Payload, "    "))
			return nil
		},
	}
}

func indent(text, by string) block {
	return block(by + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+by))
}
