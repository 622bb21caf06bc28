package store

import (
	"context"
	"errors"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// errEnough ends a walk early.
var errEnough = errors.New("enough")

// RowsToGoAgain are those of a run's rows after the row with the number after that may go again and that
// meant names, at most limit of them.
func (s *Store) RowsToGoAgain(ctx context.Context, run messaging.RunID, after int64, limit int, meant func(*messaging.RunRow) bool) (rows []messaging.RunRow, err error) {
	err = s.RunRows(ctx, run, after, func(r *messaging.RunRow) error {
		if may, _ := r.MayGoAgain(); !may || !meant(r) {
			return nil
		}
		rows = append(rows, *r)
		if len(rows) == limit {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return rows, err
}

// EnqueueRetries queues the messages of the messages named once more, as further rows of the run,
// in one commit. Each is looked at again inside of it: one that may not go again any more, or did
// already, is not queued, so that no message ever has two that took its place. due is when each
// falls due; nil for now. total is how many rows the run queues then. ErrMoved, and nothing is stored, when the run does not send.
func (s *Store) EnqueueRetries(ctx context.Context, run messaging.RunID, of []messaging.MessageID, due func(messaging.Phone, time.Time) time.Time, now time.Time) (total int64, err error) {
	err = s.Write(ctx, commit.LaneWork, func(t *Tx) error {
		r, err := t.run(run)
		if err != nil {
			return err
		}
		if r.State != messaging.RunUploading {
			return commit.NoWrite{Err: messaging.ErrMoved}
		}
		if total, err = t.newestRow(run); err != nil {
			return err
		}
		for _, id := range of {
			d, send, _, err := t.mayGoAgain(id)
			if err != nil {
				return err
			}
			if d == nil {
				continue
			}
			at, expires := now, time.Time{}
			if due != nil {
				at = due(d.Phone, now)
			}
			if r.Expires > 0 {
				expires = at.Add(r.Expires)
			}
			if !r.RetryUntil.IsZero() {
				expires = r.RetryUntil
			}
			total++
			d.Tries = 0
			if err := t.enqueueRowRetry(&r, total, d, send, now, at, expires); err != nil {
				return err
			}
		}
		return nil
	})
	return total, Wrap(err, "queue rows of run %d", run)
}

var growRowsSQL = engine.SQL(`UPDATE run_rows SET row_count = row_count + 1
		WHERE run_id = ?1 AND first_row = (SELECT max(first_row) FROM run_rows WHERE run_id = ?1 AND first_row < ?2)
			AND first_row + row_count = ?2 AND message + row_count = ?3`)

// enqueueRowRetry queues a row's message once more, as the row of the run with that number.
func (t *Tx) enqueueRowRetry(run *messaging.Run, number int64, d *messaging.Message, send string, now, due, expires time.Time) error {
	again := messaging.Message{
		Run: run.ID, Trigger: d.Trigger, Key: messaging.RowKey(run.ID, number), Phone: d.Phone, SentAs: d.SentAs, Category: d.Category,
		DueAt: due, ExpiresAt: expires, CreatedAt: now, Config: run.Config, Zone: d.Zone, Account: d.Account, Tries: d.Tries,
	}
	id, err := t.allocate(numbers.Messages)
	if err == nil {
		err = t.enqueueRow(id, &again, send, d.ID)
	}
	var grown int64
	if err == nil {
		grown, err = t.Exec(growRowsSQL, int64(run.ID), number, id)
	}
	if err == nil && grown == 0 {
		err = t.Put(insertRowsSQL, int64(run.ID), number, int64(1), id)
	}
	return Wrap(err, "message %d", d.ID)
}

// unlisted is the number from which on rows of a run take the place of others of the same run, which went
// again by themselves: below are those that it hands over.
const unlisted = int64(1) << 40

// newestRow is the number of the last row that a run handed over; 0 for none.
func (t *Tx) newestRow(run messaging.RunID) (n int64, err error) { return t.newestBelow(run, unlisted) }

// newestBelow is the number of the last row of a run in ranges that begin below that number.
func (t *Tx) newestBelow(run messaging.RunID, number int64) (n int64, err error) {
	err = t.Query(rowsQueuedSQL, func(r *engine.Row) error {
		n = r.Int() + r.Int() - 1
		return nil
	}, int64(run), number, int64(1))
	return n, err
}

// mayGoAgain is a message with what it sends, or nil and why it may not be queued once more.
func (t *Tx) mayGoAgain(id messaging.MessageID) (d *messaging.Message, send, why string, err error) {
	one, send, err := t.wholeRow(id)
	if err != nil || one.Message.ID == 0 {
		return nil, "", "is no message", err
	}
	may, why := one.MayGoAgain()
	if !may {
		return nil, "", why, nil
	}
	if _, off, err := t.meanwhile(&one.Message); err != nil || off.Reason != "" {
		return nil, "", off.Reason, err
	}
	return &one.Message, send, why, nil
}

var (
	wholeSQL   = engine.SQL(`SELECT ` + stored.MessageColumns + `, ` + stored.ServiceColumns + ` FROM messages WHERE id = ?1 {{for update}}`)
	retriedSQL = engine.SQL(`SELECT id FROM messages WHERE replaces = ?1 AND replaces > 0`)
	doubtsSQL  = engine.SQL(`SELECT number FROM attempts WHERE message = ?1 AND state = 'in_doubt'`)
)

// wholeRow is a message with all that RunRow.MayGoAgain asks about, and what it sends.
func (t *Tx) wholeRow(id messaging.MessageID) (one messaging.RunRow, send string, err error) {
	err = t.Query(wholeSQL, func(r *engine.Row) error {
		one.Message, send = stored.ScanMessage(r)
		stored.ScanService(r, &one.Message)
		return r.Err
	}, int64(id))
	if err == nil {
		err = t.Query(doubtsSQL, func(r *engine.Row) error { one.Doubted = append(one.Doubted, int(r.Int())); return nil }, int64(id))
	}
	if err == nil {
		err = t.Query(retriedSQL, func(r *engine.Row) error { one.RetriedAs = messaging.MessageID(r.Int()); return nil }, int64(id))
	}
	if err == nil {
		_, one.Blocked, err = t.blocked(one.Message.Phone)
	}
	return one, send, err
}

// RetriesOf counts the runs that send a run again.
func (s *Store) RetriesOf(ctx context.Context, run messaging.RunID) (n int, err error) {
	err = s.Rows(ctx, retriesOfRun, []any{int64(run)}, func(r *engine.Row) error { n = int(r.Int()); return nil })
	return n, Wrap(err, "retries of run %d", run)
}

// PartsOfList are the parts of all runs that send rows of a list, the oldest run first.
func (s *Store) PartsOfList(ctx context.Context, of messaging.RunID) (out []messaging.Part, err error) {
	out, err = List(ctx, s, partsOfList, []any{int64(of)}, stored.ScanPart)
	if err == nil {
		err = s.addPartRows(ctx, out)
	}
	return out, Wrap(err, "parts of the list of run %d", of)
}
