package tally

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// When a connector was last seen is kept as one row for each, beside the counters, and
// written once a batch. To look for a connector's newest event instead would walk the whole
// history of the others just when it matters: when that connector has been silent for long.

// LastSeenPrefix stands before a connector's name among the counters. No counter's name has a
// slash.
const LastSeenPrefix = "last_event/"

// lastSeen is when a transaction had an event of a connector.
type lastSeen struct {
	connector string
	at        int64
}

// LastSeen are the connectors of which a transaction has events.
type LastSeen []lastSeen

// See notes an event of connector, a repeated one too: it shows that its sender is alive.
func (l *LastSeen) See(connector string, at int64) {
	for i := range *l {
		if one := &(*l)[i]; one.connector == connector {
			one.at = max(one.at, at)
			return
		}
	}
	*l = append(*l, lastSeen{connector, at})
}

// LastSeenSQL moves a counter up to a later time.
var LastSeenSQL = engine.SQL(`INSERT INTO counts (name, writer, value) VALUES (?1, {{writer}}, ?2)
		ON CONFLICT (name, writer) DO UPDATE SET value = CASE WHEN excluded.value > counts.value THEN excluded.value ELSE counts.value END`)

// write stores what the transaction saw.
func (l LastSeen) write(tx *engine.Tx) error {
	slices.SortFunc(l, func(a, b lastSeen) int { return strings.Compare(a.connector, b.connector) })
	for _, c := range l {
		if err := tx.Put(LastSeenSQL, LastSeenPrefix+c.connector, c.at); err != nil {
			return fmt.Errorf("last event of %s: %w", c.connector, err)
		}
	}
	return nil
}
