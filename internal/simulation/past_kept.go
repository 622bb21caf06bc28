package simulation

import (
	"context"
	"fmt"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// What the retention removed of the ledger cannot be told from what was never sent, unless one looks at what led to it.

// removed are the events and the runs some of whose messages are not kept any more.
type removed struct {
	events map[messaging.EventID]bool
	runs   map[messaging.RunID]bool
}

// readRemoved notes which of the events led to messages that are not kept any more: what is sent because of these is not new.
func (c *comparing) readRemoved(ctx context.Context, events []messaging.Event) error {
	if c.was != nil || len(events) == 0 {
		return nil
	}
	const removed = `SELECT DISTINCT event_id FROM decisions WHERE event_id >= ?1 AND event_id <= ?2 AND outcome = 'planned' AND message > 0
		AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.id = decisions.message)`
	err := c.Store.Rows(ctx, removed, []any{int64(events[0].ID), int64(events[len(events)-1].ID)}, func(r *engine.Row) error {
		c.removed.events[messaging.EventID(r.Int())] = true
		return r.Err
	})
	if err != nil {
		return fmt.Errorf("which messages are not kept: %w", err)
	}
	return nil
}

// readRemovedRows notes whether messages of rows of a run are not kept any more.
func (c *comparing) readRemovedRows(ctx context.Context, run messaging.RunID) error {
	err := c.Store.Rows(ctx, `SELECT run_id FROM run_rows WHERE run_id = ?1 AND gone > 0 LIMIT 1`, []any{int64(run)}, func(r *engine.Row) error {
		c.removed.runs[messaging.RunID(r.Int())] = true
		return r.Err
	})
	if err != nil {
		return fmt.Errorf("which messages of run %d are not kept: %w", run, err)
	}
	return nil
}

// notKept reports whether the ledger had what a message is compared with, and has it no more.
func (c *comparing) notKept(m messageKey, one *pair) bool {
	return c.was == nil && one.ledger == nil && (c.removed.events[m.event] || c.removed.runs[m.run])
}
