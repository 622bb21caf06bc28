package store

import (
	"context"
	"slices"

	"github.com/nudgewire/nudgewire"
)

// oldDispatch is the condition on a dispatch d that it and its message ended before ?1, and that nothing stands on it: the
// dispatch that took its place is gone, and so is every step of its sequence that may still ask about it.
const oldDispatch = `d.state <> 'waiting' AND d.state <> 'sending' AND d.state <> 'in_doubt' AND d.updated_at < ?1
	AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.dispatch_id = d.id AND (m.final = 0 OR m.status_at >= ?1 OR m.accepted_at >= ?1))
	AND NOT EXISTS (SELECT 1 FROM retries a JOIN dispatches n ON n.id = a.again_id WHERE a.dispatch_id = d.id)
	AND NOT EXISTS (SELECT 1 FROM steps s JOIN steps o ON o.sequence = s.sequence JOIN dispatches x ON x.id = o.dispatch_id
		WHERE s.dispatch_id = d.id AND (x.updated_at >= ?1 OR x.state = 'waiting' OR x.state = 'sending' OR x.state = 'in_doubt'))`

// oldFollowed is the same of a message m that an upload's answer named: it has no dispatch.
const oldFollowed = `m.final + 0 = 1 AND m.status_at < ?1 AND m.accepted_at < ?1 AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.id = m.dispatch_id)`

// oldAttempt is the condition on an attempt a, or on a verdict, that its dispatch has ended.
const oldAttempt = `NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.id = a.dispatch_id AND (d.state = 'waiting' OR d.state = 'sending' OR d.state = 'in_doubt'))`

// oldColumns are what decides what is remembered of a dispatch d.
var oldColumns = `d.id, d.event_id, d.trigger_name, d.correlation, d.state, d.claimed_at, CASE WHEN d.correlation_key = '' THEN 0 ELSE 1 END,
	CASE WHEN ` + wasLetBe("d") + ` THEN 1 ELSE 0 END`

// An oldOne is a dispatch that nothing leads to from now on.
type oldOne struct {
	id, event, correlation, claimed int64
	trigger                         string
	state                           nudgewire.State
	keyed, letBe                    bool
}

// scanOld reads oldColumns.
func scanOld(r *row) oldOne {
	return oldOne{id: r.int(), event: r.int(), trigger: r.text(), correlation: r.int(), state: nudgewire.State(r.text()), claimed: r.int(), keyed: r.int() == 1, letBe: r.int() == 1}
}

var (
	dropDispatchesSQL  = statementOf(`DELETE FROM dispatches WHERE id IN (` + marks(1) + `)`)
	dropMessagesSQL    = statementOf(`DELETE FROM messages WHERE dispatch_id IN (` + marks(1) + `)`)
	dropAttemptsSQL    = statementOf(`DELETE FROM attempts WHERE dispatch_id IN (` + marks(1) + `)`)
	dropVerdictsSQL    = statementOf(`DELETE FROM verdicts WHERE dispatch_id IN (` + marks(1) + `)`)
	dropResolutionsSQL = statementOf(`DELETE FROM resolutions WHERE dispatch_id IN (` + marks(1) + `)`)
	dropStepsSQL       = statementOf(`DELETE FROM steps WHERE dispatch_id IN (` + marks(1) + `)`)
	dropCalledOffSQL   = statementOf(`DELETE FROM called_off WHERE dispatch_id IN (` + marks(1) + `)`)
	dropRetriesSQL     = statementOf(`DELETE FROM retries WHERE dispatch_id IN (` + marks(1) + `)`)
)

// dispatchRows are what belongs to a dispatch and goes with it.
var dispatchRows = []*statement{dropDispatchesSQL, dropMessagesSQL, dropAttemptsSQL, dropVerdictsSQL, dropResolutionsSQL, dropStepsSQL, dropCalledOffSQL, dropRetriesSQL, dropUnmaskedSQL}

// perDispatches is how many dispatches go in a commit, with up to eight rows each and as many pages of their own.
const perDispatches = 48

