package store

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/labels"
	"github.com/nudgewire/nudgewire/internal/store/peers"
	"github.com/nudgewire/nudgewire/internal/store/stored"
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

// facts are what is stored about the correlation key of a proposal, as the transaction sees it now.
//
// A cancelling event finds more than its key: what waits under another identifier of the same matter, and what of the same phone
// waits without a key. A cart whose sender gave it no identifier can only be told by who it belongs to.
func (t *Tx) facts(w *messaging.Proposal, ready *readyProposal) (messaging.Facts, error) {
	a := t.asks(w, ready)
	if err := t.foresee(a); err != nil {
		return messaging.Facts{}, err
	}
	m, known := t.matter(&a), &t.foreseen
	for _, one := range m.let {
		if !one.At.Before(m.sent.At) && known.doubts[int64(one.ID)] {
			m.sent = one
		}
	}
	for _, one := range m.taken {
		if known.fails[int64(one.ID)] { // what failed is queued once more, by itself or by a person
			m.Open = append(m.Open, one)
		}
	}
	for _, hash := range m.gone {
		if once := known.once[hash]; m.sent.ID == 0 && w.Cooldown.Mode == messaging.CooldownOnce {
			m.sent = once
		}
	}
	if m.sent.ID != 0 {
		m.Last = &m.sent
	}
	if a.cancelling() {
		return m.Facts, nil // nobody cancels a cancellation
	}
	if newest := m.newestStep(); newest != 0 {
		m.Sequence = known.sequences[newest]
	}
	m.Tombstone = t.tombstone(&a)
	return m.Facts, nil
}

// An asked proposal is one about whose correlation key it is asked what is stored.
type asked struct {
	w     *messaging.Proposal
	names []named // under which its trigger is known
}

func (t *Tx) asks(w *messaging.Proposal, ready *readyProposal) asked {
	return asked{w, t.underNames(w, ready)}
}

func (a *asked) cancelling() bool { return a.w.Decision.Outcome == messaging.Cancelling }

// hashes are those under which its messages are: the first are of its key, under each of its names.
func (a *asked) hashes() (all []int64) {
	for _, under := range a.names {
		all = append(all, under.ready.correlation)
	}
	for _, under := range a.names {
		all = append(all, under.ready.looksUnder(a.w)[1:]...)
	}
	return all
}

// A matter is what the messages of a proposal say, and what is still to be asked about them.
type matter struct {
	messaging.Facts
	sent  messaging.Sent
	let   []messaging.Sent // of its own key, ended after a claim; each may have reached the phone
	taken []messaging.Open // of a cancelling event; each may fail
	gone  []int64          // hashes of which something is not kept any more
}

// matter looks at the messages that are foreseen, and asks nothing.
func (t *Tx) matter(a *asked) (m matter) {
	trigger := t.callsNow(a.w.Correlation.Trigger, engine.Moment(t.At))
	var seen map[messaging.MessageID]bool // where more than one hash is looked under
	hashes := a.hashes()
	if len(hashes) > len(a.names) {
		seen = map[messaging.MessageID]bool{}
	}
	for i, hash := range hashes {
		gone := false
		for _, id := range t.foreseen.ids[hash] {
			d := t.foreseen.rows[id]
			if d == nil || d.Phone.IsMasked() {
				gone = true
				continue
			}
			if d.Test {
				continue // it is of no matter
			}
			own, byPerson, means := a.means(d)
			if !means || seen[d.ID] || t.callsNow(d.trigger, d.CreatedAt) != trigger {
				continue
			}
			if seen != nil {
				seen[d.ID] = true
			}
			m.note(d, a.cancelling(), byPerson)
			if own { // what another key sent says nothing of this one
				m.noteSent(d)
			}
		}
		if gone && i < len(a.names) {
			m.gone = append(m.gone, hash)
		}
	}
	if len(a.names) > 1 && !a.cancelling() { // those of an earlier name are older
		slices.SortFunc(m.Waiting, func(x, y messaging.Waiting) int { return cmp.Compare(x.ID, y.ID) })
	}
	return m
}

