package report

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/tally"
)

// LastEvents says when each connector last sent an event, one that was seen before included.
// A connector that never did is not in it.
func (s Records) LastEvents(ctx context.Context) (map[string]time.Time, error) {
	last := map[string]time.Time{}
	err := s.named(ctx, tally.LastSeenPrefix, tally.LastSeenPrefix, func(connector string, at int64) { last[connector] = engine.Moment(at) })
	return last, store.Wrap(err, "last events")
}
