package store

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// When a connector was last heard of is kept as one row for each, beside the counters, and
// written once a group. To look for a connector's newest event instead would walk the whole
// history of the others just when it matters: when that connector has been silent for long.

// heardPrefix stands before a connector's name among the counters. No counter's name has a
// slash.
const heardPrefix = "last_event/"

// heard is when a group had an event of a connector.
type heard struct {
	connector string
	at        int64
}

// hear notes an event of connector, a repeated one too: it shows that its sender is alive.
func (t *tx) hear(connector string, at int64) {
	for i := range t.heard {
		if t.heard[i].connector == connector {
			t.heard[i].at = max(t.heard[i].at, at)
			return
		}
	}
	t.heard = append(t.heard, heard{connector, at})
}

// writeHeard adds what the group heard.
func (t *tx) writeHeard() error {
	for _, h := range t.heard {
		if _, err := t.exec(stHeard, heardPrefix+h.connector, h.at); err != nil {
			return fmt.Errorf("last event of %s: %w", h.connector, err)
		}
	}
	return nil
}

// LastEvents says when each connector last sent an event, one that was seen before included.
// A connector that never did is not in it.
func (s *Store) LastEvents(ctx context.Context) (map[string]time.Time, error) {
	last := map[string]time.Time{}
	// The slash and what follows it in ASCII bound the names that begin with the prefix.
	err := s.rows(ctx, `SELECT name, value FROM counters WHERE name >= ?1 AND name < ?2`,
		[]any{heardPrefix, strings.TrimSuffix(heardPrefix, "/") + "0"}, func(r *row) error {
			name := strings.TrimPrefix(r.text(), heardPrefix)
			last[name] = moment(r.int())
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("last events: %w", err)
	}
	return last, nil
}
