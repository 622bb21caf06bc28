package server

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/plain"
)

const (
	// mostExports is how many lists may leave at a time: each asks the database without a pause.
	mostExports = 4
	// exportPage is how many rows of one are in memory.
	exportPage = 500
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
	one := func(d *DecisionView) []string {
		return safe(orNothing(int64(v.ID)), v.Event, v.Topic, string(v.Phone), stamp(&v.ReceivedAt), stamp(v.OccurredAt), v.DedupeKey, d.Trigger, string(d.Outcome), d.Reason, orNothing(d.Message))
	}
	if len(v.Decisions) == 0 {
		return [][]string{one(&DecisionView{})}
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
	"accepted_at", "sent_at", "delivered_at", "read_at", "failed_at",
}

// Cells are a message as the one row of a table. They are no formulas.
func (v *MessageView) Cells() [][]string {
	return [][]string{safe(
		orNothing(int64(v.ID)), orNothing(int64(v.EventID)), orNothing(int64(v.Run)), v.Trigger, orNothing(int64(v.Step)), string(v.Phone), v.SentAs, v.Account, string(v.Category), v.What,
		string(v.State), string(v.Status), v.Reason, v.Error, string(v.Class), orNothing(int64(v.Attempt)), stamp(&v.CreatedAt), stamp(&v.DueAt), string(v.ServiceID),
		stamp(v.AcceptedAt), stamp(v.SentAt), stamp(v.DeliveredAt), stamp(v.ReadAt), stamp(v.FailedAt),
	)}
}

func safe(cells ...string) []string {
	for i, text := range cells {
		cells[i] = plain.Cell(text)
	}
	return cells
}

func (a admin) exportEvents(w http.ResponseWriter, r *http.Request) {
	leave(a, w, r, export[EventView]{
		name: "events", head: EventHead, page: a.eventsOf, cells: (*EventView).Cells,
		number: func(v *EventView) int64 { return int64(v.ID) },
		line:   func(v *EventView) any { return EventLine{Event: v} },
	})
}

func (a admin) exportMessages(w http.ResponseWriter, r *http.Request) {
	leave(a, w, r, export[MessageView]{
		name: "messages", head: MessageHead, page: a.messagesOf, cells: (*MessageView).Cells,
		number: func(v *MessageView) int64 { return int64(v.ID) },
		line:   func(v *MessageView) any { return MessageLine{Message: v} },
	})
}

// A export is a list that leaves whole.
type export[T any] struct {
	name   string
	head   []string
	page   func(context.Context, ListQuery, messaging.Phone) ([]T, error)
	number func(*T) int64 // the cursor
	cells  func(*T) [][]string
	line   func(*T) any
}

// leave writes all rows that match, page after page of the list, so that a million take no more memory than a page. What is cut short, by a fault or by the caller, does not
// end as an answer does, and has no last line.
func leave[T any](a admin, w http.ResponseWriter, r *http.Request, l export[T]) {
	q, phone, err := a.parseList(r)
	q.Limit = exportPage
	table := false
	if err == nil {
		table, err = asTable(r)
	}
	var rows []T
	if err == nil {
		select {
		case a.exports <- struct{}{}:
			defer func() { <-a.exports }()
			rows, err = l.page(r.Context(), q, phone) // so that what is wrong with the filters is an error and no answer
		default:
			w.Header().Set("Retry-After", "10")
			err = &Error{Status: http.StatusServiceUnavailable, Words: mask.Sprintf("%d exports are under way, and no more may be", mostExports), Hint: "try again when one of them has ended"}
		}
	}
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	kind, ext := "application/x-ndjson", "jsonl"
	if table {
		kind, ext = "text/csv; charset=utf-8", "csv"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": l.name + "-" + a.Now().UTC().Format(time.DateOnly) + "." + ext}))
	n, err := l.all(w, r, q, phone, rows, table)
	if err == nil {
		return
	}
	if r.Context().Err() == nil {
		a.Log.Warn("an export was cut short", zap.String("of", l.name), zap.Int64("rows", n), zap.Error(err))
	}
	panic(http.ErrAbortHandler) // half a list must not look whole
}

// all writes the rows, then those of the pages after them, and gives how many there were.
func (l export[T]) all(w http.ResponseWriter, r *http.Request, q ListQuery, phone messaging.Phone, rows []T, table bool) (n int64, err error) {
	buf := bufio.NewWriterSize(w, 1<<16)
	out := csv.NewWriter(buf)
	if table {
		err = out.Write(l.head)
	}
	for err == nil && len(rows) > 0 {
		listeners.Answering(w) // each page anew
		for i := 0; i < len(rows) && err == nil; i++ {
			n++
			err = l.write(r.Context(), &rows[i], table, buf, out)
		}
		if err = errors.Join(err, r.Context().Err()); err != nil || len(rows) < q.Limit {
			break
		}
		q.Before = l.number(&rows[len(rows)-1])
		rows, err = l.page(r.Context(), q, phone)
	}
	if err == nil && !table {
		err = json.NewEncoder(buf).Encode(EventLine{End: true, Rows: n})
	}
	out.Flush()
	return n, errors.Join(err, out.Error(), buf.Flush())
}

// write writes one row as who asks may see it.
func (l export[T]) write(ctx context.Context, row *T, table bool, to *bufio.Writer, out *csv.Writer) error {
	if !table {
		text, err := Shown(ctx, l.line(row))
		if err == nil {
			_, err = to.Write(append(text, '\n'))
		}
		return err
	}
	if who, _ := WhoOf(ctx); !who.May(Phones) {
		row = mask.Masked(row).(*T)
	}
	for _, cells := range l.cells(row) {
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	return nil
}

// asTable reports whether a list is asked for as CSV, by ?format= or else by Accept.
func asTable(r *http.Request) (bool, error) {
	switch format := r.URL.Query().Get("format"); format {
	case "csv":
		return true, nil
	case "jsonl":
		return false, nil
	case "":
		return strings.Contains(r.Header.Get("Accept"), "text/csv"), nil
	default:
		return false, badField("format", "", "format %q: want csv or jsonl", format)
	}
}

// ExportEvents calls each for every event that matches, while the answer comes in. An answer that was cut short is an error.
func (c *Client) ExportEvents(ctx context.Context, q ListQuery, each func(*EventView) error) error {
	return arrive(ctx, c, "/events/export", q.Values(), func(line *EventLine) (bool, error) {
		if line.Event == nil {
			return line.End, nil
		}
		return false, each(line.Event)
	})
}

// ExportMessages is ExportEvents for messages.
func (c *Client) ExportMessages(ctx context.Context, q ListQuery, each func(*MessageView) error) error {
	return arrive(ctx, c, "/messages/export", q.Values(), func(line *MessageLine) (bool, error) {
		if line.Message == nil {
			return line.End, nil
		}
		return false, each(line.Message)
	})
}

// arrive reads a list that leaves, line by line, until take says that it was the last.
func arrive[L any](ctx context.Context, c *Client, path string, query url.Values, take func(*L) (end bool, err error)) (err error) {
	query.Set("format", "jsonl")
	res, err := c.patient().request(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	dec := json.NewDecoder(bufio.NewReaderSize(res.Body, 1<<16))
	for {
		line := new(L)
		if err := dec.Decode(line); err != nil {
			return fmt.Errorf("the daemon's answer was cut short: %w", err)
		}
		if end, err := take(line); end || err != nil {
			return err
		}
	}
}
