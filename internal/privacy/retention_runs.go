package privacy

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// A run leaves once nothing asks about it any more: its messages and files are gone, and others of its job say what its clock, a
// forecast and a list that comes again have to know. Until then it stays, whatever its age.

// oldRun is the condition on a run r that it ended before ?1 and that nothing needs it:
//
//   - it is not the newest of its job, nor the newest by its clock, nor the newest that was sent;
//   - no run that is kept sends it again, and none that was begun after it sends the same one again: these are counted;
//   - its rows are removed, its parts are settled and their messages followed;
//   - none of its messages is kept, and none of its rows is halted.
var oldRun = `r.ended_at > 0 AND r.ended_at < ?1 AND NOT EXISTS (SELECT 1 FROM list_rows l WHERE l.run_id = r.id)
	AND EXISTS (SELECT 1 FROM runs n WHERE n.job = r.job AND n.id > r.id)
	AND (r.cause = 'hand' OR EXISTS (SELECT 1 FROM runs n WHERE n.job = r.job AND n.cause <> 'hand' AND n.due_at >= r.due_at AND (n.due_at > r.due_at OR n.id > r.id)))
	AND (NOT (` + store.WasSentRun("r") + `) OR EXISTS (SELECT 1 FROM runs n WHERE n.job = r.job AND n.id > r.id AND ` + store.WasSentRun("n") + `))
	AND NOT EXISTS (SELECT 1 FROM runs n WHERE n.again_of = r.id AND n.again_of > 0)
	AND (r.again_of = 0 OR NOT EXISTS (SELECT 1 FROM runs n WHERE n.again_of = r.again_of AND n.again_of > 0 AND n.id > r.id))
	AND NOT EXISTS (SELECT 1 FROM parts p WHERE p.run_id = r.id AND (p.state = 'waiting' OR p.state = 'uploading' OR p.state = 'in_doubt' OR p.message_ids <> ''))
	AND NOT EXISTS (SELECT 1 FROM run_rows w WHERE w.run_id = r.id AND w.gone < w.row_count)
	AND NOT EXISTS (SELECT 1 FROM run_messages m WHERE m.run_id = r.id AND m.gone < m.id_count)
	AND NOT EXISTS (SELECT 1 FROM holds h WHERE h.scope = 'run' AND h.name = CAST(r.id AS TEXT) AND h.ended_at = 0)`

var (
	dropSomeRowsSQL = engine.SQL(`DELETE FROM run_rows WHERE run_id = ?1
		AND first_row IN (SELECT first_row FROM run_rows WHERE run_id = ?1 ORDER BY first_row LIMIT 200)`)
	dropSomeFollowedSQL = engine.SQL(`DELETE FROM run_messages WHERE run_id = ?1
		AND message IN (SELECT message FROM run_messages WHERE run_id = ?1 ORDER BY part, first_id LIMIT 200)`)
	dropSomePartRowsSQL = engine.SQL(`DELETE FROM part_rows WHERE run_id = ?1
		AND (part, first_row) IN (SELECT part, first_row FROM part_rows WHERE run_id = ?1 ORDER BY part, first_row LIMIT 200)`)
	dropSomePartsSQL = engine.SQL(`DELETE FROM parts WHERE run_id = ?1
		AND number IN (SELECT number FROM parts WHERE run_id = ?1 ORDER BY number LIMIT 200)`)
)

// runRows are what belongs to a run and goes before it.
var runRows = []*engine.Statement{dropSomeRowsSQL, dropSomeFollowedSQL, dropSomePartRowsSQL, dropSomePartsSQL}

// RowsKept is how long the phones of rows and their parts are kept at the least: a limit looks back no more than 90 days.
const RowsKept = 100 * 24 * time.Hour

// settledList is the condition on a run r that has read a list: no run that sends its rows needs what they say any more. A run ended before ?1, as all
// that send its rows again, and of no part it is unknown what became of it.
const settledList = `r.ended_at > 0 AND r.ended_at < ?1 AND NOT EXISTS (SELECT 1 FROM parts p WHERE p.list_id = r.id
		AND (p.state = 'waiting' OR p.state = 'uploading' OR p.state = 'in_doubt' OR EXISTS (SELECT 1 FROM runs o WHERE o.id = p.run_id AND (o.ended_at = 0 OR o.ended_at >= ?1))))`

var (
	oldExcludedSQL = engine.SQL(`DELETE FROM list_rows WHERE run_id = ?1 AND number IN (SELECT number FROM list_rows WHERE run_id = ?1 AND number < 0 ORDER BY number LIMIT 200)`)
	blankRowsSQL   = engine.SQL(`UPDATE list_rows SET given = '', cells = '', reason = CASE WHEN reason = '' THEN '' ELSE ?2 END
		WHERE run_id = ?1 AND number > ?3 AND number <= ?4`)
	blankedSQL = engine.SQL(`UPDATE runs SET blanked_at = ?2 WHERE id = ?1`)
	oldRowsSQL = engine.SQL(`DELETE FROM list_rows WHERE run_id = ?1 AND number IN (SELECT number FROM list_rows WHERE run_id = ?1 ORDER BY number LIMIT 200)`)
)

