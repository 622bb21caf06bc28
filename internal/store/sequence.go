package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// A trigger with steps stores a message for each of them when its event comes, and beside it what is
// asked of it when it falls due (decision 3). All of them have the correlation key of the trigger, so what
// cancels, blocks, halts or pauses a message does so to what is left of a sequence with no rule of its
// own.

// A readyStep is a step with all that can be worked out before the commit.
type readyStep struct {
	encodedSend
	conditions string
}

func (r *readyProposal) prepareSteps(steps []messaging.PlannedStep) error {
	r.steps = make([]readyStep, len(steps))
	for i := range steps {
		d := &steps[i].Message
		conditions, err := json.Marshal(steps[i].Rule.If)
		if err == nil && d.DueAt.IsZero() {
			err = errNoDueTime
		}
		if err != nil {
			return fmt.Errorf("step %d: %w", d.Step, err)
		}
		r.steps[i] = readyStep{readySending(&d.Send), string(conditions)}
	}
	return nil
}

var insertStepSQL = engine.SQL(`INSERT INTO steps (message, sequence, steps, conditions, wait, passed) VALUES (?1, ?2, ?3, ?4, ?5, 0)
		ON CONFLICT (message) DO UPDATE SET steps = excluded.steps, conditions = excluded.conditions, wait = excluded.wait`)

// carrySteps stores all steps of a proposal, or renews what waits of its sequence. It returns the
// first of the messages that hold the event's content, and the others.
func (t *Tx) carrySteps(w *messaging.Proposal, ready *readyProposal, event messaging.EventID, done *messaging.Settlement) (first messaging.MessageID, later []messaging.MessageID, err error) {
	clear(t.foreseen.sequences) // they are read again
	renew, sequence := done.Renew, done.Sequence
	if done.Insert {
		for i := range w.Steps {
			renew = append(renew, messaging.Renewal{Step: i, DueAt: w.Steps[i].Message.DueAt})
		}
	}
	for _, one := range renew {
		d, id := &w.Steps[one.Step].Message, one.ID
		what := &ready.steps[one.Step]
		if id != 0 {
			err = t.restart(w, ready, what.encodedSend, d, event, id, one.DueAt)
		} else {
			id, err = t.insertMessage(w, ready, what.encodedSend, d, event)
		}
		if err != nil {
			return 0, nil, fmt.Errorf("step %d: %w", d.Step, err)
		}
		if sequence == 0 {
			sequence = id
		}
		rule := &w.Steps[one.Step].Rule
		if err := t.Put(insertStepSQL, int64(id), int64(sequence), int64(rule.Of), what.conditions, rule.Wait); err != nil {
			return 0, nil, fmt.Errorf("step %d: %w", d.Step, err)
		}
		if first == 0 {
			first = id
		} else {
			later = append(later, id)
		}
	}
	return first, later, nil
}

var sequenceSQL = engine.SQL(`SELECT s.sequence, s.message, d.step FROM steps s JOIN messages d ON d.id = s.message
		WHERE s.sequence = (SELECT sequence FROM steps WHERE message = ?1) ORDER BY s.message`)

// sequenceOf is the sequence of a message; nil where it is no step.
func (t *Tx) sequenceOf(id messaging.MessageID) (found *messaging.Sequence, err error) {
	err = t.Query(sequenceSQL, func(r *engine.Row) (err error) { found, err = scanSequence(found, r); return err }, int64(id))
	return found, Wrap(err, "sequence of message %d", id)
}

// scanSequence takes in a step.
func scanSequence(found *messaging.Sequence, r *engine.Row) (*messaging.Sequence, error) {
	if found == nil {
		found = &messaging.Sequence{}
	}
	found.ID = messaging.MessageID(r.Int())
	found.Steps = append(found.Steps, messaging.SequenceStep{ID: messaging.MessageID(r.Int()), Step: int(r.Int())})
	return found, r.Err
}

// withoutSequence leaves out of the facts what the sequence of a step itself did: that later steps wait, and
// that earlier ones were sent, is nothing against sending a step again.
func (t *Tx) withoutSequence(d *messaging.Message, f *messaging.Facts) error {
	own, err := t.sequenceOf(d.ID)
	if err != nil || own == nil {
		return err
	}
	step := func(id messaging.MessageID) int {
		at := slices.IndexFunc(own.Steps, func(one messaging.SequenceStep) bool { return one.ID == id })
		if at < 0 {
			return 0
		}
		return own.Steps[at].Step
	}
	f.Waiting = slices.DeleteFunc(f.Waiting, func(one messaging.Waiting) bool { return step(one.ID) > d.Step })
	if f.Sequence = nil; f.Last != nil && step(f.Last.ID) > 0 && step(f.Last.ID) < d.Step {
		f.Last = nil
	}
	return nil
}

