package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// Changes that receivers under webhooks_out want to know are noted where they are made and written at the end of the same
// commit, a row for each receiver. Where nobody wants to know, nothing is written. What the row says beside the change is read
// from the message then.

// noted is a change on its way to the end of its commit.
type noted struct {
	to     []string // receivers
	kind   string
	change messaging.Change
	filled bool // nothing is left to be read from the message
}

// note notes a change if somebody wants to know it.
func (t *tx) note(about, word string, change messaging.Change, filled bool) {
	if t.tells == nil {
		return
	}
	if to := t.tells(about, word); len(to) > 0 {
		t.noted = append(t.noted, noted{to, about + "." + word, change, filled})
	}
}

var insertOutgoingSQL = statementOf(`INSERT INTO webhooks_out (id, receiver, subject, event_id, phone, kind, body, state, attempts, due_at, lease_ends, at, since, ended_at, reason)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'waiting', 0, ?8, 0, ?8, ?8, 0, '')`)

// writeNoted writes the changes that were noted, at the end of their commit.
func (t *tx) writeNoted() error {
	for i := range t.noted {
		n := &t.noted[i]
		c := &n.change
		if c.Message != 0 && !n.filled {
			if err := t.fillChange(c); err != nil {
				return err
			}
		}
		body, err := json.Marshal(c)
		if err != nil {
			return fmt.Errorf("webhooks out: %w", err)
		}
		subject := int64(c.Message)
		if c.Run != 0 && subject == 0 {
			subject = -int64(c.Run)
		}
		for _, receiver := range n.to {
			id, err := t.allocate(outgoingIDs)
			if err == nil {
				err = t.put(insertOutgoingSQL, id, receiver, subject, int64(c.Event), string(c.Phone), n.kind, string(body), t.at)
			}
			if err != nil {
				return fmt.Errorf("webhooks out: %w", err)
			}
			t.outs.note(receiver, t.at, t.at)
		}
	}
	return nil
}

var changeOfSQL = statementOf(`SELECT phone, trigger_name, event_id, run_id, step, account, sent_as FROM messages WHERE id = ?1`)

// fillChange adds what the message knows.
func (t *tx) fillChange(c *messaging.Change) error {
	return t.query(changeOfSQL, func(r *row) error {
		phone, name := r.phone(), r.text()
		c.Event, c.Run, c.Step, c.Account = messaging.EventID(r.int()), messaging.RunID(r.int()), int(r.int()), r.text()
		c.SentAs = r.text()
		if c.Phone == "" {
			c.Phone = phone
		}
		if c.Trigger = name; c.Event == 0 && name != messaging.ByHand {
			c.Trigger, c.Job = "", name
		}
		return nil
	}, int64(c.Message))
}

var (
	dueOutgoingSQL = statementOf(`SELECT id, subject, kind, body, at, since, attempts, due_at FROM webhooks_out
		WHERE receiver = ?1 AND state = 'waiting' AND due_at <= ?2 ORDER BY due_at, id LIMIT ?3 + 0 {{skip locked}}`)
	outgoingBeforeSQL = statementOf(`SELECT due_at FROM webhooks_out WHERE subject = ?1 AND subject <> 0 AND id < ?2 AND receiver = ?3 AND state = 'waiting' ORDER BY id DESC LIMIT 1`)
	holdOutgoingSQL   = statementOf(`UPDATE webhooks_out SET due_at = ?2 WHERE id = ?1 AND state{{checked}} = 'waiting' AND lease_ends = 0`)
	claimOutgoingSQL  = statementOf(`UPDATE webhooks_out SET attempts = ?2, due_at = ?3, lease_ends = ?3 WHERE id = ?1 AND state{{checked}} = 'waiting'`)
)

