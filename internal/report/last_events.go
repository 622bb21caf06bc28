package report

import (
	"context"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/tally"
)

// LastEvents says when each connector last sent an event, one that was seen before included.
// A connector that never did is not in it.
func (s Records) LastEvents(ctx context.Context) (map[string]time.Time, error) {
	last := map[string]time.Time{}
	// The slash and what follows it in ASCII bound the names that begin with the prefix.
	err := s.Rows(ctx, `SELECT name, value FROM counters WHERE name >= ?1 AND name < ?2`,
		[]any{tally.LastSeenPrefix, strings.TrimSuffix(tally.LastSeenPrefix, "/") + "0"}, func(r *engine.Row) error {
			name := strings.TrimPrefix(r.Text(), tally.LastSeenPrefix)
			last[name] = engine.Moment(r.Int())
			return nil
		})
	return last, store.Wrap(err, "last events")
}