// means says whether a message is of the proposal's own key, and whether the proposal means it: who cancels means others, too, and some of them for
// their phone alone.
func (a *asked) means(d *correlatedRow) (own, byPerson, means bool) {
	c := &a.w.Correlation
	own = sameKey(d.key, c.Key)
	switch {
	case c.Key == "" && d.Phone != c.Phone:
		return own, false, false // another correlation key with the same hash
	case own:
		return own, false, true
	case !a.cancelling():
		return own, false, false // found by its phone or another identifier
	case c.Key == "", d.matters(a.w):
		return own, false, true
	}
	byPerson = d.key == "" && d.Phone == c.Phone
	return own, byPerson, byPerson
}

func (m *matter) note(d *correlatedRow, cancelling, byPerson bool) {
	open := messaging.Open{ID: d.ID, State: d.state, EventAt: d.EventAt, ByPerson: byPerson}
	switch d.state {
	case messaging.StateWaiting:
		waiting := d.Waiting
		waiting.ByPerson = byPerson
		m.Waiting = append(m.Waiting, waiting)
	case messaging.StateSending, messaging.StateInDoubt, messaging.StateRejected, messaging.StateDropped:
		if cancelling {
			m.Open = append(m.Open, open)
		}
	case messaging.StateAccepted:
		if cancelling {
			m.taken = append(m.taken, open)
		}
	default:
	}
}

func (m *matter) noteSent(d *correlatedRow) {
	sent := messaging.Sent{ID: d.ID, State: d.state, At: d.claimed}
	switch d.state {
	case messaging.StateSending, messaging.StateAccepted, messaging.StateInDoubt:
		if !d.claimed.Before(m.sent.At) {
			m.sent = sent
		}
	case messaging.StateDropped, messaging.StateCancelled:
		if !d.claimed.IsZero() {
			m.let = append(m.let, sent)
		}
	default: // it never reached the phone
	}
}

// newestStep is the newest message that waits, where it is a step of a sequence; 0 for none.
func (m *matter) newestStep() int64 {
	if n := len(m.Waiting); n > 0 && m.Waiting[n-1].Step > 0 {
		return int64(m.Waiting[n-1].ID)
	}
	return 0
}

// A correlatedRow is a message as its correlation key sees it.
type correlatedRow struct {
	messaging.Waiting
	labels.Labels
	state        messaging.State
	trigger, key string
	others       string // its other keys, by line
	claimed      time.Time
}

var correlatedSQL = engine.SQL(`SELECT id, state, trigger_name, correlation_key, other_keys, due_at, created_at, claimed_at, event_at, restarts, step, ` + labels.Columns + `
		FROM messages WHERE id = ?1 {{for update}}`)

func scanCorrelated(r *engine.Row) (d correlatedRow) {
	d.ID, d.state = messaging.MessageID(r.Int()), messaging.State(r.Text())
	d.trigger, d.key, d.others = r.Text(), r.Text(), r.Text()
	d.DueAt, d.CreatedAt, d.claimed, d.EventAt, d.Restarts = r.Time(), r.Time(), r.Time(), r.Time(), int(r.Int())
	d.Step, d.Labels = int(r.Int()), labels.Scan(r)
	return d
}

// foreseen is what was read at once for all events of a commit, or for one proposal. It is read again where it was changed, and not kept
// beyond the operation.
type foreseen struct {
	events    map[int64]eventKey            // by number
	ids       map[int64][]int64             // of messages, by hash; none where nothing is found
	rows      map[int64]*correlatedRow      // by number; nil where it is not kept any more
	doubts    map[int64]bool                // whether an attempt of a message that ended may have been taken
	fails     map[int64]bool                // whether an accepted message failed, or is not known to have been sent
	once      map[int64]messaging.Sent      // that a key was sent to, by hash
	sequences map[int64]*messaging.Sequence // by a number of a step
	ends      map[int64][]remembered        // tombstones, by hash; none where nothing is found
	cancels   [][]any                       // arguments of cancelSQL; in rows they are cancelled already

	verdicts map[int64]newestVerdict // by number of the message; see passAll
}

func (f *foreseen) clear() { *f = foreseen{} }

func (f *foreseen) begin() {
	if f.rows == nil {
		*f = foreseen{
			events: map[int64]eventKey{}, ids: map[int64][]int64{}, rows: map[int64]*correlatedRow{}, doubts: map[int64]bool{}, fails: map[int64]bool{},
			once: map[int64]messaging.Sent{}, sequences: map[int64]*messaging.Sequence{}, ends: map[int64][]remembered{},
		}
	}
}

