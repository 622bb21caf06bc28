package store

import (
	"context"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire"
)

// Abandon ends the claims that nobody will finish: of every owner but this one (with one
// process on the data, the others are dead) and those whose lease has ended. What was
// being sent is then in doubt, or waits to be sent again where the category resends by
// itself, is not expired, and has not been tried three times. It returns how many there
// were, and goes by small commits so that nobody waits long behind it.
//
// Call it at the start, before the first claim, and whenever a lease may have ended.
func (s *Store) Abandon(ctx context.Context, now time.Time, owner string) (n int, err error) {
	for {
		var found int
		err := s.write(ctx, laneWork, func(t *tx) (err error) {
			found, err = t.abandon(now, owner)
			return err
		})
		if err != nil {
			return n, fmt.Errorf("recover what was being sent: %w", err)
		}
		n += found
		if found == 0 {
			return n, nil
		}
	}
}

func (t *tx) abandon(now time.Time, owner string) (int, error) {
	var held []nudgewire.Dispatch
	err := t.query(stSending, func(r *row) error {
		d, _ := scanDispatch(r)
		held = append(held, d)
		return nil
	}, owner, micro(now))
	if err != nil {
		return 0, err
	}
	for i := range held {
		if err := t.lapse(&held[i], now, owner); err != nil {
			return 0, fmt.Errorf("dispatch %d: %w", held[i].ID, err)
		}
	}
	return len(held), nil
}

func (t *tx) lapse(d *nudgewire.Dispatch, now time.Time, owner string) error {
	reason := fmt.Sprintf("the daemon ended during attempt %d; it may have been sent", d.Attempt)
	if d.Owner == owner {
		reason = fmt.Sprintf("attempt %d had no outcome within its lease; it may have been sent", d.Attempt)
	}
	a := nudgewire.Attempt{
		DispatchID: d.ID, Owner: d.Owner, Number: d.Attempt, State: nudgewire.StateInDoubt, Reason: reason, At: now,
	}
	if err := t.insertAttempt(&a); err != nil {
		return err
	}
	if !d.ResendsInDoubt(now) {
		t.counts[countInDoubt]++
		_, err := t.exec(stLapse, int64(d.ID), reason, micro(now))
		return err
	}
	_, err := t.putBack(d, d.Owner, comeback{
		reason: reason + "; sent again, as " + string(d.Category) + " may be", due: micro(now), expires: micro(d.ExpiresAt), at: micro(now),
		doubtful: true, keepOwner: true,
	})
	return err
}
