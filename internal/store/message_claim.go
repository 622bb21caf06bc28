package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/calls"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/keyindex"
	"github.com/nudgewire/nudgewire/internal/store/labels"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// maxPassedPerClaim bounds what one claim ends or puts off, so that a backlog of a long outage or a night
// does not hold up what is in time.
const maxPassedPerClaim = 512

// Claim takes due messages, the most urgent lane first and each by due time. It is the durable intent: when it
// returns, the rows are on disk as sending, with their owner, the number of the attempt and
// the end of the lease, and no other claim gets them. What is past its expiry, and
// what is queued to a blocked contact, is dropped on the way, in the same commit, and what Options.Due
// says shall wait or end does that. What is halted is not taken and keeps its due time.
func (s *Store) Claim(ctx context.Context, q messaging.ClaimRequest) ([]messaging.Message, error) {
	if q.Owner == "" || q.Lease <= 0 {
		return nil, errors.New("claim: needs an owner and a lease")
	}
	if q.Authentication <= 0 && q.Utility <= 0 && q.Marketing <= 0 {
		return nil, nil
	}
	got, err := s.claimBy(ctx, &q, func(t *Tx, rules *atDue) (got []claimed, err error) {
		for i, n := range []int{q.Authentication, q.Utility, q.Marketing} {
			if got, err = t.claim(&q, messaging.Lanes[i], n, nil, got, rules); err != nil {
				return nil, err
			}
		}
		return got, nil
	})
	return got, Wrap(err, "claim")
}

