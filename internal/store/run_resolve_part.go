package store

import (
	"context"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

var (
	resolvePartSQL = engine.SQL(`UPDATE parts SET state = ?3, reason = ?4, resolved = ?5, retry_at = 0, updated_at = ?6
		WHERE run_id = ?1 AND number = ?2 AND state{{checked}} = 'in_doubt'`)

	// The ways back from an end: from partial by a word on a part, and from wherever messages may
	// still wait by a pause.
	reopenRunSQL = engine.SQL(`UPDATE runs SET state = 'uploading', reason = ?2, owner = '', lease_ends = 0, ended_at = 0 WHERE id = ?1 AND state = 'partial'`)
	endAnewSQL   = engine.SQL(`UPDATE runs SET state = ?2, reason = ?3 WHERE id = ?1 AND state = 'partial'`)
)

// ResolvePart stores what a person decided about a part in doubt, and r where that moves its run: a
// partial one goes on uploading, or is done, or stays partial for another reason. from is
// the state that the run must be in; ErrMoved when it does not, or when the part is not in doubt or
// was tried again meanwhile.
func (s *Store) ResolvePart(ctx context.Context, from messaging.RunState, r messaging.Run, p messaging.Part) error {
	err := s.Write(ctx, commit.LaneWork, func(t *Tx) error {
		old, err := t.run(r.ID)
		if err != nil {
			return err
		}
		part, err := t.part(r.ID, p.Number)
		if err != nil {
			return err
		}
		stays := old.State == r.State && r.State != messaging.RunPartial
		allowed := old.State == from && part.State == messaging.PartInDoubt && part.Attempt == p.Attempt && part.State.May(p.State) &&
			(stays || old.State == messaging.RunPartial)
		if !allowed {
			return commit.NoWrite{Err: messaging.ErrMoved}
		}
		t.partState(&old, &part, p.State, 0)
		if err := t.Put(resolvePartSQL, int64(r.ID), int64(p.Number), string(p.State), p.Reason, p.Resolved, engine.Micro(p.UpdatedAt)); err != nil {
			return err
		}
		switch {
		case stays:
		case r.State == messaging.RunUploading:
			err = t.Put(reopenRunSQL, int64(r.ID), r.Reason)
		default:
			t.runState(&r, old.State)
			err = t.Put(endAnewSQL, int64(r.ID), string(r.State), r.Reason)
		}
		return err
	})
	err = observe(observe(err, s.observer.Part, p), s.observer.Run, r)
	return Wrap(err, "resolve part %d of run %d", p.Number, r.ID)
}
