package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

var (
	insertDecisionSQL = engine.SQL(`INSERT INTO decisions (event_id, number, trigger_name, outcome, reason, key, message, later, clauses, config, at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`)
	lastDecisionSQL = engine.SQL(`SELECT number FROM decisions WHERE event_id = ?1 ORDER BY number DESC LIMIT 1`)
)

// insertDecision stores what a trigger said to an event, as that many-th. clauses are its own, as EncodeList makes them.
func (t *Tx) insertDecision(number int64, d *messaging.Decision, clauses string) error {
	later, err := stored.EncodeList(d.Later)
	if err == nil {
		err = t.Put(insertDecisionSQL, int64(d.EventID), number, d.Trigger, string(d.Outcome), d.Reason, d.Key, int64(d.MessageID), later, clauses, d.Config, engine.Micro(d.At))
	}
	return Wrap(err, "decision")
}

// sayLater stores one more decision about an event.
func (t *Tx) sayLater(d *messaging.Decision, clauses string) error {
	last := int64(0)
	if err := t.Query(lastDecisionSQL, func(r *engine.Row) error { last = r.Int(); return r.Err }, int64(d.EventID)); err != nil {
		return fmt.Errorf("decision: %w", err)
	}
	return t.insertDecision(last+1, d, clauses)
}

// decisionsOf reads the decisions about the events ids, those of one event in their order. gone are the events of whose decisions only
// is known which messages they led to.
func (s *Store) decisionsOf(ctx context.Context, ids []messaging.EventID, each func(messaging.Decision)) (gone []messaging.EventID, err error) {
	for some := range slices.Chunk(ids, engine.PerList) {
		err := s.Rows(ctx, `SELECT `+stored.DecisionColumns+` FROM decisions WHERE event_id IN `+engine.In(some)+` ORDER BY event_id, number`, nil, func(r *engine.Row) error {
			d, kept, err := stored.ScanDecision(r)
			if n := len(gone); !kept && (n == 0 || gone[n-1] != d.EventID) {
				gone = append(gone, d.EventID)
			}
			each(d)
			return err
		})
		if err != nil {
			return gone, fmt.Errorf("decisions: %w", err)
		}
	}
	return gone, nil
}

// Decisions lists what the triggers said to one event, in their order; none when no trigger
// listens to it.
func (s *Store) Decisions(ctx context.Context, id messaging.EventID) (out []messaging.Decision, err error) {
	_, err = s.decisionsOf(ctx, []messaging.EventID{id}, func(d messaging.Decision) { out = append(out, d) })
	return out, err
}

// A Shadow is what a trigger in mode shadow would have done.
type Shadow struct {
	messaging.Decision
	Phone messaging.Phone
}

// Shadows lists what triggers in mode shadow decided, the newest event first. Of the filter count ID, State and what only messages have for nothing, and
// Before is the number of an event.
func (s *Store) Shadows(ctx context.Context, f MessageFilter) (out []Shadow, err error) {
	if f.Limit <= 0 {
		f.Limit = defaultLimit
	}
	var q engine.Select
	q.And("d.outcome = 'shadowed'")
	q.When(f.Trigger != "", "d.trigger_name = ?", f.Trigger)
	q.When(f.Phone != "", "e.phone = ?", string(f.Phone))
	q.When(f.EventID != 0, "d.event_id = ?", int64(f.EventID))
	q.When(f.Before > 0, "d.event_id < ?", int64(f.Before))
	q.When(!f.Since.IsZero(), "d.at >= ?", engine.Micro(f.Since))
	q.When(!f.Until.IsZero(), "d.at < ?", engine.Micro(f.Until))
	columns := "e.phone, " + stored.ColumnsOf("d", stored.DecisionColumns)
	err = s.Rows(ctx, q.SQL(columns, "decisions d JOIN events e ON e.id = d.event_id", "d.event_id DESC, d.number DESC", f.Limit), q.Args, func(r *engine.Row) error {
		one := Shadow{Phone: r.Phone()}
		var err error
		one.Decision, _, err = stored.ScanDecision(r)
		out = append(out, one)
		return err
	})
	return out, Wrap(err, "list what was shadowed")
}
