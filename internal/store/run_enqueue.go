package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/labels"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// Enqueue stores the messages of a run's rows in one commit: the row with the number first,
// counted among the kept rows from 1, and those after it. A row that the run already queues is
// not stored again, so that a batch may be handed over again after a crash. One that is dropped is stored as
// that, with its reason, and never sent. ErrMoved, and nothing
// is stored, when the run does not send any more.
func (s *Store) Enqueue(ctx context.Context, run messaging.RunID, first int64, rows []messaging.Message) error {
	_, _, err := s.enqueue(ctx, run, first, rows, nil)
	return err
}

// EnqueueAtRate is Enqueue for as many of the rows, from the first, as the window has room for: done of them. since is
// when that window began. Rows that the run queues already, and those that are dropped, need no room.
func (s *Store) EnqueueAtRate(ctx context.Context, run messaging.RunID, first int64, rows []messaging.Message, w messaging.RateWindow) (done int, since time.Time, err error) {
	return s.enqueue(ctx, run, first, rows, &w)
}

func (s *Store) enqueue(ctx context.Context, run messaging.RunID, first int64, all []messaging.Message, w *messaging.RateWindow) (done int, since time.Time, err error) {
	rows := all
	sends := make([]string, len(rows))
	for i := range rows {
		if rows[i].DueAt.IsZero() || first < 1 {
			return 0, since, fmt.Errorf("queue row %d of run %d: without a due time or a number", first+int64(i), run)
		}
		// A run that stops finds its rows by their keys.
		if key := messaging.RowKey(run, first+int64(i)); rows[i].Key != key {
			return 0, since, fmt.Errorf("queue row %d of run %d: its key is %q and not %q", first+int64(i), run, rows[i].Key, key)
		}
		sends[i] = string(stored.AppendSend(nil, &rows[i].Send))
	}
	err = s.Write(ctx, commit.LaneWork, func(t *Tx) error {
		rows = all
		r, err := t.run(run)
		if err != nil {
			return err
		}
		if r.State != messaging.RunUploading {
			return commit.NoWrite{Err: messaging.ErrMoved}
		}
		known, err := t.rowsQueued(run, first, first+int64(len(rows)))
		if err != nil {
			return err
		}
		if w != nil {
			need := func(i int) bool { return rows[i].State != messaging.StateDropped && !known.has(first+int64(i)) }
			if done, since, err = t.atRate(w, len(rows), need); err != nil {
				return err
			}
			rows = rows[:done]
		}
		for from, to := 0, 0; to < len(rows); from = to + 1 { // ranges that are not queued yet
			for to = from; to < len(rows) && !known.has(first+int64(to)); {
				to++
			}
			if err := t.enqueueRows(run, first+int64(from), rows[from:to], sends[from:to]); err != nil {
				return err
			}
		}
		return nil
	})
	return len(rows), since, Wrap(err, "queue rows of run %d", run)
}

// UseRate takes room for that many rows from the window, or what is left of it. since is when the window began.
func (s *Store) UseRate(ctx context.Context, w messaging.RateWindow, rows int) (granted int, since time.Time, err error) {
	err = s.Write(ctx, commit.LaneWork, func(t *Tx) (err error) {
		granted, since, err = t.atRate(&w, rows, func(int) bool { return true })
		return err
	})
	return granted, since, Wrap(err, "the rate of %s", w.Job)
}

// atRate is how many of n rows the window has room for, from the first, and notes that they use it. need says of each
// whether it needs room.
func (t *Tx) atRate(w *messaging.RateWindow, n int, need func(i int) bool) (done int, since time.Time, err error) {
	window, err := t.window(RenamedJob, w.Job)
	if err != nil {
		return 0, since, err
	}
	window = window.At(w.Now, engine.Moment(engine.Micro(w.From)), w.Waiting)
	for ; done < n; done++ {
		if !need(done) {
			continue
		}
		if window.Used >= w.Most {
			break
		}
		window.Used++
	}
	return done, engine.Moment(engine.Micro(window.Since)), t.setWindow(RenamedJob, w.Job, window)
}

