package store

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// An EventFilter narrows a list of events. Zero fields do not.
type EventFilter struct {
	Since     time.Time // received at or after
	Until     time.Time // received before
	Limit     int       // default 50
	Connector string
	Kind      string
	Phone     messaging.Phone
	Trigger   string            // that decided about it
	Outcome   messaging.Outcome // of a decision about it; of Trigger's where that is set
	Before    messaging.EventID // for the next page: the last one's ID
	DownTo    messaging.EventID // no older ones than that: bounds a search for what few match
}

// An EventRow is a stored event with what the triggers said to it. In a list its payload and
// all that was mapped from it but the phone are left out.
type EventRow struct {
	messaging.Event
	Decisions []messaging.Decision
	Unsaid    bool                     // what triggers said is not kept any more, but for what it led to
	Lookup    *messaging.PendingLookup // what it waits for before it is planned; nil for nothing
}

// EventColumns are those that ScanEvent reads, in this order.
const EventColumns = `id, connector, kind, topic, dedupe_key, phone, phone_problem, occurred_at, received_at`

// ScanEvent reads EventColumns. What the event says of its contact is not among them.
func ScanEvent(r *engine.Row) messaging.Event {
	return messaging.Event{
		ID: messaging.EventID(r.Int()), Connector: r.Text(), Kind: r.Text(), Topic: r.Text(), DedupeKey: r.Text(),
		Contact:    messaging.Contact{Phone: r.Phone(), PhoneProblem: r.Text()},
		OccurredAt: r.Time(), ReceivedAt: r.Time(),
	}
}

// Events lists events, newest first.
func (s *Store) Events(ctx context.Context, f EventFilter) ([]EventRow, error) {
	if f.Limit <= 0 {
		f.Limit = defaultLimit
	}
	out, err := s.listEvents(ctx, f)
	return out, Wrap(err, "list events")
}

func (s *Store) listEvents(ctx context.Context, f EventFilter) (out []EventRow, err error) {
	var since int64
	if !f.Since.IsZero() {
		if since, err = s.FirstSince(ctx, "events", "received_at", f.Since); err != nil {
			return nil, err
		}
	}
	var until int64
	if !f.Until.IsZero() {
		if until, err = s.reads.FirstFrom(ctx, "events", "received_at", f.Until); err != nil {
			return nil, err
		}
	}
	for len(out) < f.Limit {
		var q engine.Select
		last := true // this round ends the search
		if f.Phone != "" {
			ids, err := s.eventsOf(ctx, f.Phone, f.Before, engine.PerList)
			if err != nil {
				return nil, err
			}
			if len(ids) == 0 {
				break
			}
			last = len(ids) < engine.PerList
			f.Before = ids[len(ids)-1]
			q.And("id IN " + engine.In(ids))
		} else if f.Before > 0 {
			q.And("id < ?", int64(f.Before))
		}
		if since > 0 {
			q.And("id >= ?", since)
			q.And("received_at >= ?", engine.Micro(f.Since))
		}
		if !f.Until.IsZero() {
			q.And("id < ?", until)
			q.And("received_at < ?", engine.Micro(f.Until))
		}
		q.When(f.DownTo > 0, "id >= ?", int64(f.DownTo))
		q.When(f.Connector != "", "connector = ?", f.Connector)
		q.When(f.Kind != "", "kind = ?", f.Kind)
		if f.Trigger != "" || f.Outcome != "" {
			q.And(`(SELECT count(*) FROM decisions d WHERE d.event_id = events.id AND (d.trigger_name = ? OR ? = '') AND (d.outcome = ? OR ? = '')) > 0`,
				f.Trigger, f.Trigger, string(f.Outcome), string(f.Outcome))
		}
		err := s.Rows(ctx, q.SQL(EventColumns, "events", "id DESC", f.Limit-len(out)), q.Args, func(r *engine.Row) error {
			out = append(out, EventRow{Event: ScanEvent(r)})
			return nil
		})
		if err != nil {
			return nil, err
		}
		if last {
			break
		}
	}
	return out, s.AddDecisions(ctx, out)
}

