package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/peers"
)

// The attempt's number guards a claim: a late caller finds another one, or no row.
var insertLookupSQL = engine.SQL(`INSERT INTO lookups (event_id, connector, attempts, due_at, lease_ends, received_at, reason)
		VALUES (?1, ?2, 0, ?3, 0, ?3, '')`)

// await stores that an accepted event is to be looked up before it is planned.
func (t *Tx) await(id int64, e *messaging.Event, received int64) error {
	if err := t.Put(insertLookupSQL, id, e.Connector, received); err != nil {
		return fmt.Errorf("look-up: %w", err)
	}
	t.wakeEnricher(received)
	return nil
}

var (
	dueLookupsSQL  = engine.SQL(`SELECT ` + lookupColumns + ` FROM lookups WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2 + 0 {{skip locked}}`)
	claimLookupSQL = engine.SQL(`UPDATE lookups SET attempts = ?2, due_at = ?3, lease_ends = ?3, owner = ?4 WHERE event_id = ?1`)
)

// ClaimLookups takes up to n look-ups that are due, the longest due first, each with its event whole.
// They are due again after the lease unless they end before.
// One whose event cannot be read any more is given up here.
func (s *Store) ClaimLookups(ctx context.Context, now time.Time, lease time.Duration, n int) ([]messaging.PendingLookup, error) {
	if lease <= 0 {
		return nil, errors.New("claim look-ups: needs a lease")
	}
	if _, review := s.InReview(); n <= 0 || review { // what comes of one may have been sent: see markPlannedInDoubt
		return nil, nil
	}
	var got []messaging.PendingLookup
	err := s.Write(ctx, commit.LaneWork, func(t *Tx) error {
		got = got[:0]
		err := t.Query(dueLookupsSQL, func(r *engine.Row) error {
			got = append(got, scanLookup(r))
			return nil
		}, engine.Micro(now), int64(n))
		if err != nil {
			return err
		}
		for i := range got {
			l := &got[i]
			l.Attempt++
			l.UnderWay, l.NextAt = true, engine.Moment(engine.Micro(now.Add(lease)))
			if err := t.Put(claimLookupSQL, int64(l.EventID), int64(l.Attempt), engine.Micro(l.NextAt), s.calls.Owner()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("claim look-ups: %w", err)
	}
	out := got[:0]
	var errs []error
	for _, l := range got {
		if l.Event, err = s.Event(ctx, l.EventID); err == nil {
			out = append(out, l)
		} else if ctx.Err() == nil {
			errs = append(errs, s.dropLookup(ctx, &l, err))
		}
	}
	if err := errors.Join(errs...); err != nil && len(out) == 0 {
		return nil, fmt.Errorf("claim look-ups: %w", err)
	}
	return out, nil
}

var endLookupSQL = engine.SQL(`DELETE FROM lookups WHERE event_id = ?1 AND attempts = ?2 AND lease_ends > 0`)

// dropLookup ends a look-up whose event is gone or broken, and reports that.
func (s *Store) dropLookup(ctx context.Context, l *messaging.PendingLookup, why error) error {
	err := s.Write(context.WithoutCancel(ctx), commit.LaneWork, func(t *Tx) error {
		return t.Put(endLookupSQL, int64(l.EventID), int64(l.Attempt))
	})
	return errors.Join(why, err)
}

var retryLookupSQL = engine.SQL(`UPDATE lookups SET attempts = ?3, due_at = ?4, lease_ends = 0, owner = '', reason = ?5 WHERE event_id = ?1 AND attempts = ?2 AND lease_ends > 0`)

// RetryLookup puts a claimed look-up off. ErrClaimLost when it is not claimed by that attempt
// any more.
func (s *Store) RetryLookup(ctx context.Context, r messaging.LookupRetry) error {
	err := s.Write(ctx, commit.LaneWork, func(t *Tx) error {
		attempts := int64(r.Attempt)
		if r.Free {
			attempts--
		}
		at := max(engine.Micro(r.At), 1)
		n, err := t.Exec(retryLookupSQL, int64(r.EventID), int64(r.Attempt), attempts, at, CutReason(r.Reason))
		if err == nil && n == 0 {
			err = commit.NoWrite{Err: messaging.ErrClaimLost}
		}
		if err != nil {
			return err
		}
		t.wakeEnricher(at)
		return nil
	})
	return Wrap(err, "put off the look-up of event %d", r.EventID)
}

// Complete plans a stored event whose look-up has ended, well or not: what was found becomes
// part of the event, the proposals are settled as Accept does it, and the look-up goes away, all
// in one commit. A cancelling proposal that was settled when the event was accepted is not settled
// again. ErrClaimLost, and nothing is stored, when l is not claimed by that attempt any more:
// somebody else has it, or has ended it.
func (s *Store) Complete(ctx context.Context, l messaging.PendingLookup, plan messaging.Plan) (messaging.Receipt, error) {
	var ready encodedPlan
	if err := ready.prepare(&plan, s.hash); err != nil {
		return messaging.Receipt{}, err
	}
	var receipt messaging.Receipt
	err := s.Write(ctx, commit.LaneWork, func(t *Tx) (err error) {
		receipt = messaging.Receipt{}
		if err := t.lockPlans(&ready); err != nil {
			return err
		}
		n, err := t.Exec(endLookupSQL, int64(l.EventID), int64(l.Attempt))
		if err == nil && n == 0 {
			err = commit.NoWrite{Err: messaging.ErrClaimLost}
		}
		if err != nil {
			return err
		}
		defer t.foreseen.clear()
		receipt, err = t.complete(&l, &ready, s.settle)
		if err == nil {
			err = t.writeCancels()
		}
		if err == nil {
			err = t.markPlannedInDoubt(&plan.Event, l.EventID, receipt.Decisions)
		}
		return err
	})
	if err == nil && s.observer.Accepted != nil {
		s.observer.Accepted(plan, receipt)
	}
	return receipt, Wrap(err, "plan event %d after its look-up", l.EventID)
}

var (
	enrichEventSQL = engine.SQL(`UPDATE events SET phone = ?2, phone_problem = ?3, content_type = ?4, content = ?5 WHERE id = ?1`)
	saidSQL        = engine.SQL(`SELECT trigger_name, key FROM decisions WHERE event_id = ?1 ORDER BY number`)
)

// complete writes what was found into the event and settles its proposals.
func (t *Tx) complete(l *messaging.PendingLookup, p *encodedPlan, settle Settle) (messaging.Receipt, error) {
	id, e := l.EventID, &p.plan.Event
	if at, _, _, err := t.everForgotten(e.Contact.Phone); err != nil {
		return messaging.Receipt{}, err
	} else if at > 0 && at >= engine.Micro(e.ReceivedAt) {
		return t.completeForgotten(id)
	}
	newPhone := l.Event.Contact.Phone == "" && e.Contact.Phone != ""
	err := t.Put(enrichEventSQL, int64(id), string(e.Contact.Phone), e.Contact.PhoneProblem, e.ContentType, p.packed)
	if err == nil {
		err = t.Put(unreadSQL, int64(id))
	}
	if err == nil && newPhone {
		err = t.peers.Remember(t.Tx, peers.Key{Part: peers.PhonesOfEvents, Hash: p.byPhone, ID: int64(id)}, false)
	}
	if err != nil {
		return messaging.Receipt{}, fmt.Errorf("event: %w", err)
	}
	if err := t.tellsConsent(e, id); err != nil {
		return messaging.Receipt{}, err
	}
	t.eventPlanned(e, p.plan.Unused, int64(id))
	type cancelled struct{ trigger, key string }
	done := map[cancelled]bool{}
	last := int64(0)
	err = t.Query(saidSQL, func(r *engine.Row) error {
		done[cancelled{r.Text(), r.Text()}] = true
		last++
		return r.Err
	}, int64(id))
	if err != nil {
		return messaging.Receipt{}, fmt.Errorf("decisions: %w", err)
	}
	receipt := messaging.Receipt{EventID: id}
	for i := range p.proposals {
		d := &p.plan.Proposals[i].Decision
		if (d.Outcome == messaging.Cancelling || wants(d.Outcome)) && done[cancelled{d.Trigger, d.Key}] {
			if d.Outcome != messaging.Cancelling || d.Key == "" || !newPhone {
				continue
			}
			if more, err := t.cancelsByPerson(p, i, id); err != nil || !more {
				if err != nil {
					return messaging.Receipt{}, fmt.Errorf("trigger %s: %w", d.Trigger, err)
				}
				continue
			}
		}
		decided, err := t.decide(p, i, id, settle)
		if err == nil {
			last++
			err = t.insertDecision(last, &decided, p.proposals[i].clauses)
		}
		if err != nil {
			return messaging.Receipt{}, fmt.Errorf("trigger %s: %w", d.Trigger, err)
		}
		receipt.Decisions = append(receipt.Decisions, decided)
	}
	return receipt, nil
}

// cancelsByPerson reports whether a cancellation by key, which was carried out when its event came, ends something more now that
// it is known whose it is: what of that phone has no key. If there is nothing, it is remembered for what comes.
func (t *Tx) cancelsByPerson(p *encodedPlan, i int, id messaging.EventID) (more bool, err error) {
	proposal, ready := &p.plan.Proposals[i], &p.proposals[i]
	facts, err := t.facts(proposal, ready)
	if err != nil {
		return false, err
	}
	more = slices.ContainsFunc(facts.Waiting, func(w messaging.Waiting) bool { return w.ByPerson }) ||
		slices.ContainsFunc(facts.Open, func(o messaging.Open) bool { return o.ByPerson })
	if !more && proposal.Forget.After(proposal.Decision.At) {
		err = t.recordTombstone(proposal, ready, id, &p.plan.Event)
	}
	return more, err
}

// completeForgotten ends the look-up of an event whose contact was forgotten since it came: what was found is not kept, and nothing is
// planned, also where the contact was allowed again.
func (t *Tx) completeForgotten(id messaging.EventID) (messaging.Receipt, error) {
	if err := t.EraseEvent(int64(id)); err != nil {
		return messaging.Receipt{}, fmt.Errorf("event: %w", err)
	}
	d := messaging.Decision{EventID: id, Trigger: messaging.Erasure, Outcome: messaging.Skipped, Reason: "plans nothing: the contact was forgotten while it was looked up", At: engine.Moment(t.At)}
	if err := t.sayLater(&d, ""); err != nil {
		return messaging.Receipt{}, err
	}
	return messaging.Receipt{EventID: id, Decisions: []messaging.Decision{d}}, nil
}

// NextLookup is when the next look-up is due, past or future; ok is false when none waits.
func (s *Store) NextLookup(ctx context.Context) (at time.Time, ok bool, err error) {
	if _, review := s.InReview(); review {
		return at, false, nil
	}
	at, ok, err = s.Earliest(ctx, `SELECT due_at FROM lookups ORDER BY due_at LIMIT 1`)
	return at, ok, Wrap(err, "next look-up")
}

const lookupColumns = `event_id, connector, attempts, due_at, lease_ends, received_at, reason`

func scanLookup(r *engine.Row) messaging.PendingLookup {
	return messaging.PendingLookup{
		EventID: messaging.EventID(r.Int()), Connector: r.Text(), Attempt: int(r.Int()), NextAt: r.Time(),
		UnderWay: r.Int() != 0, Since: r.Time(), Reason: r.Text(),
	}
}

// addLookups tells of those events that wait to be looked up.
func (s *Store) addLookups(ctx context.Context, ids []messaging.EventID, at map[messaging.EventID]*EventRow) error {
	for some := range slices.Chunk(ids, engine.PerList) {
		err := s.Rows(ctx, `SELECT `+lookupColumns+` FROM lookups WHERE event_id IN `+engine.In(some), nil, func(r *engine.Row) error {
			l := scanLookup(r)
			at[l.EventID].Lookup = &l
			return nil
		})
		if err != nil {
			return fmt.Errorf("look-ups: %w", err)
		}
	}
	return nil
}