var (
	// That a message may have arrived is kept as long as it is: it is never sent again.
	oldAttemptsSQL = statementOf(`DELETE FROM attempts AS a WHERE dispatch_id IN (` + marks(2) + `) AND at < ?1 AND state <> 'in_doubt' AND ` + oldAttempt)
	oldVerdictsSQL = statementOf(`DELETE FROM verdicts AS a WHERE dispatch_id IN (` + marks(2) + `) AND last_at < ?1 AND ` + oldAttempt)
)

// attempts removes how attempts ended that are told by their message's end, too.
func (e *retainer) attempts(ctx context.Context) error {
	before := e.before(e.keep.Attempts)
	if before.IsZero() {
		return nil
	}
	end, err := e.firstSince(ctx, "dispatches", "created_at", before)
	for _, one := range []struct {
		remove *statement
		find   string
	}{
		{oldAttemptsSQL, `SELECT DISTINCT dispatch_id FROM attempts a WHERE dispatch_id > ?1 AND dispatch_id < ?2 AND at < ?3 AND state <> 'in_doubt' AND ` + oldAttempt + ` ORDER BY dispatch_id`},
		{oldVerdictsSQL, `SELECT DISTINCT dispatch_id FROM verdicts a WHERE dispatch_id > ?1 AND dispatch_id < ?2 AND last_at < ?3 AND ` + oldAttempt + ` ORDER BY dispatch_id`},
	} {
		if err != nil || end == 0 {
			break
		}
		err = e.ids(ctx, one.find, []any{end, micro(before)}, perRetention/2, func(ids []int64) error {
			return e.commit(ctx, kindAttempts, func(t *tx) (n int64, err error) {
				for some := range slices.Chunk(ids, rowsAtOnce) {
					gone, err := t.exec(one.remove, padded([]any{micro(before)}, some)...)
					if n += gone; err != nil {
						return n, err
					}
				}
				return n, nil
			})
		})
	}
	return wrap(err, "attempts")
}

// padded is args and a list of rowsAtOnce ids: a set, so the first may stand in it several times.
func padded(args []any, ids []int64) []any {
	for i := range rowsAtOnce {
		args = append(args, ids[min(i, len(ids)-1)])
	}
	return args
}

// dispatches removes messages that ended long ago, with all that belongs to them.
func (e *retainer) dispatches(ctx context.Context) error {
	before := e.before(e.keep.Messages)
	if before.IsZero() {
		return nil
	}
	cut := micro(before)
	end, err := e.firstSince(ctx, "dispatches", "created_at", before)
	if err != nil || end == 0 {
		return wrap(err, "messages")
	}
	find := `SELECT d.id FROM dispatches d WHERE d.id > ?1 AND d.id < ?2 AND ` + renumbered(oldDispatch) + ` ORDER BY d.id`
	err = e.ids(ctx, find, []any{end, cut}, perDispatches, func(ids []int64) error {
		due := slices.DeleteFunc(ids, e.isOpen)
		if len(due) == 0 {
			return nil
		}
		return e.commit(ctx, kindMessages, func(t *tx) (int64, error) { return t.dropDispatches(due, cut, e.keep.Once) })
	})
	return wrap(err, "messages")
}

var (
	stillOldSQL = statementOf(`SELECT ` + oldColumns + ` FROM dispatches d WHERE d.id IN (` + marks(2) + `) AND ` + oldDispatch)
	rowGoneSQL  = statementOf(`UPDATE run_rows SET gone = gone + 1 WHERE dispatch_id = (SELECT max(dispatch_id) FROM run_rows WHERE dispatch_id <= ?1) AND dispatch_id + row_count > ?1`)
)

// dropDispatches removes those of the dispatches that are still old.
func (t *tx) dropDispatches(ids []int64, cut int64, once func(string, bool) bool) (int64, error) {
	var due []oldOne
	for some := range slices.Chunk(ids, rowsAtOnce) {
		err := t.query(stillOldSQL, func(r *row) error { due = append(due, scanOld(r)); return r.err }, padded([]any{cut}, some)...)
		if err != nil {
			return 0, err
		}
	}
	gone := make([]int64, 0, len(due))
	for i := range due {
		d := &due[i]
		gone = append(gone, d.id)
		var err error
		switch {
		case d.event == 0:
			err = t.put(rowGoneSQL, d.id)
		case d.correlation != 0: // it was not masked before
			err = t.leaveKeys(d, once)
		}
		if err != nil {
			return 0, err
		}
	}
	if len(gone) == 0 {
		return 0, nil
	}
	for _, s := range dispatchRows {
		if err := t.execAll(s, gone); err != nil {
			return 0, err
		}
	}
	return int64(len(gone)), nil
}

