package store

import (
	"context"
	"slices"
	"time"
)

// Payloads with their facts, and the reasons of decisions, are cleared in their rows; the rows leave with their events. Each walk goes on
// from where the last one came to. What it passes because something still needs it is looked at again by the next.

// Counters of how far the walks came: of all events up to that number it is cleared.
const (
	clearedPayloads  = "retention/cleared/payloads"
	clearedDecisions = "retention/cleared/decisions"
)

var (
	clearPayloadsSQL = statementOf(`UPDATE events SET cleared = 'age', content_type = '', content = ?1 WHERE cleared = '' AND id IN (` + marks(2) + `)`)
	// The reason of one that a person's order cleared stays.
	clearDecisionsSQL = statementOf(`UPDATE decisions SET kept = 0, reason = '', key = '', clauses = '', config = '' WHERE kept = 1 AND event_id IN (` + marks(1) + `)`)
)

func (e *retainer) payloads(ctx context.Context) error {
	return wrap(e.clear(ctx, kindPayloads, clearedPayloads, e.keep.Payloads, func(t *tx, some []int64) (int64, error) {
		return t.exec(clearPayloadsSQL, padded([]any{[]byte{}}, some)...)
	}), "payloads")
}

func (e *retainer) decisions(ctx context.Context) error {
	return wrap(e.clear(ctx, kindDecisions, clearedDecisions, e.keep.Decisions, func(t *tx, some []int64) (int64, error) {
		return t.exec(clearDecisionsSQL, padded(nil, some)...)
	}), "decisions")
}

// clear walks through the events that are older than what goes with them is kept. empty changes the rows of up to rowsAtOnce of them.
func (e *retainer) clear(ctx context.Context, kind, walked string, kept time.Duration, empty func(*tx, []int64) (int64, error)) error {
	before := e.before(e.ofEvents(kept))
	if before.IsZero() {
		return nil
	}
	end, err := e.firstSince(ctx, "events", "received_at", before)
	from := int64(0)
	if err == nil {
		from, err = e.walkedTo(ctx, walked)
	}
	whole := true // nothing was passed so far
	for n := perRetention; err == nil && n == perRetention; {
		var ids []int64
		ids, err = list(ctx, e.Store, `SELECT id FROM events WHERE id > ?1 AND id < ?2 AND received_at < ?3 ORDER BY id LIMIT ?4`,
			[]any{from, end, micro(before), int64(perRetention)}, number[int64])
		if n = len(ids); err != nil || n == 0 {
			break
		}
		from = ids[n-1]
		due := slices.DeleteFunc(ids, func(id int64) bool { return e.needs(id, id+1) })
		whole = whole && len(due) == n
		err = e.commit(ctx, kind, func(t *tx) (all int64, err error) {
			for some := range slices.Chunk(due, rowsAtOnce) {
				gone, err := empty(t, some)
				if all += gone; err != nil {
					return all, err
				}
			}
			if whole {
				err = t.put(setCountSQL, walked, from)
			}
			return all, err
		})
	}
	return err
}

// events removes those that no message is left of, with their decisions. A message that was queued once more stays together with the one
// whose place it took.
func (e *retainer) events(ctx context.Context) error {
	before := e.before(e.keep.Events)
	if before.IsZero() {
		return nil
	}
	end, err := e.firstSince(ctx, "events", "received_at", before)
	if err != nil {
		return wrap(err, "events")
	}
	read := func(s *statement, each func(*row) error, args ...any) error { return e.rows(ctx, s.sql, args, each) }
	err = e.ids(ctx, `SELECT id FROM events WHERE id > ?1 AND id < ?2 AND received_at < ?3 ORDER BY id`, []any{end, micro(before)}, perRetention, func(ids []int64) error {
		due, err := without(read, ofEventSQL, slices.DeleteFunc(ids, func(id int64) bool { return e.needs(id, id+1) }))
		if err != nil || len(due) == 0 {
			return err
		}
		return e.commit(ctx, kindEvents, func(t *tx) (int64, error) { return t.dropEvents(due) })
	})
	return wrap(err, "events")
}

var (
	ledToSQL         = statementOf(`SELECT event_id, message, later FROM decisions WHERE event_id IN (` + marks(1) + `) AND message > 0`)
	ofEventSQL       = statementOf(`SELECT event_id FROM messages WHERE id IN (` + marks(1) + `)`)
	dropDecisionsSQL = statementOf(`DELETE FROM decisions WHERE event_id IN (` + marks(1) + `)`)
	dropEventsSQL    = statementOf(`DELETE FROM events WHERE id IN (` + marks(1) + `)`)
)

// without are those of the events that led to no message which the statement finds.
func without(query func(*statement, func(*row) error, ...any) error, find *statement, ids []int64) ([]int64, error) {
	var messages []int64
	for some := range slices.Chunk(ids, rowsAtOnce) {
		err := query(ledToSQL, func(r *row) error {
			_, first := r.int(), r.int()
			later, err := decodeList[int64](r.text())
			messages = append(append(messages, first), later...)
			return err
		}, padded(nil, some)...)
		if err != nil {
			return nil, err
		}
	}
	led := map[int64]bool{}
	for some := range slices.Chunk(messages, rowsAtOnce) {
		if err := query(find, func(r *row) error { led[r.int()] = true; return r.err }, padded(nil, some)...); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return led[id] }), nil
}

// dropEvents removes those of the events that still led nowhere.
func (t *tx) dropEvents(ids []int64) (int64, error) {
	due, err := without(t.query, ofEventSQL, ids)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	t.addNamed(retentionDead, int64(len(due)))
	for _, s := range []*statement{dropEventsSQL, dropDecisionsSQL} {
		if err := t.execAll(s, due); err != nil {
			return 0, err
		}
	}
	return int64(len(due)), nil
}
