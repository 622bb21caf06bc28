package store

import (
	"encoding/json"
	"fmt"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
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

// outgoing are the changes of a transaction.
type outgoing struct {
	noted []noted
	due   waits // by receiver
}

func (o *outgoing) begin() { o.noted, o.due = nil, o.due[:0] }

// Note notes a change if somebody wants to know it.
func (t *Tx) Note(about, word string, change messaging.Change, filled bool) {
	if t.tells == nil {
		return
	}
	if to := t.tells(about, word); len(to) > 0 {
		t.outgoing.noted = append(t.outgoing.noted, noted{to, about + "." + word, change, filled})
	}
}

var insertOutgoingSQL = engine.SQL(`INSERT INTO webhooks_out (id, receiver, subject, event_id, phone, kind, body, state, attempts, due_at, lease_ends, at, since, ended_at, reason)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'waiting', 0, ?8, 0, ?8, ?8, 0, '')`)

// write writes the changes that were noted, at the end of their commit.
func (o *outgoing) write(t *Tx) error {
	for i := range o.noted {
		n := &o.noted[i]
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
			id, err := t.allocate(numbers.Outgoing)
			if err == nil {
				err = t.Put(insertOutgoingSQL, id, receiver, subject, int64(c.Event), string(c.Phone), n.kind, string(body), t.At)
			}
			if err != nil {
				return fmt.Errorf("webhooks out: %w", err)
			}
			t.WakeReceiver(receiver, t.At)
		}
	}
	return nil
}

var changeOfSQL = engine.SQL(`SELECT phone, trigger_name, event_id, run_id, step, account, sent_as, test FROM messages WHERE id = ?1`)

// fillChange adds what the message knows.
func (t *Tx) fillChange(c *messaging.Change) error {
	return t.Query(changeOfSQL, func(r *engine.Row) error {
		phone, name := r.Phone(), r.Text()
		c.Event, c.Run, c.Step, c.Account = messaging.EventID(r.Int()), messaging.RunID(r.Int()), int(r.Int()), r.Text()
		c.SentAs, c.Test = r.Text(), r.Text()
		if c.Phone == "" {
			c.Phone = phone
		}
		if c.Trigger = name; c.Event == 0 && name != messaging.ByHand {
			c.Trigger, c.Job = "", name
		}
		return nil
	}, int64(c.Message))
}

// WakeReceiver has those who tell a receiver hear, after the commit, that something is due for it at that moment.
func (t *Tx) WakeReceiver(name string, at int64) { t.outgoing.due.note(name, at, t.At) }
