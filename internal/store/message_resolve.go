package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/labels"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// CancelMessage ends a message that waits, by a person's order. Errors: ErrNotFound, or a
// *StateError when it does not wait any more.
func (s *Store) CancelMessage(ctx context.Context, id messaging.MessageID, reason string) error {
	if reason == "" {
		reason = "cancelled by hand"
	}
	return s.order(ctx, id, messaging.StateWaiting, func(t *Tx, d *messaging.Message) error { return t.cancelOne(d, reason, messaging.EndedByPerson) })
}

var cancelSQL = engine.SQL(`UPDATE messages SET state = 'cancelled', reason = ?2, updated_at = ?3, owner = '', ` + stored.EndSend + `
		WHERE id = ?1 AND state{{checked}} = 'waiting'`)

// cancelOne ends a message that waits; by is an EndedBy or a Rule.
func (t *Tx) cancelOne(d *messaging.Message, reason, by string) error {
	n, err := t.Exec(cancelSQL, int64(d.ID), reason, t.At)
	if n > 0 {
		p := labels.OfMessage(d)
		t.messageState(d.ID, &p, messaging.StateCancelled, reason, by, "")
	}
	return err
}

// Resolve settles a message in doubt by a person's order: it did arrive, it shall be sent
// again, or it is let be. One that is sent again is due at once and gets as long until its expiry
// as it had at first. Errors: ErrNotFound, or a *StateError when it is not in doubt.
func (s *Store) Resolve(ctx context.Context, id messaging.MessageID, r messaging.Resolution, reason string) error {
	switch r {
	case messaging.ResolveAccepted, messaging.ResolveResend, messaging.ResolveDrop:
	default:
		return fmt.Errorf("resolve message %d: unknown resolution %q; want %s, %s or %s",
			id, r, messaging.ResolveAccepted, messaging.ResolveResend, messaging.ResolveDrop)
	}
	if reason == "" {
		reason = "resolved by hand: " + string(r)
	}
	return s.order(ctx, id, messaging.StateInDoubt, func(t *Tx, d *messaging.Message) error {
		done, err := t.resolveOne(d, r, reason, messaging.EndedByPerson)
		if err == nil && !done {
			err = commit.NoWrite{Err: ErrForgotten}
		}
		return err
	})
}

// ResolveAll is Resolve for all messages in doubt that match, and says how many there were. It
// leaves out those that cannot be sent again.
func (s *Store) ResolveAll(ctx context.Context, f MessageFilter, r messaging.Resolution, reason string) (int64, error) {
	f.State = messaging.StateInDoubt
	n, err := s.changeAll(ctx, f, func(t *Tx, d *messaging.Message) (bool, error) {
		return t.resolveOne(d, r, reason, messaging.EndedByPerson)
	})
	return n, Wrap(err, "resolve messages")
}

var (
	dropDoubtSQL = engine.SQL(`UPDATE messages SET state = 'dropped', reason = ?2, updated_at = ?3 WHERE id = ?1 AND state{{checked}} = 'in_doubt'`)
	arrivedSQL   = engine.SQL(`UPDATE messages SET state = 'accepted', reason = ?2, updated_at = ?3, status = 'untracked', accepted_at = ?3, status_at = ?3
		WHERE id = ?1 AND state{{checked}} = 'in_doubt'`)
	resolutionSQL = engine.SQL(`INSERT INTO resolutions (message, at, resolved, reason) VALUES (?1, ?2, ?3, ?4)
		ON CONFLICT (message, at) DO UPDATE SET resolved = excluded.resolved, reason = excluded.reason`)
)

// resolveOne carries out the order; done is false where it cannot be, because what was to be
// sent is not kept. by is an EndedBy.
func (t *Tx) resolveOne(d *messaging.Message, r messaging.Resolution, reason, by string) (done bool, err error) {
	if r == messaging.ResolveResend && d.Forgotten() {
		return false, nil
	}
	if err := t.Put(resolutionSQL, int64(d.ID), t.At, string(r), reason); err != nil {
		return false, err
	}
	p := labels.OfMessage(d)
	switch r {
	case messaging.ResolveResend:
		expires := d.ExpiresAt
		if !expires.IsZero() {
			expires = engine.Moment(t.At).Add(d.ExpiresAt.Sub(d.DueAt))
		}
		_, err = t.requeueMessage(d, requeue{reason: reason, due: t.At, expires: engine.Micro(expires), at: t.At, anew: true, keepOwner: true})
	case messaging.ResolveAccepted:
		t.messageState(d.ID, &p, messaging.StateAccepted, reason, "", "")
		m := messaging.Message{ID: d.ID, Reason: reason}
		m.BeginStatus(engine.Moment(t.At))
		t.messageTaken(&m, &p, false)
		err = t.Put(arrivedSQL, int64(d.ID), reason, t.At)
	default:
		t.mayHaveArrived(&p, t.At)
		t.messageState(d.ID, &p, messaging.StateDropped, reason, by, "")
		err = t.Put(dropDoubtSQL, int64(d.ID), reason, t.At)
	}
	return err == nil, err
}

// GiveUp ends a message that waits or is in doubt because its contact is forgotten, so that nobody sends it any more. Others stay as they are.
func (t *Tx) GiveUp(id int64, reason string) error {
	var d messaging.Message
	err := t.Query(MessageSQL, func(r *engine.Row) error { d, _ = stored.ScanMessage(r); return r.Err }, id)
	switch {
	case err != nil:
	case d.State == messaging.StateWaiting:
		err = t.cancelOne(&d, reason, messaging.EndedByForgotten)
	case d.State == messaging.StateInDoubt:
		_, err = t.resolveOne(&d, messaging.ResolveDrop, reason, messaging.EndedByForgotten)
	}
	return err
}

// order carries out what a person decided about a message, if it is still in the state that needs it.
func (s *Store) order(ctx context.Context, id messaging.MessageID, want messaging.State, do func(*Tx, *messaging.Message) error) error {
	err := s.Write(ctx, commit.LaneWork, func(t *Tx) error {
		var found messaging.Message
		err := t.Query(MessageSQL, func(r *engine.Row) error { found, _ = stored.ScanMessage(r); return nil }, int64(id))
		switch {
		case err != nil:
			return err
		case found.ID == 0:
			return commit.NoWrite{Err: messaging.ErrNotFound}
		case found.State != want:
			return commit.NoWrite{Err: &StateError{ID: id, State: found.State, Want: want}}
		}
		return do(t, &found)
	})
	if wrong, ok := errors.AsType[*StateError](err); ok {
		return wrong
	}
	return Wrap(err, "message %d", id)
}
