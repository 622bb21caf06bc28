package privacy

import (
	"context"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/tally"
)

// answeredRequests is the counter of the newest event that asked for a contact's data and got it.
const answeredRequests = "data_requests/answered"

const dataRequestsSQL = `SELECT id FROM events WHERE id > ?1 AND id <= ?2 AND kind = 'contact.data_requested' ORDER BY id`

// DataRequests are the events after the given one that ask for what is stored about their contact, and the newest event there
// is. After 0 it is those that nobody was given anything for.
func (s Records) DataRequests(ctx context.Context, after messaging.EventID) (ids []messaging.EventID, newest messaging.EventID, err error) {
	if after == 0 {
		err = s.Rows(ctx, `SELECT value FROM counters WHERE name = ?1`, []any{answeredRequests}, func(r *engine.Row) error {
			after = messaging.EventID(r.Int())
			return nil
		})
	}
	if err == nil {
		err = s.Rows(ctx, `SELECT coalesce(max(id), 0) FROM events`, nil, func(r *engine.Row) error { newest = messaging.EventID(r.Int()); return nil })
	}
	if err == nil && newest > after {
		ids, err = store.List(ctx, s.Store, dataRequestsSQL, []any{int64(after), int64(newest)}, engine.Number[messaging.EventID])
	}
	return ids, newest, store.Wrap(err, "look for requests of data")
}

// DataRequestAnswered notes that what the event asks for lies ready.
func (s Records) DataRequestAnswered(ctx context.Context, id messaging.EventID) error {
	err := s.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
		return t.Put(tally.SetCountSQL, answeredRequests, int64(id))
	})
	return store.Wrap(err, "note a request of data")
}
