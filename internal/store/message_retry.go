package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
)

// A Retry asks for messages that events caused and that surely did not reach the phone to be sent
// once more.
type Retry struct {
	Filter MessageFilter         // State rejected or dropped, or Status failed; with Of any
	Of     []messaging.MessageID // these alone; nil is all that match
	Now    time.Time
	DryRun bool

	// OfClass reports whether a message goes, by what the service said of it and the class that this had
	// then; nil is all.
	OfClass func(words string, then messaging.ErrorClass) (is bool, class messaging.ErrorClass)
	Ended   time.Time     // only what had ended by then; zero is whenever
	Expires time.Duration // what is not sent within that is dropped; 0 is as long as it had at first
}

// An Again is whether a message may be sent once more, and why: what ended it, or what is against it.
type Again struct {
	ID   messaging.MessageID
	Goes bool
	Why  string
}

// Retry queues each message that matches once more, as a message of its own with a fresh expiry, and
// counts what went and what did not by why, most first. The rules are those of rows of runs
// (RunRow.MayGoAgain) and the table that holds each message to one successor is theirs, so nothing
// goes twice however often it is asked for. Beyond that it must still make sense: its trigger sends,
// no event cancelled it, and no later message of it waits or went.
func (s *Store) Retry(ctx context.Context, q Retry) (went, stayed []Tally, err error) {
	all, err := s.RetryEach(ctx, q)
	counts := map[Again]int64{}
	for _, one := range all {
		counts[Again{Goes: one.Goes, Why: one.Why}]++
	}
	for e, n := range counts {
		if e.Goes {
			went = append(went, Tally{e.Why, n})
		} else {
			stayed = append(stayed, Tally{e.Why, n})
		}
	}
	most := func(a, b Tally) int { return int(b.N - a.N) }
	slices.SortFunc(went, most)
	slices.SortFunc(stayed, most)
	return went, stayed, err
}

// RetryEach is Retry, and says it of each message, the oldest first. What pages tell before anybody asks for a retry is a dry run of it.
func (s *Store) RetryEach(ctx context.Context, q Retry) ([]Again, error) {
	f := q.Filter
	f.OfEvents = len(q.Of) == 0
	selected, err := s.where(ctx, f)
	if err != nil {
		return nil, err
	}
	if len(q.Of) > 0 {
		selected.And("id IN " + engine.In(q.Of))
	}
	ends := map[messaging.MessageID]Again{} // by number: a batch that is undone runs again
	_, err = s.changeEach(ctx, selected, f.State, func(t *Tx, d *messaging.Message) (bool, error) {
		if s.settle == nil {
			return false, errors.New("the store was opened without Options.Settle")
		}
		goes, why, err := t.again(d.ID, &q, s)
		ends[d.ID] = Again{d.ID, goes, why}
		return goes, err
	})
	out := make([]Again, 0, len(ends))
	for _, id := range slices.Sorted(maps.Keys(ends)) {
		out = append(out, ends[id])
	}
	return out, Wrap(err, "retry messages")
}

// again queues a message once more by a person's order, or says why not.
func (t *Tx) again(id messaging.MessageID, q *Retry, s *Store) (goes bool, why string, err error) {
	if why, err := t.notMeant(id, q); err != nil || why != "" {
		return false, why, err
	}
	d, _, why, err := t.mayGoAgain(id)
	if err != nil || d == nil {
		return false, why, err
	}
	if d.EventID == 0 {
		return false, "is a row of a run, and goes again with that (jobs retry)", nil
	}
	expires := time.Time{}
	if q.Expires > 0 {
		expires = q.Now.Add(q.Expires)
	} else if !d.ExpiresAt.IsZero() {
		expires = q.Now.Add(d.ExpiresAt.Sub(d.DueAt))
	}
	d.Tries = 0
	against, err := t.enqueueEventRetry(d, q.Now, q.Now, expires, s, q.DryRun)
	if err != nil || against != "" {
		return false, against, err
	}
	return true, why, nil
}

// What the service said last: of an attempt, or of the message that it took.
var lastWordsSQL = engine.SQL(`SELECT updated_at, coalesce((SELECT a.words FROM attempts a WHERE a.message = ?1 ORDER BY a.number DESC LIMIT 1), ''),
			coalesce((SELECT a.error_class FROM attempts a WHERE a.message = ?1 ORDER BY a.number DESC LIMIT 1), '') FROM messages WHERE id = ?1 AND status = ''
		UNION ALL SELECT status_at, error, error_class FROM messages WHERE id = ?1 AND status <> ''`)

