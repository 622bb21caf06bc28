package store

import (
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire"
)

// A correlation key is looked up by an 8-byte hash and then by its texts. It leads to every dispatch that it ever
// had, whatever the state: it is written once, and neither a claim nor an outcome touches it again. A dispatch
// with a key of its own is found by its phone, too, for the cancelling events that have none.

// identity is what a correlation key is found by: without a key, the phone.
func identity(a nudgewire.Correlation) (trigger, key, phone string) {
	if a.Key != "" {
		return a.Trigger, a.Key, ""
	}
	return a.Trigger, "", string(a.Phone)
}

// phoneCorrelation is what a cancelling event without a key is about.
func phoneCorrelation(a nudgewire.Correlation) nudgewire.Correlation {
	return nudgewire.Correlation{Trigger: a.Trigger, Phone: a.Phone}
}

func correlationHash(a nudgewire.Correlation, hash func(...string) int64) int64 {
	trigger, key, phone := identity(a)
	return hash(trigger, key, phone)
}

// facts reads what is stored about the correlation key of a proposal, as the transaction sees it now.
func (t *tx) facts(w *nudgewire.Proposal, ready *readyProposal) (f nudgewire.Facts, err error) {
	a := w.Correlation
	cancelling := w.Decision.Outcome == nudgewire.Cancelling
	var sent nudgewire.Sent
	var let []nudgewire.Sent // dropped after a claim
	var taken []nudgewire.Open
	gone, err := t.correlation(ready.correlation, func(d *correlatedRow) {
		switch {
		case d.trigger != a.Trigger || (a.Key == "" && d.phone != string(a.Phone)):
			return // another correlation key with the same hash
		case !sameKey(d.key, a.Key) && (a.Key != "" || !cancelling):
			return // found by its phone; only who cancels without a key means it, too
		}
		switch d.state {
		case nudgewire.StateWaiting:
			f.Waiting = append(f.Waiting, d.Waiting)
		case nudgewire.StateSending, nudgewire.StateInDoubt, nudgewire.StateRejected, nudgewire.StateDropped:
			if cancelling {
				f.Open = append(f.Open, nudgewire.Open{ID: d.ID, State: d.state, EventAt: d.EventAt})
			}
		case nudgewire.StateAccepted:
			if cancelling {
				taken = append(taken, nudgewire.Open{ID: d.ID, State: d.state, EventAt: d.EventAt})
			}
		default:
		}
		if !sameKey(d.key, a.Key) {
			return // what another key sent says nothing of this one
		}
		switch d.state {
		case nudgewire.StateSending, nudgewire.StateAccepted, nudgewire.StateInDoubt:
			if !d.claimed.Before(sent.At) {
				sent = nudgewire.Sent{ID: d.ID, State: d.state, At: d.claimed}
			}
		case nudgewire.StateDropped, nudgewire.StateCancelled:
			if !d.claimed.IsZero() {
				let = append(let, nudgewire.Sent{ID: d.ID, State: d.state, At: d.claimed})
			}
		default: // it never reached the phone
		}
	})
	for _, one := range let {
		var reached bool
		if err == nil && !one.At.Before(sent.At) {
			reached, err = t.mayHaveReached(one.ID)
		}
		if reached {
			sent = one
		}
	}
	for _, one := range taken {
		var mayFail bool
		if err == nil {
			mayFail, err = t.mayFail(one.ID)
		}
		if mayFail { // what failed is queued once more, by itself or by a person
			f.Open = append(f.Open, one)
		}
	}
	if err != nil {
		return f, fmt.Errorf("the correlation key so far: %w", err)
	}
	if sent.ID == 0 && gone && w.Cooldown.Mode == nudgewire.CooldownOnce {
		err = t.query(stWasSentOnce, func(r *row) error {
			sent = nudgewire.Sent{ID: nudgewire.DispatchID(r.int()), State: nudgewire.State(r.text()), At: r.time()}
			return r.err
		}, ready.correlation)
		if err != nil {
			return f, fmt.Errorf("what was sent once: %w", err)
		}
	}
	if sent.ID != 0 {
		f.Last = &sent
	}
	if cancelling {
		return f, nil // nobody cancels a cancellation
	}
	if n := len(f.Waiting); n > 0 && f.Waiting[n-1].Step > 0 {
		if f.Sequence, err = t.sequenceOf(f.Waiting[n-1].ID); err != nil {
			return f, err
		}
	}
	f.Tombstone, err = t.tombstone(a, ready)
	return f, err
}

