package store

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/labels"
)

// A message that is being sent, or is in doubt, cannot be cancelled: it may be on its way to the phone.
// What a cancelling event says about it is kept in its row (called_off), and every way back to waiting leads
// through requeueMessage, which looks there first: in the same commit, so that the event came before and is
// met, or comes after and finds a message that waits.

// A requeue is what a message would wait with again.
type requeue struct {
	reason       string
	due, expires int64
	at           int64
	doubtful     bool                 // it may have been taken: what keeps it from waiting leaves it in doubt
	anew         bool                 // its due time is another one from now on: no rule has deferred it yet
	class        messaging.ErrorClass // of the service's words, where those are the reason
	called       bool                 // the call reached the service, or may have
	keepOwner    bool                 // a late answer of the last attempt may still come before the next claim
}

// meanwhile is what a message becomes instead of waiting for what happened since it waited last:
// cancelled when an event called it off, dropped when its contact is blocked. Both ways back ask it:
// requeueMessage, and a successor's (mayGoAgain).
func (t *Tx) meanwhile(d *messaging.Message) (state messaging.State, v messaging.Verdict, err error) {
	var f messaging.DueFacts
	if f.CalledOff, err = t.cancelRequestOf(d.ID); err == nil {
		var reason string
		var blocked bool
		if reason, blocked, err = t.blocked(d.Phone); blocked {
			f.Blocked = messaging.BlockedWords(reason)
		}
	}
	switch v = duerules.MayGo(nil, &messaging.Message{Category: d.Category}, &f, engine.Moment(t.At)); { // its time it is asked when it is due again
	case v.Rule == messaging.RuleCancelled:
		return messaging.StateCancelled, v, err
	case v.Action == messaging.DropSend:
		return messaging.StateDropped, v, err
	}
	return messaging.StateWaiting, messaging.Verdict{}, err
}

// Nobody comes back to wait but by this. A message that a rule put off may be put off for its life in all, counted from when it first
// fell due. Its life is what lies between due_at and expires_at; a retry moves the one alone, and would shorten it.
var putBackSQL = engine.SQL(`UPDATE messages SET state = ?2, reason = ?3, due_at = ?4, expires_at = ?5, updated_at = ?6, lease_ends = 0, owner = CASE WHEN ?7 = 1 THEN owner ELSE '' END,
			send = CASE WHEN ended_send = '' OR ?2 = 'waiting' THEN send ELSE ended_send END,
			first_due_at = CASE WHEN ?10 = 1 THEN 0 WHEN first_due_at > 0 THEN first_due_at + (?4 - due_at) ELSE 0 END, tries = tries + ?11
		WHERE id = ?1 AND state{{checked}} = ?8 AND attempt = ?9`)

// requeueMessage makes a message wait again and says what it is from then on: waiting; cancelled when an
// event called it off meanwhile; dropped when its contact was blocked; in doubt instead of the last
// two when it may have been taken. d is its row as this transaction sees it, and changes along.
func (t *Tx) requeueMessage(d *messaging.Message, c requeue) (messaging.State, error) {
	reason, by := c.reason, ""
	state, kept, err := t.meanwhile(d)
	if err != nil {
		return "", err
	}
	keepOwner := int64(0)
	switch {
	case state == messaging.StateWaiting:
		if t.wakeSender(d.Account, c.due); c.keepOwner {
			keepOwner = 1
		}
	case c.doubtful:
		state, reason, keepOwner = messaging.StateInDoubt, c.reason+"; not sent again: "+kept.Reason, 1
	default:
		reason, by = kept.Reason, kept.Rule
		if state == messaging.StateCancelled {
			by = messaging.EndedByEvent
		}
		if c.reason != "" {
			reason += "; " + c.reason
		}
	}
	if state != messaging.StateWaiting {
		c.due, c.expires = engine.Micro(d.DueAt), engine.Micro(d.ExpiresAt)
	}
	n, err := t.Exec(putBackSQL, int64(d.ID), string(state), reason, c.due, c.expires, c.at, keepOwner, string(d.State), int64(d.Attempt), engine.Flag(c.anew), engine.Flag(c.called || c.doubtful))
	if err == nil && n == 0 {
		err = fmt.Errorf("message %d: %w", d.ID, messaging.ErrClaimLost)
	}
	d.State, d.Reason = state, reason
	p := labels.OfMessage(d)
	if c.doubtful {
		t.mayHaveArrived(&p, c.at)
	}
	t.messageState(d.ID, &p, state, reason, by, c.class)
	return state, err
}

// The first event that calls it off is the one that is told.
var requestCancelSQL = engine.SQL(`UPDATE messages SET called_off = ?2 WHERE id = ?1 AND called_off = ''`)

// requestCancel notes that a cancelling event means a message that does not wait at present.
func (t *Tx) requestCancel(id messaging.MessageID, reason string) error {
	t.off = append(t.off, cancelRequest{id, reason})
	return t.Put(requestCancelSQL, int64(id), reason)
}

var cancelRequestSQL = engine.SQL(`SELECT called_off FROM messages WHERE id = ?1`)

// cancelRequestOf says which event called a message off, "" for none.
func (t *Tx) cancelRequestOf(id messaging.MessageID) (why string, err error) {
	err = t.Query(cancelRequestSQL, func(r *engine.Row) error { why = r.Text(); return nil }, int64(id))
	return why, err
}

// byEvent is the reason of what an event cancels.
func byEvent(e *messaging.Event, id messaging.EventID) string {
	return fmt.Sprintf("cancelled by %s (event %d)", e.Ref(), id)
}

type cancelRequest struct {
	id  messaging.MessageID
	why string
}

// recentOff remembers what was called off lately: more than there can be claims at a time, so that a sender that is
// about to call finds his own.
type recentOff struct {
	mu             sync.RWMutex
	newest, before map[messaging.MessageID]string // a full newest becomes before
}

const maxRecentOff = 8192

func (r *recentOff) add(all []cancelRequest) {
	if len(all) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range all {
		if r.newest == nil || len(r.newest) >= maxRecentOff {
			r.newest, r.before = map[messaging.MessageID]string{}, r.newest
		}
		r.newest[one.id] = cmp.Or(r.newest[one.id], r.before[one.id], one.why)
	}
}

func (r *recentOff) why(id messaging.MessageID) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return cmp.Or(r.newest[id], r.before[id])
}
