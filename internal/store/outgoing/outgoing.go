// Package outgoing has the changes that receivers under webhooks_out want to know. They are noted where they are made and written at the end of the same
// commit, a row for each receiver. Where nobody wants to know, nothing is written. What the row says beside the change is read
// from the message then.
package outgoing

import (
	"encoding/json"
	"fmt"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
	"github.com/nudgewire/nudgewire/internal/store/waits"
)

// noted is a change on its way to the end of its commit.
type noted struct {
	to     []string // receivers
	kind   string
	change messaging.Change
	filled bool // nothing is left to be read from the message
}

// Notes are the changes of a transaction.
type Notes struct {
	Due   waits.Waits // what there is to tell, by receiver
	noted []noted
}

// Begin forgets the transaction before, and keeps its room.
func (n *Notes) Begin() { n.noted, n.Due = nil, n.Due[:0] }

// Add notes a change for those who want to know it. filled says that nothing is left to be read from the message.
func (n *Notes) Add(to []string, kind string, change messaging.Change, filled bool) {
	n.noted = append(n.noted, noted{to, kind, change, filled})
}

// Empty reports whether there is nothing to write.
func (n *Notes) Empty() bool { return len(n.noted) == 0 }

var insertSQL = engine.SQL(`INSERT INTO webhooks_out (id, receiver, subject, event_id, phone, kind, body, state, attempts, due_at, lease_ends, at, since, ended_at, reason)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'waiting', 0, ?8, 0, ?8, ?8, 0, '')`)

// Write writes the changes that were noted, at the end of their commit. number gives each row its own.
func (n *Notes) Write(t *engine.Tx, number func(numbers.Sequence) (int64, error)) error {
	for i := range n.noted {
		one := &n.noted[i]
		c := &one.change
		if c.Message != 0 && !one.filled {
			if err := fill(t, c); err != nil {
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
		for _, receiver := range one.to {
			id, err := number(numbers.Outgoing)
			if err == nil {
				err = t.Put(insertSQL, id, receiver, subject, int64(c.Event), string(c.Phone), one.kind, string(body), t.At)
			}
			if err != nil {
				return fmt.Errorf("webhooks out: %w", err)
			}
			n.Due.Note(receiver, t.At, t.At)
		}
	}
	return nil
}

var changeOfSQL = engine.SQL(`SELECT phone, trigger_name, event_id, run_id, step, account, sent_as, test FROM messages WHERE id = ?1`)

// fill adds what the message knows.
func fill(t *engine.Tx, c *messaging.Change) error {
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