var sentOnceSQL = statementOf(`INSERT INTO sent_once (correlation, dispatch_id, state, at) VALUES (?1, ?2, ?3, ?4)
		ON CONFLICT (correlation) DO UPDATE SET dispatch_id = excluded.dispatch_id, state = excluded.state, at = excluded.at WHERE excluded.at > sent_once.at`)

// leaveKeys leaves the keys of a dispatch that an event led to behind, which lead nowhere from now on. Of a message of a
// trigger that sends once it is remembered that it was sent.
func (t *tx) leaveKeys(d *oldOne, once func(string, bool) bool) error {
	t.addNamed(retentionDead, 2) // its key and its phone's
	letBe := d.letBe && d.claimed > 0
	if (d.state != nudgewire.StateAccepted && !letBe) || once == nil || !once(d.trigger, d.keyed) {
		return nil
	}
	state := nudgewire.StateAccepted
	if letBe {
		state = nudgewire.StateDropped
	}
	if err := t.put(sentOnceSQL, d.correlation, d.id, string(state), d.claimed); err != nil {
		return err
	}
	return t.put(insertKeySQL, correlations, d.correlation, d.id) // it may be in memory alone, and no start reads it from its row again
}

// findFollowed finds old ones in a range of numbers.
var findFollowed = `SELECT m.dispatch_id FROM messages m WHERE m.dispatch_id >= ?1 AND m.dispatch_id < ?2 AND ` + renumbered(oldFollowed) + ` ORDER BY m.dispatch_id`

// followed removes messages that ended long ago and have no dispatch. It asks range by range: a join would read all
// messages for every page of ranges.
func (e *retainer) followed(ctx context.Context) error {
	before := e.before(e.keep.Messages)
	if before.IsZero() {
		return nil
	}
	cut := micro(before)
	var due []int64
	drop := func(least int) (err error) {
		for err == nil && len(due) >= least {
			some := due[:min(len(due), perDispatches)]
			due = due[len(some):]
			err = e.commit(ctx, kindMessages, func(t *tx) (int64, error) { return t.dropFollowed(some, cut) })
		}
		return err
	}
	for after, n := int64(0), perRetention; n == perRetention; {
		ranges, err := list(ctx, e.Store, `SELECT 0, id_count, dispatch_id FROM run_messages WHERE dispatch_id > ?1 AND gone < id_count ORDER BY dispatch_id LIMIT ?2`,
			[]any{after, int64(perRetention)}, scanRange)
		n = len(ranges)
		for _, r := range ranges {
			if err == nil {
				after = r.dispatch
				var ids []int64
				ids, err = list(ctx, e.Store, findFollowed, []any{r.dispatch, r.dispatch + r.count, cut}, number[int64])
				due = append(due, ids...)
			}
			if err == nil {
				err = drop(perDispatches)
			}
		}
		if err != nil {
			return wrap(err, "messages of uploads")
		}
	}
	return wrap(drop(1), "messages of uploads")
}

var (
	stillOldFollowedSQL = statementOf(`SELECT m.dispatch_id FROM messages m WHERE m.dispatch_id IN (` + marks(2) + `) AND ` + oldFollowed)
	followedGoneSQL     = statementOf(`UPDATE run_messages SET gone = gone + 1 WHERE dispatch_id = (SELECT max(dispatch_id) FROM run_messages WHERE dispatch_id <= ?1) AND dispatch_id + id_count > ?1`)
)

// dropFollowed removes those of the messages that are still old.
func (t *tx) dropFollowed(ids []int64, cut int64) (int64, error) {
	var due []int64
	for some := range slices.Chunk(ids, rowsAtOnce) {
		if err := t.query(stillOldFollowedSQL, func(r *row) error { due = append(due, r.int()); return r.err }, padded([]any{cut}, some)...); err != nil {
			return 0, err
		}
	}
	for _, id := range due {
		if err := t.put(followedGoneSQL, id); err != nil {
			return 0, err
		}
	}
	return int64(len(due)), t.execAll(dropMessagesSQL, due)
}
