package privacy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/chain"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// ViaWebhook is how the audit knows who asked: the sender's own webhook.
const ViaWebhook = "webhook"

// Reach is how many contacts and events came by a connector up to a time. It reads all events.
func (s Records) Reach(ctx context.Context, connector string, upTo time.Time) (contacts, events int64, err error) {
	err = s.Rows(ctx, `SELECT count(DISTINCT CASE WHEN phone <> '' THEN phone END), count(*) FROM events WHERE connector = ?1 AND received_at <= ?2`,
		[]any{connector, engine.Micro(upTo)}, func(r *engine.Row) error { contacts, events = r.Int(), r.Int(); return r.Err })
	return contacts, events, store.Wrap(err, "count what came by %s", connector)
}

// reachWords say how many a request is about.
func reachWords(connector string, contacts, events int64) string {
	return fmt.Sprintf("all that came by %s: %d contacts, %d events", connector, contacts, events)
}

var recordRedactionSQL = engine.SQL(`UPDATE redactions SET recorded = 1, contacts = ?3, events = ?4 WHERE connector = ?1 AND at = ?2 AND recorded = 0`)

// RecordRedactions writes requests that the audit does not know yet into it, with how many they are about: each once, whichever node
// does it and wherever it ended before.
func (s Records) RecordRedactions(ctx context.Context) error {
	open, err := s.Redactions(ctx)
	for i := 0; i < len(open) && err == nil; i++ {
		o := &open[i]
		if o.Recorded {
			continue
		}
		if o.Contacts, o.Events, err = s.Reach(ctx, o.Connector, o.UpTo); err != nil {
			return err
		}
		err = s.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
			n, err := t.Exec(recordRedactionSQL, o.Connector, engine.Micro(o.At), o.Contacts, o.Events)
			if err != nil || n == 0 {
				return err
			}
			t.Audit(&chain.Entry{
				At: o.At, Who: o.Source, Via: ViaWebhook, Action: "ask to forget", Subject: fmt.Sprintf("event %d", o.Event), Detail: reachWords(o.Connector, o.Contacts, o.Events),
			})
			return nil
		})
	}
	return store.Wrap(err, "record requests to forget")
}

var recordErasureSQL = engine.SQL(`UPDATE forgetting SET recorded = 1 WHERE phone = ?1 AND connector = ?2 AND at = ?3 AND recorded = 0`)

// RecordErasures writes orders of webhooks to forget somebody into the audit, each once. A contact is known there by its mark, the
// keyed hash that its block is kept by.
func (s Records) RecordErasures(ctx context.Context, all []Erasure) error {
	for i := range all {
		o := &all[i]
		if o.Recorded {
			continue
		}
		subject, err := s.Marks.Contact(o.Phone)
		if err == nil {
			err = s.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
				n, err := t.Exec(recordErasureSQL, string(o.Phone), o.Connector, engine.Micro(o.At))
				if err == nil && n > 0 {
					t.Audit(&chain.Entry{At: o.At, Who: o.Source, Via: ViaWebhook, Action: "forget", Subject: subject})
				}
				return err
			})
		}
		if err != nil {
			return store.Wrap(err, "record an order to forget")
		}
	}
	return nil
}

var decideRedactionSQL = engine.SQL(`DELETE FROM redactions WHERE connector = ?1 AND at = ?2`)

// DecideRedaction carries out the open request of a connector, or refuses it, as a person says: order is the audit's entry of that, to which
// this adds how many it is about. messaging.ErrNotFound means that none is open: of two people who decide one does.
func (s Records) DecideRedaction(ctx context.Context, connector string, carryOut bool, order chain.Entry) (done store.Redaction, err error) {
	open, err := s.Redactions(ctx)
	if err != nil {
		return done, err
	}
	at := slices.IndexFunc(open, func(r store.Redaction) bool { return r.Connector == connector })
	if at < 0 {
		return done, store.Wrap(messaging.ErrNotFound, "decide about what came by %s", connector)
	}
	done = open[at]
	if done.Contacts, done.Events, err = s.Reach(ctx, connector, done.UpTo); err != nil {
		return done, err
	}
	order.Detail = reachWords(connector, done.Contacts, done.Events) + fmt.Sprintf(", asked for by event %d", done.Event)
	err = s.Write(ctx, commit.LaneWork, func(t *store.Tx) error {
		n, err := t.Exec(decideRedactionSQL, connector, engine.Micro(done.At))
		if err == nil && n == 0 {
			return commit.NoWrite{Err: messaging.ErrNotFound}
		}
		if err == nil {
			t.Audit(&order)
		}
		if err == nil && carryOut {
			err = t.ForgetConnector(connector, "by hand: "+order.Who, engine.Micro(done.UpTo))
		}
		return err
	})
	return done, store.Wrap(err, "decide about what came by %s", connector)
}
