package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/numbers"
	"github.com/nudgewire/nudgewire/internal/store/peers"
)

const contactedColumns = `d.id, d.phone, d.trigger_name, d.run_id, d.category`

func scanContacted(r *engine.Row) (messaging.Contacted, error) {
	c := messaging.Contacted{ID: messaging.MessageID(r.Int()), Phone: r.Phone(), Trigger: r.Text()}
	c.Run = messaging.RunID(r.Int())
	c.Category = messaging.Category(r.Text())
	c.At = r.Time()
	return c, r.Err
}

// perContacted is how many phones are asked about in one turn of the writer.
const perContacted = 64

// SentTo are the messages that were sent to these phones since then, are being sent, or may have been sent: as limits count them.
func (s *Store) SentTo(ctx context.Context, phones []messaging.Phone, since time.Time) (out []messaging.Contacted, err error) {
	if s.commits == nil {
		out, err = s.sentToBeside(ctx, phones, since)
		return out, Wrap(err, "who was messaged since %s", since.Format(time.DateTime))
	}
	for some := range slices.Chunk(phones, perContacted) {
		var found []messaging.Contacted
		err := s.Write(ctx, commit.LaneRows, func(t *Tx) error {
			found = found[:0]
			triggers, err := t.triggerNames()
			if err != nil {
				return err
			}
			all := make([]*sentTo, len(some))
			var hashes []int64
			for i, phone := range some {
				all[i] = &sentTo{phone: phone, since: engine.Micro(since), hashes: hashesTo(phone, triggers, s.hash)}
				hashes = append(hashes, all[i].hashes...)
			}
			if len(hashes) > 0 {
				if err := t.peers.Lock(t.Tx, nil, hashes); err != nil {
					return err
				}
			}
			return t.pastMessages(all, func(_ *sentTo, c *messaging.Contacted) { found = append(found, *c) })
		})
		if err != nil {
			return nil, Wrap(err, "who was messaged since %s", since.Format(time.DateTime))
		}
		out = append(out, found...)
	}
	return out, nil
}

// sentToBeside is SentTo where nobody writes: keys that a process which ended in a crash had in memory stand in no table.
func (s *Store) sentToBeside(ctx context.Context, phones []messaging.Phone, since time.Time) (out []messaging.Contacted, err error) {
	triggers, err := List(ctx, s, `SELECT name FROM trigger_names WHERE name > ''`, nil, engine.Text)
	if err != nil {
		return nil, err
	}
	var ids []int64
	if s.file != nil {
		ids, err = List(ctx, s, `SELECT id FROM messages WHERE id > (SELECT coalesce(max(value), 0) FROM counters WHERE name = ?1)`, []any{numbers.MessagesKeyed}, engine.Number[int64])
	}
	for some := range slices.Chunk(phones, engine.PerList) {
		if err != nil {
			return nil, err
		}
		list, args := engine.ListOf(some)
		var rows []int64
		rows, err = List(ctx, s, `SELECT id FROM messages WHERE event_id = 0 AND part = 0 AND phone <> '' AND phone IN (`+list+`)`, args, engine.Number[int64])
		ids = append(ids, rows...)
		for _, phone := range some {
			if hashes := hashesTo(phone, triggers, s.hash); err == nil && len(hashes) > 0 {
				var found []int64
				found, err = s.keyed(ctx, peers.Correlations, hashes...)
				ids = append(ids, found...)
			}
		}
	}
	wanted := map[messaging.Phone]bool{}
	for _, phone := range phones {
		wanted[phone] = true
	}
	slices.Sort(ids)
	for some := range slices.Chunk(slices.Compact(ids), engine.PerList) {
		if err != nil {
			return nil, err
		}
		err = s.Rows(ctx, `SELECT phone, `+pastColumns+` FROM messages WHERE id IN `+engine.In(some)+` AND phone <> ?1 AND `+WasSent, []any{"", engine.Micro(since)}, func(r *engine.Row) error {
			c := messaging.Contacted{Phone: r.Phone(), ID: messaging.MessageID(r.Int()), At: r.Time(), Category: messaging.Category(r.Text()), Trigger: r.Text(), Run: messaging.RunID(r.Int())}
			if wanted[c.Phone] {
				out = append(out, c)
			}
			return r.Err
		})
	}
	return out, err
}

// RowsTo are the rows of runs to these phones that wait, are on their way, or may have been taken since
// then.
func (s *Store) RowsTo(ctx context.Context, phones []messaging.Phone, since time.Time) (out []messaging.Contacted, err error) {
	for some := range slices.Chunk(phones, engine.PerList) {
		list, args := engine.ListOf(some)
		err = s.Rows(ctx, `SELECT `+contactedColumns+`, d.updated_at, d.state FROM messages d WHERE d.event_id = 0 AND d.part = 0 AND d.phone <> '' AND d.phone IN (`+list+`)
			AND (d.state = 'waiting' OR d.state = 'sending' OR d.state = 'in_doubt' OR d.state = 'accepted')`, args, func(r *engine.Row) error {
			one, err := scanContacted(r)
			if r.Text() == string(messaging.StateWaiting) || !one.At.Before(since) {
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
