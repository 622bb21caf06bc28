package store

import (
	"context"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// answeredRequests is the counter of the newest event that asked for a contact's data and got it.
const answeredRequests = "data_requests/answered"

const dataRequestsSQL = `SELECT id FROM events WHERE id > ?1 AND id <= ?2 AND kind = 'contact.data_requested' ORDER BY id`

// DataRequests are the events after the given one that ask for what is stored about their contact, and the newest event there
// is. After 0 it is those that nobody was given anything for.
func (s *Store) DataRequests(ctx context.Context, after messaging.EventID) (ids []messaging.EventID, newest messaging.EventID, err error) {
	if after == 0 {
		err = s.Rows(ctx, `SELECT value FROM counters WHERE name = ?1`, []any{answeredRequests}, func(r *Row) error {
			after = messaging.EventID(r.Int())
			return nil
		})
	}
	if err == nil {
		err = s.Rows(ctx, `SELECT coalesce(max(id), 0) FROM events`, nil, func(r *Row) error { newest = messaging.EventID(r.Int()); return nil })
	}
	if err == nil && newest > after {
		ids, err = List(ctx, s, dataRequestsSQL, []any{int64(after), int64(newest)}, Number[messaging.EventID])
	}
	return ids, newest, Wrap(err, "look for requests of data")
}

// DataRequestAnswered notes that what the event asks for lies ready.
func (s *Store) DataRequestAnswered(ctx context.Context, id messaging.EventID) error {
	err := s.Write(ctx, LaneWork, func(t *Tx) error {
		return t.Put(SetCountSQL, answeredRequests, int64(id))
	})
	return Wrap(err, "note a request of data")
}
