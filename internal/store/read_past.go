package store

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// What happened, read from the front, for whoever goes through all of it. A read is short, so that nobody waits for it.

// FirstEventSince is a number before which no event was received at or after since.
func (s *Store) FirstEventSince(ctx context.Context, since time.Time) (messaging.EventID, error) {
	id, err := s.FirstSince(ctx, "events", "received_at", since)
	return messaging.EventID(id), Wrap(err, "find the first event")
}

// PastEvents are events in the order in which they came, whole as far as they are kept: from a number on, and at most limit.
func (s *Store) PastEvents(ctx context.Context, from messaging.EventID, limit int) ([]messaging.Event, error) {
	var q engine.Select
	q.And("id >= ?", int64(from))
	out, err := List(ctx, s, q.SQL(eventColumns+`, cleared, content_type, content`, "events", "id", limit), q.Args, func(r *engine.Row) (messaging.Event, error) {
		e := scanEvent(r)
		return e, addContent(r, &e)
	})
	return out, Wrap(err, "read events")
}

// PastMessages are messages that events led to, in the order in which they were planned: after a number, and at most limit. What is filled
// in is there as far as it is kept. One that a person sent again is left out, for which the first one stands, and so are tests.
func (s *Store) PastMessages(ctx context.Context, after messaging.MessageID, limit int) ([]messaging.Message, error) {
	var q engine.Select
	q.And("id > ?", int64(after))
	q.And("event_id > 0 AND replaces = 0 AND test = ''")
	out, err := List(ctx, s, q.SQL(messageColumns+", "+serviceColumns, "messages", "id", limit), q.Args, func(r *engine.Row) (messaging.Message, error) {
		m, send := ScanMessage(r)
		scanService(r, &m)
		if r.Err != nil {
			return m, r.Err
		}
		return m, decodeSend(&m, send)
	})
	return out, Wrap(err, "read messages")
}
