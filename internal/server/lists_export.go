package server

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/plain"
)

const (
	// mostExports is how many lists may leave at a time: each asks the database without a pause.
	mostExports = 4
	// exportPage is how many rows of one are in memory.
	exportPage = 500
	// exportWait is when whoever came too many is told to come again.
	exportWait = 10 * time.Second
)

// An EventLine is one line of an export as JSON lines: an event, or the end, without which it was cut short.
type EventLine struct {
	Event *EventView `json:"event,omitempty"`
	End   bool       `json:"end,omitempty"`
	Rows  int64      `json:"rows,omitempty"` // of the end: how many there were
}

// A MessageLine is one line of an export as JSON lines, as EventLine is.
type MessageLine struct {
	Message *MessageView `json:"message,omitempty"`
	End     bool         `json:"end,omitempty"`
	Rows    int64        `json:"rows,omitempty"`
}

// EventHead names the columns of an event in a table, in the order of Cells.
var EventHead = []string{"id", "event", "topic", "phone", "received_at", "occurred_at", "dedupe_key", "trigger", "outcome", "reason", "message"}

// Cells are an event as rows of a table, one for each trigger that said something to it, and one for an event to which none did. They are no formulas.
func (v *EventView) Cells() [][]string {
	one := func(d *messaging.Decision) []string {
		return safe(orNothing(int64(v.ID)), v.Event, v.Topic, string(v.Phone), stamp(v.ReceivedAt), stamp(v.OccurredAt), v.DedupeKey, d.Trigger, string(d.Outcome), d.Reason, orNothing(int64(d.MessageID)))
	}
	if len(v.Decisions) == 0 {
		return [][]string{one(&messaging.Decision{})}
	}
	out := make([][]string, len(v.Decisions))
	for i := range v.Decisions {
		out[i] = one(&v.Decisions[i])
	}
	return out
}

// MessageHead names the columns of a message in a table, in the order of Cells.
var MessageHead = []string{
	"id", "event", "run", "trigger", "step", "phone", "sent_as", "account", "category", "what", "state", "status", "reason", "error", "class", "attempt", "created_at", "due_at", "message_id",
	"accepted_at", "sent_at", "delivered_at", "read_at", "failed_at", "test",
}

// Cells are a message as the one row of a table. They are no formulas.
func (v *MessageView) Cells() [][]string {
	return [][]string{safe(
		orNothing(int64(v.ID)), orNothing(int64(v.EventID)), orNothing(int64(v.Run)), v.Trigger, orNothing(int64(v.Step)), string(v.Phone), v.SentAs, v.Account, string(v.Category), v.What,
		string(v.State), string(v.Status), v.Reason, v.Error, string(v.ErrorClass), orNothing(int64(v.Attempt)), stamp(v.CreatedAt), stamp(v.DueAt), string(v.ServiceID),
		stamp(v.AcceptedAt), stamp(v.SentAt), stamp(v.DeliveredAt), stamp(v.ReadAt), stamp(v.FailedAt), v.Test,
	)}
}

func safe(cells ...string) []string {
	for i, text := range cells {
		cells[i] = plain.Cell(text)
	}
	return cells
}

func (a admin) exportEvents(ctx context.Context, q ListQuery, each func(*EventView) error) error {
	return exportPages(ctx, a, q, a.eventsOf, func(v *EventView) int64 { return int64(v.ID) }, each)
}

func (a admin) exportMessages(ctx context.Context, q ListQuery, each func(*MessageView) error) error {
	return exportPages(ctx, a, q, a.messagesOf, func(v *MessageView) int64 { return int64(v.ID) }, each)
}

// exportPages gives all rows that match, page after page of the list, so that a million take no more memory than a page. number is the cursor.
func exportPages[T any](ctx context.Context, a admin, q ListQuery, page func(context.Context, ListQuery, messaging.Phone) ([]T, error), number func(*T) int64, each func(*T) error) error {
	q, phone, err := a.listOf(q)
	if err != nil {
		return err
	}
	for q.Limit = exportPage; ; {
		rows, err := page(ctx, q, phone)
		if err != nil {
			return err
		}
		for i := range rows {
			if err := each(&rows[i]); err != nil {
				return err
			}
		}
		if len(rows) < q.Limit {
			return nil
		}
		q.Before = number(&rows[len(rows)-1])
	}
}
