package server

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// A RowView is one row of a run and what became of it. The phone is whole: the list is its
// reader's own.
type RowView struct {
	// Row is where the row stands in the source, as messaging.Position has it; absent where that is not known
	// any more. File is the file of the source. Number counts the rows that the run kept, from 1, in
	// the order in which they are sent.
	Row    int64  `json:"row,omitempty"`
	File   string `json:"file,omitempty" kind:"text"`
	Number int64  `json:"number,omitempty"`
	Part   int    `json:"part,omitempty"`
	Phone  string `json:"phone" kind:"phone"`
	// State is that of the row's message; of its part where it has none; excluded otherwise.
	State   string              `json:"state" kind:"ours"`
	Reason  string              `json:"reason,omitempty" kind:"text"`
	Message messaging.MessageID `json:"message,omitempty"`
	At      time.Time           `json:"at,omitzero"` // of State

	ServiceID   messaging.ServiceID `json:"message_id,omitempty"`
	Status      messaging.Status    `json:"status,omitempty"` // in the service's words
	Error       string              `json:"error,omitempty" kind:"text"`
	AcceptedAt  time.Time           `json:"accepted_at,omitzero"`
	SentAt      time.Time           `json:"sent_at,omitzero"`
	DeliveredAt time.Time           `json:"delivered_at,omitzero"`
	ReadAt      time.Time           `json:"read_at,omitzero"`
	FailedAt    time.Time           `json:"failed_at,omitzero"`
	RetriedAs   messaging.MessageID `json:"retried_as,omitempty"` // the message that took its place
	RetryOf     messaging.MessageID `json:"retry_of,omitempty"`   // the message whose place it took
}

// StateExcluded is the state of a row that the run excluded.
const StateExcluded = "excluded"

// A rowLine is one line of the answer: a row, or the end, without which the answer was cut short.
type rowLine struct {
	Row  *RowView `json:"row,omitempty"`
	End  bool     `json:"end,omitempty"`
	Rows int64    `json:"rows,omitempty"` // of the end: how many there were
}

// exportRows gives every row of a run. No more than some hundreds of them are in memory at a time, and the messages of one part where the answer to
// its upload named them.
func (a admin) exportRows(ctx context.Context, id messaging.RunID, each func(*RowView) error) error {
	run, err := a.Store.Run(ctx, id)
	if err != nil {
		return jobError(err)
	}
	parts, err := a.Store.Parts(ctx, id)
	if err != nil {
		return err
	}
	return (&exporting{admin: a, run: &run, parts: parts, put: each}).all(ctx)
}

// An exporting is one answer being written.
type exporting struct {
	admin
	run   *messaging.Run
	parts []messaging.Part
	put   func(*RowView) error
}

func (e *exporting) all(ctx context.Context) error {
	next := int64(1) // the first row that was not written
	if e.run.Deliver == messaging.DeliverPerMessage {
		err := e.Store.RunRows(ctx, e.run.ID, 0, func(r *messaging.RunRow) error {
			if e.run.RetryOf == 0 && r.ReadBy == r.Run {
				next = max(next, r.ReadNumber+1)
			}
			return e.put(e.queued(r))
		})
		if err != nil {
			return err
		}
	}
	if err := e.rows(ctx, next); err != nil {
		return err
	}
	excluded := func(x *messaging.ListRow) error {
		phone := x.Given
		if x.Number > 0 {
			phone = x.Phone.Spelled(x.Given)
		}
		return e.put(&RowView{Row: x.Row, File: x.File, Phone: phone, State: StateExcluded, Reason: x.Reason})
	}
	if err := e.Store.ExcludedRows(ctx, e.run.ID, excluded); err != nil {
		return err
	}
	if e.run.Deliver != messaging.DeliverCSV {
		return nil
	}
	// Of a retry those that it was to send: what the run that it repeats had in a part which did not arrive.
	of, before := e.run.ID, []messaging.Part(nil)
	if e.run.RetryOf != 0 && len(e.parts) > 0 {
		var err error
		if before, err = e.Store.Parts(ctx, e.run.RetryOf); err != nil {
			return err
		}
		of = e.parts[0].List
	}
	return e.Store.LeftOutRows(ctx, of, func(x *messaging.ListRow) error {
		if store.NewestWith(e.parts, x.Number) != nil {
			return nil // it went all the same
		}
		if was := store.NewestWith(before, x.Number); e.run.RetryOf != 0 && (was == nil || was.State.MayHaveArrived()) {
			return nil
		}
		return excluded(x)
	})
}

// queued is a row that has a message.
func (e *exporting) queued(r *messaging.RunRow) *RowView {
	d, number := &r.Message, r.Number
	if r.ReadBy == r.Run { // one that went again by itself stands in the place of another of this run
		number = r.ReadNumber
	}
	v := &RowView{
		Row: r.Position.Row, File: r.Position.File, Number: number, Phone: d.To(), State: string(d.State), Reason: d.Reason, Message: d.ID, At: d.UpdatedAt,
		RetriedAs: r.RetriedAs, RetryOf: r.RetryOf,
	}
	v.follow(d)
	return v
}

func (v *RowView) follow(m *messaging.Message) {
	v.ServiceID, v.Status, v.Error = m.ServiceID, m.Status, m.Error
	v.AcceptedAt, v.SentAt, v.DeliveredAt, v.ReadAt, v.FailedAt = m.AcceptedAt, m.SentAt, m.DeliveredAt, m.ReadAt, m.FailedAt
}

// rows tells of the rows from that number on, which have no message: of those that parts of the run have, and where it read them also of those
// that have had no turn.
func (e *exporting) rows(ctx context.Context, first int64) error {
	of, in := e.run.ID, messaging.RowRanges(nil)
	for i := range e.parts {
		of, in = e.parts[i].List, in.And(e.parts[i].Ranges)
	}
	if e.run.Deliver == messaging.DeliverPerMessage && e.run.RetryOf == 0 {
		in = messaging.RowRanges{{First: first, Last: e.run.Tally.Kept}}.From(first)
	}
	messages := map[int]map[messaging.Phone]messaging.Message{}
	return e.Store.ListRows(ctx, of, in, func(row *messaging.ListRow) error {
		p := store.NewestWith(e.parts, row.Number)
		v := &RowView{Row: row.Row, File: row.File, Number: row.Number, Phone: row.Phone.Spelled(row.Given)}
		v.State, v.Reason, v.At = rowState(e.run, row, p)
		if p != nil {
			v.Part = p.Number
			if messages[p.Number] == nil {
				clear(messages) // of one part at a time
				of, err := e.Store.MessagesOfPart(ctx, e.run.ID, p.Number)
				if err != nil {
					return err
				}
				if of == nil {
					of = map[messaging.Phone]messaging.Message{}
				}
				messages[p.Number] = of
			}
			if m, known := messages[p.Number][row.Phone]; known && row.Phone != "" {
				v.follow(&m)
			}
		}
		return e.put(v)
	})
}
