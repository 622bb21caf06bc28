package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// A PlannedBy is how many messages of a trigger wait that were planned under one config.
type PlannedBy struct {
	Trigger string
	Config  string // its version
	N       int64
	Last    time.Time // when the newest of them was first planned
}

// WaitingByConfig counts what waits because of events, but for tests, by trigger and by the config that planned it. It walks
// all that waits.
func (s *Store) WaitingByConfig(ctx context.Context) (out []PlannedBy, err error) {
	out, err = List(ctx, s, `SELECT trigger_name, config, count(*), max(created_at) FROM messages WHERE `+stateCondition(messaging.StateWaiting)+
		` AND event_id <> 0 AND test = '' GROUP BY 1, 2 ORDER BY 1, 2`, nil,
		func(r *engine.Row) (PlannedBy, error) { return PlannedBy{r.Text(), r.Text(), r.Int(), r.Time()}, nil })
	return out, Wrap(err, "count what waits by config")
}

// A Replanned is what becomes of a message whose rule was edited: the first that is set. With none it stays as it is.
type Replanned struct {
	Cancel string              // it is cancelled, for this reason
	Anew   *messaging.Proposal // it takes this content and these times, or those of its only step; the message's Reason says why
}

// Replans counts what became of messages.
type Replans struct{ Anew, Cancelled, Kept int64 }

// Replan decides anew about what waits of a trigger and was planned under one config. decide is asked about each outside
// of any commit, so it may be asked about one that leaves meanwhile; event reads the event that it was planned because
// of. What was changed before an error stays changed, and carries the new config: doing it again
// goes on with the rest.
func (s *Store) Replan(ctx context.Context, trigger, config string, decide func(d *messaging.Message, event func() (messaging.Event, error)) (Replanned, error)) (n Replans, err error) {
	// All numbers at once, eight bytes each: to look for the next page would walk all that waits again.
	ids, err := List(ctx, s, `SELECT id FROM messages WHERE `+stateCondition(messaging.StateWaiting)+` AND event_id <> 0 AND test = '' AND trigger_name = ?1 AND config = ?2 ORDER BY id`,
		[]any{trigger, config}, engine.Number[int64])
	for part := range slices.Chunk(ids, perBulk) {
		if err != nil {
			break
		}
		var some Replans
		some, err = s.replanSome(ctx, part, decide)
		n.Anew, n.Cancelled, n.Kept = n.Anew+some.Anew, n.Cancelled+some.Cancelled, n.Kept+some.Kept
	}
	return n, Wrap(err, "plan anew what waits of trigger %q", trigger)
}

// A replan is one change, worked out before its commit.
type replan struct {
	was   messaging.Message
	to    Replanned
	ready readyProposal
}

func (s *Store) replanSome(ctx context.Context, ids []int64, decide func(*messaging.Message, func() (messaging.Event, error)) (Replanned, error)) (n Replans, err error) {
	found, err := List(ctx, s, `SELECT `+stored.MessageColumns+` FROM messages WHERE id IN `+engine.In(ids)+` AND state = 'waiting' ORDER BY id`, nil, shownMessage)
	var changes []replan
	var kept int64
	for i := 0; err == nil && i < len(found); i++ {
		c := replan{was: found[i]}
		c.to, err = decide(&c.was, func() (messaging.Event, error) { return s.Event(ctx, c.was.EventID) })
		switch {
		case err != nil:
			err = fmt.Errorf("message %d: %w", c.was.ID, err)
		case c.to == Replanned{}:
			kept++
		default:
			if c.to.Anew != nil {
				err = c.ready.prepare(c.to.Anew, s.hash)
			}
			changes = append(changes, c)
		}
	}
	if err != nil {
		return n, err
	}
	if len(changes) == 0 {
		return Replans{Kept: kept}, nil
	}
	err = s.Write(ctx, commit.LaneWork, func(t *Tx) error {
		n = Replans{Kept: kept} // a batch that is undone runs again
		for i := range changes {
			if err := t.replan(&changes[i], &n); err != nil {
				return fmt.Errorf("message %d: %w", changes[i].was.ID, err)
			}
		}
		return nil
	})
	return n, err
}

var replanSQL = engine.SQL(`UPDATE messages SET category = ?2, send = ?3, reason = ?4, due_at = ?5, expires_at = ?6, tries = 0,
			config = ?7, updated_at = ?8, ended_send = ?9, zone = ?10, account = ?11, first_due_at = 0, owner = ''
		WHERE id = ?1 AND state{{checked}} = 'waiting'`)

// replan carries out one change, unless the message moved on since it was worked out: it was claimed, ended, or
// took the content of another event.
func (t *Tx) replan(c *replan, n *Replans) error {
	var d messaging.Message
	if err := t.Query(MessageSQL, func(r *engine.Row) error { d, _ = stored.ScanMessage(r); return r.Err }, int64(c.was.ID)); err != nil {
		return err
	}
	if d.State != messaging.StateWaiting || d.EventID != c.was.EventID || d.Config != c.was.Config || d.Attempt != c.was.Attempt {
		return nil
	}
	if c.to.Cancel != "" {
		n.Cancelled++
		return t.cancelOne(&d, c.to.Cancel, messaging.RuleOnChange)
	}
	n.Anew++
	to := &c.to.Anew.Message
	t.wakeSender(to.Account, engine.Micro(to.DueAt))
	what := c.ready.encodedSend
	if len(c.ready.steps) > 0 {
		step, rule := &c.ready.steps[0], &c.to.Anew.Steps[0].Rule
		what = step.encodedSend
		if err := t.Put(insertStepSQL, int64(d.ID), int64(d.ID), int64(rule.Of), step.conditions, rule.Wait); err != nil {
			return err
		}
	}
	if err := t.changeWaiting(replanSQL, d.ID, int64(d.ID), string(to.Category), what.send, to.Reason, engine.Micro(to.DueAt), engine.Micro(to.ExpiresAt),
		to.Config, t.At, what.ended, to.Zone, to.Account); err != nil {
		return err
	}
	return t.keepVerdict(d.ID, &messaging.Verdict{Action: messaging.DeferSend, Rule: messaging.RuleOnChange, Reason: to.Reason, Until: to.DueAt}, t.At)
}
