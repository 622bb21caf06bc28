package store

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire"
)

// Message is the message of a dispatch. ErrNotFound when the service has taken none.
func (s *Store) Message(ctx context.Context, id nudgewire.DispatchID) (nudgewire.Message, error) {
	m, err := s.oneMessage(ctx, `WHERE id = ?1 AND state = 'accepted'`, int64(id))
	return m, wrap(err, "message of dispatch %d", id)
}

// MessageByID is the newest message that the service gave this id. ErrNotFound when there is none.
func (s *Store) MessageByID(ctx context.Context, id nudgewire.MessageID) (nudgewire.Message, error) {
	m, err := s.oneMessage(ctx, `WHERE message_id = ?1 AND message_id <> '' ORDER BY id DESC LIMIT 1`, string(id))
	return m, wrap(err, "message %s", id)
}

func (s *Store) oneMessage(ctx context.Context, where string, arg any) (m nudgewire.Message, err error) {
	found := false
	err = s.rows(ctx, `SELECT `+messageColumns+` FROM messages `+where, []any{arg}, func(r *row) (err error) {
		m, err = scanMessage(r)
		found = true
		return err
	})
	if err == nil && !found {
		err = nudgewire.ErrNotFound
	}
	return m, err
}

// A RejectedRequestFilter narrows a list of rejected requests. Zero fields do not.
type RejectedRequestFilter struct {
	Since     time.Time
	Limit     int // default 50
	Connector string
	Before    int64 // for the next page: the last one's ID
}

// RejectedRequests lists requests that were not taken, newest first.
func (s *Store) RejectedRequests(ctx context.Context, f RejectedRequestFilter) (out []nudgewire.RejectedRequest, err error) {
	if f.Limit <= 0 {
		f.Limit = defaultLimit
	}
	var q select_
	q.when(f.Connector != "", "connector = ?", f.Connector)
	q.when(f.Before > 0, "id < ?", f.Before)
	if !f.Since.IsZero() {
		q.and("at >= ?", micro(f.Since)) // the ring is short enough to walk
	}
	const columns = `id, connector, status, stage, reason, method, bytes, sample, at`
	out, err = list(ctx, s, q.sql(columns, "rejected_requests", "id DESC", f.Limit), q.args, func(r *row) (nudgewire.RejectedRequest, error) {
		return nudgewire.RejectedRequest{
			ID: r.int(), Connector: r.text(), Status: int(r.int()), Stage: r.text(), Reason: r.text(), Method: r.text(),
			Bytes: int(r.int()), Sample: r.text(), At: r.time(),
		}, nil
	})
	return out, wrap(err, "list rejected requests")
}