// ClaimOutgoing takes up to n changes that are due for a receiver, the longest due first; they are due again after the lease unless
// they end before. One whose message has an earlier one on its way to the same receiver waits for that.
func (s *Store) ClaimOutgoing(ctx context.Context, receiver string, now time.Time, lease time.Duration, n int) ([]messaging.Outgoing, error) {
	if lease <= 0 {
		return nil, errors.New("claim webhooks out: needs a lease")
	}
	if n <= 0 {
		return nil, nil
	}
	const looks = 16 // a look finds nothing but what waits for others, and moves it out of the way
	var got []messaging.Outgoing
	err := s.write(ctx, laneWork, func(t *tx) error {
		got = got[:0]
		until := micro(now.Add(lease))
		for range looks {
			type found struct {
				messaging.Outgoing
				subject int64
			}
			var due []found
			err := t.query(dueOutgoingSQL, func(r *row) error {
				o := found{Outgoing: messaging.Outgoing{ID: r.int(), Receiver: receiver}, subject: r.int()}
				o.Kind = r.text()
				body := r.text()
				o.At, o.Since, o.Attempt = r.time(), r.time(), int(r.int())+1
				due = append(due, o)
				return json.Unmarshal([]byte(body), &due[len(due)-1].Change)
			}, receiver, micro(now), int64(n-len(got)))
			if err != nil {
				return err
			}
			for i := range due {
				o := &due[i]
				before := int64(0)
				err := t.query(outgoingBeforeSQL, func(r *row) error { before = r.int(); return nil }, o.subject, o.ID, receiver)
				if err == nil && before != 0 {
					err = t.put(holdOutgoingSQL, o.ID, max(before, micro(now)+1))
				} else if err == nil {
					err = t.put(claimOutgoingSQL, o.ID, int64(o.Attempt), until)
					got = append(got, o.Outgoing)
				}
				if err != nil {
					return err
				}
			}
			if len(due) == 0 || len(got) == n {
				break
			}
		}
		return nil
	})
	return got, wrap(err, "claim webhooks out")
}

var (
	retryOutgoingSQL = statementOf(`UPDATE webhooks_out SET due_at = ?3, lease_ends = 0, reason = ?4
		WHERE id = ?1 AND attempts = ?2 AND state = 'waiting' AND lease_ends > 0`)
	endOutgoingSQL = statementOf(`UPDATE webhooks_out SET state = ?3, lease_ends = 0, ended_at = ?4, reason = ?5
		WHERE id = ?1 AND attempts = ?2 AND state = 'waiting' AND lease_ends > 0`)
	outgoingSQL     = statementOf(`SELECT receiver, subject FROM webhooks_out WHERE id = ?1`)
	nextOutgoingSQL = statementOf(`UPDATE webhooks_out SET due_at = ?3 WHERE lease_ends = 0 AND due_at > ?3
		AND id = (SELECT min(id) FROM webhooks_out WHERE subject = ?1 AND subject <> 0 AND receiver = ?2 AND state = 'waiting') AND attempts = 0`)
	receiverWellSQL = statementOf(`INSERT INTO webhook_receivers (receiver, delivered_at, failed_at, failing_since, last_error) VALUES (?1, ?2, 0, 0, '')
		ON CONFLICT (receiver) DO UPDATE SET delivered_at = excluded.delivered_at, failing_since = 0
		WHERE webhook_receivers.failing_since > 0 OR webhook_receivers.delivered_at < excluded.delivered_at - 1000000`)
	receiverFailsSQL = statementOf(`INSERT INTO webhook_receivers (receiver, delivered_at, failed_at, failing_since, last_error) VALUES (?1, 0, ?2, ?2, ?3)
		ON CONFLICT (receiver) DO UPDATE SET failed_at = excluded.failed_at, last_error = excluded.last_error,
			failing_since = CASE WHEN webhook_receivers.failing_since = 0 THEN excluded.failing_since ELSE webhook_receivers.failing_since END`)
)