var insertRowsSQL = engine.SQL(`INSERT INTO run_rows (run_id, first_row, row_count, message) VALUES (?1, ?2, ?3, ?4)`)

// enqueueRows stores rows of a run whose numbers begin with first.
func (t *Tx) enqueueRows(run messaging.RunID, first int64, rows []messaging.Message, sends []string) error {
	if len(rows) == 0 {
		return nil
	}
	n := int64(len(rows))
	id, err := t.peers.Allocate(t.Tx, numbers.Messages, n)
	if err == nil {
		err = t.Put(insertRowsSQL, int64(run), first, n, id)
	}
	if err != nil {
		return err
	}
	for i := range rows {
		rows[i].Run = run
		err := t.enqueueRow(id+int64(i), &rows[i], sends[i], 0)
		if err == nil && rows[i].State == messaging.StateDropped { // its contact may not get it any more
			err = t.Put(dropSQL, id+int64(i), rows[i].Reason, t.At)
			p := labels.Of(0, rows[i].Trigger, labels.TemplateOf(&rows[i].Send), rows[i].Phone)
			t.messageState(messaging.MessageID(id+int64(i)), &p, messaging.StateDropped, rows[i].Reason, rows[i].DroppedBy, "")
		}
		if err != nil {
			return fmt.Errorf("row %d: %w", first+int64(i), err)
		}
	}
	return nil
}

// enqueueRow stores a message without an event, which takes the place of another one where replaces is not 0. It has no hash of a correlation key: no event looks for it.
func (t *Tx) enqueueRow(id int64, d *messaging.Message, send string, replaces messaging.MessageID) error {
	due, created := engine.Micro(d.DueAt), engine.Micro(d.CreatedAt)
	if created == 0 {
		created = t.At
	}
	if err := t.Put(insertMessageSQL, id, int64(0), created, d.Trigger, d.Key, int64(0), string(d.Phone),
		string(d.Category), send, d.Reason, due, engine.Micro(d.ExpiresAt), created, d.Config, "",
		d.Zone, int64(d.Step), d.Account, int64(d.Tries), d.SentAs, "", int64(d.Run), int64(replaces), d.Test); err != nil {
		return err
	}
	p := labels.Of(0, d.Trigger, labels.TemplateIn(send), d.Phone)
	p.Account = d.Account
	t.messageQueued(messaging.MessageID(id), &p, due, d.Reason)
	return nil
}

// A rowRange is rows of a run whose messages have numbers without a gap.
type rowRange struct{ first, count, message int64 }

func scanRange(r *engine.Row) (rowRange, error) { return rowRange{r.Int(), r.Int(), r.Int()}, nil }

type rowRanges []rowRange

func (rs rowRanges) has(row int64) bool {
	for _, r := range rs {
		if row >= r.first && row < r.first+r.count {
			return true
		}
	}
	return false
}

// maxRanges bounds the ranges that are looked at: more than a batch has rows.
const maxRanges = 4096

var rowsQueuedSQL = engine.SQL(`SELECT first_row, row_count, message FROM run_rows WHERE run_id = ?1 AND first_row < ?2 ORDER BY first_row DESC LIMIT ?3 + 0`)

// rowsQueued are the ranges that may hold rows from first up to but not including end.
func (t *Tx) rowsQueued(run messaging.RunID, first, end int64) (found rowRanges, err error) {
	err = t.Query(rowsQueuedSQL, func(r *engine.Row) error {
		one := rowRange{r.Int(), r.Int(), r.Int()}
		if one.first+one.count > first {
			found = append(found, one)
		}
		return nil
	}, int64(run), end, int64(maxRanges))
	return found, err
}

