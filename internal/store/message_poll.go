package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/labels"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// ClaimPolls is that of the account of the section api.
func (s *Store) ClaimPolls(ctx context.Context, now time.Time, lease time.Duration, n int) ([]messaging.Message, error) {
	return s.claimPolls(ctx, "", now, lease, n)
}

var (
	duePollsSQL = engine.SQL(`SELECT ` + stored.FollowedColumns + ` FROM messages
		WHERE next_poll_at > 0 AND account = ?3 AND next_poll_at <= ?1 ORDER BY next_poll_at, id LIMIT ?2 + 0 {{skip locked}}`)
	claimPollSQL = engine.ForIDs(`UPDATE messages SET next_poll_at = ?1 WHERE id`, 2)
)

// claimPolls takes up to n messages of an account that are due, longest waiting first, and puts their
// next look off by the lease. Unlike a send, a look that is made twice does no harm, so this is
// all the claim there is, and a crash only delays it.
func (s *Store) claimPolls(ctx context.Context, account string, now time.Time, lease time.Duration, n int) ([]messaging.Message, error) {
	if lease <= 0 {
		return nil, errors.New("claim polls: needs a lease")
	}
	if n <= 0 {
		return nil, nil
	}
	var got []messaging.Message
	err := s.Write(ctx, commit.LaneWork, func(t *Tx) error {
		got, t.claimed = got[:0], t.claimed[:0]
		err := t.Query(duePollsSQL, func(r *engine.Row) error {
			m, err := stored.ScanFollowed(r)
			got = append(got, m)
			return err
		}, engine.Micro(now), int64(n), account)
		if err != nil {
			return err
		}
		again := engine.Micro(now.Add(lease))
		for i := range got {
			t.claimed = append(t.claimed, int64(got[i].ID))
			got[i].NextPollAt = engine.Moment(again)
		}
		return t.ExecAll(claimPollSQL, t.claimed, again)
	})
	return got, Wrap(err, "claim polls")
}

var (
	polledSQL     = engine.SQL(`SELECT ` + stored.FollowedColumns + ` FROM messages WHERE id = ?1 {{for update}}`)
	labelsSQL     = engine.SQL(`SELECT ` + labels.Columns + ` FROM messages WHERE id = ?1`)
	finishPollSQL = engine.SQL(`UPDATE messages SET status = ?2, error = ?3, error_class = ?4, status_at = ?5, told_at = ?6, next_poll_at = ?7, polls = ?8,
			sent_at = ?9, delivered_at = ?10, read_at = ?11, failed_at = ?12
		WHERE id = ?1`)
)

// FinishPoll records what a look at a message's status brought, as far as the transitions of statuses let it (internal/messaging/status_transitions.go).
// ErrNotFound when there is no such message.
func (s *Store) FinishPoll(ctx context.Context, p messaging.Poll) error {
	if p.At.IsZero() || (!p.Final && !p.Status.Ends() && p.NextPollAt.IsZero()) {
		return fmt.Errorf("poll of message %d: needs its time, and the next one unless it is final", p.MessageID)
	}
	var err error
	if pause, probed := s.holdProbedBy(p.MessageID); probed || p.Class == messaging.ErrorTemplate {
		err = s.pollAndPause(ctx, &p, pause, func(t *Tx) error {
			lost, err := t.finishPolls(s, []*messaging.Poll{&p})
			return cmp.Or(err, lost[0])
		})
	} else {
		err = s.writeSet(ctx, commit.LaneWork, s.polls, int64(p.MessageID), &p)
	}
	if err != nil { // not wrap: this runs for every poll, and an argument is an allocation
		return fmt.Errorf("poll of message %d: %w", p.MessageID, err)
	}
	return observe(nil, s.observer.Polled, p)
}

