package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/scheduler"
)

// A RowView is one row of a run and what became of it. The phone is whole: the list is its
// reader's own.
type RowView struct {
	// Row is where the row stands in the source, as nudgewire.Position has it; absent where that is not known
	// any more. File is the file of the source. Number counts the rows that the run kept, from 1, in
	// the order in which they are sent.
	Row    int64  `json:"row,omitempty"`
	File   string `json:"file,omitempty"`
	Number int64  `json:"number,omitempty"`
	Part   int    `json:"part,omitempty"`
	Phone  string `json:"phone"`
	// State is that of the row's dispatch; of its part where it has none; excluded otherwise.
	State    string               `json:"state"`
	Reason   string               `json:"reason,omitempty"`
	Dispatch nudgewire.DispatchID `json:"dispatch,omitempty"`
	At       *time.Time           `json:"at,omitempty"` // of State

	MessageID   nudgewire.MessageID  `json:"message_id,omitempty"`
	Status      nudgewire.Status     `json:"status,omitempty"` // in the service's words
	Error       string               `json:"error,omitempty"`
	AcceptedAt  *time.Time           `json:"accepted_at,omitempty"`
	SentAt      *time.Time           `json:"sent_at,omitempty"`
	DeliveredAt *time.Time           `json:"delivered_at,omitempty"`
	ReadAt      *time.Time           `json:"read_at,omitempty"`
	FailedAt    *time.Time           `json:"failed_at,omitempty"`
	RetriedAs   nudgewire.DispatchID `json:"retried_as,omitempty"` // the dispatch that took its place
	RetryOf     nudgewire.DispatchID `json:"retry_of,omitempty"`   // the dispatch whose place it took
}

// StateExcluded is the state of a row that the run excluded.
const StateExcluded = "excluded"

// A rowLine is one line of the answer: a row, what could not be read, or the end, without which
// the answer was cut short.
type rowLine struct {
	Row     *RowView `json:"row,omitempty"`
	Problem string   `json:"problem,omitempty"`
	End     bool     `json:"end,omitempty"`
}

// export streams every row of a run, as lines of JSON. No more than some hundreds of them are in
// memory at a time, and the messages of one part where the answer to its upload named them.
func (a admin) export(w http.ResponseWriter, r *http.Request) {
	var run nudgewire.Run
	var parts []nudgewire.Part
	id, err := runNumber(r)
	if err == nil {
		if run, err = a.Store.Run(r.Context(), id); err != nil {
			err = jobError(err)
		}
	}
	if err == nil {
		parts, err = a.Store.Parts(r.Context(), id)
	}
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	// A long list takes as long as its reader does. A writer that knows no deadline has none to lift.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	w.Header().Set("Content-Type", "application/x-ndjson")
	buf := bufio.NewWriterSize(w, 1<<16)
	e := &exporting{admin: a, run: &run, parts: parts, places: scheduler.PositionFinder{Files: a.Files, Store: a.Store}, out: json.NewEncoder(buf)}
	err = errors.Join(e.all(r.Context()), e.places.Close())
	switch {
	case err == nil:
		e.cut = e.out.Encode(rowLine{End: true})
	case e.cut == nil && r.Context().Err() == nil:
		a.Log.Error("exporting a run", zap.Int64("run", int64(id)), zap.Error(err))
	}
	if err := buf.Flush(); err != nil {
		a.Log.Debug("export cut short", zap.Error(err))
	}
}

// An exporting is one answer being written.
type exporting struct {
	admin
	run    *nudgewire.Run
	parts  []nudgewire.Part
	places scheduler.PositionFinder
	lost   bool // places cannot be read; that was reported
	out    *json.Encoder
	cut    error // of writing; it ends the answer
}

func (e *exporting) put(row *RowView) error {
	e.cut = e.out.Encode(rowLine{Row: row})
	return e.cut
}

