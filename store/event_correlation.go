package store

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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

// find works out all hashes under which something is found or remembered for the proposal.
func (r *readyProposal) find(w *nudgewire.Proposal, hash func(...string) int64) {
	a := w.Correlation
	r.correlation = correlationHash(a, hash)
	r.byPhone = correlationHash(phoneCorrelation(a), hash)
	r.keyless = hash(a.Trigger, "", string(a.Phone), "no key")
	for _, other := range w.Others {
		r.others = append(r.others, hash(a.Trigger, other, ""))
	}
}

// otherKeys are the lines of a dispatch's other_keys.
func otherKeys(lines string) []string {
	if lines == "" {
		return nil
	}
	return strings.Split(lines, "\n")
}

// matters reports whether a dispatch is of the proposal's matter: by its key, or by any other identifier of the two.
func (d *correlatedRow) matters(w *nudgewire.Proposal) bool {
	if w.Correlation.Key != "" && sameKey(d.key, w.Correlation.Key) {
		return true
	}
	theirs := append(otherKeys(d.others), d.key)
	return slices.ContainsFunc(append(slices.Clone(w.Others), w.Correlation.Key), func(own string) bool {
		return own != "" && slices.ContainsFunc(theirs, func(key string) bool { return sameKey(key, own) })
	})
}

var wasSentOnceSQL = statementOf(`SELECT dispatch_id, state, at FROM sent_once WHERE correlation = ?1`)

