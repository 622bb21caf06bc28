package store

import (
	"fmt"

	"github.com/nudgewire/nudgewire"
)

// An affair is looked up by an 8-byte hash and then by its texts. One index holds every
// dispatch by that hash, whatever its state: it is written once, in the commit of the event, on the page
// that the look-up has just read, and neither a claim nor an outcome touches it again.
// Partial indexes by state would be smaller, but then every claim would write to a random page.

// identity is what an affair is found by: without a key, the phone.
func identity(a nudgewire.Affair) (trigger, key, phone string) {
	if a.Key != "" {
		return a.Trigger, a.Key, ""
	}
	return a.Trigger, "", string(a.Phone)
}

// phoneAffair is what a cancelling event without a key is about.
func phoneAffair(a nudgewire.Affair) nudgewire.Affair {
	return nudgewire.Affair{Trigger: a.Trigger, Phone: a.Phone}
}

func affairHash(a nudgewire.Affair, hash func(...string) int64) int64 {
	trigger, key, phone := identity(a)
	return hash(trigger, key, phone)
}

// facts reads what the ledger holds about the affair of a wish, as the transaction sees it
// now.
func (t *tx) facts(w *nudgewire.Wish, ready *readyWish) (f nudgewire.Facts, err error) {
	a := w.Affair
	var sent nudgewire.Sent
	err = t.query(stAffair, func(r *row) error {
		id, state := nudgewire.DispatchID(r.int()), nudgewire.State(r.text())
		trigger, key, phone := r.text(), r.text(), r.text()
		due, created, claimed, at, restarts := r.time(), r.time(), r.time(), r.time(), r.int()
		if trigger != a.Trigger || key != a.Key || (key == "" && phone != string(a.Phone)) {
			return nil // another affair with the same hash
		}
		switch state {
		case nudgewire.StateWaiting:
			f.Waiting = append(f.Waiting, nudgewire.Waiting{ID: id, DueAt: due, CreatedAt: created, EventAt: at, Restarts: int(restarts)})
		case nudgewire.StateSending, nudgewire.StateAccepted, nudgewire.StateInDoubt:
			if !claimed.Before(sent.At) {
				sent = nudgewire.Sent{ID: id, State: state, At: claimed}
			}
		default: // it never reached the phone
		}
		return nil
	}, ready.affair)
	if err != nil {
		return f, fmt.Errorf("the affair so far: %w", err)
	}
	if sent.ID != 0 {
		f.Last = &sent
	}
	if w.Decision.Outcome == nudgewire.Cancelling {
		if a.Key == "" {
			f.Waiting, err = t.waitingOfPhone(a)
		}
		return f, err // nobody cancels a cancellation
	}
	if f.Tombstone, err = t.tombstone(a, ready.affair); err != nil || f.Tombstone != nil || a.Key == "" || !t.phoneGraves {
		return f, err
	}
	// A cancelling event without a key was about the phone, whatever the keys of its carts.
	f.Tombstone, err = t.tombstone(phoneAffair(a), ready.byPhone)
	if f.Tombstone != nil {
		f.Tombstone.ByPhone = true
	}
	return f, err
}

// tombstone is the memory of a cancelling event about exactly this affair; nil for none.
func (t *tx) tombstone(a nudgewire.Affair, hash int64) (found *nudgewire.Tombstone, err error) {
	trigger, key, phone := identity(a)
	err = t.query(stTombstone, func(r *row) error {
		found = &nudgewire.Tombstone{EventID: nudgewire.EventID(r.int()), Ref: r.text(), EventAt: r.time(), ExpiresAt: r.time()}
		return nil
	}, hash, trigger, key, phone, t.at)
	if err != nil {
		return nil, fmt.Errorf("tombstone: %w", err)
	}
	return found, nil
}

// maxBuckets is how far back a cancellation by phone looks: 4,096 buckets are 4 million
// events.
const maxBuckets = 4096

// waitingOfPhone finds what a trigger still owes a phone, whatever the key. Only a cancelling
// event without a key needs it, so it has no index of its own: that would cost every claim a
// write to a random page.
func (t *tx) waitingOfPhone(a nudgewire.Affair) (found []nudgewire.Waiting, err error) {
	seen := map[nudgewire.DispatchID]bool{}
	newest := t.ids.event >> bucketShift
	for bucket := newest; bucket >= 0 && bucket > newest-maxBuckets; bucket-- {
		err := t.query(stWaitingOfPhone, func(r *row) error {
			w := nudgewire.Waiting{ID: nudgewire.DispatchID(r.int()), DueAt: r.time(), CreatedAt: r.time(), EventAt: r.time(), Restarts: int(r.int())}
			if !seen[w.ID] {
				seen[w.ID] = true
				found = append(found, w)
			}
			return nil
		}, bucket, string(a.Phone), a.Trigger)
		if err != nil {
			return nil, fmt.Errorf("what waits for the phone: %w", err)
		}
	}
	return found, nil
}

// bury remembers a cancelling event until the wish says to forget it, and clears away up to two memories
// that have expired: twice as fast as new ones come, without a sweeper.
func (t *tx) bury(wish *nudgewire.Wish, hash int64, id nudgewire.EventID, e *nudgewire.Event) error {
	trigger, key, phone := identity(wish.Affair)
	at := wish.EventAt
	if at.IsZero() {
		at = e.Time()
	}
	t.phoneGraves = t.phoneGraves || key == ""
	if _, err := t.exec(stBury, hash, trigger, key, phone, int64(id), e.Ref(), micro(at), micro(wish.Forget)); err != nil {
		return fmt.Errorf("tombstone: %w", err)
	}
	type grave struct {
		affair              int64
		trigger, key, phone string
	}
	var expired []grave
	err := t.query(stExpiredTombstones, func(r *row) error {
		expired = append(expired, grave{r.int(), r.text(), r.text(), r.text()})
		return nil
	}, t.at)
	for _, g := range expired {
		if err == nil {
			_, err = t.exec(stUnbury, g.affair, g.trigger, g.key, g.phone)
		}
	}
	if err != nil {
		return fmt.Errorf("expired tombstones: %w", err)
	}
	return nil
}