// putAt tells of a row that was read by a run, with that number among its kept rows.
func (e *exporting) putAt(ctx context.Context, run nudgewire.RunID, number int64, row *RowView) error {
	if !e.lost && run != 0 {
		at, err := e.places.Of(ctx, run, number)
		if err != nil {
			e.lost = true
			if err := e.problem(fmt.Errorf("where rows stand in the list is not known: %w", err)); err != nil {
				return err
			}
		}
		row.Row, row.File = at.Row, at.File
	}
	return e.put(row)
}

// problem notes a file that cannot be read; the rest is written all the same.
func (e *exporting) problem(err error) error {
	if err == nil || e.cut != nil {
		return err
	}
	return e.out.Encode(rowLine{Problem: err.Error()})
}

func (e *exporting) all(ctx context.Context) error {
	next := int64(1) // the first row that was not written
	if e.run.Deliver == nudgewire.DeliverPerMessage {
		err := e.Store.RunRows(ctx, e.run.ID, 0, func(r *nudgewire.RunRow) error {
			if err := e.files(ctx, next, r.Number); err != nil {
				return err
			}
			next = r.Number + 1
			return e.putAt(ctx, r.ReadBy, r.ReadNumber, e.queued(r))
		})
		if err != nil {
			return err
		}
	}
	if err := e.files(ctx, next, math.MaxInt64); err != nil {
		return err
	}
	for _, path := range scheduler.ExcludedFiles(e.run, e.parts) {
		err := e.problem(scheduler.ReadExcluded(ctx, e.Files, path, func(x scheduler.ExcludedRow) error {
			return e.put(&RowView{Row: x.Row, File: x.File, Phone: x.Phone, State: StateExcluded, Reason: x.Reason})
		}))
		if err != nil {
			return err
		}
	}
	return nil
}

// queued is a row that has a dispatch.
func (e *exporting) queued(r *nudgewire.RunRow) *RowView {
	d, number := &r.Dispatch, r.Number
	if r.ReadBy == r.Run { // one that went again by itself stands in the place of another of this run
		number = r.ReadNumber
	}
	v := &RowView{
		Number: number, Part: e.partOf(number), Phone: d.To(), State: string(d.State), Reason: d.Reason, Dispatch: d.ID, At: optional(d.UpdatedAt),
		RetriedAs: r.RetriedAs, RetryOf: r.RetryOf,
	}
	v.follow(r.Message)
	return v
}

func (v *RowView) follow(m *nudgewire.Message) {
	if m == nil {
		return
	}
	v.MessageID, v.Status, v.Error = m.ID, m.Status, m.Error
	v.AcceptedAt, v.SentAt, v.DeliveredAt = optional(m.AcceptedAt), optional(m.SentAt), optional(m.DeliveredAt)
	v.ReadAt, v.FailedAt = optional(m.ReadAt), optional(m.FailedAt)
}

func (e *exporting) partOf(row int64) int {
	for i := range e.parts {
		if p := &e.parts[i]; row >= p.First && row < p.First+p.Rows {
			return p.Number
		}
	}
	return 0
}

// files tells of the rows from first up to but not including end by the files of their parts:
// they have no dispatch of their own.
func (e *exporting) files(ctx context.Context, first, end int64) error {
	if first >= end {
		return nil // row after row has its dispatch: no file is opened
	}
	for i := range e.parts {
		p := &e.parts[i]
		if p.First >= end || p.First+p.Rows <= first || p.Rows == 0 || p.State == nudgewire.PartRecut {
			continue // a part that was cut anew stands in the smaller ones
		}
		messages, err := e.Store.MessagesOfPart(ctx, e.run.ID, p.Number)
		if err != nil {
			return err
		}
		err = e.problem(scheduler.ReadPart(ctx, e.Files, e.run.Folder, p, func(n int64, to string) error {
			if n < first || n >= end {
				return ctx.Err()
			}
			v := &RowView{Number: n, Part: p.Number, Phone: to, State: string(p.State), Reason: p.Reason, At: optional(p.UpdatedAt)}
			phone, _ := nudgewire.PhoneOf(to)
			if m, known := messages[phone]; known {
				v.follow(&m)
			}
			return e.putAt(ctx, e.run.ID, n, v)
		}))
		if err != nil {
			return err
		}
	}
	return nil
}
