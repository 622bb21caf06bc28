package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// When a connector was last seen is kept as one row for each, beside the counters, and
// written once a batch. To look for a connector's newest event instead would walk the whole
// history of the others just when it matters: when that connector has been silent for long.

// lastSeenPrefix stands before a connector's name among the counters. No counter's name has a
// slash.
const lastSeenPrefix = "last_event/"

// lastSeen is when a batch had an event of a connector.
type lastSeen struct {
	connector string
	at        int64
}

// see notes an event of connector, a repeated one too: it shows that its sender is alive.
func (t *Tx) see(connector string, at int64) {
	for i := range t.seen {
		if t.seen[i].connector == connector {
			t.seen[i].at = max(t.seen[i].at, at)
			return
		}
	}
	t.seen = append(t.seen, lastSeen{connector, at})
}

var lastSeenSQL = engine.SQL(`INSERT INTO counts (name, writer, value) VALUES (?1, {{writer}}, ?2)
		ON CONFLICT (name, writer) DO UPDATE SET value = CASE WHEN excluded.value > counts.value THEN excluded.value ELSE counts.value END`)

// writeLastSeen stores what the batch saw.
func (t *Tx) writeLastSeen() error {
	slices.SortFunc(t.seen, func(a, b lastSeen) int { return strings.Compare(a.connector, b.connector) })
	for _, c := range t.seen {
		if err := t.Put(lastSeenSQL, lastSeenPrefix+c.connector, c.at); err != nil {
			return fmt.Errorf("last event of %s: %w", c.connector, err)
		}
	}
	return nil
}

// LastEvents says when each connector last sent an event, one that was seen before included.
// A connector that never did is not in it.
func (s *Store) LastEvents(ctx context.Context) (map[string]time.Time, error) {
	last := map[string]time.Time{}
	// The slash and what follows it in ASCII bound the names that begin with the prefix.
	err := s.Rows(ctx, `SELECT name, value FROM counters WHERE name >= ?1 AND name < ?2`,
		[]any{lastSeenPrefix, strings.TrimSuffix(lastSeenPrefix, "/") + "0"}, func(r *engine.Row) error {
			name := strings.TrimPrefix(r.Text(), lastSeenPrefix)
			last[name] = engine.Moment(r.Int())
			return nil
		})
	return last, Wrap(err, "last events")
}