// waiting is a message that a settlement is about; an error where it does not wait.
func (f *foreseen) waiting(id messaging.MessageID) (*correlatedRow, error) {
	d := f.rows[int64(id)]
	if d == nil || d.state != messaging.StateWaiting {
		return nil, errNotWaiting(id)
	}
	return d, nil
}

// writeCancels cancels all that the events of a commit cancel. Whoever reads messages by other ways than what is foreseen has it called before.
func (t *Tx) writeCancels() error {
	all := t.foreseen.cancels
	t.foreseen.cancels = nil
	return t.ExecMany(cancelSQL, all)
}

// foreseeEvents reads what the plans find under their hashes: most find nothing, and ask nothing.
func (t *Tx) foreseeEvents(plans []*encodedPlan) error {
	f := &t.foreseen
	f.begin()
	var all []asked
	fresh := newAsk(f.events)
	for _, p := range plans {
		for _, hash := range p.ownHashes() {
			ids, err := t.find(max(p.since()/dayMicros, peers.FirstDay), p.received/dayMicros+1, hash)
			if err != nil {
				return Wrap(err, "what is stored about the events")
			}
			fresh.add(ids...)
		}
		for i := range p.proposals {
			if w := &p.plan.Proposals[i]; settles(w.Decision.Outcome) {
				all = append(all, t.asks(w, &p.proposals[i]))
			}
		}
	}
	if err := fresh.ask(t, eventKeySQL, func(_ eventKey, r *engine.Row) (eventKey, error) { return scanEventKey(r), nil }); err != nil {
		return Wrap(err, "what is stored about the events")
	}
	return t.foresee(all...)
}

// foresee reads what is stored about the correlation keys of proposals, as far as it is not known: their messages and tombstones, and then what
// those leave open. This is the one place that reads for Settle.
func (t *Tx) foresee(all ...asked) error {
	f := &t.foreseen
	f.begin()
	rows, ends := newAsk(f.rows), newAsk(f.ends)
	for _, a := range all {
		for _, hash := range a.hashes() {
			ids, err := t.find(peers.Correlations, peers.Correlations, hash)
			if err != nil {
				return Wrap(err, "the correlation key so far")
			}
			if len(ids) > 0 {
				f.ids[hash] = slices.Clone(ids)
				rows.add(ids...)
			}
		}
		for _, under := range a.names {
			for _, m := range a.memories(under.ready) {
				if ids, err := t.find(peers.Tombstones, peers.Tombstones, peers.TombstoneHash(m.hash)); err != nil {
					return Wrap(err, "tombstone")
				} else if len(ids) > 0 { // most have none, and a query for each would cost a sixth of a commit
					ends.add(m.hash)
				}
			}
		}
	}
	err := rows.ask(t, correlatedSQL, func(_ *correlatedRow, r *engine.Row) (*correlatedRow, error) { d := scanCorrelated(r); return &d, nil })
	if err == nil {
		err = ends.ask(t, tombstonesSQL, func(all []remembered, r *engine.Row) ([]remembered, error) {
			return append(all, scanRemembered(r)), nil
		})
	}
	if err == nil {
		err = t.foreseeMore(all)
	}
	return Wrap(err, "the correlation key so far")
}

var (
	attemptInDoubtSQL = engine.SQL(`SELECT 1 FROM attempts WHERE message = ?1 AND state = 'in_doubt' LIMIT 1`)
	wasSentOnceSQL    = engine.SQL(`SELECT message, state, at FROM sent_once WHERE correlation = ?1`)
)

// foreseeMore reads what the messages of proposals leave open.
func (t *Tx) foreseeMore(all []asked) error {
	f := &t.foreseen
	doubts, fails, once, sequences := newAsk(f.doubts), newAsk(f.fails), newAsk(f.once), newAsk(f.sequences)
	for i := range all {
		m := t.matter(&all[i])
		for _, one := range m.let { // dropped by on_doubt or by a person, or it waited to be sent again when it ended
			doubts.add(int64(one.ID))
		}
		for _, one := range m.taken {
			fails.add(int64(one.ID))
		}
		if all[i].w.Cooldown.Mode == messaging.CooldownOnce {
			once.add(m.gone...)
		}
		if newest := m.newestStep(); newest != 0 && !all[i].cancelling() {
			sequences.add(newest)
		}
	}
	err := doubts.ask(t, attemptInDoubtSQL, func(bool, *engine.Row) (bool, error) { return true, nil })
	if err == nil {
		err = fails.ask(t, polledSQL, func(_ bool, r *engine.Row) (bool, error) {
			m, err := stored.ScanFollowed(r)
			return m.Status == messaging.StatusFailed || !m.Final && m.DeliveredAt.IsZero(), err
		})
	}
	if err == nil {
		err = once.ask(t, wasSentOnceSQL, func(_ messaging.Sent, r *engine.Row) (messaging.Sent, error) {
			return messaging.Sent{ID: messaging.MessageID(r.Int()), State: messaging.State(r.Text()), At: r.Time()}, nil
		})
	}
	if err == nil {
		err = sequences.ask(t, sequenceSQL, scanSequence)
	}
	return err
}

