package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/labels"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
	"github.com/nudgewire/nudgewire/internal/store/peers"
	"github.com/nudgewire/nudgewire/internal/store/reach"
	"github.com/nudgewire/nudgewire/internal/store/stored"
	"github.com/nudgewire/nudgewire/internal/store/tally"
)

// Accept stores the events of one request, with everything that follows from them, in one
// commit, and returns once that is on disk: receipts in the order of plans.
//
// An event whose connector and dedupe key were seen within the window is a duplicate: nothing
// of it is stored, and its receipt names the first. For the others each proposal that has an
// correlation key is settled by Options.Settle with facts read in this same transaction, so what an earlier proposal,
// plan or neighbour in the batch did is already seen.
//
// Errors: ErrOverloaded and ErrClosed (nothing was stored), ErrUnanswered where ctx ended during the commit, a *PanicError from Settle, or
// what the disk said.
func (s *Store) Accept(ctx context.Context, plans []messaging.Plan) ([]messaging.Receipt, error) {
	ready := make([]encodedPlan, len(plans))
	for i := range plans {
		if err := ready[i].prepare(&plans[i], s.hash); err != nil {
			return nil, err
		}
	}
	receipts := make([]messaging.Receipt, len(plans))
	err := s.writeSet(ctx, commit.LaneIngest, s.accepts, 0, &acceptance{ready, receipts})
	if err != nil {
		return nil, err
	}
	s.beat.Events.Add(int64(len(plans)))
	if s.observer.Accepted != nil {
		for i := range plans {
			s.observer.Accepted(plans[i], receipts[i])
		}
	}
	return receipts, nil
}

// An acceptance is the events of one request.
type acceptance struct {
	ready    []encodedPlan
	receipts []messaging.Receipt
}

// lockPlans locks what the plans look for and what they add.
func (t *Tx) lockPlans(plans ...*encodedPlan) error {
	t.locked = t.locked[:0]
	for _, p := range plans {
		if t.locked = append(t.locked, p.hash); p.content != 0 {
			t.locked = append(t.locked, p.content)
		}
		for j := range p.proposals {
			t.locked = p.proposals[j].hashes(t.locked)
		}
		if p.wish != 0 {
			t.locked = append(t.locked, p.wish)
		}
	}
	return t.peers.Lock(t.Tx, t.locked, nil)
}

// acceptAll stores the events of several requests. What is stored about any of them is read for all at once, and each is settled on what
// the one before left.
func (t *Tx) acceptAll(all []*acceptance, settle Settle) error {
	plans := make([]*encodedPlan, 0, len(all))
	for _, one := range all {
		for i := range one.ready {
			plans = append(plans, &one.ready[i])
		}
	}
	err := t.lockPlans(plans...)
	if err == nil {
		err = t.foreseeEvents(plans)
	}
	defer t.foreseen.clear()
	for _, one := range all {
		for i := range one.ready {
			if err != nil {
				return err
			}
			if one.receipts[i], err = t.accept(&one.ready[i], settle); err != nil {
				err = fmt.Errorf("accept %s: %w", one.ready[i].plan.Event.Ref(), err)
			}
		}
	}
	if err == nil {
		err = t.writeCancels()
	}
	return err
}

// A encodedPlan is a plan with all that can be worked out before the commit, by the caller's
// own processor: the flusher is one for all.
type encodedPlan struct {
	plan      *messaging.Plan
	hash      int64
	content   int64 // hash of the content key; 0 where there is none
	received  int64
	wish      int64  // hash of the contact, where the event says whether that one wants messages; else 0
	byPhone   int64  // hash of the phone; 0 where there is none
	packed    []byte // the content, as it is stored
	proposals []readyProposal
}

type readyProposal struct {
	correlation int64   // hash
	byPhone     int64   // hash of what an event without a key would have cancelled
	keyless     int64   // hash of the memory for what of the phone has no key
	others      []int64 // hashes of the other keys
	clauses     string
	encodedSend
	steps []readyStep // instead of the one send, of a sequence
}

// A encodedSend is what a message sends, encoded.
type encodedSend struct {
	send  string
	ended string // what takes the place of send; "" where it stays
}

