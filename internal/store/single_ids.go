package store

import (
	"context"
	"fmt"

	"github.com/nudgewire/nudgewire/internal/store/keyindex"
)

func (w *singleWriter) allocate(_ *Tx, of sequence, n int64) (first int64, err error) {
	first = w.ids[of] + 1
	w.ids[of] += n
	return first, nil
}

// resume finds out where the numbers go on. The counters remember what was given out even
// after the newest rows were cleared away; a number is never given twice.
func (w *singleWriter) resume(ctx context.Context, s *Store) error {
	var first, last int64 // days
	for _, q := range []struct {
		sql  string
		into *int64
	}{
		{`SELECT coalesce(min(part), 0) FROM keys WHERE part >= ?1`, &first},
		{`SELECT coalesce(max(part), 0) FROM keys WHERE part >= ?1`, &last},
	} {
		if err := s.reads.scan(ctx, q.sql, []any{firstDay}, q.into); err != nil {
			return fmt.Errorf("resume: %w", err)
		}
	}
	w.keys = keyindex.New(firstDay, first, last)
	var err error
	w.ids, err = numbersOf(ctx, s.reads)
	return err
}