// mayHaveReached reports whether an attempt of a dispatch that was dropped or cancelled may have been taken: it is let be, by
// on_doubt or by a person, or it waited to be sent again when it ended.
func (t *tx) mayHaveReached(id nudgewire.DispatchID) (may bool, err error) {
	err = t.query(stAttemptInDoubt, func(*row) error { may = true; return nil }, int64(id))
	return may, err
}

// mayFail reports whether the message of an accepted dispatch failed, or is not known to have been sent.
func (t *tx) mayFail(id nudgewire.DispatchID) (may bool, err error) {
	err = t.query(stMessage, func(r *row) error {
		m, err := scanMessage(r)
		may = m.Status == nudgewire.StatusFailed || !m.Final && m.DeliveredAt.IsZero()
		return err
	}, int64(id))
	return may, err
}

// A correlatedRow is a dispatch as its correlation key sees it.
type correlatedRow struct {
	nudgewire.Waiting
	state               nudgewire.State
	trigger, key, phone string
	claimed             time.Time
}

// correlation calls each with the dispatches that have this hash, by number. gone says that there were others, which are
// not kept any more, or nothing of whose key is.
func (t *tx) correlation(hash int64, each func(*correlatedRow)) (gone bool, err error) {
	ids, err := t.find(correlations, correlations, hash)
	for i := 0; err == nil && i < len(ids); i++ {
		there := false
		err = t.query(stCorrelated, func(r *row) error {
			var d correlatedRow
			d.ID, d.state = nudgewire.DispatchID(r.int()), nudgewire.State(r.text())
			d.trigger, d.key = r.text(), r.text()
			phone := r.phone()
			d.phone = string(phone)
			d.DueAt, d.CreatedAt, d.claimed, d.EventAt, d.Restarts = r.time(), r.time(), r.time(), r.time(), int(r.int())
			d.Step = int(r.int())
			if there = !phone.IsMasked(); there {
				each(&d)
			}
			return r.err
		}, ids[i])
		gone = gone || !there
	}
	return gone, err
}

// tombstone is the memory of a cancelling event about exactly this correlation key. Where there is none it
// is that of one without a key, which was about the phone, whatever the keys of its carts; nil for neither.
func (t *tx) tombstone(a nudgewire.Correlation, ready *readyProposal) (found *nudgewire.Tombstone, err error) {
	known := false
	for _, hash := range [2]int64{ready.correlation, ready.byPhone} {
		ids, err := t.find(tombstones, tombstones, tombstoneHash(hash))
		if err != nil {
			return nil, fmt.Errorf("tombstone: %w", err)
		}
		known = known || len(ids) > 0
	}
	if !known { // most have none, and a query for each would cost a sixth of a commit
		return found, nil
	}
	trigger, key, phone := identity(a)
	err = t.query(stTombstone, func(r *row) error {
		one := nudgewire.Tombstone{EventID: nudgewire.EventID(r.int()), Ref: r.text(), EventAt: r.time(), ExpiresAt: r.time(), ByPhone: r.text() != key}
		if found == nil || found.ByPhone {
			found = &one
		}
		return nil
	}, ready.correlation, ready.byPhone, trigger, key, phone, string(a.Phone), t.at)
	if err != nil {
		return nil, fmt.Errorf("tombstone: %w", err)
	}
	return found, nil
}

// recordTombstone remembers a cancelling event until the proposal says to forget it, and clears away up to two memories
// that have expired: twice as fast as new ones come, without a sweeper.
func (t *tx) recordTombstone(proposal *nudgewire.Proposal, hash int64, id nudgewire.EventID, e *nudgewire.Event) error {
	trigger, text, phone := identity(proposal.Correlation)
	at := proposal.EventAt
	if at.IsZero() {
		at = e.Time()
	}
	if err := t.put(stRecordTombstone, hash, trigger, text, phone, int64(id), e.Ref(), micro(at), micro(proposal.Forget)); err != nil {
		return fmt.Errorf("tombstone: %w", err)
	}
	if err := t.peers.remember(t, key{tombstones, tombstoneHash(hash), 0}, false); err != nil {
		return err
	}
	type tombstone struct {
		correlation         int64
		trigger, key, phone string
	}
	var expired []tombstone
	err := t.query(stExpiredTombstones, func(r *row) error {
		expired = append(expired, tombstone{r.int(), r.text(), r.text(), r.text()})
		return nil
	}, t.at)
	for _, g := range expired {
		if err == nil {
			err = t.put(stDeleteTombstone, g.correlation, g.trigger, g.key, g.phone)
		}
	}
	if err != nil {
		return fmt.Errorf("expired tombstones: %w", err)
	}
	return nil
}