// ownHashes are those that the event itself is known again by.
func (p *encodedPlan) ownHashes() []int64 {
	if p.content == 0 {
		return []int64{p.hash}
	}
	return []int64{p.hash, p.content}
}

// hashes appends all hashes under which something is found or remembered for the proposal. One that settles nothing has none: events that
// have nothing in common would wait for each other there.
func (r *readyProposal) hashes(all []int64) []int64 {
	if r.correlation == 0 && r.byPhone == 0 {
		return all
	}
	all = append(all, r.correlation, r.byPhone, peers.TombstoneHash(r.correlation), peers.TombstoneHash(r.byPhone), peers.TombstoneHash(r.keyless))
	for _, other := range r.others {
		all = append(all, other, peers.TombstoneHash(other))
	}
	return all
}

func (p *encodedPlan) prepare(plan *messaging.Plan, hash func(...string) int64) error {
	plan.Forget()
	e := &plan.Event
	if e.DedupeKey == "" {
		return fmt.Errorf("event %s has no dedupe key", e.Ref())
	}
	if e.ReceivedAt.IsZero() {
		return fmt.Errorf("event %s does not say when it was received", e.Ref())
	}
	p.plan, p.hash, p.received = plan, hash(e.Connector, e.DedupeKey), engine.Micro(e.ReceivedAt)
	if e.ContentKey != "" {
		p.content = contentHash(e.Connector, e.ContentKey, hash)
	}
	if e.Contact.Phone != "" {
		p.byPhone = phoneHash(e.Contact.Phone, hash)
	}
	facts, err := stored.FactsOf(e)
	if err != nil {
		return fmt.Errorf("event %s: %w", e.Ref(), err)
	}
	p.packed = stored.PackContent(facts, e.Payload)
	p.proposals = make([]readyProposal, len(plan.Proposals))
	if slices.ContainsFunc(plan.Proposals, func(w messaging.Proposal) bool { return wants(w.Decision.Outcome) }) {
		p.wish = reach.HashOf(e.Contact.Phone, hash)
	}
	for i := range plan.Proposals {
		if err := p.proposals[i].prepare(&plan.Proposals[i], hash); err != nil {
			return fmt.Errorf("event %s, trigger %s: %w", e.Ref(), plan.Proposals[i].Decision.Trigger, err)
		}
	}
	return nil
}

func (r *readyProposal) prepare(w *messaging.Proposal, hash func(...string) int64) (err error) {
	if r.clauses, err = stored.EncodeList(w.Decision.Clauses); err != nil {
		return err
	}
	if !settles(w.Decision.Outcome) {
		return nil
	}
	r.find(w, hash)
	if w.Decision.Outcome != messaging.Planned {
		return nil
	}
	if w.Message.DueAt.IsZero() {
		return errNoDueTime
	}
	if len(w.Steps) > 0 {
		return r.prepareSteps(w.Steps)
	}
	r.encodedSend = readySending(&w.Message.Send)
	return nil
}

func readySending(s *messaging.Send) encodedSend {
	r := encodedSend{send: string(stored.AppendSend(make([]byte, 0, 256), s))}
	if s.Forget {
		r.send, r.ended = stored.Apart+r.send, stored.EndedSend(s)
	}
	return r
}

var errNoDueTime = errors.New("a message without a due time")

// settles reports whether a proposal with this outcome has a correlation key to settle.
func settles(o messaging.Outcome) bool { return o == messaging.Planned || o == messaging.Cancelling }

