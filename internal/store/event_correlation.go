package store

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A correlation key is looked up by an 8-byte hash and then by its texts. It leads to every message that it ever
// had, whatever the state: it is written once, and neither a claim nor an outcome touches it again. A message
// with a key of its own is found by its phone, too, for the cancelling events that have none.

// identity is what a correlation key is found by: without a key, the phone.
func identity(a messaging.Correlation) (trigger, key, phone string) {
	if a.Key != "" {
		return a.Trigger, a.Key, ""
	}
	return a.Trigger, "", string(a.Phone)
}

// phoneCorrelation is what a cancelling event without a key is about.
func phoneCorrelation(a messaging.Correlation) messaging.Correlation {
	return messaging.Correlation{Trigger: a.Trigger, Phone: a.Phone}
}

func correlationHash(a messaging.Correlation, hash func(...string) int64) int64 {
	trigger, key, phone := identity(a)
	return hash(trigger, key, phone)
}

// find works out all hashes under which something is found or remembered for the proposal.
func (r *readyProposal) find(w *messaging.Proposal, hash func(...string) int64) {
	a := w.Correlation
	r.correlation = correlationHash(a, hash)
	r.byPhone = correlationHash(phoneCorrelation(a), hash)
	r.keyless = hash(a.Trigger, "", string(a.Phone), "no key")
	for _, other := range w.Others {
		r.others = append(r.others, hash(a.Trigger, other, ""))
	}
}

// looksUnder are the hashes under which messages are looked for: that of the correlation key, and for a cancelling event the others of its
// matter, and what of its phone has no key. What is planned looks under no phone: a contact may have had thousands of messages.
func (r *readyProposal) looksUnder(w *messaging.Proposal) []int64 {
	all := []int64{r.correlation}
	if w.Decision.Outcome != messaging.Cancelling {
		return all
	}
	if all = append(all, r.others...); w.Correlation.Key != "" && w.Correlation.Phone != "" {
		all = append(all, r.byPhone)
	}
	return all
}

// otherKeys are the lines of a message's other_keys.
func otherKeys(lines string) []string {
	if lines == "" {
		return nil
	}
	return strings.Split(lines, "\n")
}

// matters reports whether a message is of the proposal's matter: by its key, or by any other identifier of the two.
func (d *correlatedRow) matters(w *messaging.Proposal) bool {
	if w.Correlation.Key != "" && sameKey(d.key, w.Correlation.Key) {
		return true
	}
	theirs := append(otherKeys(d.others), d.key)
	return slices.ContainsFunc(append(slices.Clone(w.Others), w.Correlation.Key), func(own string) bool {
		return own != "" && slices.ContainsFunc(theirs, func(key string) bool { return sameKey(key, own) })
	})
}

var wasSentOnceSQL = SQL(`SELECT message, state, at FROM sent_once WHERE correlation = ?1`)