// AddDecisions fills in what the triggers said to each event.
func (s *Store) AddDecisions(ctx context.Context, events []EventRow) error {
	at := make(map[messaging.EventID]*EventRow, len(events))
	ids := make([]messaging.EventID, len(events))
	for i := range events {
		ids[i] = events[i].ID
		at[ids[i]] = &events[i]
	}
	if err := s.addLookups(ctx, ids, at); err != nil {
		return err
	}
	gone, err := s.decisionsOf(ctx, ids, func(d messaging.Decision) {
		e := at[d.EventID]
		e.Decisions = append(e.Decisions, d)
	})
	for _, id := range gone {
		at[id].Unsaid = true
	}
	return err
}

// Event is one stored event, whole: with its payload and what was mapped from it, as far as
// retention has not cleared those away. ErrNotFound when there is none.
func (s *Store) Event(ctx context.Context, id messaging.EventID) (e messaging.Event, err error) {
	found := false
	err = s.Rows(ctx, `SELECT `+EventColumns+` FROM events WHERE id = ?1`, []any{int64(id)}, func(r *engine.Row) error {
		e, found = ScanEvent(r), true
		return nil
	})
	if err == nil && !found {
		err = messaging.ErrNotFound
	}
	if err == nil {
		err = s.addPayload(ctx, &e)
	}
	return e, Wrap(err, "event %d", id)
}

// addPayload adds what the event carried, and what was mapped from it. What is not kept any more is left out.
func (s *Store) addPayload(ctx context.Context, e *messaging.Event) error {
	return s.Rows(ctx, `SELECT cleared, content_type, content FROM events WHERE id = ?1`, []any{int64(e.ID)}, func(r *engine.Row) error { return addContent(r, e) })
}

// addContent reads the columns cleared, content_type and content.
func addContent(r *engine.Row, e *messaging.Event) error {
	cleared := r.Text()
	e.ContentType = r.Text()
	facts, payload, err := stored.UnpackContent(r.Blob())
	if err == nil {
		e.Payload, err = payload, stored.AddFacts(facts, e)
	}
	e.FactsCleared = cleared == clearedFacts
	e.Cleared, e.Forgotten = e.FactsCleared || cleared == clearedPayload, e.Forgotten || cleared == clearedForgotten
	return Wrap(err, "event %d", e.ID)
}

// What of an event's content is not here any more, as the column cleared says it.
const (
	clearedPayload   = "payload"
	clearedFacts     = "facts" // with the payload
	clearedForgotten = "forgotten"
)

// RequestOf is the id of the request that brought the event which a message was planned or last renewed by, "" for
// a row of a run and where it is not known any more. It is read when a line of the log or a trace is to name it, so
// that a send does not pay for it.
func (s *Store) RequestOf(ctx context.Context, id messaging.MessageID) (string, error) {
	of, err := List(ctx, s, `SELECT event_id FROM messages WHERE id = ?1`, []any{int64(id)}, engine.Number[messaging.EventID])
	if err != nil || len(of) == 0 || of[0] == 0 {
		return "", Wrap(err, "request of message %d", id)
	}
	return s.EventRequest(ctx, of[0])
}

// EventRequest is the id of the request that brought an event; "" where it is not known.
func (s *Store) EventRequest(ctx context.Context, id messaging.EventID) (string, error) {
	e := messaging.Event{ID: id}
	err := s.addPayload(ctx, &e)
	return e.Request, Wrap(err, "request of event %d", id)
}

// FirstEventSince is a number before which no event was received at or after since.
func (s *Store) FirstEventSince(ctx context.Context, since time.Time) (messaging.EventID, error) {
	id, err := s.FirstSince(ctx, "events", "received_at", since)
	return messaging.EventID(id), Wrap(err, "find the first event")
}

// PastEvents are events in the order in which they came, whole as far as they are kept: from a number on, and at most limit.
func (s *Store) PastEvents(ctx context.Context, from messaging.EventID, limit int) ([]messaging.Event, error) {
	var q engine.Select
	q.And("id >= ?", int64(from))
	out, err := List(ctx, s, q.SQL(EventColumns+`, cleared, content_type, content`, "events", "id", limit), q.Args, func(r *engine.Row) (messaging.Event, error) {
		e := ScanEvent(r)
		return e, addContent(r, &e)
	})
	return out, Wrap(err, "read events")
}
