package privacy

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// findUnwanted looks beside the commits: it walks through all that waits.
const findUnwanted = `SELECT id FROM webhooks_out WHERE id > ?1 AND state = 'waiting' AND since < ?2 ORDER BY id`

var (
	oldOutgoingSQL      = engine.SQL(`DELETE FROM webhooks_out WHERE id IN (SELECT id FROM webhooks_out WHERE state <> 'waiting' AND ended_at < ?1 ORDER BY ended_at LIMIT 200)`)
	unwantedOutgoingSQL = engine.SQL(`DELETE FROM webhooks_out WHERE id IN (` + engine.Placeholders(2) + `) AND state{{checked}} = 'waiting' AND since < ?1`)
)

// outgoing removes what was told, and what waits for a receiver that nobody tells any more.
func (e *retainer) outgoing(ctx context.Context) error {
	before := e.before(e.keep.WebhooksOut)
	if before.IsZero() {
		return nil
	}
	err := e.until(ctx, kindOutgoing, func(t *store.Tx) (int64, error) { return t.Exec(oldOutgoingSQL, engine.Micro(before)) })
	if err != nil {
		return err
	}
	unwanted := engine.Micro(e.now.Add(-mostUntold))
	return e.ids(ctx, findUnwanted, []any{unwanted}, perRetention, func(ids []int64) error {
		return e.commit(ctx, kindOutgoing, func(t *store.Tx) (int64, error) { return execAll(t, unwantedOutgoingSQL, ids, unwanted) })
	})
}

// mostUntold is how long a change waits at the most; a receiver that the config has gives up earlier.
const mostUntold = 30 * 24 * time.Hour

var dropOutgoingSQL = engine.SQL(`DELETE FROM webhooks_out WHERE id = ?1`)

// outgoing removes what is to be told, or was, about those who are forgotten.
func (e *eraser) outgoing(ctx context.Context) error {
	var due []int64
	err := e.walk(ctx, `SELECT id, phone, at, subject, event_id FROM webhooks_out WHERE id > ?1 ORDER BY id`, func(id int64, r *engine.Row) error {
		owned := e.owns(r.Text(), "", r.Int())
		if subject, event := r.Int(), r.Int(); owned || e.messages[subject] || e.events[event] {
			due = append(due, id)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return e.change(ctx, dropOutgoingSQL, due)
}
