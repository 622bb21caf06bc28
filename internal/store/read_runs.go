package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// A RunFilter narrows a list of runs. Zero fields do not.
type RunFilter struct {
	Since time.Time // created at or after
	Limit int       // default 50
	Job   string
	State messaging.RunState

	Before messaging.RunID // for the next page: the last one's ID
}

// Runs lists runs, newest first.
func (s *Store) Runs(ctx context.Context, f RunFilter) ([]messaging.Run, error) {
	if f.Limit <= 0 {
		f.Limit = defaultLimit
	}
	var q engine.Select
	q.When(f.Job != "", "job = ?", f.Job)
	if f.State != "" {
		if !slices.Contains(messaging.RunStates, f.State) {
			return nil, fmt.Errorf("unknown state %q", f.State)
		}
		q.And("state = ?", string(f.State))
	}
	q.When(f.Before > 0, "id < ?", int64(f.Before))
	q.When(!f.Since.IsZero(), "created_at >= ?", engine.Micro(f.Since))
	out, err := s.listRuns(ctx, &q, "id DESC", f.Limit)
	return out, Wrap(err, "list runs")
}

func (s *Store) listRuns(ctx context.Context, q *engine.Select, order string, limit int) ([]messaging.Run, error) {
	return List(ctx, s, q.SQL(stored.RunColumns, "runs", order, limit), q.Args, stored.ScanRun)
}

// Run is one run; ErrNotFound when there is none.
func (s *Store) Run(ctx context.Context, id messaging.RunID) (messaging.Run, error) {
	var q engine.Select
	q.And("id = ?", int64(id))
	found, err := s.listRuns(ctx, &q, "", 1)
	if err == nil && len(found) == 0 {
		err = messaging.ErrNotFound
	}
	if err != nil {
		return messaging.Run{}, fmt.Errorf("run %d: %w", id, err)
	}
	return found[0], nil
}

// OpenRuns are the runs of a job that are not final, the oldest first; of all jobs for "".
func (s *Store) OpenRuns(ctx context.Context, job string) ([]messaging.Run, error) {
	job = s.jobNow(job)
	var q engine.Select
	q.And("ended_at = 0")
	q.When(job != "", "job = ?", job)
	out, err := s.listRuns(ctx, &q, "id", 0)
	return out, Wrap(err, "open runs")
}

// LastSent is the newest run of a job that kept at least one row and is done, partial, or cancelled
// after some of it had left, or may have; one that repeats another does not count.
func (s *Store) LastSent(ctx context.Context, job string) (r messaging.Run, ok bool, err error) {
	var q engine.Select
	q.And("job = ?", s.jobNow(job))
	q.And(WasSentRun("runs")) // what is sent again is no measure of the list
	found, err := s.listRuns(ctx, &q, "id DESC", 1)
	if err != nil {
		return r, false, fmt.Errorf("last run of %s: %w", job, err)
	}
	if len(found) == 0 {
		return r, false, nil
	}
	return found[0], true, nil
}

// Parts are the parts of a run by number.
func (s *Store) Parts(ctx context.Context, run messaging.RunID) (out []messaging.Part, err error) {
	out, err = List(ctx, s, `SELECT `+stored.PartColumns+` FROM parts WHERE run_id = ?1 ORDER BY number`, []any{int64(run)}, stored.ScanPart)
	if err == nil {
		err = s.addPartRows(ctx, out)
	}
	if err == nil {
		err = s.addFollowed(ctx, run, out)
	}
	return out, Wrap(err, "parts of run %d", run)
}

// partRows are the rows of the parts of a run. commit_plan_test.go holds it to its index.
const partRows = `SELECT part, first_row, last_row FROM part_rows WHERE run_id = ?1 ORDER BY part, first_row`

