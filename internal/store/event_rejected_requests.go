package store

import (
	"context"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
)

// A ring bounds what strangers can make us keep: the newest rejected requests of each connector, and
// the newest of all, because the connector's name is the stranger's, too. It is trimmed in
// small batches now and then, so it may hold a little more.
type ring struct{ perConnector, total, every int64 }

var rejectedRing = ring{perConnector: 10_000, total: 100_000, every: 100}

// The longest texts of a rejected request that are kept, in bytes.
const (
	maxRejectedName   = 100
	maxReason         = 1000
	maxRejectedSample = 512
)

var insertRejectedSQL = engine.SQL(`INSERT INTO rejected_requests (id, connector, status, stage, reason, method, bytes, sample, at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`)

// RejectRequest keeps the trace of a request that was not taken. Its ID is given here.
func (s *Store) RejectRequest(ctx context.Context, r messaging.RejectedRequest) error {
	err := s.Write(ctx, commit.LaneIngest, func(t *Tx) error {
		id, err := t.allocate(numbers.Rejected)
		if err != nil {
			return err
		}
		at := engine.Micro(r.At)
		if at == 0 {
			at = t.At
		}
		connector := plain.Cut(r.Connector, maxRejectedName)
		if err := t.Put(insertRejectedSQL, id, connector, int64(r.Status), r.Stage, CutReason(r.Reason),
			plain.Cut(r.Method, maxRejectedName), int64(r.Bytes), plain.Cut(r.Sample, maxRejectedSample), at); err != nil {
			return err
		}
		t.requestRejected(connector, &r)
		if id%s.ring.every != 0 {
			return nil
		}
		return t.trimRing(connector, id, s.ring)
	})
	return observe(Wrap(err, "keep a rejected request"), s.observer.Rejected, r)
}

// CountRejectedRequests counts n requests that were not taken and of which no trace is kept.
func (s *Store) CountRejectedRequests(ctx context.Context, n int64) error {
	err := s.Write(ctx, commit.LaneIngest, func(t *Tx) error {
		t.requestsRejected(n)
		return nil
	})
	return Wrap(err, "count rejected requests")
}

var (
	oldRejectedSQL   = engine.SQL(`SELECT id FROM rejected_requests WHERE connector = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2 + 0`)
	trimConnectorSQL = engine.SQL(`DELETE FROM rejected_requests WHERE id IN (SELECT id FROM rejected_requests WHERE connector = ?1 AND id <= ?2 ORDER BY id LIMIT 200)`)
	trimRejectedSQL  = engine.SQL(`DELETE FROM rejected_requests WHERE id IN (SELECT id FROM rejected_requests WHERE id <= ?1 ORDER BY id LIMIT 200)`)
)

func (t *Tx) trimRing(connector string, newest int64, keep ring) error {
	var oldest int64
	err := t.Query(oldRejectedSQL, func(r *engine.Row) error {
		oldest = r.Int()
		return nil
	}, connector, keep.perConnector)
	if err != nil {
		return err
	}
	if oldest > 0 {
		if err := t.Put(trimConnectorSQL, connector, oldest); err != nil {
			return err
		}
	}
	err = t.Put(trimRejectedSQL, newest-keep.total)
	return err
}