// CountRunMessages counts the run's messages: those of its rows that were handed over, or that an upload's answer
// named. A message that is accepted and not yet told of has not ended.
func (s *Store) CountRunMessages(ctx context.Context, run messaging.RunID) (v messaging.RunCounts, err error) {
	by, err := s.RunMessages(ctx, run)
	if err != nil {
		return v, err
	}
	for word, n := range by {
		v.Messages += n
		switch word {
		case string(messaging.StateRejected), string(messaging.StatusFailed):
			v.Ended, v.Failed = v.Ended+n, v.Failed+n
		case string(messaging.StatusRead):
			v.Ended, v.Arrived, v.Read = v.Ended+n, v.Arrived+n, v.Read+n
		case string(messaging.StatusDelivered):
			v.Ended, v.Arrived = v.Ended+n, v.Arrived+n
		case string(messaging.StatusExpired), string(messaging.StateDropped):
			v.Ended += n
		}
	}
	return v, nil
}

// HandedOver is the number of the last row that a run handed over; 0 for none.
func (s *Store) HandedOver(ctx context.Context, run messaging.RunID) (last int64, err error) {
	err = s.Rows(ctx, `SELECT first_row + row_count - 1 FROM run_rows WHERE run_id = ?1 AND first_row < ?2 ORDER BY first_row DESC LIMIT 1`,
		[]any{int64(run), unlisted}, func(r *engine.Row) error { last = r.Int(); return r.Err })
	return last, Wrap(err, "what run %d handed over", run)
}

// recentRanges is how many of a run's newest ranges Backlog looks at: what lies before them
// has left, but for a few that are tried again.
const recentRanges = 16

// Backlog is how many of a run's newest rows still wait to be sent. Those that a rule put off are not among them, nor those that were handed over to
// wait for their time: the night of some contacts must not keep the others waiting.
func (s *Store) Backlog(ctx context.Context, run messaging.RunID) (waiting int64, err error) {
	err = s.Rows(ctx, `SELECT count(*) FROM (SELECT message, row_count FROM run_rows WHERE run_id = ?1 ORDER BY first_row DESC LIMIT ?2) AS r
		JOIN messages d ON d.id >= r.message AND d.id < r.message + r.row_count
		WHERE d.state = 'waiting' AND d.first_due_at = 0 AND NOT (d.attempt = 0 AND d.due_at > d.created_at)`, []any{int64(run), recentRanges}, func(r *engine.Row) error {
		waiting = r.Int()
		return nil
	})
	return waiting, Wrap(err, "backlog of run %d", run)
}

var cancelRowsSQL = engine.SQL(`UPDATE messages SET state = 'cancelled', reason = ?3, updated_at = ?4, owner = '', ` + stored.EndSend + `
		WHERE id >= ?1 AND id < ?2 AND state = 'waiting' RETURNING id, ` + labels.Columns)

// CancelRows ends the rows of a run that still wait to be sent, some at a time so that others
// get their turn, and says how many there were. Doing it again does no harm. A run that is cancelled
// stays halted while a row of it was claimed at the beginning: EndCancelled comes for that one.
func (s *Store) CancelRows(ctx context.Context, run messaging.RunID, reason string) (n int64, err error) {
	if reason == "" {
		return 0, errors.New("cancel rows: needs a reason")
	}
	sending, err := s.sends(ctx, run)
	if err != nil {
		return 0, err
	}
	ranges, err := List(ctx, s, `SELECT first_row, row_count, message FROM run_rows WHERE run_id = ?1 ORDER BY first_row`, []any{int64(run)}, scanRange)
	for _, one := range ranges {
		if err != nil {
			break
		}
		var ended int64
		err = s.Write(ctx, commit.LaneWork, func(t *Tx) error {
			ended = 0
			return t.Query(cancelRowsSQL, func(r *engine.Row) error {
				id, p := messaging.MessageID(r.Int()), labels.Scan(r)
				t.messageState(id, &p, messaging.StateCancelled, reason, messaging.EndedByRun, "")
				ended++
				return r.Err
			}, one.message, one.message+one.count, reason, t.At)
		})
		n += ended
	}
	if err == nil && !sending {
		err = s.letGo(ctx, run)
	}
	return n, Wrap(err, "cancel rows of run %d", run)
}
