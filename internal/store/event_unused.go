package store

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// CountUnused counts something that came to nothing and of which no event is stored: e is the event that was there before, or says the
// connector alone.
func (s *Store) CountUnused(ctx context.Context, why messaging.Unused, e messaging.Event) error {
	err := s.Write(ctx, commit.LaneIngest, func(t *Tx) error {
		t.tally.Unused.Add(unusedKey(&e, why), int64(e.ID))
		return nil
	})
	return Wrap(err, "count what came to nothing")
}

// Unused lists what came to nothing and was not ended since, by connector, reason and kind.
func (s *Store) Unused(ctx context.Context, now time.Time) ([]messaging.UnusedCount, error) {
	type counted struct {
		messaging.UnusedCount
		used time.Time
	}
	rows, err := List(ctx, s, `SELECT connector, why, kind, n, first_at, last_at, used_at, event_id FROM unused ORDER BY connector, why, kind, writer`, nil, func(r *engine.Row) (counted, error) {
		u := messaging.UnusedCount{Connector: r.Text(), Why: messaging.Unused(r.Text()), Kind: r.Text(), Count: r.Int(), First: r.Time(), Last: r.Time()}
		used := r.Time()
		u.Event = messaging.EventID(r.Int())
		return counted{u, used}, r.Err
	})
	if err != nil {
		return nil, Wrap(err, "list what came to nothing")
	}
	var all, out []messaging.UnusedCount
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Connector == rows[0].Connector && rows[n].Why == rows[0].Why && rows[n].Kind == rows[0].Kind {
			n++
		}
		var used time.Time
		for _, one := range rows[:n] {
			if one.used.After(used) {
				used = one.used
			}
		}
		sum := messaging.UnusedCount{Connector: rows[0].Connector, Why: rows[0].Why, Kind: rows[0].Kind}
		for _, one := range rows[:n] { // what a writer counted before an event of use that another one had is over
			if one.Count == 0 || one.First.Before(used) || !one.Why.AtOnce() && now.Sub(one.Last) >= messaging.UnusedFor {
				continue
			}
			sum.Count += one.Count
			if sum.First.IsZero() || one.First.Before(sum.First) {
				sum.First = one.First
			}
			if newer := one.Last.Compare(sum.Last); newer > 0 || newer == 0 && one.Event > sum.Event { // of two writers at one moment the higher number
				sum.Last, sum.Event = one.Last, one.Event
			}
		}
		all = append(all, sum)
		if sum.Count > 0 {
			out = append(out, sum)
		}
		rows = rows[n:]
	}
	if s.writer != nil { // not where the data is only read
		s.writer.counted.SetUnused(all)
	}
	return out, nil
}

var endUnusedSQL = engine.SQL(`DELETE FROM unused WHERE ?1 = '' OR connector = ?1`)

// EndUnused forgets what came to nothing, because a person has seen to it: of a connector, or of all with "".
func (s *Store) EndUnused(ctx context.Context, connector string) error {
	err := s.Write(ctx, commit.LaneWork, func(t *Tx) error { return t.Put(endUnusedSQL, connector) })
	return Wrap(err, "end what came to nothing")
}
