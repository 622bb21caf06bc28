package store

import (
	"context"
	"fmt"
)

func (w *singleWriter) allocate(_ *tx, of sequence, n int64) (first int64, err error) {
	first = w.ids[of] + 1
	w.ids[of] += n
	return first, nil
}

// resume finds out where the numbers go on. The counters remember what was given out even
// after the newest rows were cleared away; a number is never given twice.
func (w *singleWriter) resume(ctx context.Context, s *Store) error {
	var followed int64 // the newest number of a message without a dispatch
	for _, q := range []struct {
		sql  string
		args []any
		into *int64
	}{
		{`SELECT coalesce(max(id), 0) FROM events`, nil, &w.ids[eventIDs]},
		{`SELECT coalesce(max(id), 0) FROM dispatches`, nil, &w.ids[dispatchIDs]},
		{`SELECT coalesce(max(dispatch_id + id_count - 1), 0) FROM run_messages`, nil, &followed},
		{`SELECT coalesce(max(id), 0) FROM rejected_requests`, nil, &w.ids[rejectedIDs]},
		{`SELECT coalesce(max(id), 0) FROM runs`, nil, &w.ids[runIDs]},
		{`SELECT coalesce(max(id), 0) FROM webhooks_out`, nil, &w.ids[outgoingIDs]},
		{`SELECT coalesce(min(part), 0) FROM keys WHERE part > ?1`, []any{tombstones}, &w.days.first},
		{`SELECT coalesce(max(part), 0) FROM keys WHERE part > ?1`, []any{tombstones}, &w.days.last},
	} {
		if err := s.reads.QueryRowContext(ctx, q.sql, q.args...).Scan(q.into); err != nil {
			return fmt.Errorf("resume: %w", err)
		}
	}
	totals, err := s.Totals(ctx)
	if err != nil {
		return err
	}
	w.ids[eventIDs] = max(w.ids[eventIDs], totals[counterNames[countEvents]])
	w.ids[dispatchIDs] = max(w.ids[dispatchIDs], followed, totals[counterNames[countDispatches]]+totals[counterNames[countFollowed]])
	w.ids[rejectedIDs] = max(w.ids[rejectedIDs], totals[counterNames[countRejectedRequests]])
	return nil
}
