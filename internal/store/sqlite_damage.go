package store

import (
	"context"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/disk"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
	"github.com/nudgewire/nudgewire/internal/units"
)

// NewestKnown is when the newest thing happened that the data still knows of.
const NewestKnown = `SELECT coalesce(max(at), 0) FROM (
	SELECT max(at) AS at FROM (SELECT received_at AS at FROM events ORDER BY id DESC LIMIT 1) AS newest_event
	UNION ALL SELECT max(at) FROM (SELECT accepted_at AS at FROM messages ORDER BY accepted_at DESC LIMIT 1) AS newest_message) AS newest`

// holdAfter is what holds everything after commits were lost.
func (s *Store) holdAfter(ctx context.Context, f *sqlite.Fault, found time.Time) (messaging.Hold, error) {
	var newest time.Time
	err := s.Rows(ctx, NewestKnown, nil, func(r *engine.Row) error { newest = r.Time(); return nil })
	if err != nil {
		return messaging.Hold{}, fmt.Errorf("what the data still knows: %w", err)
	}
	words := fmt.Sprintf("the log of the database was damaged: up to %s", units.Count(int64(f.Commits), "commit"))
	if !newest.IsZero() {
		words += " after " + newest.UTC().Format(time.DateTime) + " UTC"
	}
	if !f.Until.IsZero() {
		words += ", the last at " + f.Until.UTC().Format(time.DateTime) + " UTC,"
	}
	return messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldDamage, Reason: words + " may be lost", At: found}, nil
}

// holdAll puts the hold for a fault into the database, and then takes its file away.
func (s *Store) holdAll(ctx context.Context, path string, fault *sqlite.Fault) error {
	if fault == nil {
		return nil
	}
	h, err := s.holdAfter(ctx, fault, s.writer.now())
	if err == nil {
		err = s.writer.runBatch([]*commit.Operation[*Tx]{{Run: func(t *Tx) error { return t.hold(h) }}})
	}
	if err != nil {
		return fmt.Errorf("hold what may have been sent: %w", err)
	}
	if err := disk.Remove(sqlite.FaultFile(path)); err != nil {
		return fmt.Errorf("hold what may have been sent: %w", err)
	}
	return nil
}

// Damaged is the hold after commits were lost, as long as nobody has reviewed it.
func (s *Store) Damaged() (h messaging.Hold, is bool) {
	for _, h = range s.HoldsOf(func(h messaging.Hold) bool { return h.Kind == messaging.HoldDamage }) {
		return h, true
	}
	return h, false
}
