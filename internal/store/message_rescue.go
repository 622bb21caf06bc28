package store

import (
	"context"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/calls"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/labels"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// RescueClaims ends the claims that nobody will finish: those of owners that are not alive any more,
// and those whose lease has ended. What a dead owner had
// claimed and surely not begun to call for waits again, with the due time that it had. The rest may
// have been sent: it is in doubt, or waits to be sent again where the category resends by
// itself, is not expired, and has not been tried three times. It returns how many there
// were, and goes by small commits so that nobody waits long behind it.
//
// Look-ups that a dead owner had under way are due at once: what is asked twice does no harm.
//
// Call it at the start, before the first claim, and whenever a lease may have ended.
func (s *Store) RescueClaims(ctx context.Context, now time.Time, owner string) (messaging.Rescued, error) {
	var all messaging.Rescued
	if s.file == nil {
		if err := s.beat.Begin(ctx, owner); err != nil {
			return all, err
		}
	}
	for {
		var found messaging.Rescued
		err := s.Write(ctx, commit.LaneWork, func(t *Tx) (err error) {
			if err = t.freeLookups(now, owner); err == nil {
				found, err = t.abandon(now, owner)
			}
			return err
		})
		if err != nil {
			return all, fmt.Errorf("recover what was being sent: %w", err)
		}
		if found == (messaging.Rescued{}) {
			break
		}
		all.Doubtful += found.Doubtful
		all.Unsent += found.Unsent
	}
	if s.file == nil {
		if err := s.buryPredecessor(ctx); err != nil {
			return all, fmt.Errorf("recover what was being sent: %w", err)
		}
	}
	// From here on the file of calls is about this owner: what it said of others is settled.
	if err := s.calls.Begin(owner); err != nil {
		return all, fmt.Errorf("recover what was being sent: %w", err)
	}
	return all, nil
}

// freeLookups has look-ups due again that dead owners had under way.
func (t *Tx) freeLookups(now time.Time, owner string) error {
	n, err := t.peers.FreeLookups(t.Tx, owner, engine.Micro(now))
	if n > 0 {
		t.wakeEnricher(engine.Micro(now))
	}
	return Wrap(err, "look-ups of dead owners")
}

func (t *Tx) abandon(now time.Time, owner string) (n messaging.Rescued, err error) {
	var held []messaging.Message
	err = t.peers.Sending(t.Tx, owner, engine.Micro(now), func(r *engine.Row) error {
		d, _ := stored.ScanMessage(r)
		held = append(held, d)
		return nil
	})
	if err != nil {
		return n, err
	}
	left := map[string]map[calls.Call]bool{} // by owner; nil is not known
	for i := range held {
		d := &held[i]
		alive := false
		if d.LeaseEnds.After(now) {
			if alive, err = t.peers.Alive(t.Tx, d.Owner, owner); err != nil {
				return n, err
			}
		}
		if alive {
			continue
		}
		begun, asked := left[d.Owner]
		if !asked && d.Owner != owner {
			all, known, err := t.callsLeft(d.Owner)
			if err != nil {
				return n, err
			}
			if known {
				begun = all
			}
			left[d.Owner] = begun
		}
		if begun != nil && !begun[calls.Call{Message: d.ID, Attempt: d.Attempt}] {
			n.Unsent++
			err = t.unsent(d, now)
		} else {
			n.Doubtful++
			err = t.lapse(d, now, owner, begun != nil)
		}
		if err != nil {
			return n, fmt.Errorf("message %d: %w", d.ID, err)
		}
	}
	return n, nil
}

// unsent gives back a claim whose call had not begun.
func (t *Tx) unsent(d *messaging.Message, now time.Time) error {
	held, err := t.finishWaiting(&messaging.Attempt{
		MessageID: d.ID, Owner: d.Owner, Number: d.Attempt, State: messaging.StateWaiting, RetryAt: d.DueAt, At: now,
		Reason: fmt.Sprintf("not sent: the daemon ended before the call of attempt %d began", d.Attempt),
	}, d)
	if err == nil && !held {
		err = messaging.ErrClaimLost
	}
	return err
}

var lapseSQL = engine.SQL(`UPDATE messages SET state = ?4, reason = ?2, updated_at = ?3, lease_ends = 0, ` + stored.EndSend + `
		WHERE id = ?1 AND state{{checked}} = 'sending'`)

// lapse ends a claim that may have been sent; known says that its call had surely begun.
func (t *Tx) lapse(d *messaging.Message, now time.Time, owner string, known bool) error {
	reason := fmt.Sprintf("the daemon ended with attempt %d claimed, and whether its call had begun is not known; it may have been sent", d.Attempt)
	switch {
	case known:
		reason = fmt.Sprintf("the daemon ended during the call of attempt %d; it may have been sent", d.Attempt)
	case d.Owner == owner:
		reason = fmt.Sprintf("attempt %d had no outcome within its lease; it may have been sent", d.Attempt)
	}
	a := messaging.Attempt{
		MessageID: d.ID, Owner: d.Owner, Number: d.Attempt, State: messaging.StateInDoubt, Reason: reason, At: now,
	}
	if err := t.insertAttempt(&a); err != nil {
		return err
	}
	rule := t.onDoubt(d)
	if !d.ResendsInDoubt(rule, now) {
		state, by := messaging.StateInDoubt, ""
		if d.InDoubt(rule) == messaging.DoubtDrop {
			state, by, reason = messaging.StateDropped, messaging.EndedByDoubt, reason+"; it is let be, as on_doubt says"
		}
		p := labels.OfMessage(d)
		if state == messaging.StateDropped {
			t.mayHaveArrived(&p, engine.Micro(now))
		}
		t.messageState(d.ID, &p, state, reason, by, "")
		return t.Put(lapseSQL, int64(d.ID), reason, engine.Micro(now), string(state))
	}
	_, err := t.requeueMessage(d, requeue{
		reason: reason + "; sent again, as " + d.SaysResend(rule) + " says", due: engine.Micro(now), expires: engine.Micro(d.ExpiresAt), at: engine.Micro(now),
		doubtful: true, keepOwner: true,
	})
	return err
}

// callsLeft is what a dead owner's file says, held against the ledger: a slot that tells of a later
// attempt than the ledger knows was written after it, so the ledger is an older copy, and nothing
// that the file does not tell of can be said not to have left.
func (t *Tx) callsLeft(owner string) (all map[calls.Call]bool, known bool, err error) {
	if all, known = t.calls.Left(owner); !known {
		return nil, false, nil
	}
	for one := range all {
		var attempt int
		err := t.Query(MessageSQL, func(r *engine.Row) error {
			d, _ := stored.ScanMessage(r)
			attempt = d.Attempt
			return r.Err
		}, int64(one.Message))
		if err != nil {
			return nil, false, err
		}
		if attempt < one.Attempt {
			return nil, false, nil
		}
	}
	return all, true, nil
}