// claimBy claims in a commit.
func (s *Store) claimBy(ctx context.Context, q *messaging.ClaimRequest, claim func(*Tx, *atDue) ([]claimed, error)) ([]messaging.Message, error) {
	var got []claimed
	err := s.Write(ctx, commit.LaneWork, func(t *Tx) (err error) {
		rules := s.dueRules(q.Now)
		err = t.peers.LockNotes(t.Tx, false) // before it reads what was sent, if it waits at all
		if err == nil {
			got, err = claim(t, &rules)
		}
		if err == nil {
			err = rules.keepWindows(t)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.readable(ctx, got)
}

// ClaimProbe is Claim of at most one message, which shows whether the service is well again. What failed last is asked for last: it may be
// what is at fault.
func (s *Store) ClaimProbe(ctx context.Context, p messaging.ProbeRequest) ([]messaging.Message, error) {
	q := messaging.ClaimRequest{Owner: p.Owner, Account: p.Account, Now: p.Now, Lease: p.Lease}
	if q.Owner == "" || q.Lease <= 0 {
		return nil, errors.New("claim a probe: needs an owner and a lease")
	}
	got, err := s.claimBy(ctx, &q, func(t *Tx, rules *atDue) (got []claimed, err error) {
		for _, other := range othersThan(&p) {
			for i, lane := range messaging.Lanes {
				if p.Lanes[i] && len(got) == 0 && err == nil {
					got, err = t.claim(&q, lane, 1, &other, nil, rules)
				}
			}
		}
		return got, err
	})
	return got, Wrap(err, "claim a probe")
}

// mostContents is how many contents that failed are passed over.
const mostContents = 4

// others are messages for other phones, with other contents, and not tried yet. Empty texts are all.
type others struct {
	phones string // each between two commas
	marks  [mostContents]string
	fresh  bool // never tried
}

// othersThan is what a probe is looked for among, the best first.
func othersThan(p *messaging.ProbeRequest) []others {
	var o others
	for _, phone := range p.Phones {
		o.phones += string(phone) + ","
	}
	if o.phones != "" {
		o.phones = "," + o.phones
	}
	for i, send := range p.Contents[max(0, len(p.Contents)-mostContents):] {
		o.marks[i] = stored.ContentMark(send)
	}
	fresh := o
	fresh.fresh = true
	// What was tried before this halt may be at fault, too: one after the other would be asked while what never failed waits.
	return []others{fresh, {phones: o.phones, fresh: true}, o, {phones: o.phones}, {}}
}

// claimed is a message with what to send still encoded, and what is looked at before it is claimed.
type claimed struct {
	messaging.Message
	send  string
	facts messaging.DueFacts // what is known of it before it is claimed
}

// readable decodes what to send. A row that cannot be read is given up here, or it would
// come first in every claim to come.
func (s *Store) readable(ctx context.Context, got []claimed) ([]messaging.Message, error) {
	out := make([]messaging.Message, 0, len(got))
	var errs []error
	for i := range got {
		d := &got[i].Message
		err := stored.DecodeSend(d, got[i].send)
		if err == nil {
			out = append(out, *d)
			continue
		}
		errs = append(errs, s.Finish(context.WithoutCancel(ctx), messaging.Attempt{
			MessageID: d.ID, Owner: d.Owner, Number: d.Attempt, State: messaging.StateDropped, DroppedBy: messaging.EndedUnread, Reason: err.Error(), At: d.UpdatedAt,
		}))
	}
	if err := errors.Join(errs...); err != nil && len(out) == 0 {
		return nil, err
	}
	return out, nil
}

var (
	// What is past its expiry is found though it is halted, to be dropped. A block without a reason is "=".
	dueSQL = engine.SQL(`SELECT ` + stored.MessageColumns + `, first_due_at, coalesce((SELECT '=' || b.reason FROM blocks b WHERE b.phone = messages.phone), '') FROM messages
		WHERE state = 'waiting' AND account = ?5 AND category = ?1 AND due_at <= ?2 AND due_at >= ?4 AND ((expires_at > 0 AND expires_at <= ?2) OR (` + unheld + `))
		ORDER BY due_at, id LIMIT ?3 + 0 {{skip locked}}`)
	dueProbeSQL = engine.SQL(`SELECT ` + stored.MessageColumns + `, first_due_at, coalesce((SELECT '=' || b.reason FROM blocks b WHERE b.phone = messages.phone), '') FROM messages
		WHERE state = 'waiting' AND account = ?3 AND category = ?1 AND due_at <= ?2 AND ((expires_at > 0 AND expires_at <= ?2) OR (` + unheld + `))
			AND (?9 = 0 OR tries = 0) AND (?4 = '' OR replace(?4, ',' || phone || ',', '') = ?4) AND (?5 = '' OR replace(send, ?5, '') = send) AND (?6 = '' OR replace(send, ?6, '') = send)
			AND (?7 = '' OR replace(send, ?7, '') = send) AND (?8 = '' OR replace(send, ?8, '') = send)
		ORDER BY due_at, id LIMIT 1 {{skip locked}}`)
	claimSQL = engine.ForIDs(`UPDATE messages SET state = 'sending', reason = '', owner = ?1, attempt = attempt + 1, lease_ends = ?2, claimed_at = ?3, updated_at = ?3
		WHERE id`, 4)
)

// claim appends up to n claimed messages of one lane to got; for a probe of those that other means.
//
// It is no set of several claims, because nobody waits beside it: an account has one sender, which asks for as many as it has idle workers. And
// it is several statements: the rules are asked about each row on what the rows before it take of limits, rates and the account's room, and only what goes is
// written, all at once.
func (t *Tx) claim(q *messaging.ClaimRequest, lane messaging.Category, n int, other *others, got []claimed, rules *atDue) ([]claimed, error) {
	now, leaseEnds := engine.Micro(q.Now), engine.Micro(q.Now.Add(q.Lease))
	var open map[string]int64 // requests to forget; only marketing is asked about
	if lane == messaging.Marketing {
		var err error
		if open, err = t.openRedactions(); err != nil {
			return nil, err
		}
	}
	passed := 0
	for want := len(got) + n; len(got) < want && passed < maxPassedPerClaim; {
		ask, from := want-len(got), len(got)
		each := func(r *engine.Row) error {
			d, send := stored.ScanMessage(r)
			one := claimed{Message: d, send: send, facts: messaging.DueFacts{FirstDue: r.Time()}}
			if block, blocked := strings.CutPrefix(r.Text(), "="); blocked {
				one.facts.Blocked = messaging.BlockedWords(block)
			}
			got = append(got, one)
			return r.Err
		}
		var err error
		if other != nil {
			m := other.marks
			err = t.Query(dueProbeSQL, each, string(lane), now, q.Account, other.phones, m[0], m[1], m[2], m[3], engine.Flag(other.fresh))
		} else {
			err = t.Query(dueSQL, each, string(lane), now, int64(ask), t.peers.LowWater().From(q.Account, lane.Lane(), now), q.Account)
		}
		if err != nil {
			return nil, err
		}
		found := got[from:]
		if other == nil {
			due := now
			if len(found) > 0 {
				due = engine.Micro(found[0].DueAt)
			}
			t.peers.LowWater().Raise(q.Account, lane.Lane(), now, due)
		}
		ready, err := rules.prepare(t, found)
		if err != nil {
			return nil, err
		}
		more := len(found) == ask && len(ready) == len(found) // what another has in hand would be found again
		found = ready
		got, t.claimed = got[:from], t.claimed[:0]
		var passes []pass
		for i := range found {
			d := &found[i]
			if d.facts.Forgetting, err = t.redacting(open, d.Phone, keyindex.Hash); err != nil {
				return nil, err
			}
			v, err := rules.mayGo(t, d, got[from:])
			if err != nil {
				return nil, fmt.Errorf("message %d: %w", d.ID, err)
			}
			if v.Action != messaging.AllowSend {
				passes = append(passes, pass{*d, v})
				continue
			}
			d.State, d.Reason, d.Owner = messaging.StateSending, "", q.Owner
			d.Attempt++
			d.LeaseEnds, d.UpdatedAt = engine.Moment(leaseEnds), engine.Moment(now)
			t.messageClaimed(d.Phone)
			t.claimed = append(t.claimed, int64(d.ID))
			got = append(got, *d)
		}
		passed += len(passes)
		if err := rules.passAll(t, passes); err != nil {
			return nil, err
		}
		if err := t.ExecAll(claimSQL, t.claimed, q.Owner, leaseEnds, now); err != nil {
			return nil, err
		}
		if !more {
			break
		}
	}
	if passed >= maxPassedPerClaim {
		t.wakeSender(q.Account, now) // there may be more that nobody would wake it for: what is held is due for a claim alone
	}
	return got, nil
}

// A pass is a row that is due and does not go.
type pass struct {
	claimed
	verdict messaging.Verdict
}

// passAll does what happens to rows that are not sent. What rules said to them before is read for all at once.
func (a *atDue) passAll(t *Tx, passes []pass) error {
	if len(passes) == 0 {
		return nil
	}
	t.foreseen.verdicts = map[int64]newestVerdict{}
	defer t.foreseen.clear()
	verdicts := newAsk(t.foreseen.verdicts)
	for i := range passes {
		verdicts.add(int64(passes[i].ID))
	}
	err := verdicts.ask(t, verdictSQL, func(_ newestVerdict, r *engine.Row) (newestVerdict, error) { return scanNewestVerdict(r), nil })
	for i := range passes {
		if err == nil {
			err = a.pass(t, &passes[i])
		}
	}
	return err
}

var dropSQL = engine.SQL(`UPDATE messages SET state = 'dropped', reason = ?2, updated_at = ?3, owner = '', ` + stored.EndSend + `
		WHERE id = ?1 AND state{{checked}} = 'waiting'`)

func (t *Tx) dropMessage(d *claimed, v *messaging.Verdict, now time.Time) error {
	p := labels.OfMessage(&d.Message)
	t.messageState(d.ID, &p, messaging.StateDropped, v.Reason, v.Rule, "")
	return t.Put(dropSQL, int64(d.ID), v.Reason, engine.Micro(now))
}

var nextDueSQL = engine.SQL(`SELECT due_at FROM messages WHERE state = 'waiting' AND account = ?3 AND category = ?1 AND due_at >= ?2 AND ` + unheld + ` ORDER BY due_at LIMIT 1`)

// NextDue is the earliest due time of all that waits and is not halted, past or future; ok is
// false when nothing does. What waits of accounts that are gone counts as held.
func (s *Store) NextDue(ctx context.Context) (at time.Time, ok bool, err error) {
	names, err := s.AccountsWaiting(ctx)
	for i := 0; err == nil && i < len(names); i++ {
		if s.Gone(names[i]) {
			continue
		}
		var due time.Time
		var found bool
		if due, found, err = s.nextDue(ctx, names[i], messaging.Lanes[:]...); found && (!ok || due.Before(at)) {
			at, ok = due, true
		}
	}
	return at, ok, Wrap(err, "next due")
}

// nextDue is NextDue of lanes of one account.
func (s *Store) nextDue(ctx context.Context, account string, lanes ...messaging.Category) (at time.Time, ok bool, err error) {
	for _, lane := range lanes {
		var from int64 // a store that only reads walks
		if s.writer != nil {
			from = s.writer.peers.LowWater().Held(account, lane.Lane())
		}
		due, found, err := s.next(ctx, nextDueSQL, string(lane), from, account)
		if err != nil {
			return time.Time{}, false, fmt.Errorf("next due: %w", err)
		}
		if found && (!ok || due.Before(at)) {
			at, ok = due, true
		}
	}
	return at, ok, nil
}

// BeginCall notes that the call for a claim is about to begin; slot is the caller's own, counted from
// 0, and free because the outcome of the last call that was noted there is on disk. No call may be
// made when it fails.
func (s *Store) BeginCall(slot int, id messaging.MessageID, attempt int) error {
	if err := s.beat.Check(); err != nil {
		return err
	}
	if err := s.calls.Note(slot, calls.Call{Message: id, Attempt: attempt}); err != nil {
		return fmt.Errorf("note the begin of a call: %w", err)
	}
	s.beat.Calls.Add(1)
	return nil
}
