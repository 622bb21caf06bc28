package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// Records are the changes that wait for receivers, as a store has them. It writes them in the commit that makes them
// (internal/store/outgoing).
type Records struct{ *store.Store }

var (
	dueOutgoingSQL = engine.SQL(`SELECT id, subject, kind, body, at, since, attempts, due_at FROM webhooks_out
		WHERE receiver = ?1 AND state = 'waiting' AND due_at <= ?2 ORDER BY due_at, id LIMIT ?3 + 0 {{skip locked}}`)
	outgoingBeforeSQL = engine.SQL(`SELECT due_at FROM webhooks_out WHERE subject = ?1 AND subject <> 0 AND id < ?2 AND receiver = ?3 AND state = 'waiting' ORDER BY id DESC LIMIT 1`)
	holdOutgoingSQL   = engine.SQL(`UPDATE webhooks_out SET due_at = ?2 WHERE id = ?1 AND state{{checked}} = 'waiting' AND lease_ends = 0`)
	claimOutgoingSQL  = engine.SQL(`UPDATE webhooks_out SET attempts = ?2, due_at = ?3, lease_ends = ?3 WHERE id = ?1 AND state{{checked}} = 'waiting'`)
)

// ClaimOutgoing takes up to n changes that are due for a receiver, the longest due first; they are due again after the lease unless
// they end before. One whose message has an earlier one on its way to the same receiver waits for that.
func (s Records) ClaimOutgoing(ctx context.Context, receiver string, now time.Time, lease time.Duration, n int) ([]messaging.Outgoing, error) {
	if lease <= 0 {
		return nil, errors.New("claim webhooks out: needs a lease")
	}
	if n <= 0 {
		return nil, nil
	}
	const looks = 16 // a look finds nothing but what waits for others, and moves it out of the way
	var got []messaging.Outgoing
	err := s.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
		got = got[:0]
		until := engine.Micro(now.Add(lease))
		for range looks {
			type found struct {
				messaging.Outgoing
				subject int64
			}
			var due []found
			err := t.Query(dueOutgoingSQL, func(r *engine.Row) error {
				o := found{Outgoing: messaging.Outgoing{ID: r.Int(), Receiver: receiver}, subject: r.Int()}
				o.Kind = r.Text()
				body := r.Text()
				o.At, o.Since, o.Attempt = r.Time(), r.Time(), int(r.Int())+1
				due = append(due, o)
				return json.Unmarshal([]byte(body), &due[len(due)-1].Change)
			}, receiver, engine.Micro(now), int64(n-len(got)))
			if err != nil {
				return err
			}
			for i := range due {
				o := &due[i]
				before := int64(0)
				err := t.Query(outgoingBeforeSQL, func(r *engine.Row) error { before = r.Int(); return nil }, o.subject, o.ID, receiver)
				if err == nil && before != 0 {
					err = t.Put(holdOutgoingSQL, o.ID, max(before, engine.Micro(now)+1))
				} else if err == nil {
					err = t.Put(claimOutgoingSQL, o.ID, int64(o.Attempt), until)
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
	return got, store.Wrap(err, "claim webhooks out")
}

var (
	retryOutgoingSQL = engine.SQL(`UPDATE webhooks_out SET due_at = ?3, lease_ends = 0, reason = ?4
		WHERE id = ?1 AND attempts = ?2 AND state = 'waiting' AND lease_ends > 0`)
	endOutgoingSQL = engine.SQL(`UPDATE webhooks_out SET state = ?3, lease_ends = 0, ended_at = ?4, reason = ?5
		WHERE id = ?1 AND attempts = ?2 AND state = 'waiting' AND lease_ends > 0`)
	outgoingSQL     = engine.SQL(`SELECT receiver, subject FROM webhooks_out WHERE id = ?1`)
	nextOutgoingSQL = engine.SQL(`UPDATE webhooks_out SET due_at = ?3 WHERE lease_ends = 0 AND due_at > ?3
		AND id = (SELECT min(id) FROM webhooks_out WHERE subject = ?1 AND subject <> 0 AND receiver = ?2 AND state = 'waiting') AND attempts = 0`)
	receiverWellSQL = engine.SQL(`INSERT INTO webhook_receivers (receiver, delivered_at, failed_at, failing_since, last_error) VALUES (?1, ?2, 0, 0, '')
		ON CONFLICT (receiver) DO UPDATE SET delivered_at = excluded.delivered_at, failing_since = 0
		WHERE webhook_receivers.failing_since > 0 OR webhook_receivers.delivered_at < excluded.delivered_at - 1000000`)
	receiverFailsSQL = engine.SQL(`INSERT INTO webhook_receivers (receiver, delivered_at, failed_at, failing_since, last_error) VALUES (?1, 0, ?2, ?2, ?3)
		ON CONFLICT (receiver) DO UPDATE SET failed_at = excluded.failed_at, last_error = excluded.last_error,
			failing_since = CASE WHEN webhook_receivers.failing_since = 0 THEN excluded.failing_since ELSE webhook_receivers.failing_since END`)
)

// FinishOutgoing records how an attempt ended. ErrClaimLost when it is not claimed by that attempt any more.
func (s Records) FinishOutgoing(ctx context.Context, e messaging.OutgoingEnd) error {
	err := s.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
		var receiver string
		var subject int64
		if err := t.Query(outgoingSQL, func(r *engine.Row) error { receiver, subject = r.Text(), r.Int(); return nil }, e.ID); err != nil {
			return err
		}
		at, why := engine.Micro(e.At), store.CutReason(e.Error)
		var n int64
		var err error
		if e.State == messaging.OutgoingWaiting {
			if n, err = t.Exec(retryOutgoingSQL, e.ID, int64(e.Attempt), engine.Micro(e.RetryAt), why); n > 0 {
				t.WakeReceiver(receiver, engine.Micro(e.RetryAt))
			}
		} else {
			n, err = t.Exec(endOutgoingSQL, e.ID, int64(e.Attempt), string(e.State), at, why)
		}
		switch {
		case err != nil:
			return err
		case n == 0:
			return commit.NoWrite{Err: messaging.ErrClaimLost}
		case e.Error == "" && e.State == messaging.OutgoingWaiting: // cut off by a stop
		case e.Error == "":
			err = t.Put(receiverWellSQL, receiver, at)
		default:
			err = t.Put(receiverFailsSQL, receiver, at, why)
		}
		if err == nil && e.State != messaging.OutgoingWaiting && subject != 0 {
			if n, err = t.Exec(nextOutgoingSQL, subject, receiver, at); n > 0 {
				t.WakeReceiver(receiver, at)
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
func (s Records) NextOutgoing(ctx context.Context, receiver string) (at time.Time, ok bool, err error) {
	at, ok, err = s.Earliest(ctx, `SELECT due_at FROM webhooks_out WHERE receiver = ?1 AND state = 'waiting' ORDER BY due_at LIMIT 1`, receiver)
	return at, ok, store.Wrap(err, "next webhook out")
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
func (s Records) ReceiverStates(ctx context.Context) (out []ReceiverState, err error) {
	out, err = store.List(ctx, s.Store, `SELECT receiver, delivered_at, failed_at, failing_since, last_error FROM webhook_receivers ORDER BY receiver`, nil, func(r *engine.Row) (ReceiverState, error) {
		return ReceiverState{Receiver: r.Text(), DeliveredAt: r.Time(), FailedAt: r.Time(), FailingSince: r.Time(), LastError: r.Text()}, r.Err
	})
	if err != nil {
		return nil, store.Wrap(err, "receivers of webhooks out")
	}
	// Those that were never reached: a step from name to name along the index.
	known := map[string]bool{}
	for _, one := range out {
		known[one.Receiver] = true
	}
	for last := ""; err == nil; {
		var next []string
		next, err = store.List(ctx, s.Store, `SELECT receiver FROM webhooks_out WHERE state = 'waiting' AND receiver > ?1 ORDER BY receiver LIMIT 1`, []any{last}, engine.Text)
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
				err = s.Rows(ctx, fmt.Sprintf(`SELECT count(*) FROM (SELECT 1 AS n FROM webhooks_out WHERE receiver = ?1 AND state = '%s' LIMIT %d) AS counted`, state, MostCounted+1),
					[]any{one.Receiver}, func(r *engine.Row) error { *n = r.Int(); return r.Err })
			}
		}
		if err == nil && one.Waiting > 0 {
			one.Oldest, _, err = s.Earliest(ctx, `SELECT at FROM webhooks_out WHERE receiver = ?1 AND state = 'waiting' ORDER BY due_at LIMIT 1`, one.Receiver)
		}
	}
	return out, store.Wrap(err, "receivers of webhooks out")
}

// perReplay is how many changes go again in one commit.
const perReplay = 200

// A Replay asks for changes to be sent to a receiver again. Those that still wait are not among them.
type Replay struct {
	Receiver string
	Since    time.Time           // changes from then on; zero for all
	Message  messaging.MessageID // of this message alone; 0 for all
	GivenUp  bool                // those alone that were given up
	DryRun   bool                // only count
}

var replayOutgoingSQL = engine.SQL(`UPDATE webhooks_out SET state = 'waiting', attempts = 0, due_at = ?2, lease_ends = 0, since = ?2, ended_at = 0, reason = ''
		WHERE id = ?1 AND state <> 'waiting'`)

// Replay has changes sent again, in their order, and says how many.
func (s Records) Replay(ctx context.Context, q Replay) (n int64, err error) {
	where := []string{"id > ?1", "receiver = ?2", "state <> 'waiting'", "at >= ?3"}
	args := []any{int64(0), q.Receiver, engine.Micro(q.Since)}
	if q.Message != 0 {
		args = append(args, int64(q.Message))
		where = append(where, fmt.Sprintf("subject = ?%d", len(args)))
	}
	if q.GivenUp {
		where = append(where, "state = 'given_up'")
	}
	for {
		ids, err := store.List(ctx, s.Store, fmt.Sprintf(`SELECT id FROM webhooks_out WHERE %s ORDER BY id LIMIT %d`, strings.Join(where, " AND "), perReplay), args, engine.Number[int64])
		if err != nil || len(ids) == 0 {
			return n, store.Wrap(err, "replay webhooks out")
		}
		args[0] = ids[len(ids)-1]
		if q.DryRun {
			n += int64(len(ids))
			continue
		}
		var changed int64
		err = s.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
			changed = 0
			for _, id := range ids {
				one, err := t.Exec(replayOutgoingSQL, id, t.At)
				if changed += one; err != nil {
					return err
				}
			}
			t.WakeReceiver(q.Receiver, t.At)
			return nil
		})
		if n += changed; err != nil {
			return n, store.Wrap(err, "replay webhooks out")
		}
	}
}