// accept stores one plan.
func (t *Tx) accept(p *encodedPlan, settle Settle) (messaging.Receipt, error) {
	e := &p.plan.Event
	first, err := t.repeats(p)
	if err != nil {
		return messaging.Receipt{}, err
	}
	if first != 0 {
		t.eventRepeated(e, p.received)
		return messaging.Receipt{EventID: first, Duplicate: true}, nil
	}
	id, err := t.insertEvent(p)
	if err != nil {
		return messaging.Receipt{}, fmt.Errorf("event: %w", err)
	}
	t.eventStored(e, p.received)
	t.eventPlanned(e, p.plan.Unused, id)
	if err := t.tellsConsent(e, messaging.EventID(id)); err != nil {
		return messaging.Receipt{}, err
	}
	if p.plan.Later {
		if err := t.await(id, e, p.received); err != nil {
			return messaging.Receipt{}, err
		}
	}
	receipt := messaging.Receipt{EventID: messaging.EventID(id)}
	if len(p.proposals) > 0 {
		receipt.Decisions = make([]messaging.Decision, len(p.proposals))
	}
	for i := range p.proposals {
		if receipt.Decisions[i], err = t.decide(p, i, receipt.EventID, settle); err == nil {
			err = t.insertDecision(int64(i+1), &receipt.Decisions[i], p.proposals[i].clauses)
		}
		if err != nil {
			return messaging.Receipt{}, fmt.Errorf("trigger %s: %w", p.plan.Proposals[i].Decision.Trigger, err)
		}
	}
	return receipt, t.markPlannedInDoubt(e, receipt.EventID, receipt.Decisions)
}

var insertEventSQL = engine.SQL(`INSERT INTO events (id, hash, connector, kind, topic, dedupe_key, content_key, phone, phone_problem, occurred_at, received_at, content_type, content)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)`)

func (t *Tx) insertEvent(p *encodedPlan) (id int64, err error) {
	if id, err = t.allocate(numbers.Events); err != nil {
		return 0, err
	}
	e := &p.plan.Event
	err = t.Put(insertEventSQL, id, p.hash, e.Connector, e.Kind, e.Topic, e.DedupeKey, e.ContentKey,
		string(e.Contact.Phone), e.Contact.PhoneProblem, engine.Micro(e.OccurredAt), p.received, e.ContentType, p.packed)
	if err == nil {
		err = t.peers.Remember(t.Tx, peers.Key{Part: p.received / dayMicros, Hash: p.hash, ID: id}, true)
	}
	if err == nil && p.content != 0 {
		err = t.peers.Remember(t.Tx, peers.Key{Part: p.received / dayMicros, Hash: p.content, ID: id}, true)
	}
	if err == nil && p.byPhone != 0 {
		err = t.peers.Remember(t.Tx, peers.Key{Part: peers.PhonesOfEvents, Hash: p.byPhone, ID: id}, true)
	}
	if err == nil && !p.plan.Later && !t.bare { // else it is read once what it lacks was looked up
		err = t.Put(unreadSQL, id)
	}
	return id, err
}

// decide settles proposal i of p and carries the settlement out.
func (t *Tx) decide(p *encodedPlan, i int, id messaging.EventID, settle Settle) (messaging.Decision, error) {
	proposal, ready := &p.plan.Proposals[i], &p.proposals[i]
	d := proposal.Decision
	d.EventID = id
	if d.At.IsZero() {
		d.At = engine.Moment(t.At)
	}
	if settles(d.Outcome) {
		if settle == nil {
			return d, errors.New("the store was opened without Options.Settle")
		}
		done := messaging.Settlement{Insert: true} // a test, whatever waits, was sent or was cancelled
		if proposal.Message.Test == "" {
			facts, err := t.facts(proposal, ready)
			if err != nil {
				return d, err
			}
			done = settle(*proposal, facts)
		}
		var err error
		if d.MessageID, d.Later, err = t.carryOut(p, i, id, &done); err != nil {
			return d, err
		}
		if done.Outcome != "" {
			d.Outcome = done.Outcome
		}
		if done.Reason != "" {
			d.Reason = done.Reason
		}
	}
	if d.Outcome == messaging.Blocked || d.Outcome == messaging.Allowed {
		var err error
		if d.Reason, err = t.optOut(&p.plan.Event, proposal, id); err != nil {
			return d, err
		}
	}
	if d.Outcome == messaging.Forgetting || d.Outcome == messaging.ForgettingAll {
		var err error
		if d.Reason, err = t.applyErasure(&p.plan.Event, id, d.Outcome); err != nil {
			return d, err
		}
	}
	_, known := outcomeCounts[d.Outcome]
	queueing := d.Outcome == messaging.Planned || d.Outcome == messaging.Restarted
	if !known || queueing && d.MessageID == 0 {
		return d, fmt.Errorf("no decision is %q with message %d", d.Outcome, d.MessageID)
	}
	t.decided(&d, &p.plan.Event.Contact, proposal.Message.Test)
	if d.Outcome == messaging.Shadowed {
		of := labels.Of(int64(id), d.Trigger, labels.TemplateOf(&proposal.Message.Send), p.plan.Event.Contact.Phone)
		t.messageShadowed(&of)
	}
	return d, nil
}

