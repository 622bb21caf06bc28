package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// What came to nothing is counted in the commit that stores it, one row for each connector, reason and kind: an event that is of use writes
// nothing here, unless those of its kind had no phone before. The rows are few, whatever senders make up.

// An unusedKey is what is counted together.
type unusedKey struct {
	connector string
	why       messaging.Unused
	kind      string
}

// unused is what a group adds to a row.
type unused struct {
	used  bool // an event came that is of use; what is counted came after it
	n     int64
	event int64
}

// unusedRoom is how many kinds of one connector and reason have rows of their own.
const unusedRoom = 20

// unusedKnown are the rows that there are. It may name some that are gone, and lack what another node wrote lately.
type unusedKnown struct {
	mu    sync.Mutex
	rows  map[unusedKey]bool
	kinds map[unusedKey]int // without the kind
}

func (k *unusedKnown) set(all []messaging.UnusedCount) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rows, k.kinds = map[unusedKey]bool{}, map[unusedKey]int{}
	for i := range all {
		k.add(unusedKey{all[i].Connector, all[i].Why, all[i].Kind})
	}
}

func (k *unusedKnown) add(key unusedKey) {
	if k.rows == nil {
		k.rows, k.kinds = map[unusedKey]bool{}, map[unusedKey]int{}
	}
	if !k.rows[key] {
		k.rows[key] = true
		k.kinds[unusedKey{connector: key.connector, why: key.why}]++
	}
}

// room is key, or what it is counted as where its connector has no room left; it is known from now on.
func (k *unusedKnown) room(key unusedKey) unusedKey {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.rows[key] {
		return key
	}
	if k.kinds[unusedKey{connector: key.connector, why: key.why}] >= unusedRoom {
		key.kind = hourOther
	}
	k.add(key)
	return key
}

func (k *unusedKnown) has(key unusedKey) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.rows[key]
}

func (t *Tx) addUnused(key unusedKey, id int64) {
	key = t.unusedKnown.room(key)
	u := t.unused[key]
	u.n, u.event = u.n+1, id
	t.unused[key] = u
}

var (
	unusedSQL = engine.SQL(`INSERT INTO unused (connector, why, kind, writer, n, first_at, last_at, used_at, event_id)
		VALUES (?1, ?2, ?3, {{writer}}, ?4, ?5, ?5, 0, ?6)
		ON CONFLICT (connector, why, kind, writer) DO UPDATE SET
			n = CASE WHEN unused.last_at > ?7 AND ` + notUsedSince + ` THEN unused.n ELSE 0 END + excluded.n,
			first_at = CASE WHEN unused.n > 0 AND unused.last_at > ?7 AND ` + notUsedSince + ` THEN unused.first_at ELSE excluded.first_at END,
			last_at = excluded.last_at, event_id = excluded.event_id`)
	usedAgainSQL = engine.SQL(`INSERT INTO unused (connector, why, kind, writer, n, first_at, last_at, used_at, event_id)
		VALUES (?1, ?2, ?3, {{writer}}, 0, 0, 0, ?4, 0)
		ON CONFLICT (connector, why, kind, writer) DO UPDATE SET n = 0, used_at = excluded.used_at`)
)

// writeUnused adds what the group counted.
func (t *Tx) writeUnused() error {
	for _, k := range slices.SortedFunc(maps.Keys(t.unused), func(a, b unusedKey) int {
		return cmp.Or(cmp.Compare(a.connector, b.connector), cmp.Compare(a.why, b.why), cmp.Compare(a.kind, b.kind))
	}) {
		u := t.unused[k]
		if u.used {
			if err := t.Put(usedAgainSQL, k.connector, string(k.why), k.kind, t.At); err != nil {
				return fmt.Errorf("what is of use again: %w", err)
			}
		}
		if u.n == 0 {
			continue
		}
		since := t.At - messaging.UnusedFor.Microseconds()
		if k.why.AtOnce() {
			since = 0
		}
		if err := t.Put(unusedSQL, k.connector, string(k.why), k.kind, u.n, t.At, u.event, since); err != nil {
			return fmt.Errorf("what came to nothing: %w", err)
		}
	}
	return nil
}

// notUsedSince is the condition on a row of unused that nobody had an event of use since its counting began.
const notUsedSince = `unused.first_at >= (SELECT max(u.used_at) FROM unused u WHERE u.connector = unused.connector AND u.why = unused.why AND u.kind = unused.kind)`

// CountUnused counts something that came to nothing and of which no event is stored: e is the event that was there before, or says the
// connector alone.
func (s *Store) CountUnused(ctx context.Context, why messaging.Unused, e messaging.Event) error {
	err := s.Write(ctx, laneIngest, func(t *Tx) error {
		t.addUnused(unusedKey{e.Connector, why, e.Kind}, int64(e.ID))
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
		s.writer.unusedKnown.set(all)
	}
	return out, nil
}

var endUnusedSQL = engine.SQL(`DELETE FROM unused WHERE ?1 = '' OR connector = ?1`)

// EndUnused forgets what came to nothing, because a person has seen to it: of a connector, or of all with "".
func (s *Store) EndUnused(ctx context.Context, connector string) error {
	err := s.Write(ctx, LaneWork, func(t *Tx) error { return t.Put(endUnusedSQL, connector) })
	return Wrap(err, "end what came to nothing")
}
