package store

import (
	"context"
	"slices"
)

// A run leaves once nothing asks about it any more: its messages and files are gone, and others of its job say what its clock, a
// forecast and a list that comes again have to know. Until then it stays, whatever its age.

// wasSentRun is the condition on a run that its list was sent, or some of it: what its job's next list is held against.
func wasSentRun(r string) string {
	return r + `.kept > 0 AND ` + r + `.again_of = 0 AND (` + r + `.state = 'done' OR ` + r + `.state = 'partial' OR ` + r + `.state = 'cancelled')
		AND (` + r + `.state <> 'cancelled' OR EXISTS (SELECT 1 FROM run_rows w WHERE w.run_id = ` + r + `.id)
			OR EXISTS (SELECT 1 FROM parts p WHERE p.run_id = ` + r + `.id AND (p.state = 'accepted' OR p.state = 'uploading' OR p.state = 'in_doubt')))`
}

// oldRun is the condition on a run r that it ended before ?1 and that nothing needs it:
//
//   - it is not the newest of its job, nor the newest by its clock, nor the newest that was sent;
//   - no run that is kept sends it again, and none that was begun after it sends the same one again: these are counted;
//   - its files are removed, its parts are settled and their messages followed;
//   - none of its messages is kept, and none of its rows is halted.
var oldRun = `r.ended_at > 0 AND r.ended_at < ?1 AND (r.folder = '' OR r.files_removed_at > 0)
	AND EXISTS (SELECT 1 FROM runs n WHERE n.job = r.job AND n.id > r.id)
	AND (r.cause = 'hand' OR EXISTS (SELECT 1 FROM runs n WHERE n.job = r.job AND n.cause <> 'hand' AND n.due_at >= r.due_at AND (n.due_at > r.due_at OR n.id > r.id)))
	AND (NOT (` + wasSentRun("r") + `) OR EXISTS (SELECT 1 FROM runs n WHERE n.job = r.job AND n.id > r.id AND ` + wasSentRun("n") + `))
	AND NOT EXISTS (SELECT 1 FROM runs n WHERE n.again_of = r.id AND n.again_of > 0)
	AND (r.again_of = 0 OR NOT EXISTS (SELECT 1 FROM runs n WHERE n.again_of = r.again_of AND n.again_of > 0 AND n.id > r.id))
	AND NOT EXISTS (SELECT 1 FROM parts p WHERE p.run_id = r.id AND (p.state = 'built' OR p.state = 'uploading' OR p.state = 'in_doubt' OR p.message_ids <> ''))
	AND NOT EXISTS (SELECT 1 FROM run_rows w WHERE w.run_id = r.id AND w.gone < w.row_count)
	AND NOT EXISTS (SELECT 1 FROM run_messages m WHERE m.run_id = r.id AND m.gone < m.id_count)
	AND NOT EXISTS (SELECT 1 FROM holds h WHERE h.scope = 'run' AND h.name = CAST(r.id AS TEXT) AND h.ended_at = 0)`

var (
	dropSomeRowsSQL = statementOf(`DELETE FROM run_rows WHERE run_id = ?1
		AND first_row IN (SELECT first_row FROM run_rows WHERE run_id = ?1 ORDER BY first_row LIMIT 200)`)
	dropSomeFollowedSQL = statementOf(`DELETE FROM run_messages WHERE run_id = ?1
		AND dispatch_id IN (SELECT dispatch_id FROM run_messages WHERE run_id = ?1 ORDER BY part, first_id LIMIT 200)`)
	dropSomePartsSQL = statementOf(`DELETE FROM parts WHERE run_id = ?1
		AND number IN (SELECT number FROM parts WHERE run_id = ?1 ORDER BY number LIMIT 200)`)
)

// runRows are what belongs to a run and goes before it.
var runRows = []*statement{dropSomeRowsSQL, dropSomeFollowedSQL, dropSomePartsSQL}

var oldContactsSQL = statementOf(`DELETE FROM part_contacts WHERE bucket = ?1 AND at < ?2`)

// contacts removes who was on files that no limit looks back at any more.
func (e *retainer) contacts(ctx context.Context) error {
	before := micro(e.before(ContactsKept))
	const find = `WITH RECURSIVE buckets (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM buckets WHERE n < ?1 - 1)
		SELECT n FROM buckets WHERE EXISTS (SELECT 1 FROM part_contacts c WHERE c.bucket = buckets.n AND c.at < ?2) ORDER BY n`
	buckets, err := list(ctx, e.Store, find, []any{int64(contactBuckets), before}, number[int64])
	for some := range slices.Chunk(buckets, bucketsAtOnce) {
		if err != nil {
			break
		}
		err = e.commit(ctx, "", func(t *tx) (int64, error) {
			for _, bucket := range some {
				if err := t.put(oldContactsSQL, bucket, before); err != nil {
					return 0, err
				}
			}
			return 0, nil
		})
	}
	return wrap(err, "contacts on files")
}

// runs removes runs that ended long ago, with their parts. None goes while a limit may ask who was on its files.
func (e *retainer) runs(ctx context.Context) error {
	if e.keep.Runs <= 0 {
		return nil
	}
	before := e.before(max(e.keep.Runs, ContactsKept))
	cut := micro(before)
	end, err := e.firstSince(ctx, "runs", "created_at", before)
	if err != nil || end == 0 {
		return wrap(err, "runs")
	}
	find := `SELECT r.id FROM runs r WHERE r.id > ?1 AND r.id < ?2 AND ` + renumbered(oldRun) + ` ORDER BY r.id`
	err = e.ids(ctx, find, []any{end, cut}, rowsAtOnce, func(ids []int64) error {
		for left := true; left; {
			err := e.commit(ctx, kindRuns, func(t *tx) (n int64, err error) {
				n, left, err = t.dropRuns(ids, cut)
				return n, err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return wrap(err, "runs")
}

var (
	stillOldRunsSQL = statementOf(`SELECT r.id FROM runs r WHERE r.id IN (` + marks(2) + `) AND ` + oldRun + ` ORDER BY r.id`)
	dropRunSQL      = statementOf(`DELETE FROM runs WHERE id = ?1`)
)

// dropRuns removes those of the runs that are still old: n of them, until it has removed enough rows for one commit. A run of
// which rows are left is still there, and old.
func (t *tx) dropRuns(ids []int64, cut int64) (n int64, left bool, err error) {
	var due []int64
	err = t.query(stillOldRunsSQL, func(r *row) error { due = append(due, r.int()); return r.err }, padded([]any{cut}, ids)...)
	if err != nil {
		return 0, false, err
	}
	rows := int64(0)
	for _, id := range due {
		for _, s := range runRows {
			if rows >= perRetention {
				return n, true, nil
			}
			gone, err := t.exec(s, id)
			if err != nil {
				return n, false, err
			}
			if rows += gone; gone == perRetention {
				return n, true, nil
			}
		}
		if err := t.put(dropRunSQL, id); err != nil {
			return n, false, err
		}
		n++
	}
	return n, false, nil
}