var outcomeCounts = map[messaging.Outcome]tally.Counter{
	messaging.Planned:    tally.CountPlanned,
	messaging.Restarted:  tally.CountRestarted,
	messaging.Skipped:    tally.CountSkippedDecisions,
	messaging.Cancelled:  tally.CountCancelledDecisions,
	messaging.Cancelling: tally.CountCancelling,
	messaging.Shadowed:   tally.CountShadowed,
	messaging.Blocked:    tally.CountOptOuts,
	messaging.Allowed:    tally.CountOptIns,
	messaging.Confirmed:  tally.CountConfirmed,

	messaging.Forgetting:    tally.CountForgetting,
	messaging.ForgettingAll: tally.CountForgetting,
}

// carryOut does exactly what a settlement says, and returns the message that now holds
// the event's content, 0 for none, and of a sequence the others that do. An order about a message that does not wait is a fault
// of Settle and fails the whole plan.
func (t *Tx) carryOut(p *encodedPlan, i int, id messaging.EventID, done *messaging.Settlement) (queued messaging.MessageID, later []messaging.MessageID, err error) {
	proposal, ready := &p.plan.Proposals[i], &p.proposals[i]
	e := &p.plan.Event
	for _, c := range done.Cancel {
		d, err := t.foreseen.waiting(c)
		if err != nil {
			return 0, nil, fmt.Errorf("cancel message %d: %w", c, err)
		}
		d.state = messaging.StateCancelled
		t.foreseen.cancels = append(t.foreseen.cancels, []any{int64(c), byEvent(e, id), t.At})
		t.messageState(c, &d.Labels, messaging.StateCancelled, byEvent(e, id), messaging.EndedByEvent, "")
	}
	for _, c := range done.CallOff {
		if err := t.requestCancel(c, byEvent(e, id)); err != nil {
			return 0, nil, fmt.Errorf("call off message %d: %w", c, err)
		}
	}
	if done.RecordTombstone {
		if err := t.recordTombstone(proposal, ready, id, e); err != nil {
			return 0, nil, err
		}
	}
	if done.Restart != 0 {
		if err := t.restart(proposal, ready, ready.encodedSend, &proposal.Message, id, done.Restart, done.DueAt); err != nil {
			return 0, nil, fmt.Errorf("restart message %d: %w", done.Restart, err)
		}
		queued = done.Restart
	}
	switch {
	case len(done.Renew) > 0 || done.Insert && len(proposal.Steps) > 0:
		return t.carrySteps(proposal, ready, id, done)
	case done.Insert:
		queued, err = t.insertMessage(proposal, ready, ready.encodedSend, &proposal.Message, id)
	}
	return queued, nil, err
}

func (t *Tx) changeWaiting(s *engine.Statement, id messaging.MessageID, args ...any) error {
	n, err := t.Exec(s, args...)
	if err == nil && n == 0 {
		err = errNotWaiting(id)
	}
	return err
}

func errNotWaiting(id messaging.MessageID) error {
	return fmt.Errorf("settled, but message %d does not wait", id)
}

var insertMessageSQL = engine.SQL(`INSERT INTO messages (id, event_id, event_at, trigger_name, correlation_key, correlation, phone, category, send, state, reason,
			due_at, expires_at, created_at, updated_at, config, ended_send, zone, step, account, tries, sent_as, other_keys, run_id, replaces, test)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'waiting', ?10, ?11, ?12, ?13, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24)`)

