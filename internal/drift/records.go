package drift

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// mostKinds is how many kinds of a connector are watched.
const mostKinds = 100

var (
	hourSQL    = engine.SQL(`SELECT events, fields FROM drift_hours WHERE connector = ?1 AND kind = ?2 AND hour = ?3`)
	putHourSQL = engine.SQL(`INSERT INTO drift_hours (connector, kind, hour, events, fields) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (connector, kind, hour) DO UPDATE SET events = excluded.events, fields = excluded.fields`)
	kindSQL    = engine.SQL(`SELECT at FROM drift_kinds WHERE connector = ?1 AND kind = ?2`)
	kindsSQL   = engine.SQL(`SELECT count(*) FROM drift_kinds WHERE connector = ?1`)
	putKindSQL = engine.SQL(`INSERT INTO drift_kinds (connector, kind, events, found, at) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (connector, kind) DO UPDATE SET events = excluded.events, found = excluded.found, at = excluded.at`)
	acceptHoursSQL = engine.SQL(`DELETE FROM drift_hours WHERE connector = ?1 AND (?2 = '' OR kind = ?2)`)
	acceptKindsSQL = engine.SQL(`DELETE FROM drift_kinds WHERE connector = ?1 AND (?2 = '' OR kind = ?2)`)
	// After a long pause it goes a day in each run.
	oldHoursSQL = engine.SQL(`DELETE FROM drift_hours WHERE hour < ?1 AND hour < (SELECT min(hour) FROM drift_hours) + 24`)
	oldKindsSQL = engine.SQL(`DELETE FROM drift_kinds WHERE at < ?1`)
)

func scanCounts(r *engine.Row) (Counts, error) {
	events := r.Int()
	text, _, err := stored.UnpackContent(r.Blob())
	if err := errors.Join(r.Err, err); err != nil {
		return Counts{}, store.Wrap(err, "counts of fields")
	}
	return decodeCounts(events, text)
}

// countsOf are the counts of a kind from an hour up to another, without that.
func (s Records) countsOf(ctx context.Context, k eventKind, from, to int64) (all Counts, err error) {
	err = s.Rows(ctx, `SELECT events, fields FROM drift_hours WHERE connector = ?1 AND kind = ?2 AND hour >= ?3 AND hour < ?4 ORDER BY hour`,
		[]any{k.connector, k.kind, from, to}, func(r *engine.Row) error {
			one, err := scanCounts(r)
			all = all.Then(one)
			return err
		})
	return all, store.Wrap(err, "what %s.%s was like", k.connector, k.kind)
}

// hourCounts are those of an hour so far.
func hourCounts(t *store.Tx, k eventKind, hour int64) (c Counts, err error) {
	err = t.Query(hourSQL, func(r *engine.Row) (err error) {
		c, err = scanCounts(r)
		return err
	}, k.connector, k.kind, hour)
	return c, err
}

func putHour(t *store.Tx, k eventKind, hour int64, c *Counts) error {
	text, err := c.encode()
	if err != nil {
		return fmt.Errorf("counts of fields: %w", err)
	}
	return t.Put(putHourSQL, k.connector, k.kind, hour, c.Events, stored.PackContent(text, nil))
}

// knows reports whether anything was counted of a kind since a person took it as it was.
func knows(t *store.Tx, k eventKind) (known bool, err error) {
	err = t.Query(kindSQL, func(*engine.Row) error { known = true; return nil }, k.connector, k.kind)
	return known, err
}

// isFull reports whether a connector has as many kinds as are watched.
func isFull(t *store.Tx, connector string) (full bool, err error) {
	err = t.Query(kindsSQL, func(r *engine.Row) error { full = r.Int() >= mostKinds; return r.Err }, connector)
	return full, err
}

// A judged is what was found of a kind, as it is stored.
type judged struct {
	Found []Finding `json:"found,omitempty"`
	Now   []string  `json:"now,omitempty"` // paths of the last events that say something, where something is found
}

func putKind(t *store.Tx, k eventKind, c Counts, at int64) error {
	var j judged
	if j.Found = Judge(c); len(j.Found) > 0 {
		j.Now = c.now()
	}
	text, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("what was found: %w", err)
	}
	return t.Put(putKindSQL, k.connector, k.kind, c.Events, string(text), at)
}

// A kindFound is what was found of a kind.
type kindFound struct {
	eventKind
	judged
	events int64
	at     time.Time
}

// found lists what was found, of each kind that is watched.
func (s Records) found(ctx context.Context) ([]kindFound, error) {
	all, err := store.List(ctx, s.Store, `SELECT connector, kind, events, at, found FROM drift_kinds ORDER BY connector, kind`, nil, func(r *engine.Row) (kindFound, error) {
		k := kindFound{eventKind: eventKind{r.Text(), r.Text()}, events: r.Int(), at: r.Time()}
		text := r.Text()
		if r.Err != nil {
			return k, r.Err
		}
		if err := json.Unmarshal([]byte(text), &k.judged); err != nil {
			return k, fmt.Errorf("what was found of %s.%s: %w", k.connector, k.kind, err)
		}
		return k, nil
	})
	return all, store.Wrap(err, "what senders changed")
}

// drop forgets what was counted of a connector, of one kind or with "" of all: what comes from now on is what others are held against.
func (s Records) drop(ctx context.Context, connector, kind string) error {
	err := s.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
		_, err := s.LockKnown(t, "") // the reader holds it while it counts
		for _, one := range []*engine.Statement{acceptHoursSQL, acceptKindsSQL} {
			if err == nil {
				err = t.Put(one, connector, kind)
			}
		}
		return err
	})
	return store.Wrap(err, "take what %s sends as it is", connector)
}

// DropOld removes counts that no comparison needs any more. It is one of the ages of retention.
func DropOld(t *store.Tx, now time.Time) error {
	if err := t.Put(oldHoursSQL, hourOf(now.Add(-Kept))); err != nil {
		return store.Wrap(err, "old counts of fields")
	}
	return store.Wrap(t.Put(oldKindsSQL, engine.Micro(now.Add(-Kept))), "old counts of fields")
}
