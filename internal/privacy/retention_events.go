package privacy

import (
	"context"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/peers"
	"github.com/nudgewire/nudgewire/internal/store/stored"
	"github.com/nudgewire/nudgewire/internal/store/tally"
)

// Payloads, facts and the reasons of decisions are cleared in their rows; the rows leave with their events. Each walk goes on
// from where the last one came to. What it passes because something still needs it is looked at again by the next.

// Counters of how far the walks came: of all events up to that number it is cleared.
const (
	walkedPayloads  = "retention/cleared/payloads"
	walkedFacts     = "retention/cleared/facts"
	walkedDecisions = "retention/cleared/decisions"
)

var (
	wholeContentSQL = engine.SQL(`SELECT id, content FROM events WHERE cleared = '' AND id IN (` + engine.Placeholders(1) + `) {{for update}}`)
	clearPayloadSQL = engine.SQL(`UPDATE events SET cleared = 'payload', content_type = '', content = ?2 WHERE id = ?1`)
	clearFactsSQL   = engine.SQL(`UPDATE events SET cleared = 'facts', content_type = '', content = ?1 WHERE ` + hasContent + ` AND id IN (` + engine.Placeholders(2) + `)`)
	// The reason of one that a person's order cleared stays.
	clearDecisionsSQL = engine.SQL(`UPDATE decisions SET kept = 0, reason = '', key = '', clauses = '', config = '' WHERE kept = 1 AND event_id IN (` + engine.Placeholders(1) + `)`)
)

// facts goes before payloads: where both are old, the row is changed once.
func (e *retainer) facts(ctx context.Context) error {
	return store.Wrap(e.clear(ctx, kindFacts, walkedFacts, e.keep.Facts, func(t *store.Tx, some []int64) (int64, error) {
		return execAll(t, clearFactsSQL, some, []byte{})
	}), "facts")
}

func (e *retainer) payloads(ctx context.Context) error {
	return store.Wrap(e.clear(ctx, kindPayloads, walkedPayloads, e.keep.Payloads, clearPayloads), "payloads")
}

// clearPayloads writes the content of some events anew, with the facts alone. What cannot be read goes all the same, with the facts.
func clearPayloads(t *store.Tx, some []int64) (int64, error) {
	type one struct {
		id      int64
		content []byte
	}
	var due []one
	err := queryAll(t.Query, wholeContentSQL, some, func(r *engine.Row) error {
		c := one{id: r.Int()}
		facts, _, err := stored.UnpackContent(r.Blob())
		if err != nil {
			facts = ""
		}
		c.content = stored.PackContent(facts, nil)
		due = append(due, c)
		return r.Err
	})
	for _, c := range due {
		if err == nil {
			err = t.Put(clearPayloadSQL, c.id, c.content)
		}
	}
	return int64(len(due)), err
}

func (e *retainer) decisions(ctx context.Context) error {
	return store.Wrap(e.clear(ctx, kindDecisions, walkedDecisions, e.keep.Decisions, func(t *store.Tx, some []int64) (int64, error) {
		return execAll(t, clearDecisionsSQL, some)
	}), "decisions")
}

// clear walks through the events that are older than what goes with them is kept. empty changes the rows of some of them.
func (e *retainer) clear(ctx context.Context, kind, walked string, kept time.Duration, empty func(*store.Tx, []int64) (int64, error)) error {
	before := e.before(e.ofEvents(kept))
	if before.IsZero() {
		return nil
	}
	end, err := e.FirstSince(ctx, "events", "received_at", before)
	from := int64(0)
	if err == nil {
		from, err = e.walkedTo(ctx, walked)
	}
	whole := true // nothing was passed so far
	for n := perRetention; err == nil && n == perRetention; {
		var ids []int64
		ids, err = store.List(ctx, e.Store, `SELECT id FROM events WHERE id > ?1 AND id < ?2 AND received_at < ?3 ORDER BY id LIMIT ?4`,
			[]any{from, end, engine.Micro(before), int64(perRetention)}, engine.Number[int64])
		if n = len(ids); err != nil || n == 0 {
			break
		}
		from = ids[n-1]
		due := slices.DeleteFunc(ids, func(id int64) bool { return e.needs(id, id+1) })
		whole = whole && len(due) == n
		err = e.commit(ctx, kind, func(t *store.Tx) (all int64, err error) {
			if all, err = empty(t, due); err == nil && whole {
				err = t.Put(tally.SetCountSQL, walked, from)
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
	end, err := e.FirstSince(ctx, "events", "received_at", before)
	if err != nil {
		return store.Wrap(err, "events")
	}
	read := func(s *engine.Statement, each func(*engine.Row) error, args ...any) error {
		return e.Rows(ctx, s.String(), args, each)
	}
	err = e.ids(ctx, `SELECT id FROM events WHERE id > ?1 AND id < ?2 AND received_at < ?3 ORDER BY id`, []any{end, engine.Micro(before)}, perRetention, func(ids []int64) error {
		due, err := without(read, ofEventSQL, slices.DeleteFunc(ids, func(id int64) bool { return e.needs(id, id+1) }))
		if err != nil || len(due) == 0 {
			return err
		}
		return e.commit(ctx, kindEvents, func(t *store.Tx) (int64, error) { return dropEvents(t, due) })
	})
	return store.Wrap(err, "events")
}

var (
	ledToSQL         = engine.SQL(`SELECT event_id, message, later FROM decisions WHERE event_id IN (` + engine.Placeholders(1) + `) AND message > 0`)
	ofEventSQL       = engine.SQL(`SELECT event_id FROM messages WHERE id IN (` + engine.Placeholders(1) + `)`)
	dropDecisionsSQL = engine.SQL(`DELETE FROM decisions WHERE event_id IN (` + engine.Placeholders(1) + `)`)
	dropEventsSQL    = engine.SQL(`DELETE FROM events WHERE id IN (` + engine.Placeholders(1) + `)`)
)

// without are those of the events that led to no message which the statement finds.
func without(query func(*engine.Statement, func(*engine.Row) error, ...any) error, find *engine.Statement, ids []int64) ([]int64, error) {
	var messages []int64
	err := queryAll(query, ledToSQL, ids, func(r *engine.Row) error {
		_, first := r.Int(), r.Int()
		later, err := stored.DecodeList[int64](r.Text())
		messages = append(append(messages, first), later...)
		return err
	})
	led := map[int64]bool{}
	if err == nil {
		err = queryAll(query, find, messages, func(r *engine.Row) error { led[r.Int()] = true; return r.Err })
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return led[id] }), err
}

// queryAll asks a statement that ends in a list of ids as often as it takes.
func queryAll(query func(*engine.Statement, func(*engine.Row) error, ...any) error, s *engine.Statement, ids []int64, each func(*engine.Row) error, args ...any) error {
	for some := range slices.Chunk(ids, engine.RowsAtOnce) {
		if err := query(s, each, engine.Padded(slices.Clone(args), some)...); err != nil {
			return err
		}
	}
	return nil
}

// dropEvents removes those of the events that still led nowhere.
func dropEvents(t *store.Tx, ids []int64) (int64, error) {
	due, err := without(t.Query, ofEventSQL, ids)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	t.CountNamed(peers.DeadKeys, int64(len(due)))
	for _, s := range []*engine.Statement{dropEventsSQL, dropDecisionsSQL} {
		if err := t.ExecAll(s, due); err != nil {
			return 0, err
		}
	}
	return int64(len(due)), nil
}
