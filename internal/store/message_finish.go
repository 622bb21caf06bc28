package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/labels"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// maxAnswer is how much of a raw answer is kept, in bytes.
const maxAnswer = 4 << 10

// Finish records how a claimed send ended, outcome and message row in one commit. It counts
// only while the attempt's owner and number still hold the claim; else nothing is changed
// and the error is ErrClaimLost.
//
// One exception: a claim that lapsed meanwhile (the message is in doubt, or waits to be sent
// again) is still settled by a definite late answer of the same attempt, accepted or
// rejected, because knowing is better than doubt and keeps a second send from leaving. So does one
// in doubt wait again where the same attempt was surely not taken.
func (s *Store) Finish(ctx context.Context, a messaging.Attempt) error {
	if err := checkAttempt(&a); err != nil {
		return err
	}
	var err error
	if pause, probed := s.holdProbedBy(a.MessageID); probed || a.Class == messaging.ErrorTemplate || a.Refused != "" {
		err = s.finishAndPause(ctx, &a, pause, func(t *Tx) error {
			lost, err := t.finishAll([]*messaging.Attempt{&a})
			return cmp.Or(err, lost[0])
		})
	} else {
		err = s.writeSet(ctx, commit.LaneWork, s.finishes, int64(a.MessageID), &a)
	}
	if err != nil {
		return fmt.Errorf("finish message %d, attempt %d: %w", a.MessageID, a.Number, err)
	}
	return observe(nil, s.observer.Finished, a)
}

// checkAttempt refuses what no sender may say, and gives silent outcomes words.
func checkAttempt(a *messaging.Attempt) error {
	if a.Owner == "" || a.Number < 1 || a.At.IsZero() {
		return fmt.Errorf("finish message %d: needs the claim's owner and number, and the time", a.MessageID)
	}
	a.Answer = plain.Cut(a.Answer, maxAnswer)
	var words string
	switch a.State {
	case messaging.StateAccepted, messaging.StateWaiting:
	case messaging.StateRejected:
		words = "the service gave no reason"
	case messaging.StateInDoubt:
		words = "the answer did not come; it may have been sent"
	case messaging.StateDropped:
		words = "given up by the sender"
	default:
		return fmt.Errorf("finish message %d: no attempt ends as %q", a.MessageID, a.State)
	}
	if a.Reason == "" {
		a.Reason = words
	}
	if a.Message != nil && a.State != messaging.StateAccepted {
		return errors.New("finish: only an accepted attempt has what the service took")
	}
	return nil
}

// endCall writes how a call ended, and what the service said where it took the message.
const endCall = `UPDATE messages SET state = ?4, reason = ?5, updated_at = ?6, lease_ends = 0, ` + stored.EndSend + `, message_id = ?7, status = ?8, error = ?9, error_class = ?10,
		accepted_at = ?11, status_at = ?12, told_at = ?13, next_poll_at = ?14, polls = ?15, sent_at = ?16, delivered_at = ?17, read_at = ?18, failed_at = ?19`

var (
	// An owner stays on a message in doubt, so that the late answer of the same attempt is known.
	finishSQL = engine.SQL(endCall + `
		WHERE id = ?1 AND state{{checked}} = 'sending' AND owner = ?2 AND attempt = ?3 RETURNING ` + labels.Columns)
	finishLateSQL = engine.SQL(endCall + `
		WHERE id = ?1 AND state{{checked}} IN ('in_doubt', 'waiting') AND owner = ?2 AND attempt = ?3 RETURNING ` + labels.Columns)
)

// finishAll ends claims. lost says of each that its attempt does not hold it any more.
func (t *Tx) finishAll(all []*messaging.Attempt) (lost []error, err error) {
	lost = make([]error, len(all))
	of := make([]*labels.Labels, len(all)) // nil of what is not held
	messages := make([]messaging.Message, len(all))
	waits := make([]messaging.Message, len(all))
	var ended, late, again []int
	for i, a := range all {
		accepted(&messages[i], a)
		if a.State == messaging.StateWaiting {
			again = append(again, i)
		} else {
			ended = append(ended, i)
		}
	}
	end := func(s *engine.Statement, some []int) error {
		args := make([][]any, len(some))
		for n, i := range some {
			a := all[i]
			args[n] = append([]any{int64(a.MessageID), a.Owner, int64(a.Number), string(a.State), a.Reason, engine.Micro(a.At)}, serviceArgs(&messages[i])...)
		}
		return t.QueryMany(s, args, func(n int, r *engine.Row) error {
			p := labels.Scan(r)
			of[some[n]] = &p
			return r.Err
		})
	}
	if err = end(finishSQL, ended); err != nil {
		return lost, err
	}
	for _, i := range ended {
		if of[i] == nil && (all[i].State == messaging.StateAccepted || all[i].State == messaging.StateRejected) {
			late = append(late, i)
		}
	}
	if err = end(finishLateSQL, late); err != nil {
		return lost, err
	}
	ids := make([][]any, len(again))
	for n, i := range again {
		ids[n] = []any{int64(all[i].MessageID)}
	}
	err = t.QueryMany(MessageSQL, ids, func(n int, r *engine.Row) error { waits[again[n]], _ = stored.ScanMessage(r); return r.Err })
	for i, a := range all {
		if err != nil {
			return lost, err
		}
		held, phone, test := of[i] != nil, waits[i].Phone, waits[i].Test != ""
		if a.State == messaging.StateWaiting {
			held, err = t.finishWaiting(a, &waits[i])
		} else if held {
			phone, test = of[i].Phone, of[i].Test
			err = t.finished(a, of[i], &messages[i])
		}
		switch {
		case err != nil:
		case !held:
			lost[i] = commit.NoWrite{Err: messaging.ErrClaimLost}
		case a.Words != "" || a.Class != messaging.ErrorUnknown:
			err = t.applyErrorText(a, phone, test)
		}
	}
	return lost, err
}