func (t *Tx) insertMessage(proposal *messaging.Proposal, ready *readyProposal, what encodedSend, enqueue *messaging.Message, event messaging.EventID) (messaging.MessageID, error) {
	id, err := t.allocate(numbers.Messages)
	if err != nil {
		return 0, fmt.Errorf("message: %w", err)
	}
	due, created := engine.Micro(enqueue.DueAt), engine.Micro(enqueue.CreatedAt)
	if created == 0 {
		created = t.At
	}
	if err := t.Put(insertMessageSQL, id, int64(event), engine.Micro(proposal.EventAt), proposal.Correlation.Trigger, proposal.Correlation.Key, ready.correlation, string(enqueue.Phone),
		string(enqueue.Category), what.send, enqueue.Reason, due, engine.Micro(enqueue.ExpiresAt), created, enqueue.Config, what.ended,
		enqueue.Zone, int64(enqueue.Step), enqueue.Account, int64(enqueue.Tries), enqueue.SentAs, strings.Join(proposal.Others, "\n"), int64(0), int64(0), enqueue.Test); err != nil {
		return 0, fmt.Errorf("message: %w", err)
	}
	return messaging.MessageID(id), t.queued(id, ready, proposal.Correlation, enqueue, due)
}

// queued makes a new message known, by its key and by its phone.
func (t *Tx) queued(id int64, ready *readyProposal, of messaging.Correlation, d *messaging.Message, due int64) error {
	p := labels.Of(1, of.Trigger, labels.TemplateOf(&d.Send), d.Phone)
	p.Account, p.Test = d.Account, d.Test != ""
	t.messageQueued(messaging.MessageID(id), &p, due, "")
	if !t.triggers[of.Trigger] {
		if err := t.nameTrigger(of.Trigger); err != nil {
			return err
		}
	}
	err := t.peers.Remember(t.Tx, peers.Key{Part: peers.Correlations, Hash: ready.correlation, ID: id}, true)
	if err == nil && of.Key != "" {
		err = t.peers.Remember(t.Tx, peers.Key{Part: peers.Correlations, Hash: ready.byPhone, ID: id}, true)
	}
	for _, other := range ready.others {
		if err == nil {
			err = t.peers.Remember(t.Tx, peers.Key{Part: peers.Correlations, Hash: other, ID: id}, true)
		}
	}
	return err
}

var restartSQL = engine.SQL(`UPDATE messages SET event_id = ?2, phone = ?3, category = ?4, send = ?5, reason = ?6, tries = 0,
			due_at = ?7, expires_at = ?8, config = ?9, updated_at = ?10, event_at = ?11, ended_send = ?12, first_due_at = 0, zone = ?13, account = ?14, step = ?15, sent_as = ?16, other_keys = ?17, owner = '', restarts = restarts + 1
		WHERE id = ?1 AND state{{checked}} = 'waiting'`)

// restart gives the waiting message id the content of enqueue, due at the given time. Where it is due at another time than
// the proposal says, its expiry moves by as much.
func (t *Tx) restart(proposal *messaging.Proposal, ready *readyProposal, what encodedSend, enqueue *messaging.Message, event messaging.EventID, id messaging.MessageID, due time.Time) error {
	expires := enqueue.ExpiresAt
	if due.IsZero() {
		due = enqueue.DueAt
	}
	if !expires.IsZero() {
		expires = expires.Add(due.Sub(enqueue.DueAt))
	}
	t.wakeSender(enqueue.Account, engine.Micro(due))
	if proposal.Correlation.Key != "" { // the phone may be another one now
		if err := t.peers.Remember(t.Tx, peers.Key{Part: peers.Correlations, Hash: ready.byPhone, ID: int64(id)}, false); err != nil {
			return err
		}
	}
	for _, other := range ready.others {
		if err := t.peers.Remember(t.Tx, peers.Key{Part: peers.Correlations, Hash: other, ID: int64(id)}, false); err != nil {
			return err
		}
	}
	if _, err := t.foreseen.waiting(id); err != nil {
		return err
	}
	delete(t.foreseen.rows, int64(id)) // it is read again
	return t.Put(restartSQL, int64(id), int64(event), string(enqueue.Phone), string(enqueue.Category),
		what.send, enqueue.Reason, engine.Micro(due), engine.Micro(expires), enqueue.Config, t.At, engine.Micro(proposal.EventAt), what.ended, enqueue.Zone, enqueue.Account, int64(enqueue.Step), enqueue.SentAs, strings.Join(proposal.Others, "\n"))
}