// addPartRows says which rows parts have, which are in the order of their runs and numbers.
func (s *Store) addPartRows(ctx context.Context, parts []messaging.Part) error {
	for i := 0; i < len(parts); {
		run := parts[i].RunID
		err := s.Rows(ctx, partRows, []any{int64(run)}, func(r *engine.Row) error {
			number, one := int(r.Int()), messaging.RowRange{First: r.Int(), Last: r.Int()}
			for i < len(parts) && parts[i].RunID == run && parts[i].Number < number {
				i++
			}
			if i < len(parts) && parts[i].RunID == run && parts[i].Number == number {
				parts[i].Ranges = append(parts[i].Ranges, one)
			}
			return r.Err
		})
		if err != nil {
			return err
		}
		for i < len(parts) && parts[i].RunID == run {
			i++
		}
	}
	return nil
}

// BlankedRuns are the newest runs of which it is not known any more which rows they excluded, though some were, the newest first.
func (s *Store) BlankedRuns(ctx context.Context) ([]messaging.Run, error) {
	var q engine.Select
	q.And("blanked_at > 0")
	runs, err := s.listRuns(ctx, &q, "id DESC", engine.PerList)
	return slices.DeleteFunc(runs, func(r messaging.Run) bool { return r.Tally.ExcludedRows() == 0 }), Wrap(err, "list runs")
}

// Family are the run that read the rows which a run sends, and all runs that send some of them
// again: a run without retries is alone in it.
func (s *Store) Family(ctx context.Context, id messaging.RunID) (ids []messaging.RunID, err error) {
	for of := id; of != 0 && err == nil; {
		var r messaging.Run
		if r, err = s.Run(ctx, of); err == nil {
			id, of = of, r.RetryOf
		}
	}
	ids = []messaging.RunID{id}
	for i := 0; i < len(ids) && err == nil; i++ {
		var retries []messaging.RunID
		retries, err = List(ctx, s, runsAgain, []any{int64(ids[i])}, engine.Number[messaging.RunID])
		ids = append(ids, retries...)
	}
	return ids, Wrap(err, "retries of run %d", id)
}

// WasSentRun is the condition on a run that its list was sent, or some of it: what its job's next list is held against.
func WasSentRun(r string) string {
	return r + `.kept > 0 AND ` + r + `.again_of = 0 AND (` + r + `.state = 'done' OR ` + r + `.state = 'partial' OR ` + r + `.state = 'cancelled')
		AND (` + r + `.state <> 'cancelled' OR EXISTS (SELECT 1 FROM run_rows w WHERE w.run_id = ` + r + `.id)
			OR EXISTS (SELECT 1 FROM parts p WHERE p.run_id = ` + r + `.id AND (p.state = 'accepted' OR p.state = 'uploading' OR p.state = 'in_doubt')))`
}

// A PastFile is a part of a run whose file left, or was to leave.
type PastFile struct {
	Number int
	List   messaging.RunID // that read its rows
	Ranges messaging.RowRanges
	At     time.Time // when it was claimed for its newest upload
}

// PastFiles are the files of a run that were uploaded, whatever became of them.
func (s *Store) PastFiles(ctx context.Context, run messaging.RunID) ([]PastFile, error) {
	out, err := List(ctx, s, `SELECT number, list_id, claimed_at FROM parts WHERE run_id = ?1 AND claimed_at > 0 AND (state = 'uploading' OR state = 'accepted'
		OR state = 'in_doubt' OR state = 'rejected') ORDER BY number`, []any{int64(run)}, func(r *engine.Row) (PastFile, error) {
		return PastFile{Number: int(r.Int()), List: messaging.RunID(r.Int()), At: r.Time()}, r.Err
	})
	parts := make([]messaging.Part, len(out))
	for i := range out {
		parts[i] = messaging.Part{RunID: run, Number: out[i].Number}
	}
	if err == nil {
		err = s.addPartRows(ctx, parts)
	}
	for i := range parts {
		out[i].Ranges = parts[i].Ranges
	}
	return out, Wrap(err, "files of run %d", run)
}
