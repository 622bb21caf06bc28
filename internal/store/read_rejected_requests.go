package store

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A RejectedRequestFilter narrows a list of rejected requests. Zero fields do not.
type RejectedRequestFilter struct {
	Since     time.Time
	Limit     int // default 50
	Connector string
	Before    int64 // for the next page: the last one's ID
}

// RejectedRequests lists requests that were not taken, newest first.
func (s *Store) RejectedRequests(ctx context.Context, f RejectedRequestFilter) (out []messaging.RejectedRequest, err error) {
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
	out, err = list(ctx, s, q.sql(columns, "rejected_requests", "id DESC", f.Limit), q.args, func(r *row) (messaging.RejectedRequest, error) {
		return messaging.RejectedRequest{
			ID: r.int(), Connector: r.text(), Status: int(r.int()), Stage: r.text(), Reason: r.text(), Method: r.text(),
			Bytes: int(r.int()), Sample: r.text(), At: r.time(),
		}, nil
	})
	return out, wrap(err, "list rejected requests")
}