// An ask is what is to be read into a map: what of it is not known yet.
type ask[T any] struct {
	into  map[int64]T
	fresh []int64
}

func newAsk[T any](into map[int64]T) *ask[T] { return &ask[T]{into: into} }

func (a *ask[T]) add(ids ...int64) {
	for _, id := range ids {
		if _, known := a.into[id]; !known {
			var none T
			a.into[id] = none
			a.fresh = append(a.fresh, id)
		}
	}
}

// ask runs a statement for each number, in ascending order, in which their rows are locked. scan takes a row in.
func (a *ask[T]) ask(t *Tx, s *engine.Statement, scan func(before T, r *engine.Row) (T, error)) error {
	slices.Sort(a.fresh)
	args := make([][]any, len(a.fresh))
	for i, id := range a.fresh {
		args[i] = []any{id}
	}
	return t.QueryMany(s, args, func(i int, r *engine.Row) (err error) {
		id := a.fresh[i]
		if a.into[id], err = scan(a.into[id], r); err == nil {
			err = r.Err
		}
		return err
	})
}

// A memory is where a cancelling event is remembered: the hash, and the texts that say whose it is.
type memory struct {
	hash       int64
	key, phone string
	byPhone    bool // it was about the phone, whatever the keys of its carts
}

// memories are those that are looked for: a cancelling event is cancelled by none.
func (a *asked) memories(ready *readyProposal) []memory {
	if a.cancelling() {
		return nil
	}
	return memories(a.w, ready)
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

var tombstonesSQL = engine.SQL(`SELECT trigger_name, correlation_key, phone, event_id, ref, event_at, expires_at FROM tombstones WHERE correlation = ?1`)

func scanRemembered(r *engine.Row) (one remembered) {
	one.trigger, one.key, one.phone = r.Text(), r.Text(), r.Phone()
	one.EventID, one.Ref, one.EventAt, one.ExpiresAt = messaging.EventID(r.Int()), r.Text(), r.Time(), r.Time()
	return one
}

// tombstone is the memory of a cancelling event that concerns the proposal; nil for none. One about the matter itself counts before one
// about the phone.
func (t *Tx) tombstone(a *asked) (found *messaging.Tombstone) {
	trigger := t.callsNow(a.w.Correlation.Trigger, engine.Moment(t.At))
	for _, under := range a.names {
		for _, m := range a.memories(under.ready) {
			for _, one := range t.foreseen.ends[m.hash] {
				if one.trigger != under.trigger || !sameKey(one.key, m.key) || string(one.phone) != m.phone || engine.Micro(one.ExpiresAt) <= t.At || t.callsNow(one.trigger, one.EventAt) != trigger {
					continue // of another key with the same hash, over, or of whoever has the old name now
				}
				if one.ByPhone = m.byPhone; found == nil || found.ByPhone && !one.ByPhone {
					found = &one.Tombstone
				}
			}
		}
	}
	return found
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
var recordTombstoneSQL = engine.SQL(`INSERT INTO tombstones (correlation, trigger_name, correlation_key, phone, event_id, ref, event_at, expires_at)
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
	if err := t.Put(recordTombstoneSQL, m.hash, proposal.Correlation.Trigger, m.key, m.phone, int64(id), e.Ref(), engine.Micro(at), engine.Micro(proposal.Forget)); err != nil {
		return fmt.Errorf("tombstone: %w", err)
	}
	delete(t.foreseen.ends, m.hash)
	return t.peers.Remember(t.Tx, peers.Key{Part: peers.Tombstones, Hash: peers.TombstoneHash(m.hash), ID: 0}, false)
}
