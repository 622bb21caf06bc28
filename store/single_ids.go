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
	for _, q := range []struct {
		sql  string
		into *int64
	}{
		{`SELECT coalesce(min(part), 0) FROM keys WHERE part > ?1`, &w.days.first},
		{`SELECT coalesce(max(part), 0) FROM keys WHERE part > ?1`, &w.days.last},
	} {
		if err := s.reads.QueryRowContext(ctx, q.sql, tombstones).Scan(q.into); err != nil {
			return fmt.Errorf("resume: %w", err)
		}
	}
	var err error
	w.ids, err = numbersOf(ctx, s.reads)
	return err
}
