package scheduler

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A run of the past may be played again by whoever steps the clock (package simulation). Its list is not read anew: it comes as it was stored
// then. All else is done by the code of every run, which sleeps by Options.Sleep.

// A PastList is the list of a run as it was stored.
type PastList struct {
	Columns []string // messaging.Run.Columns
	SHA256  string   // of the whole list
	// Rows calls each for those of its rows that could go then, in their order.
	Rows func(ctx context.Context, each func(*messaging.ListRow) error) error
}

// StartPast stores a run of the past as the run of a firing, by the rules of now. An approval or a release that it had from its beginning is taken
// over; what people said later comes by Approve and Cancel. Errors: ErrNoJob.
func (s *Scheduler) StartPast(ctx context.Context, past *messaging.Run, f Firing) (messaging.RunID, error) {
	j := s.job(past.Job)
	if j == nil {
		return 0, ErrNoJob
	}
	state, reason, err := s.overlapped(ctx, j, f, past.Began)
	if err != nil {
		return 0, err
	}
	r := j.runOf(f, past.Cause, state, reason, s.Now())
	if r.Repeats, r.Released = past.Repeats, past.Released; len(past.Approvals.By) == 0 {
		r.Approved = past.Approved
	}
	r.Approvals = messaging.Approvals{Starter: past.Approvals.Starter, StarterMakers: past.Approvals.StarterMakers}
	id, _, err := s.Store.StartRun(ctx, r)
	return id, err
}

// Claim takes the runs that may be worked on now, also those that this owner has claimed already.
func (s *Scheduler) Claim(ctx context.Context) ([]messaging.Run, error) {
	now := s.Now()
	return s.Store.ClaimRuns(ctx, s.Owner, now.UTC(), now.Add(s.Lease).UTC(), s.may)
}

// Work takes a claimed run as far as it can go, in the place of Run.
func (s *Scheduler) Work(ctx context.Context, r messaging.Run) error {
	err := s.inHand(r).advance(ctx)
	if errors.Is(err, errStopped) || errors.Is(err, messaging.ErrMoved) {
		return nil
	}
	return err
}

// IgnoreLateWord drops the refusal of a person's word about a run that came too late or too early.
func IgnoreLateWord(err error) error {
	if _, no := errors.AsType[*wordError](err); no {
		return nil
	}
	return err
}

// past is the list of a run that is played again; nil for one whose source is read.
func (w *working) past() *PastList {
	if w.Past == nil {
		return nil
	}
	return w.Past(w.run.ID)
}

// readStored takes the rows of a run as they were read once. What is said of their contacts is asked now. ListRow.Row of each is then the number that
// the row had in the real run (ListRow.Number there), by which package simulation finds it again.
func (w *working) readStored(ctx context.Context, b *building, past *PastList) error {
	b.store = func(rows []messaging.ListRow) error { return w.Store.AddRows(ctx, w.Owner, w.run.ID, rows) }
	err := b.pass(ctx, func(ctx context.Context, free <-chan *batch, full chan<- *batch) error {
		return b.fillFromStored(ctx, past, free, full)
	})
	b.finish()
	b.tally.SHA256 = past.SHA256 // of those, too, who were excluded then
	return err
}

// fillFromStored fills batches with stored rows.
func (b *building) fillFromStored(ctx context.Context, past *PastList, free <-chan *batch, full chan<- *batch) error {
	var one *batch
	hand := func() error {
		if err := b.exclude(ctx, one); err != nil {
			return err
		}
		b.cost(one)
		full <- one
		one = nil
		return nil
	}
	err := past.Rows(ctx, func(row *messaging.ListRow) error {
		if one == nil {
			select {
			case one = <-free:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			one.reset()
		}
		b.rows++
		sent := row.Phone.Spelled(row.Given)
		one.phones, one.sent, one.raw, one.rows = append(one.phones, row.Phone), append(one.sent, sent), append(one.raw, sent), append(one.rows, row.Number)
		for i := range b.columns {
			cell := ""
			if i < len(row.Cells) {
				cell = row.Cells[i]
			}
			one.vars = append(one.vars, cell)
		}
		if len(one.phones) < batchRows {
			return nil
		}
		return hand()
	})
	if err == nil && one != nil {
		err = hand()
	}
	return err
}

// columnsOf name the columns of a stored list. A stored column that the job now sets for the whole list is passed over.
func (c *Compiled) columnsOf(past *PastList) []string {
	columns := slices.Clone(past.Columns)
	for i, name := range columns {
		if own := slices.ContainsFunc(c.columns.fields, func(f field) bool { return f.column == name }); !own && !variableName.MatchString(name) {
			columns[i] = fieldUnused
		}
	}
	return columns
}

// HasColumns reports whether rows that have these columns may be what the job makes of its list.
func (c *Compiled) HasColumns(columns []string) bool {
	return slices.Equal(c.columns.header()[1:], columns)
}

// SameRows reports whether two jobs make the same rows of the same list.
func SameRows(a, b *Compiled) bool {
	return reflect.DeepEqual(a.Source, b.Source) && maps.Equal(a.rowTexts(), b.rowTexts()) && a.Unique == b.Unique && a.home == b.home
}

// rowTexts are what each row says, by where that is written.
func (c *Compiled) rowTexts() map[string]string {
	texts := map[string]string{"category": "", "columns.phone": "phone"}
	for _, one := range c.Columns {
		texts["columns."+one.Key] = one.Value
	}
	written := map[string]string{"category": string(c.Category)}
	if m := c.Send; m != nil {
		written["send.language"], written["send.text"] = m.Language, m.Text
		if h := m.Header; h != nil {
			written["send.header.image"], written["send.header.video"], written["send.header.document"], written["send.header.filename"] = h.Image, h.Video, h.Document, h.Filename
		}
	}
	for path, text := range written {
		if byRow(text) {
			texts[path] = text
		}
	}
	return texts
}

// Language is that of templates where neither the job nor a row says it.
func (c *Compiled) Language() string { return c.language }
