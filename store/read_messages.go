package store

import (
	"context"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire"
)

// A MessageFilter narrows a list of messages. Zero fields do not.
type MessageFilter struct {
	Since  time.Time // accepted at or after
	Limit  int       // default 50
	Status nudgewire.Status
	Phone  nudgewire.Phone
}

// Messages lists what the service accepted, newest first; those of one status by their numbers.
func (s *Store) Messages(ctx context.Context, f MessageFilter) (out []nudgewire.Message, err error) {
	if f.Limit <= 0 {
		f.Limit = defaultLimit
	}
	var q select_
	if f.Phone != "" {
		ids, err := s.dispatchesOf(ctx, f.Phone)
		if err != nil {
			return nil, fmt.Errorf("list messages: %w", err)
		}
		q.and("dispatch_id IN " + in(ids))
		q.and("phone = ?", string(f.Phone))
	}
	if !f.Since.IsZero() {
		q.and("accepted_at >= ?", micro(f.Since))
	}
	if f.Status != "" {
		q.and("status = ?", string(f.Status))
	}
	order := "accepted_at DESC, dispatch_id DESC"
	if f.Status != "" { // in the order of its index
		order = "dispatch_id DESC"
	}
	err = s.rows(ctx, q.sql(messageColumns, "messages", order, f.Limit), q.args, func(r *row) error {
		m, err := scanMessage(r)
		out = append(out, m)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list messages: %w", err)
	}
	return out, nil
}

// Message is the message of a dispatch. ErrNotFound when the service has taken none.
func (s *Store) Message(ctx context.Context, id nudgewire.DispatchID) (nudgewire.Message, error) {
	m, err := s.oneMessage(ctx, `WHERE dispatch_id = ?1`, int64(id))
	if err != nil {
		return m, fmt.Errorf("message of dispatch %d: %w", id, err)
	}
	return m, nil
}

// MessageByID is the newest message that the service gave this id. ErrNotFound when there is none.
func (s *Store) MessageByID(ctx context.Context, id nudgewire.MessageID) (nudgewire.Message, error) {
	m, err := s.oneMessage(ctx, `WHERE message_id = ?1 AND message_id <> '' ORDER BY dispatch_id DESC LIMIT 1`, string(id))
	if err != nil {
		return m, fmt.Errorf("message %s: %w", id, err)
	}
	return m, nil
}

func (s *Store) oneMessage(ctx context.Context, where string, arg any) (m nudgewire.Message, err error) {
	found := false
	err = s.rows(ctx, `SELECT `+messageColumns+` FROM messages `+where, []any{arg}, func(r *row) (err error) {
		m, err = scanMessage(r)
		found = true
		return err
	})
	if err == nil && !found {
		err = ErrNotFound
	}
	return m, err
}

// A RefusalFilter narrows a list of refusals. Zero fields do not.
type RefusalFilter struct {
	Since     time.Time
	Limit     int // default 50
	Connector string
}

// Refusals lists requests that were not taken, newest first.
func (s *Store) Refusals(ctx context.Context, f RefusalFilter) (out []nudgewire.Refusal, err error) {
	if f.Limit <= 0 {
		f.Limit = defaultLimit
	}
	var q select_
	if f.Connector != "" {
		q.and("connector = ?", f.Connector)
	}
	if !f.Since.IsZero() {
		q.and("at >= ?", micro(f.Since)) // the ring is short enough to walk
	}
	const columns = `id, connector, status, stage, reason, method, bytes, sample, at`
	err = s.rows(ctx, q.sql(columns, "refusals", "id DESC", f.Limit), q.args, func(r *row) error {
		out = append(out, nudgewire.Refusal{
			ID: r.int(), Connector: r.text(), Status: int(r.int()), Stage: r.text(), Reason: r.text(), Method: r.text(),
			Bytes: int(r.int()), Sample: r.text(), At: r.time(),
		})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list refusals: %w", err)
	}
	return out, nil
}
