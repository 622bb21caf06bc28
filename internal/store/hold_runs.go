package store

import (
	"context"
	"fmt"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// What a run has handed over are messages, which the sender claims without a look at their run.
// So a run that stops holds them, in the commit that stops it:
//
//   - while it is paused, for as long as it is;
//   - when it is cancelled, until none of them can come back to wait: they are many, so they are
//     ended in commits of their own (CancelRows), and those that are claimed come back later, or
//     after a crash.
//
// The rejected design kept pauses apart from holds, as a condition of the claim on the runs table:
// it would have needed a second last look, and a second mark for what a claim has passed over.

// holdRows is what a run's move from was to its present state means for the rows that it handed over.
func (t *Tx) holdRows(r *messaging.Run, was messaging.RunState) error {
	switch {
	case r.State == messaging.RunPaused || r.State == messaging.RunCancelled:
		newest, err := t.newestRow(r.ID)
		if err != nil || newest == 0 {
			return err
		}
		return t.hold(messaging.RunHold(r.ID, r.Reason))
	case was == messaging.RunPaused:
		_, err := t.endHold(messaging.RunHold(r.ID, ""))
		return err
	}
	return nil
}

// unsentRows finds a row of a run that can still be sent, the newest first.
const unsentRows = `SELECT 1 FROM run_rows r JOIN messages d ON d.id >= r.message AND d.id < r.message + r.row_count
	WHERE r.run_id = ?1 AND (d.state = 'waiting' OR d.state = 'sending') ORDER BY r.first_row DESC LIMIT 1`

// sendingRows finds a row that is claimed, by what its key begins with. There are as many claims
// as there are hands.
const sendingRows = `SELECT 1 FROM messages WHERE id IN (SELECT id FROM messages WHERE state = 'sending')
	AND state = 'sending' AND substr(correlation_key, 1, length(?1)) = ?1 LIMIT 1`

var pauseSentSQL = engine.SQL(`UPDATE runs SET state = 'paused', before = 'uploading', reason = ?2, stopped = CASE WHEN ?4 = '' THEN 'person' ELSE 'config' END, stopped_by = ?3, held = ?4, owner = '', lease_ends = 0, ended_at = 0
		WHERE id = ?1 AND (state = 'done' OR state = 'partial' OR state = 'failed')`)

// PauseSent pauses a run that has ended while messages of it still wait, as though it had not: a
// run of single messages ends when the last of them is handed over, and they may take an hour to
// leave. paused is false, and nothing has changed, when there is nothing to hold. held is why the config holds it, "" for a
// person's pause.
func (s *Store) PauseSent(ctx context.Context, run messaging.RunID, who, held, reason string) (paused bool, err error) {
	unsent := false
	err = s.Rows(ctx, unsentRows, []any{int64(run)}, func(*engine.Row) error { unsent = true; return nil })
	if err == nil && unsent {
		err = s.changeHolds(ctx, nil, func(t *Tx) error {
			n, err := t.Exec(pauseSentSQL, int64(run), reason, who, held)
			if paused = n > 0; err != nil || !paused {
				return err
			}
			return t.hold(messaging.RunHold(run, reason))
		})
	}
	if err == nil && paused && s.observer.Run != nil {
		var r messaging.Run
		if r, err = s.Run(ctx, run); err == nil {
			s.observer.Run(r)
		}
	}
	if err != nil {
		return false, fmt.Errorf("pause run %d: %w", run, err)
	}
	return paused, nil
}

// EndCancelled ends the rows of cancelled runs that came back since, or that a crash left waiting,
// and lets go of the runs of which nothing is on its way any more. n is how many rows there were;
// left says that a row is still claimed, so that it should be called again.
func (s *Store) EndCancelled(ctx context.Context) (n int64, left bool, err error) {
	for _, h := range s.HoldsOf(func(h messaging.Hold) bool { return h.Kind == messaging.HoldRun }) {
		r, err := s.Run(ctx, h.Run())
		if err != nil {
			return n, left, err
		}
		if r.State != messaging.RunCancelled {
			continue
		}
		sending, err := s.sends(ctx, r.ID)
		if err != nil {
			return n, left, err
		}
		if sending {
			left = true
			continue
		}
		ended, err := s.CancelRows(ctx, r.ID, r.Reason)
		if n += ended; err != nil {
			return n, left, err
		}
	}
	return n, left, nil
}

// sends reports whether a row of the run is claimed.
func (s *Store) sends(ctx context.Context, run messaging.RunID) (found bool, err error) {
	err = s.Rows(ctx, sendingRows, []any{messaging.RowKeys(run)}, func(*engine.Row) error { found = true; return nil })
	if err != nil {
		return false, fmt.Errorf("look for claims of run %d: %w", run, err)
	}
	return found, nil
}

// letGo ends the hold of a cancelled run. The caller has seen that none of its rows was claimed
// under that hold, and has ended those that waited.
func (s *Store) letGo(ctx context.Context, run messaging.RunID) error {
	h := messaging.RunHold(run, "")
	if len(s.HoldsOf(h.Same)) == 0 {
		return nil
	}
	return s.changeHolds(ctx, nil, func(t *Tx) error {
		r, err := t.run(run)
		if err != nil || r.State != messaging.RunCancelled {
			return err
		}
		_, err = t.endHold(h)
		return err
	})
}
