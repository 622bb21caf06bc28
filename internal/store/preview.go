package store

import (
	"context"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// A preview asks what the daemon itself would ask, and writes nothing: the facts by which Accept settles, and those of a claim.

// FactsOfPlan are what Accept would settle a plan by if it came now, for each proposal. repeats is the event that it would be a
// repetition of; 0 for none.
func (s *Store) FactsOfPlan(ctx context.Context, plan messaging.Plan) (repeats messaging.EventID, all []messaging.Facts, err error) {
	plan.Proposals = slices.Clone(plan.Proposals) // to prepare it may take out of it what is not kept
	var ready encodedPlan
	if err := ready.prepare(&plan, s.hash); err != nil {
		return 0, nil, err
	}
	err = s.Write(ctx, commit.LaneWork, func(t *Tx) (err error) {
		defer t.foreseen.clear()
		all = make([]messaging.Facts, len(plan.Proposals))
		repeats, err = t.repeats(&ready)
		for i := range plan.Proposals {
			if w := &plan.Proposals[i]; err == nil && settles(w.Decision.Outcome) {
				all[i], err = t.facts(w, &ready.proposals[i])
			}
		}
		return err
	})
	return repeats, all, Wrap(err, "what is stored about the event")
}

// FactsAtDue are what a claim at a time would know of a message that is not stored, as far as it is known now. said is what its event says of
// the contact's consent, which counts as it would once it is stored; the zero value is nothing.
func (s *Store) FactsAtDue(ctx context.Context, d messaging.Message, said messaging.ConsentRecord, rules messaging.DueRules, at time.Time) (f messaging.DueFacts, err error) {
	phones := []messaging.Phone{d.Phone}
	blocked, err := s.Blocked(ctx, phones)
	if err != nil {
		return f, err
	}
	forgetting, err := s.Redacting(ctx, phones)
	if err != nil {
		return f, err
	}
	err = s.Write(ctx, commit.LaneWork, func(t *Tx) error {
		a, found := atDue{hash: s.hash, now: at, rules: rules}, []claimed{{Message: d}}
		if _, err := a.asks(t, found); err != nil {
			return err
		}
		if err := a.readFacts(t, found); err != nil {
			return err
		}
		if err := a.facts(t, &found[0], nil); err != nil {
			return err
		}
		f = found[0].facts
		if said.Consent == "" {
			return nil
		}
		stored := messaging.ConsentRecord{}
		err := t.Query(consentSQL, func(r *engine.Row) error {
			stored.Consent, stored.At = messaging.Consent(r.Text()), r.Time()
			return r.Err
		}, string(d.Phone))
		if said.Overrules(stored) {
			f.Consent = said.Consent
		}
		return err
	})
	f.Blocked, f.Forgetting = blocked[d.Phone], forgetting[d.Phone]
	if h, held := s.Held(&d); held {
		f.Held = h.Why()
	}
	return f, Wrap(err, "what is known of the contact")
}