// notMeant says why an order is not about a message, "" where it is.
func (t *Tx) notMeant(id messaging.MessageID, q *Retry) (why string, err error) {
	if q.OfClass == nil && q.Ended.IsZero() {
		return "", nil
	}
	var ended time.Time
	var words string
	var class messaging.ErrorClass
	err = t.Query(lastWordsSQL, func(r *engine.Row) error {
		ended, words, class = r.Time(), r.Text(), messaging.ErrorClass(r.Text())
		return r.Err
	}, int64(id))
	if err != nil {
		return "", err
	}
	if q.OfClass != nil {
		if is, class := q.OfClass(words, class); !is {
			return "is of class " + class.Words(), nil
		}
	}
	if !q.Ended.IsZero() && ended.After(q.Ended) {
		return "ended too lately", nil
	}
	return "", nil
}

var (
	retryStepSQL = engine.SQL(`INSERT INTO steps (message, sequence, steps, conditions, wait, passed)
		SELECT ?2, sequence, steps, conditions, wait, 0 FROM steps WHERE message = ?1`)
	enqueueRetrySQL = engine.SQL(`INSERT INTO messages (id, replaces, event_id, event_at, trigger_name, correlation_key, correlation, phone, category, send, state,
			due_at, expires_at, created_at, updated_at, config, ended_send, zone, step, account, tries, sent_as)
		SELECT ?2, id, event_id, event_at, trigger_name, correlation_key, correlation, phone, category, send, 'waiting',
			?5, ?4, ?3, ?3, config, ended_send, zone, step, account, ?6, sent_as FROM messages WHERE id = ?1`)
	eventAtSQL = engine.SQL(`SELECT event_at FROM messages WHERE id = ?1`)
)

// enqueueEventRetry queues a message that an event caused once more if that still makes sense, or says
// what is against it.
func (t *Tx) enqueueEventRetry(d *messaging.Message, now, due, expires time.Time, s *Store, dry bool) (against string, err error) {
	if d.Trigger != messaging.ByHand && !s.sendsBy(d.Trigger) {
		return "its trigger does not send by the present config", nil
	}
	var eventAt int64
	if err := t.Query(eventAtSQL, func(r *engine.Row) error { eventAt = r.Int(); return nil }, int64(d.ID)); err != nil {
		return "", err
	}
	proposal := messaging.Proposal{
		Decision:    messaging.Decision{Trigger: d.Trigger, Outcome: messaging.Planned, At: now},
		Correlation: messaging.Correlation{Trigger: d.Trigger, Key: d.Key, Phone: d.Phone},
		Message:     messaging.Message{DueAt: now}, EventAt: engine.Moment(eventAt),
		OnRepeat: messaging.OnRepeat{Mode: messaging.Ignore}, Cooldown: messaging.Cooldown{Mode: messaging.CooldownOnce},
	}
	var ready readyProposal
	ready.find(&proposal, s.hash)
	if err := t.peers.Lock(t.Tx, ready.hashes(nil), nil); err != nil {
		return "", err
	}
	defer t.foreseen.clear()
	facts, err := t.facts(&proposal, &ready)
	if err != nil {
		return "", err
	}
	if d.Step > 0 {
		if err := t.withoutSequence(d, &facts); err != nil {
			return "", err
		}
	}
	if facts.Last != nil && facts.Last.ID <= d.ID {
		facts.Last = nil // what went before it was no reason against it then
	}
	if met := s.settle(proposal, facts); !met.Insert {
		if met.Outcome == messaging.Cancelled {
			return "an event that cancels it has come", nil
		}
		return "a later message for the same key waits, or was sent", nil // no names: whoever retries many counts them by this
	}
	if dry {
		return "", nil
	}
	next, err := t.allocate(numbers.Messages)
	if err != nil {
		return "", err
	}
	if err := t.Put(enqueueRetrySQL, int64(d.ID), next, engine.Micro(now), engine.Micro(expires), engine.Micro(due), int64(d.Tries)); err != nil {
		return "", err
	}
	if d.Step > 0 {
		if err := t.Put(retryStepSQL, int64(d.ID), next); err != nil {
			return "", err
		}
	}
	return "", t.queued(next, &ready, proposal.Correlation, d, engine.Micro(due))
}

// WithRetries adds to the numbers of messages those that took their places.
func (s *Store) WithRetries(ctx context.Context, ids []messaging.MessageID) ([]messaging.MessageID, error) {
	for from := 0; from < len(ids); {
		some := ids[from:min(len(ids), from+engine.PerList)]
		from += len(some)
		err := s.Rows(ctx, `SELECT id FROM messages WHERE replaces > 0 AND replaces IN `+engine.In(some), nil, func(r *engine.Row) error {
			if id := messaging.MessageID(r.Int()); !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}
