package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire"
)

const contactedColumns = `d.id, d.phone, d.trigger_name, d.run_id, d.category`

func scanContacted(r *row) (nudgewire.Contacted, error) {
	c := nudgewire.Contacted{ID: nudgewire.DispatchID(r.int()), Phone: r.phone(), Trigger: r.text()}
	c.Run = nudgewire.RunID(r.int())
	c.Category = nudgewire.Category(r.text())
	c.At = r.time()
	return c, r.err
}

// MessagedSince calls each for every message that was accepted since then, as far as its phone is known.
// It walks all messages there are.
func (s *Store) MessagedSince(ctx context.Context, since time.Time, each func(nudgewire.DispatchID, nudgewire.Phone)) error {
	err := s.rows(ctx, `SELECT id, phone FROM messages WHERE accepted_at >= ?1 AND phone <> ''`, []any{micro(since)}, func(r *row) error {
		each(nudgewire.DispatchID(r.int()), r.phone())
		return nil
	})
	return wrap(err, "who was messaged since %s", since.Format(time.DateTime))
}

// UnsettledSince are the messages that were claimed since then and may have been taken: they are on their
// way, or in doubt.
func (s *Store) UnsettledSince(ctx context.Context, since time.Time) (out []nudgewire.Contacted, err error) {
	out, err = list(ctx, s, `SELECT `+contactedColumns+`, d.claimed_at FROM messages d WHERE (d.state = 'in_doubt' OR d.state = 'sending') AND d.claimed_at >= ?1`,
		[]any{micro(since)}, scanContacted)
	return out, wrap(err, "who may have been messaged since %s", since.Format(time.DateTime))
}

// Contacts are accepted messages by their numbers, of which there may be any number; those that are not
// there are missing.
func (s *Store) Contacts(ctx context.Context, ids []nudgewire.DispatchID) (out []nudgewire.Contacted, err error) {
	for some := range slices.Chunk(ids, perList) {
		found, err := list(ctx, s, `SELECT `+contactedColumns+`, d.accepted_at FROM messages d WHERE d.state = 'accepted' AND d.id IN `+in(some), nil, scanContacted)
		if err != nil {
			return nil, fmt.Errorf("messages by number: %w", err)
		}
		out = append(out, found...)
	}
	return out, nil
}

// RowsTo are the rows of runs to these phones that wait, are on their way, or may have been taken since
// then.
func (s *Store) RowsTo(ctx context.Context, phones []nudgewire.Phone, since time.Time) (out []nudgewire.Contacted, err error) {
	for some := range slices.Chunk(phones, perList) {
		list, args := listOf(some)
		err = s.rows(ctx, `SELECT `+contactedColumns+`, d.updated_at, d.state FROM messages d WHERE d.event_id = 0 AND d.part = 0 AND d.phone <> '' AND d.phone IN (`+list+`)
			AND (d.state = 'waiting' OR d.state = 'sending' OR d.state = 'in_doubt' OR d.state = 'accepted')`, args, func(r *row) error {
			one, err := scanContacted(r)
			if r.text() == string(nudgewire.StateWaiting) || !one.At.Before(since) {
				out = append(out, one)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("rows to phones: %w", err)
		}
	}
	return out, nil
}

// listOf is the inside of an IN of phones, and its arguments.
func listOf[T ~string](texts []T) (list string, args []any) {
	text := make([]byte, 0, 4*len(texts))
	for i, p := range texts {
		if i > 0 {
			text = append(text, ',')
		}
		text = fmt.Appendf(text, "?%d", i+1)
		args = append(args, string(p))
	}
	return string(text), args
}