// FinishOutgoing records how an attempt ended. ErrClaimLost when it is not claimed by that attempt any more.
func (s *Store) FinishOutgoing(ctx context.Context, e messaging.OutgoingEnd) error {
	err := s.write(ctx, laneWork, func(t *tx) error {
		var receiver string
		var subject int64
		if err := t.query(outgoingSQL, func(r *row) error { receiver, subject = r.text(), r.int(); return nil }, e.ID); err != nil {
			return err
		}
		at, why := micro(e.At), cut(e.Error, maxReason)
		var n int64
		var err error
		if e.State == messaging.OutgoingWaiting {
			if n, err = t.exec(retryOutgoingSQL, e.ID, int64(e.Attempt), micro(e.RetryAt), why); n > 0 {
				t.outs.note(receiver, micro(e.RetryAt), t.at)
			}
		} else {
			n, err = t.exec(endOutgoingSQL, e.ID, int64(e.Attempt), string(e.State), at, why)
		}
		switch {
		case err != nil:
			return err
		case n == 0:
			return noWrite{messaging.ErrClaimLost}
		case e.Error == "" && e.State == messaging.OutgoingWaiting: // cut off by a stop
		case e.Error == "":
			err = t.put(receiverWellSQL, receiver, at)
		default:
			err = t.put(receiverFailsSQL, receiver, at, why)
		}
		if err == nil && e.State != messaging.OutgoingWaiting && subject != 0 {
			if n, err = t.exec(nextOutgoingSQL, subject, receiver, at); n > 0 {
				t.outs.note(receiver, at, t.at)
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("webhook out %d: %w", e.ID, err)
	}
	return nil
}

// NextOutgoing is when something is due next for a receiver, past or future; ok is false when nothing waits.
func (s *Store) NextOutgoing(ctx context.Context, receiver string) (at time.Time, ok bool, err error) {
	at, ok, err = s.earliest(ctx, `SELECT due_at FROM webhooks_out WHERE receiver = ?1 AND state = 'waiting' ORDER BY due_at LIMIT 1`, receiver)
	return at, ok, wrap(err, "next webhook out")
}

// MostCounted is where a count of what waits for a receiver ends.
const MostCounted = 10_000

// A ReceiverState is how it goes with a receiver under webhooks_out.
type ReceiverState struct {
	Receiver     string
	Waiting      int64     // at most MostCounted + 1
	GivenUp      int64     // at most MostCounted + 1
	Oldest       time.Time // of the changes that wait; zero for none
	DeliveredAt  time.Time // the last one, to the second
	FailedAt     time.Time
	FailingSince time.Time // since when nothing was delivered and something failed; zero while it is well
	LastError    string
}

// ReceiverStates are those of the receivers of these names, and of all others that something waits for, by name.
func (s *Store) ReceiverStates(ctx context.Context) (out []ReceiverState, err error) {
	out, err = list(ctx, s, `SELECT receiver, delivered_at, failed_at, failing_since, last_error FROM webhook_receivers ORDER BY receiver`, nil, func(r *row) (ReceiverState, error) {
		return ReceiverState{Receiver: r.text(), DeliveredAt: r.time(), FailedAt: r.time(), FailingSince: r.time(), LastError: r.text()}, r.err
	})
	if err != nil {
		return nil, wrap(err, "receivers of webhooks out")
	}
	// Those that were never reached: a step from name to name along the index.
	known := map[string]bool{}
	for _, one := range out {
		known[one.Receiver] = true
	}
	for last := ""; err == nil; {
		var next []string
		next, err = list(ctx, s, `SELECT receiver FROM webhooks_out WHERE state = 'waiting' AND receiver > ?1 ORDER BY receiver LIMIT 1`, []any{last}, text)
		if len(next) == 0 {
			break
		}
		if last = next[0]; !known[last] {
			out = append(out, ReceiverState{Receiver: last})
		}
	}
	for i := range out {
		one := &out[i]
		for state, n := range map[messaging.OutgoingState]*int64{messaging.OutgoingWaiting: &one.Waiting, messaging.OutgoingGivenUp: &one.GivenUp} {
			if err == nil {
				// The state stands in the text: an index for one state serves no placeholder.
				err = s.rows(ctx, fmt.Sprintf(`SELECT count(*) FROM (SELECT 1 AS n FROM webhooks_out WHERE receiver = ?1 AND state = '%s' LIMIT %d) AS counted`, state, MostCounted+1),
					[]any{one.Receiver}, func(r *row) error { *n = r.int(); return r.err })
			}
		}
		if err == nil && one.Waiting > 0 {
			one.Oldest, _, err = s.earliest(ctx, `SELECT at FROM webhooks_out WHERE receiver = ?1 AND state = 'waiting' ORDER BY due_at LIMIT 1`, one.Receiver)
		}
	}
	return out, wrap(err, "receivers of webhooks out")
}

// A Replay asks for changes to be sent to a receiver again. Those that still wait are not among them.
type Replay struct {
	Receiver string
	Since    time.Time           // changes from then on; zero for all
	Message  messaging.MessageID // of this message alone; 0 for all
	GivenUp  bool                // those alone that were given up
	DryRun   bool                // only count
}

var replayOutgoingSQL = statementOf(`UPDATE webhooks_out SET state = 'waiting', attempts = 0, due_at = ?2, lease_ends = 0, since = ?2, ended_at = 0, reason = ''
		WHERE id = ?1 AND state <> 'waiting'`)

// Replay has changes sent again, in their order, and says how many.
func (s *Store) Replay(ctx context.Context, q Replay) (n int64, err error) {
	where := []string{"id > ?1", "receiver = ?2", "state <> 'waiting'", "at >= ?3"}
	args := []any{int64(0), q.Receiver, micro(q.Since)}
	if q.Message != 0 {
		args = append(args, int64(q.Message))
		where = append(where, fmt.Sprintf("subject = ?%d", len(args)))
	}
	if q.GivenUp {
		where = append(where, "state = 'given_up'")
	}
	for {
		ids, err := list(ctx, s, fmt.Sprintf(`SELECT id FROM webhooks_out WHERE %s ORDER BY id LIMIT %d`, strings.Join(where, " AND "), perBulk), args, number[int64])
		if err != nil || len(ids) == 0 {
			return n, wrap(err, "replay webhooks out")
		}
		args[0] = ids[len(ids)-1]
		if q.DryRun {
			n += int64(len(ids))
			continue
		}
		var changed int64
		err = s.write(ctx, laneWork, func(t *tx) error {
			changed = 0
			for _, id := range ids {
				one, err := t.exec(replayOutgoingSQL, id, t.at)
				if changed += one; err != nil {
					return err
				}
			}
			t.outs.note(q.Receiver, t.at, t.at)
			return nil
		})
		if n += changed; err != nil {
			return n, wrap(err, "replay webhooks out")
		}
	}
}

// findUnwanted looks beside the commits: it walks through all that waits.
const findUnwanted = `SELECT id FROM webhooks_out WHERE id > ?1 AND state = 'waiting' AND since < ?2 ORDER BY id`

var (
	oldOutgoingSQL      = statementOf(`DELETE FROM webhooks_out WHERE id IN (SELECT id FROM webhooks_out WHERE state <> 'waiting' AND ended_at < ?1 ORDER BY ended_at LIMIT 200)`)
	unwantedOutgoingSQL = statementOf(`DELETE FROM webhooks_out WHERE id IN (` + marks(2) + `) AND state{{checked}} = 'waiting' AND since < ?1`)
)

// outgoing removes what was told, and what waits for a receiver that nobody tells any more.
func (e *retainer) outgoing(ctx context.Context) error {
	before := e.before(e.keep.WebhooksOut)
	if before.IsZero() {
		return nil
	}
	if err := e.until(ctx, kindOutgoing, oldOutgoingSQL, micro(before)); err != nil {
		return err
	}
	unwanted := micro(e.now.Add(-mostUntold))
	return e.ids(ctx, findUnwanted, []any{unwanted}, perRetention, func(ids []int64) error {
		return e.commit(ctx, kindOutgoing, func(t *tx) (n int64, err error) {
			for some := range slices.Chunk(ids, rowsAtOnce) {
				gone, err := t.exec(unwantedOutgoingSQL, padded([]any{unwanted}, some)...)
				if n += gone; err != nil {
					return n, err
				}
			}
			return n, nil
		})
	})
}

// mostUntold is how long a change waits at the most; a receiver that the config has gives up earlier.
const mostUntold = 30 * 24 * time.Hour

var dropOutgoingSQL = statementOf(`DELETE FROM webhooks_out WHERE id = ?1`)

// outgoing removes what is to be told, or was, about those who are forgotten.
func (e *eraser) outgoing(ctx context.Context) error {
	var due []int64
	err := e.walk(ctx, `SELECT id, phone, at, subject, event_id FROM webhooks_out WHERE id > ?1 ORDER BY id`, func(id int64, r *row) error {
		owned := e.owns(r.text(), "", r.int())
		if subject, event := r.int(), r.int(); owned || e.messages[subject] || e.events[event] {
			due = append(due, id)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return e.change(ctx, dropOutgoingSQL, due)
}