var passStepSQL = engine.SQL(`UPDATE steps SET passed = 1 WHERE message = ?1`)

// addStepDecision adds what was decided of a step at its due moment to what is said about its event.
func (t *Tx) addStepDecision(d *messaging.Decision) error {
	clauses, err := stored.EncodeList(d.Clauses)
	if err == nil {
		err = t.sayLater(d, clauses)
	}
	if err == nil && d.Outcome == messaging.Skipped {
		err = t.Put(passStepSQL, int64(d.MessageID))
	}
	t.decided(d, &messaging.Contact{}, "")
	return Wrap(err, "decision of a step")
}

// StepFacts are what is known about a message that is a step of a sequence, for the look before
// it is sent. ErrNotFound when it is none.
func (s *Store) StepFacts(ctx context.Context, d *messaging.Message) (f messaging.StepFacts, err error) {
	sequence := int64(0)
	err = s.Rows(ctx, `SELECT sequence, steps, conditions, wait FROM steps WHERE message = ?1`, []any{int64(d.ID)}, func(r *engine.Row) error {
		sequence, f.Rule.Of = r.Int(), int(r.Int())
		conditions := r.Text()
		f.Rule.Wait = r.Text()
		return json.Unmarshal([]byte(conditions), &f.Rule.If)
	})
	if err == nil && sequence == 0 {
		err = messaging.ErrNotFound
	}
	if err == nil {
		err = s.stepsBefore(ctx, sequence, d.Step, &f)
	}
	if err == nil && len(f.Rule.If) > 0 {
		var e messaging.Event
		e, err = s.Event(ctx, d.EventID)
		f.Event = &e
	}
	return f, Wrap(err, "step %d (message %d)", d.Step, d.ID)
}

// stepsBefore fills in what became of the steps before one.
func (s *Store) stepsBefore(ctx context.Context, sequence int64, step int, f *messaging.StepFacts) error {
	known := false // a step that was not passed over is found
	return s.Rows(ctx, `SELECT d.step, d.state, d.due_at, d.updated_at, d.claimed_at, s.passed, d.status, d.accepted_at,
			CASE WHEN d.status = '' THEN coalesce((SELECT a.error_class FROM attempts a WHERE a.message = d.id ORDER BY a.number DESC LIMIT 1), '') ELSE d.error_class END
		FROM steps s JOIN messages d ON d.id = s.message
		WHERE s.sequence = ?1 AND d.step < ?2 ORDER BY d.step DESC, d.id DESC`, []any{sequence, int64(step)}, func(r *engine.Row) error {
		b := messaging.StepBefore{Step: int(r.Int()), State: messaging.State(r.Text()), DueAt: r.Time()}
		updated, claimed, passed := r.Time(), r.Time(), r.Int() == 1
		p := messaging.Previous{Status: string(b.State)}
		status, accepted := r.Text(), r.Time()
		p.ErrorClass = r.Text()
		switch b.State {
		case messaging.StateAccepted:
			p.SentAt, p.Status = accepted, status
			b.EndedAt = accepted
		case messaging.StateInDoubt:
			p.SentAt, b.EndedAt = claimed, claimed
		case messaging.StateWaiting, messaging.StateSending:
		default:
			b.EndedAt = updated
		}
		if f.Before == nil {
			f.Before, f.Previous = &b, p
		}
		if !known && !passed {
			known, f.Previous = true, p
		}
		return nil
	})
}

// addSteps fills in of how many steps each message is one, and what is asked of it.
func (s *Store) addSteps(ctx context.Context, ids []messaging.MessageID, at map[messaging.MessageID]*MessageStory) error {
	err := s.Rows(ctx, `SELECT message, steps, conditions, wait FROM steps WHERE message IN `+engine.In(ids), nil, func(r *engine.Row) error {
		d := at[messaging.MessageID(r.Int())]
		rule := &messaging.StepRule{Of: int(r.Int())}
		conditions := r.Text()
		rule.Wait = r.Text()
		if d.Step > 0 {
			d.Rule = rule
		}
		return json.Unmarshal([]byte(conditions), &rule.If)
	})
	return Wrap(err, "steps")
}