// facts reads what is stored about the correlation key of a proposal, as the transaction sees it now.
//
// A cancelling event finds more than its key: what waits under another identifier of the same matter, and what of the same phone
// waits without a key. A cart whose sender gave it no identifier can only be told by who it belongs to.
func (t *Tx) facts(w *messaging.Proposal, ready *readyProposal) (f messaging.Facts, err error) {
	a := w.Correlation
	cancelling := w.Decision.Outcome == messaging.Cancelling
	var sent messaging.Sent
	var let []messaging.Sent // dropped after a claim
	var taken []messaging.Open
	var seen map[messaging.MessageID]bool // where more than one hash is looked under
	names := t.underNames(w, ready)
	trigger := t.callsNow(a.Trigger, Moment(t.At))
	note := func(d *correlatedRow) {
		byPerson := false
		switch own := sameKey(d.key, a.Key); {
		case t.callsNow(d.trigger, d.CreatedAt) != trigger || (a.Key == "" && d.phone != a.Phone):
			return // another correlation key with the same hash
		case own:
		case !cancelling:
			return // found by its phone or another identifier; only who cancels means it, too
		case a.Key == "", d.matters(w):
		case d.key == "" && d.phone == a.Phone:
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
		case messaging.StateWaiting:
			d.ByPerson = byPerson
			f.Waiting = append(f.Waiting, d.Waiting)
		case messaging.StateSending, messaging.StateInDoubt, messaging.StateRejected, messaging.StateDropped:
			if cancelling {
				f.Open = append(f.Open, messaging.Open{ID: d.ID, State: d.state, EventAt: d.EventAt, ByPerson: byPerson})
			}
		case messaging.StateAccepted:
			if cancelling {
				taken = append(taken, messaging.Open{ID: d.ID, State: d.state, EventAt: d.EventAt, ByPerson: byPerson})
			}
		default:
		}
		if !sameKey(d.key, a.Key) {
			return // what another key sent says nothing of this one
		}
		switch d.state {
		case messaging.StateSending, messaging.StateAccepted, messaging.StateInDoubt:
			if !d.claimed.Before(sent.At) {
				sent = messaging.Sent{ID: d.ID, State: d.state, At: d.claimed}
			}
		case messaging.StateDropped, messaging.StateCancelled:
			if !d.claimed.IsZero() {
				let = append(let, messaging.Sent{ID: d.ID, State: d.state, At: d.claimed})
			}
		default: // it never reached the phone
		}
	}
	var more []int64
	for _, under := range names {
		if !cancelling {
			break
		}
		more = append(more, under.ready.looksUnder(w)[1:]...)
	}
	if len(more) > 0 {
		seen = map[messaging.MessageID]bool{}
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
		if sent.ID != 0 || w.Cooldown.Mode != messaging.CooldownOnce {
			break
		}
		err = t.Query(wasSentOnceSQL, func(r *Row) error {
			sent = messaging.Sent{ID: messaging.MessageID(r.Int()), State: messaging.State(r.Text()), At: r.Time()}
			return r.Err
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
		slices.SortFunc(f.Waiting, func(x, y messaging.Waiting) int { return cmp.Compare(x.ID, y.ID) })
	}
	if n := len(f.Waiting); n > 0 && f.Waiting[n-1].Step > 0 {
		if f.Sequence, err = t.sequenceOf(f.Waiting[n-1].ID); err != nil {
			return f, err
		}
	}
	f.Tombstone, err = t.tombstone(w, names)
	return f, err
}

var attemptInDoubtSQL = SQL(`SELECT 1 FROM attempts WHERE message = ?1 AND state = 'in_doubt' LIMIT 1`)

// mayHaveReached reports whether an attempt of a message that was dropped or cancelled may have been taken: it is let be, by
// on_doubt or by a person, or it waited to be sent again when it ended.
func (t *Tx) mayHaveReached(id messaging.MessageID) (may bool, err error) {
	err = t.Query(attemptInDoubtSQL, func(*Row) error { may = true; return nil }, int64(id))
	return may, err
}

// mayFail reports whether an accepted message failed, or is not known to have been sent.
func (t *Tx) mayFail(id messaging.MessageID) (may bool, err error) {
	err = t.Query(polledSQL, func(r *Row) error {
		m, err := scanFollowed(r)
		may = m.Status == messaging.StatusFailed || !m.Final && m.DeliveredAt.IsZero()
		return err
	}, int64(id))
	return may, err
}

// A correlatedRow is a message as its correlation key sees it.
type correlatedRow struct {
	messaging.Waiting
	eventLabels
	state        messaging.State
	trigger, key string
	others       string // its other keys, by line
	claimed      time.Time
}

var correlatedSQL = SQL(`SELECT id, state, trigger_name, correlation_key, other_keys, due_at, created_at, claimed_at, event_at, restarts, step, ` + labelColumns + `
		FROM messages WHERE id = ?1 {{for update}}`)

func scanCorrelated(r *Row) (d correlatedRow) {
	d.ID, d.state = messaging.MessageID(r.Int()), messaging.State(r.Text())
	d.trigger, d.key, d.others = r.Text(), r.Text(), r.Text()
	d.DueAt, d.CreatedAt, d.claimed, d.EventAt, d.Restarts = r.Time(), r.Time(), r.Time(), r.Time(), int(r.Int())
	d.Step, d.eventLabels = int(r.Int()), scanLabels(r)
	return d
}

// correlated is one message; there is false where it is not kept any more.
func (t *Tx) correlated(id int64) (d correlatedRow, there bool, err error) {
	if d, known := t.foreseen.rows[id]; known {
		return d, d.ID != 0, nil
	}
	err = t.Query(correlatedSQL, func(r *Row) error { d, there = scanCorrelated(r), true; return r.Err }, id)
	return d, there, err
}

// correlation calls each with the messages that have this hash, by number. gone says that there were others, which are
// not kept any more, or nothing of whose key is.
func (t *Tx) correlation(hash int64, each func(*correlatedRow)) (gone bool, err error) {
	ids, err := t.find(correlations, correlations, hash)
	for i := 0; err == nil && i < len(ids); i++ {
		var d correlatedRow
		var there bool
		if d, there, err = t.correlated(ids[i]); err == nil && there && !d.phone.IsMasked() {
			each(&d)
		} else {
			gone = true
		}
	}
	return gone, err
}

// foreseen is what acceptAll read for all of its events at once. What they change themselves is read again.
type foreseen struct {
	events map[int64]eventKey      // by number
	rows   map[int64]correlatedRow // by number; empty where it is not kept any more
	ends   map[int64][]remembered  // tombstones, by hash

	verdicts map[int64]newestVerdict // by number of the message; see passAll
}

func (f *foreseen) clear() { *f = foreseen{} }

// forget has a message read again, which was changed.
func (f *foreseen) forget(id messaging.MessageID) { delete(f.rows, int64(id)) }

// foresee reads what the plans find under their hashes: most find nothing, and ask nothing.
func (t *Tx) foresee(plans []*encodedPlan) (err error) {
	f := &t.foreseen
	*f = foreseen{events: map[int64]eventKey{}, rows: map[int64]correlatedRow{}, ends: map[int64][]remembered{}}
	var ids []int64
	find := func(first, last, hash int64, each func(id int64)) {
		if err == nil {
			ids, err = t.peers.find(t, first, last, hash, ids[:0])
		}
		for _, id := range ids {
			each(id)
		}
		ids = ids[:0]
	}
	for _, p := range plans {
		from, to := max(p.since()/dayMicros, firstDay), p.received/dayMicros+1
		find(from, to, p.hash, func(id int64) { f.events[id] = eventKey{} })
		if p.content != 0 {
			find(from, to, p.content, func(id int64) { f.events[id] = eventKey{} })
		}
		for i := range p.proposals {
			w, ready := &p.plan.Proposals[i], &p.proposals[i]
			if !settles(w.Decision.Outcome) {
				continue
			}
			for _, hash := range ready.looksUnder(w) {
				find(correlations, correlations, hash, func(id int64) { f.rows[id] = correlatedRow{} })
			}
			if w.Decision.Outcome == messaging.Planned {
				for _, m := range memories(w, ready) {
					find(tombstones, tombstones, tombstoneHash(m.hash), func(int64) { f.ends[m.hash] = nil })
				}
			}
		}
	}
	if err == nil {
		err = askAll(t, eventKeySQL, f.events, func(id int64, r *Row) { f.events[id] = scanEventKey(r) })
	}
	if err == nil {
		err = askAll(t, correlatedSQL, f.rows, func(id int64, r *Row) { f.rows[id] = scanCorrelated(r) })
	}
	if err == nil {
		err = askAll(t, tombstonesSQL, f.ends, func(hash int64, r *Row) { f.ends[hash] = append(f.ends[hash], scanRemembered(r)) })
	}
	return Wrap(err, "what is stored about the events")
}

// askAll runs a statement for each of the numbers, in ascending order, in which their rows are locked.
func askAll[T any](t *Tx, s *Statement, of map[int64]T, each func(int64, *Row)) error {
	ids := slices.Sorted(maps.Keys(of))
	args := make([][]any, len(ids))
	for i, id := range ids {
		args[i] = []any{id}
	}
	return t.QueryMany(s, args, func(i int, r *Row) error { each(ids[i], r); return r.Err })
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
func memories(w *messaging.Proposal, ready *readyProposal) (all []memory) {
	a := w.Correlation
	_, text, phone := identity(a)
	all = append(all, memory{ready.correlation, text, phone, false})
	for i, other := range w.Others {
		all = append(all, memory{ready.others[i], other, "", false})
	}
	switch cancelling := w.Decision.Outcome == messaging.Cancelling; {
	case a.Phone == "":
	case a.Key != "" && !cancelling:
		all = append(all, memory{ready.byPhone, "", string(a.Phone), true})
	case (a.Key == "") != cancelling:
		all = append(all, memory{ready.keyless, "", string(a.Phone), false})
	}
	return all
}

// A remembered is a row of tombstones.
type remembered struct {
	messaging.Tombstone
	trigger, key string
	phone        messaging.Phone
}

var tombstonesSQL = SQL(`SELECT trigger_name, correlation_key, phone, event_id, ref, event_at, expires_at FROM tombstones WHERE correlation = ?1`)

func scanRemembered(r *Row) (one remembered) {
	one.trigger, one.key, one.phone = r.Text(), r.Text(), r.Phone()
	one.EventID, one.Ref, one.EventAt, one.ExpiresAt = messaging.EventID(r.Int()), r.Text(), r.Time(), r.Time()
	return one
}

// remembered are the memories under a hash.
func (t *Tx) remembered(hash int64) (all []remembered, err error) {
	if all, known := t.foreseen.ends[hash]; known {
		return all, nil
	}
	ids, err := t.find(tombstones, tombstones, tombstoneHash(hash))
	if err != nil || len(ids) == 0 { // most have none, and a query for each would cost a sixth of a commit
		return nil, err
	}
	err = t.Query(tombstonesSQL, func(r *Row) error { all = append(all, scanRemembered(r)); return r.Err }, hash)
	return all, err
}

// tombstone is the memory of a cancelling event that concerns the proposal; nil for none. One about the matter itself counts before one
// about the phone.
func (t *Tx) tombstone(w *messaging.Proposal, names []named) (found *messaging.Tombstone, err error) {
	trigger := t.callsNow(w.Correlation.Trigger, Moment(t.At))
	for _, under := range names {
		for _, m := range memories(w, under.ready) {
			all, err := t.remembered(m.hash)
			if err != nil {
				return nil, fmt.Errorf("tombstone: %w", err)
			}
			for _, one := range all {
				if one.trigger != under.trigger || !sameKey(one.key, m.key) || string(one.phone) != m.phone || Micro(one.ExpiresAt) <= t.At || t.callsNow(one.trigger, one.EventAt) != trigger {
					continue // of another key with the same hash, over, or of whoever has the old name now
				}
				if one.ByPhone = m.byPhone; found == nil || found.ByPhone && !one.ByPhone {
					found = &one.Tombstone
				}
			}
		}
	}
	return found, nil
}

// recordTombstone remembers a cancelling event until the proposal says to forget it. Retention clears it away.
func (t *Tx) recordTombstone(proposal *messaging.Proposal, ready *readyProposal, id messaging.EventID, e *messaging.Event) error {
	for _, m := range memories(proposal, ready) {
		if err := t.rememberCancel(proposal, m, id, e); err != nil {
			return err
		}
	}
	return nil
}

// The newest fact is kept, and the longest memory.
var recordTombstoneSQL = SQL(`INSERT INTO tombstones (correlation, trigger_name, correlation_key, phone, event_id, ref, event_at, expires_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
		ON CONFLICT (correlation, trigger_name, correlation_key, phone) DO UPDATE SET
			event_id   = CASE WHEN excluded.event_at >= tombstones.event_at THEN excluded.event_id ELSE tombstones.event_id END,
			ref        = CASE WHEN excluded.event_at >= tombstones.event_at THEN excluded.ref ELSE tombstones.ref END,
			event_at   = CASE WHEN excluded.event_at >= tombstones.event_at THEN excluded.event_at ELSE tombstones.event_at END,
			expires_at = CASE WHEN excluded.expires_at >= tombstones.expires_at THEN excluded.expires_at ELSE tombstones.expires_at END`)

func (t *Tx) rememberCancel(proposal *messaging.Proposal, m memory, id messaging.EventID, e *messaging.Event) error {
	at := proposal.EventAt
	if at.IsZero() {
		at = e.Time()
	}
	if err := t.Put(recordTombstoneSQL, m.hash, proposal.Correlation.Trigger, m.key, m.phone, int64(id), e.Ref(), Micro(at), Micro(proposal.Forget)); err != nil {
		return fmt.Errorf("tombstone: %w", err)
	}
	delete(t.foreseen.ends, m.hash)
	return t.peers.remember(t, key{Part: tombstones, Hash: tombstoneHash(m.hash), ID: 0}, false)
}