// agedWords stand in the place of the reason of a row once its values are not kept any more.
const agedWords = "not kept any more (retention.lists)"

// lists removes what rows of lists say, and the rows that were excluded, and later the rows themselves. Who was in which part is known until
// no limit looks back at it.
func (e *retainer) lists(ctx context.Context) error {
	if before := e.before(e.keep.Lists); !before.IsZero() {
		old, err := store.List(ctx, e.Store, `SELECT r.id FROM runs r WHERE r.blanked_at = 0 AND r.again_of = 0 AND `+settledList+` ORDER BY r.ended_at`, []any{engine.Micro(before)}, engine.Number[int64])
		for _, id := range old {
			if err == nil {
				err = e.blank(ctx, id)
			}
		}
		if err != nil {
			return store.Wrap(err, "rows of lists")
		}
	}
	kept := max(RowsKept, e.keep.Rows, e.keep.Lists)
	if e.keep.Phones > 0 {
		kept = min(kept, e.keep.Phones)
	}
	old, err := store.List(ctx, e.Store, `SELECT r.id FROM runs r WHERE r.again_of = 0 AND `+settledList+` AND EXISTS (SELECT 1 FROM list_rows l WHERE l.run_id = r.id) ORDER BY r.ended_at`,
		[]any{engine.Micro(e.before(kept))}, engine.Number[int64])
	for _, id := range old {
		if err == nil {
			err = e.until(ctx, kindLists, func(t *store.Tx) (int64, error) { return t.Exec(oldRowsSQL, id) })
		}
	}
	return store.Wrap(err, "rows of lists")
}

func (e *retainer) blank(ctx context.Context, id int64) error {
	err := e.until(ctx, kindLists, func(t *store.Tx) (int64, error) { return t.Exec(oldExcludedSQL, id) })
	last := int64(0)
	if err == nil {
		err = e.Rows(ctx, `SELECT coalesce(max(number), 0) FROM list_rows WHERE run_id = ?1`, []any{id}, func(r *engine.Row) error { last = r.Int(); return r.Err })
	}
	for from := int64(0); err == nil && from < last; from += perRetention {
		err = e.commit(ctx, kindLists, func(t *store.Tx) (int64, error) {
			return t.Exec(blankRowsSQL, id, agedWords, from, from+perRetention)
		})
	}
	if err != nil {
		return err
	}
	again, err := store.List(ctx, e.Store, `SELECT DISTINCT run_id FROM parts WHERE list_id = ?1`, []any{id}, engine.Number[int64]) // and those that send them again
	if err != nil {
		return err
	}
	return e.commit(ctx, "", func(t *store.Tx) (int64, error) {
		for _, run := range append(again, id) {
			if err := t.Put(blankedSQL, run, engine.Micro(e.now)); err != nil {
				return 0, err
			}
		}
		return 0, nil
	})
}

// runs removes runs that ended long ago, with their parts. None goes while a limit may ask who was in them.
func (e *retainer) runs(ctx context.Context) error {
	if e.keep.Runs <= 0 {
		return nil
	}
	before := e.before(max(e.keep.Runs, RowsKept))
	cut := engine.Micro(before)
	end, err := e.FirstSince(ctx, "runs", "created_at", before)
	if err != nil || end == 0 {
		return store.Wrap(err, "runs")
	}
	find := `SELECT r.id FROM runs r WHERE r.id > ?1 AND r.id < ?2 AND ` + renumbered(oldRun) + ` ORDER BY r.id`
	err = e.ids(ctx, find, []any{end, cut}, engine.RowsAtOnce, func(ids []int64) error {
		for left := true; left; {
			err := e.commit(ctx, kindRuns, func(t *store.Tx) (n int64, err error) {
				n, left, err = dropRuns(t, ids, cut)
				return n, err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return store.Wrap(err, "runs")
}

var (
	stillOldRunsSQL = engine.SQL(`SELECT r.id FROM runs r WHERE r.id IN (` + engine.Placeholders(2) + `) AND ` + oldRun + ` ORDER BY r.id`)
	dropRunSQL      = engine.SQL(`DELETE FROM runs WHERE id = ?1`)
)

// dropRuns removes those of the runs that are still old: n of them, until it has removed enough rows for one commit. A run of
// which rows are left is still there, and old.
func dropRuns(t *store.Tx, ids []int64, cut int64) (n int64, left bool, err error) {
	var due []int64
	err = t.Query(stillOldRunsSQL, func(r *engine.Row) error { due = append(due, r.Int()); return r.Err }, engine.Padded([]any{cut}, ids)...)
	if err != nil {
		return 0, false, err
	}
	rows := int64(0)
	for _, id := range due {
		for _, s := range runRows {
			if rows >= perRetention {
				return n, true, nil
			}
			gone, err := t.Exec(s, id)
			if err != nil {
				return n, false, err
			}
			if rows += gone; gone == perRetention {
				return n, true, nil
			}
		}
		if err := t.Put(dropRunSQL, id); err != nil {
			return n, false, err
		}
		n++
	}
	return n, false, nil
}
