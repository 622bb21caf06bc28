package history

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// A RejectedRequestFilter narrows a list of rejected requests. Zero fields do not.
type RejectedRequestFilter struct {
	Since     time.Time
	Limit     int // default 50
	Connector string
	Before    int64 // for the next page: the last one's ID
}

// RejectedRequests lists requests that were not taken, newest first.
func (s Records) RejectedRequests(ctx context.Context, f RejectedRequestFilter) (out []messaging.RejectedRequest, err error) {
	if f.Limit <= 0 {
		f.Limit = 50
	}
	var q engine.Select
	q.When(f.Connector != "", "connector = ?", f.Connector)
	q.When(f.Before > 0, "id < ?", f.Before)
	if !f.Since.IsZero() {
		q.And("at >= ?", engine.Micro(f.Since)) // the ring is short enough to walk
	}
	const columns = `id, connector, status, stage, reason, method, bytes, sample, at`
	out, err = store.List(ctx, s.Store, q.SQL(columns, "rejected_requests", "id DESC", f.Limit), q.Args, func(r *engine.Row) (messaging.RejectedRequest, error) {
		return messaging.RejectedRequest{
			ID: r.Int(), Connector: r.Text(), Status: int(r.Int()), Stage: r.Text(), Reason: r.Text(), Method: r.Text(),
			Bytes: int(r.Int()), Sample: r.Text(), At: r.Time(),
		}, nil
	})
	return out, store.Wrap(err, "list rejected requests")
}