// facts reads what is stored about the correlation key of a proposal, as the transaction sees it now.
//
// A cancelling event finds more than its key: what waits under another identifier of the same matter, and what of the same phone
// waits without a key. A cart whose sender gave it no identifier can only be told by who it belongs to.
func (t *tx) facts(w *nudgewire.Proposal, ready *readyProposal) (f nudgewire.Facts, err error) {
	a := w.Correlation
	cancelling := w.Decision.Outcome == nudgewire.Cancelling
	var sent nudgewire.Sent
	var let []nudgewire.Sent // dropped after a claim
	var taken []nudgewire.Open
	var seen map[nudgewire.DispatchID]bool // where more than one hash is looked under
	names := t.underNames(w, ready)
	trigger := t.callsNow(a.Trigger, moment(t.at))
	note := func(d *correlatedRow) {
		byPerson := false
		switch own := sameKey(d.key, a.Key); {
		case t.callsNow(d.trigger, d.CreatedAt) != trigger || (a.Key == "" && d.phone != string(a.Phone)):
			return // another correlation key with the same hash
		case own:
		case !cancelling:
			return // found by its phone or another identifier; only who cancels means it, too
		case a.Key == "", d.matters(w):
		case d.key == "" && d.phone == string(a.Phone):
			byPerson = true
		default:
			return
		}
		if seen[d.ID] {
			return
		}
		if seen != nil {
			seen[d.ID] = true
		}
		switch d.state {
		case nudgewire.StateWaiting:
			d.ByPerson = byPerson
			f.Waiting = append(f.Waiting, d.Waiting)
		case nudgewire.StateSending, nudgewire.StateInDoubt, nudgewire.StateRejected, nudgewire.StateDropped:
			if cancelling {
				f.Open = append(f.Open, nudgewire.Open{ID: d.ID, State: d.state, EventAt: d.EventAt, ByPerson: byPerson})
			}
		case nudgewire.StateAccepted:
			if cancelling {
				taken = append(taken, nudgewire.Open{ID: d.ID, State: d.state, EventAt: d.EventAt, ByPerson: byPerson})
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
	}
	var more []int64
	for _, under := range names {
		if !cancelling {
			break
		}
		if more = append(more, under.ready.others...); a.Key != "" && a.Phone != "" {
			more = append(more, under.ready.byPhone)
		}
	}
	if len(more) > 0 {
		seen = map[nudgewire.DispatchID]bool{}
	}
	var gone []int64 // hashes of which something is not kept any more
	for _, under := range names {
		var some bool
		if err == nil {
			some, err = t.correlation(under.ready.correlation, note)
		}
		if some {
			gone = append(gone, under.ready.correlation)
		}
	}
	for _, hash := range more {
		if err == nil {
			_, err = t.correlation(hash, note)
		}
	}
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
	for _, hash := range gone {
		if sent.ID != 0 || w.Cooldown.Mode != nudgewire.CooldownOnce {
			break
		}
		err = t.query(wasSentOnceSQL, func(r *row) error {
			sent = nudgewire.Sent{ID: nudgewire.DispatchID(r.int()), State: nudgewire.State(r.text()), At: r.time()}
			return r.err
		}, hash)
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
	if len(names) > 1 { // those of an earlier name are older
		slices.SortFunc(f.Waiting, func(x, y nudgewire.Waiting) int { return cmp.Compare(x.ID, y.ID) })
	}
	if n := len(f.Waiting); n > 0 && f.Waiting[n-1].Step > 0 {
		if f.Sequence, err = t.sequenceOf(f.Waiting[n-1].ID); err != nil {
			return f, err
		}
	}
	f.Tombstone, err = t.tombstone(w, names)
	return f, err
}

var attemptInDoubtSQL = statementOf(`SELECT 1 FROM attempts WHERE dispatch_id = ?1 AND state = 'in_doubt' LIMIT 1`)

// mayHaveReached reports whether an attempt of a dispatch that was dropped or cancelled may have been taken: it is let be, by
// on_doubt or by a person, or it waited to be sent again when it ended.
func (t *tx) mayHaveReached(id nudgewire.DispatchID) (may bool, err error) {
	err = t.query(attemptInDoubtSQL, func(*row) error { may = true; return nil }, int64(id))
	return may, err
}

// mayFail reports whether the message of an accepted dispatch failed, or is not known to have been sent.
func (t *tx) mayFail(id nudgewire.DispatchID) (may bool, err error) {
	err = t.query(polledSQL, func(r *row) error {
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
	others              string // its other keys, by line
	claimed             time.Time
}

var correlatedSQL = statementOf(`SELECT id, state, trigger_name, correlation_key, other_keys, phone, due_at, created_at, claimed_at, event_at, restarts, step FROM messages WHERE id = ?1 {{for update}}`)

// correlation calls each with the dispatches that have this hash, by number. gone says that there were others, which are
// not kept any more, or nothing of whose key is.
func (t *tx) correlation(hash int64, each func(*correlatedRow)) (gone bool, err error) {
	ids, err := t.find(correlations, correlations, hash)
	for i := 0; err == nil && i < len(ids); i++ {
		there := false
		err = t.query(correlatedSQL, func(r *row) error {
			var d correlatedRow
			d.ID, d.state = nudgewire.DispatchID(r.int()), nudgewire.State(r.text())
			d.trigger, d.key, d.others = r.text(), r.text(), r.text()
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

// A memory is where a cancelling event is remembered: the hash, and the texts that say whose it is.
type memory struct {
	hash       int64
	key, phone string
	byPhone    bool // it was about the phone, whatever the keys of its carts
}

// memories are those that concern a proposal that is planned, and those that a cancelling one leaves. By its key and the other
// identifiers of its matter a cart is found by all; by its phone alone by an event that had no key, and where it has none itself
// by one that had.
func memories(w *nudgewire.Proposal, ready *readyProposal) (all []memory) {
	a := w.Correlation
	_, text, phone := identity(a)
	all = append(all, memory{ready.correlation, text, phone, false})
	for i, other := range w.Others {
		all = append(all, memory{ready.others[i], other, "", false})
	}
	switch cancelling := w.Decision.Outcome == nudgewire.Cancelling; {
	case a.Phone == "":
	case a.Key != "" && !cancelling:
		all = append(all, memory{ready.byPhone, "", string(a.Phone), true})
	case (a.Key == "") != cancelling:
		all = append(all, memory{ready.keyless, "", string(a.Phone), false})
	}
	return all
}

var tombstoneSQL = statementOf(`SELECT event_id, ref, event_at, expires_at, correlation_key FROM tombstones WHERE correlation = ?1 AND trigger_name = ?2
		AND correlation_key = ?3 AND phone = ?4 AND expires_at > ?5`)

// tombstone is the memory of a cancelling event that concerns the proposal; nil for none. One about the matter itself counts before one
// about the phone.
func (t *tx) tombstone(w *nudgewire.Proposal, names []named) (found *nudgewire.Tombstone, err error) {
	trigger := t.callsNow(w.Correlation.Trigger, moment(t.at))
	for _, under := range names {
		for _, m := range memories(w, under.ready) {
			ids, err := t.find(tombstones, tombstones, tombstoneHash(m.hash))
			if err != nil {
				return nil, fmt.Errorf("tombstone: %w", err)
			}
			if len(ids) == 0 { // most have none, and a query for each would cost a sixth of a commit
				continue
			}
			err = t.query(tombstoneSQL, func(r *row) error {
				one := nudgewire.Tombstone{EventID: nudgewire.EventID(r.int()), Ref: r.text(), EventAt: r.time(), ExpiresAt: r.time(), ByPhone: m.byPhone}
				if t.callsNow(under.trigger, one.EventAt) != trigger {
					return r.err // of whoever has the old name now
				}
				if found == nil || found.ByPhone && !one.ByPhone {
					found = &one
				}
				return r.err
			}, m.hash, under.trigger, m.key, m.phone, t.at)
			if err != nil {
				return nil, fmt.Errorf("tombstone: %w", err)
			}
		}
	}
	return found, nil
}

// recordTombstone remembers a cancelling event until the proposal says to forget it, and clears away up to two memories
// that have expired for each: as fast as new ones come, without a sweeper.
func (t *tx) recordTombstone(proposal *nudgewire.Proposal, ready *readyProposal, id nudgewire.EventID, e *nudgewire.Event) error {
	for _, m := range memories(proposal, ready) {
		if err := t.rememberCancel(proposal, m, id, e); err != nil {
			return err
		}
	}
	return nil
}

var (
	// The newest fact is kept, and the longest memory.
	recordTombstoneSQL = statementOf(`INSERT INTO tombstones (correlation, trigger_name, correlation_key, phone, event_id, ref, event_at, expires_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
		ON CONFLICT (correlation, trigger_name, correlation_key, phone) DO UPDATE SET
			event_id   = CASE WHEN excluded.event_at >= tombstones.event_at THEN excluded.event_id ELSE tombstones.event_id END,
			ref        = CASE WHEN excluded.event_at >= tombstones.event_at THEN excluded.ref ELSE tombstones.ref END,
			event_at   = CASE WHEN excluded.event_at >= tombstones.event_at THEN excluded.event_at ELSE tombstones.event_at END,
			expires_at = CASE WHEN excluded.expires_at >= tombstones.expires_at THEN excluded.expires_at ELSE tombstones.expires_at END`)
	expiredTombstonesSQL = statementOf(`SELECT correlation, trigger_name, correlation_key, phone FROM tombstones WHERE expires_at <= ?1 ORDER BY expires_at LIMIT 2`)
)

func (t *tx) rememberCancel(proposal *nudgewire.Proposal, m memory, id nudgewire.EventID, e *nudgewire.Event) error {
	at := proposal.EventAt
	if at.IsZero() {
		at = e.Time()
	}
	if err := t.put(recordTombstoneSQL, m.hash, proposal.Correlation.Trigger, m.key, m.phone, int64(id), e.Ref(), micro(at), micro(proposal.Forget)); err != nil {
		return fmt.Errorf("tombstone: %w", err)
	}
	if err := t.peers.remember(t, key{Part: tombstones, Hash: tombstoneHash(m.hash), ID: 0}, false); err != nil {
		return err
	}
	type tombstone struct {
		correlation         int64
		trigger, key, phone string
	}
	var expired []tombstone
	err := t.query(expiredTombstonesSQL, func(r *row) error {
		expired = append(expired, tombstone{r.int(), r.text(), r.text(), r.text()})
		return nil
	}, t.at)
	for _, g := range expired {
		if err == nil {
			err = t.put(deleteTombstoneSQL, g.correlation, g.trigger, g.key, g.phone)
		}
	}
	if err != nil {
		return fmt.Errorf("expired tombstones: %w", err)
	}
	return nil
}