// finishPolls records looks at different messages. lost says of each that there is no such message.
func (t *Tx) finishPolls(s *Store, all []*messaging.Poll) (lost []error, err error) {
	lost = make([]error, len(all))
	looks := make([]polled, len(all))
	ids := make([][]any, len(all))
	for i, p := range all {
		ids[i] = []any{int64(p.MessageID)}
	}
	err = t.QueryMany(polledSQL, ids, func(i int, r *engine.Row) (err error) { looks[i].message, err = stored.ScanFollowed(r); return err })
	// What a message is counted under is read where there is news of it: most looks find none.
	var told [][]any
	var places []int
	for i, p := range all {
		l := &looks[i]
		if l.before = l.message.Status; err != nil || l.before == "" {
			continue
		}
		if l.news = l.message.FollowStatus(p); l.news != (messaging.StatusNews{}) {
			told, places = append(told, ids[i]), append(places, i)
		}
	}
	if err == nil {
		err = t.QueryMany(labelsSQL, told, func(n int, r *engine.Row) error { looks[places[n]].of = labels.Scan(r); return r.Err })
	}
	for i, p := range all {
		if err == nil && looks[i].before == "" {
			lost[i] = commit.NoWrite{Err: messaging.ErrNotFound}
		} else if err == nil {
			err = t.finishPoll(s, p, &looks[i])
		}
	}
	return lost, err
}

// A polled message is one after a poll, and what that brought.
type polled struct {
	message messaging.Message
	before  messaging.Status
	news    messaging.StatusNews
	of      labels.Labels // where there is news
}

func (t *Tx) finishPoll(s *Store, p *messaging.Poll, l *polled) error {
	m := &l.message
	t.messagePolled(p, l)
	err := t.Put(finishPollSQL, int64(m.ID), string(m.Status), m.Error, string(m.ErrorClass), engine.Micro(m.StatusAt), engine.Micro(m.ToldAt),
		engine.Micro(m.NextPollAt), int64(m.Polls), engine.Micro(m.SentAt), engine.Micro(m.DeliveredAt), engine.Micro(m.ReadAt), engine.Micro(m.FailedAt))
	if err == nil && l.news.Failed {
		err = t.heedFailure(m, p.At, s)
	}
	return err
}

// OverduePolls lists messages that are due to be asked about, are not being asked about, and were
// accepted by the given time: at most n, longest waiting first in each account. It walks only what is due. Those that nobody has asked about
// yet are among them only where nobody can: their account is not in the config.
func (s *Store) OverduePolls(ctx context.Context, now, accepted time.Time, n int) (out []messaging.Message, err error) {
	names, err := s.AccountsFollowed(ctx)
	for i := 0; err == nil && i < len(names) && len(out) < n; i++ {
		asked := 1
		if s.has != nil && !s.has(names[i]) {
			asked = 0
		}
		var late []messaging.Message
		late, err = List(ctx, s, `SELECT `+stored.FollowedColumns+` FROM messages WHERE next_poll_at > 0 AND account = ?4 AND next_poll_at <= ?1 AND accepted_at <= ?2 AND polls >= ?5
			ORDER BY next_poll_at, id LIMIT ?3`, []any{engine.Micro(now), engine.Micro(accepted), int64(n - len(out)), names[i], asked}, stored.ScanFollowed)
		out = append(out, late...)
	}
	return out, Wrap(err, "look for messages whose time ran out")
}

// NextPoll is that of the account of the section api.
func (s *Store) NextPoll(ctx context.Context) (at time.Time, ok bool, err error) {
	return s.nextPoll(ctx, "")
}

var nextPollSQL = engine.SQL(`SELECT next_poll_at FROM messages WHERE next_poll_at > 0 AND account = ?1 ORDER BY next_poll_at LIMIT 1`)

// nextPoll is when the next look at any message of an account is due, past or future; ok is false when
// none is followed.
func (s *Store) nextPoll(ctx context.Context, account string) (at time.Time, ok bool, err error) {
	at, ok, err = s.next(ctx, nextPollSQL, account)
	return at, ok, Wrap(err, "next poll")
}