// finished writes what follows from the end of a claim, but for one that waits again. m is what the service took.
func (t *Tx) finished(a *messaging.Attempt, p *labels.Labels, m *messaging.Message) error {
	t.messageState(a.MessageID, p, a.State, a.Reason, a.DroppedBy, a.Class)
	plain := a.State == messaging.StateAccepted && a.Reason == "" && a.Message != nil && a.Message.Tracked()
	if !plain {
		ended := *a
		if a.Doubtful { // the message is dropped, and what was lost is the attempt's answer: it may never go again
			ended.State = messaging.StateInDoubt
			t.mayHaveArrived(p, engine.Micro(a.At))
		}
		if err := t.insertAttempt(&ended); err != nil {
			return err
		}
	}
	if a.Decision != nil {
		if err := t.addStepDecision(a.Decision); err != nil {
			return err
		}
	}
	if a.State != messaging.StateAccepted {
		return nil
	}
	t.messageTaken(m, p, true)
	return nil
}

// finishWaiting records a claim whose message waits again, if nothing keeps it from that. held is false where it was lost.
func (t *Tx) finishWaiting(a *messaging.Attempt, d *messaging.Message) (held bool, err error) {
	late := d.State == messaging.StateInDoubt && !a.Doubtful && !d.Forgotten() // what is not kept cannot be sent any more
	held = d.State == messaging.StateSending && d.Owner == a.Owner && d.Attempt == a.Number
	if late && d.Attempt == a.Number { // it was not in doubt after all, and must not count as sent
		var n int64
		n, err = t.Exec(undoAttemptSQL, int64(d.ID), int64(a.Number), a.Owner)
		held = n > 0 // it was this owner's
	}
	if err != nil || !held {
		return held, err
	}
	due := engine.Micro(a.RetryAt)
	if due == 0 {
		due = engine.Micro(a.At)
	}
	expires := d.ExpiresAt
	if a.PutOff && !expires.IsZero() {
		expires = expires.Add(engine.Moment(due).Sub(d.DueAt))
	}
	state, err := t.requeueMessage(d, requeue{reason: a.Reason, due: due, expires: engine.Micro(expires), at: engine.Micro(a.At), doubtful: a.Doubtful, anew: a.PutOff, called: a.Called, class: a.Class})
	if err != nil {
		return false, err
	}
	ended := *a
	if a.Doubtful { // it waits again, and this attempt stays in doubt: whatever ends the message, the phone may have it
		ended.State, ended.Reason = messaging.StateInDoubt, d.Reason
	}
	if state != messaging.StateWaiting {
		ended.RetryAt = time.Time{}
	}
	return true, t.insertAttempt(&ended)
}

var insertAttemptSQL = engine.SQL(`INSERT INTO attempts (message, number, state, owner, reason, answer, retry_at, at, words, error_class)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`)

func (t *Tx) insertAttempt(a *messaging.Attempt) error {
	err := t.Put(insertAttemptSQL, int64(a.MessageID), int64(a.Number), string(a.State), a.Owner, a.Reason, a.Answer, engine.Micro(a.RetryAt), engine.Micro(a.At), a.Words, string(a.Class))
	if err != nil {
		return fmt.Errorf("attempt %d: %w", a.Number, err)
	}
	return nil
}

// accepted makes m the message that an attempt led to, as it is first stored; without a message_id it cannot be followed, and its status says so.
// It stays empty where the service did not take it.
func accepted(m *messaging.Message, a *messaging.Attempt) {
	if a.State != messaging.StateAccepted {
		return
	}
	if a.Message != nil {
		*m = *a.Message
	}
	m.ID, m.Reason = a.MessageID, a.Reason
	m.BeginStatus(a.At)
}

// serviceArgs are stored.ServiceColumns of a message.
func serviceArgs(m *messaging.Message) []any {
	return []any{
		string(m.ServiceID), string(m.Status), m.Error, string(m.ErrorClass), engine.Micro(m.AcceptedAt), engine.Micro(m.StatusAt), engine.Micro(m.ToldAt), engine.Micro(m.NextPollAt), int64(m.Polls),
		engine.Micro(m.SentAt), engine.Micro(m.DeliveredAt), engine.Micro(m.ReadAt), engine.Micro(m.FailedAt),
	}
}

// CutReason is words as they are kept beside what they are about.
func CutReason(words string) string { return plain.Cut(words, maxReason) }
