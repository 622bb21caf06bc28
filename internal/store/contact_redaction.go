package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A Redaction is a sender's request that all that came by it is forgotten. A person carries it out or refuses it; until then its
// contacts get no marketing, by a rule that each claim asks, and by lists that leave them out.
type Redaction struct {
	Connector string
	Event     messaging.EventID // that asked first
	Source    string            // connector and kind of that event
	At        time.Time         // when it came
	UpTo      time.Time         // when the newest request came: what came later is not meant
	Contacts  int64             // different phones that came by the connector; 0 until it was counted
	Events    int64
	Recorded  bool // it is in the audit
}

// ViaWebhook is how the audit knows who asked: the sender's own webhook.
const ViaWebhook = "webhook"

var askRedactionSQL = statementOf(`INSERT INTO redactions (` + redactionColumns + `) VALUES (?1, ?2, ?3, ?4, ?4, 0, 0, 0)
		ON CONFLICT (connector) DO UPDATE SET up_to = CASE WHEN excluded.up_to > redactions.up_to THEN excluded.up_to ELSE redactions.up_to END`)

// askRedaction opens a request, or widens the one that is open. The same request again is the same open one.
func (t *tx) askRedaction(e *messaging.Event, id messaging.EventID, at int64) (reason string, err error) {
	err = t.put(askRedactionSQL, e.Connector, int64(id), e.Ref(), at)
	return "a person decides whether all that came by " + e.Connector + " is forgotten (nudgewire contacts redactions); its contacts get no marketing meanwhile",
		wrap(err, "ask to forget what came by a connector")
}

const redactionColumns = `connector, event_id, source, at, up_to, contacts, events, recorded`

func scanRedaction(r *row) (Redaction, error) {
	return Redaction{
		Connector: r.text(), Event: messaging.EventID(r.int()), Source: r.text(), At: r.time(), UpTo: r.time(), Contacts: r.int(), Events: r.int(), Recorded: r.int() == 1,
	}, r.err
}

// Redactions are the requests that are open, the oldest first.
func (s *Store) Redactions(ctx context.Context) ([]Redaction, error) {
	out, err := list(ctx, s, `SELECT `+redactionColumns+` FROM redactions ORDER BY at, connector`, nil, scanRedaction)
	return out, wrap(err, "list requests to forget what came by a connector")
}

// Reach is how many contacts and events came by a connector up to a time. It reads all events.
func (s *Store) Reach(ctx context.Context, connector string, upTo time.Time) (contacts, events int64, err error) {
	err = s.rows(ctx, `SELECT count(DISTINCT CASE WHEN phone <> '' THEN phone END), count(*) FROM events WHERE connector = ?1 AND received_at <= ?2`,
		[]any{connector, micro(upTo)}, func(r *row) error { contacts, events = r.int(), r.int(); return r.err })
	return contacts, events, wrap(err, "count what came by %s", connector)
}

// reachWords say how many a request is about.
func reachWords(connector string, contacts, events int64) string {
	return fmt.Sprintf("all that came by %s: %d contacts, %d events", connector, contacts, events)
}

var recordRedactionSQL = statementOf(`UPDATE redactions SET recorded = 1, contacts = ?3, events = ?4 WHERE connector = ?1 AND at = ?2 AND recorded = 0`)

// RecordRedactions writes requests that the audit does not know yet into it, with how many they are about: each once, whichever node
// does it and wherever it ended before.
func (s *Store) RecordRedactions(ctx context.Context) error {
	open, err := s.Redactions(ctx)
	for i := 0; i < len(open) && err == nil; i++ {
		o := &open[i]
		if o.Recorded {
			continue
		}
		if o.Contacts, o.Events, err = s.Reach(ctx, o.Connector, o.UpTo); err != nil {
			return err
		}
		err = s.write(ctx, laneWork, func(t *tx) error {
			n, err := t.exec(recordRedactionSQL, o.Connector, micro(o.At), o.Contacts, o.Events)
			if err != nil || n == 0 {
				return err
			}
			t.audit(&AuditEntry{
				At: o.At, Who: o.Source, Via: ViaWebhook, Action: "ask to forget", Subject: fmt.Sprintf("event %d", o.Event), Detail: reachWords(o.Connector, o.Contacts, o.Events),
			})
			return nil
		})
	}
	return wrap(err, "record requests to forget")
}

var recordErasureSQL = statementOf(`UPDATE forgetting SET recorded = 1 WHERE phone = ?1 AND connector = ?2 AND at = ?3 AND recorded = 0`)

// RecordErasures writes orders of webhooks to forget somebody into the audit, each once. A contact is known there by its mark, the
// keyed hash that its block is kept by.
func (s *Store) RecordErasures(ctx context.Context, all []Erasure) error {
	for i := range all {
		o := &all[i]
		if o.Recorded {
			continue
		}
		err := s.write(ctx, laneWork, func(t *tx) error {
			if err := t.marks.need(true); err != nil {
				return err
			}
			n, err := t.exec(recordErasureSQL, string(o.Phone), o.Connector, micro(o.At))
			if err != nil || n == 0 {
				return err
			}
			t.audit(&AuditEntry{At: o.At, Who: o.Source, Via: ViaWebhook, Action: "forget", Subject: "contact " + shortMark(t.marks.of(o.Phone))})
			return nil
		})
		if err != nil {
			return wrap(err, "record an order to forget")
		}
	}
	return nil
}

// shortMark is as much of a mark as tells contacts apart for people.
func shortMark(mark string) string { return mark[:min(16, len(mark))] }

var decideRedactionSQL = statementOf(`DELETE FROM redactions WHERE connector = ?1 AND at = ?2`)

// DecideRedaction carries out the open request of a connector, or refuses it, as a person says: order is the audit's entry of that, to which
// this adds how many it is about. messaging.ErrNotFound means that none is open: of two people who decide one does.
func (s *Store) DecideRedaction(ctx context.Context, connector string, carryOut bool, order AuditEntry) (done Redaction, err error) {
	open, err := s.Redactions(ctx)
	if err != nil {
		return done, err
	}
	at := slices.IndexFunc(open, func(r Redaction) bool { return r.Connector == connector })
	if at < 0 {
		return done, wrap(messaging.ErrNotFound, "decide about what came by %s", connector)
	}
	done = open[at]
	if done.Contacts, done.Events, err = s.Reach(ctx, connector, done.UpTo); err != nil {
		return done, err
	}
	order.Detail = reachWords(connector, done.Contacts, done.Events) + fmt.Sprintf(", asked for by event %d", done.Event)
	err = s.write(ctx, laneWork, func(t *tx) error {
		n, err := t.exec(decideRedactionSQL, connector, micro(done.At))
		if err == nil && n == 0 {
			return noWrite{messaging.ErrNotFound}
		}
		if err == nil {
			t.audit(&order)
		}
		if err == nil && carryOut {
			err = t.forgetConnector(connector, "by hand: "+order.Who, micro(done.UpTo))
		}
		return err
	})
	return done, wrap(err, "decide about what came by %s", connector)
}

// Redacting is which of the phones came by a connector all of which is asked to be forgotten, and by which. It costs one look
// while nothing is asked.
func (s *Store) Redacting(ctx context.Context, phones []messaging.Phone) (map[messaging.Phone]string, error) {
	open, err := s.Redactions(ctx)
	if err != nil || len(open) == 0 {
		return nil, err
	}
	out := map[messaging.Phone]string{}
	for some := range slices.Chunk(phones, perList) {
		err := s.write(ctx, laneWork, func(t *tx) error {
			open, err := t.openRedactions()
			for _, phone := range some {
				connector := ""
				if err == nil {
					connector, err = t.redacting(open, phone, s.hash)
				}
				if connector != "" {
					out[phone] = connector
				}
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("ask who is to be forgotten: %w", err)
		}
	}
	return out, nil
}

var (
	openRedactionsSQL = statementOf(`SELECT connector, up_to FROM redactions ORDER BY connector`)
	eventsAmongSQL    = statementOf(`SELECT connector, received_at FROM events WHERE id IN (` + marks(2) + `) AND phone = ?1`)
)

// openRedactions are the connectors all of which is asked to be forgotten, each with the microsecond up to which.
func (t *tx) openRedactions() (open map[string]int64, err error) {
	err = t.query(openRedactionsSQL, func(r *row) error {
		if open == nil {
			open = map[string]int64{}
		}
		open[r.text()] = r.int()
		return r.err
	})
	return open, wrap(err, "requests to forget")
}

// redacting is one of the open connectors by which the contact came; "" where there is none.
func (t *tx) redacting(open map[string]int64, phone messaging.Phone, hash func(...string) int64) (connector string, err error) {
	if len(open) == 0 || phone == "" {
		return "", nil
	}
	ids, err := t.peers.find(t, phonesOfEvents, phonesOfEvents, phoneHash(phone, hash), nil)
	for some := range slices.Chunk(ids, rowsAtOnce) {
		if err != nil {
			break
		}
		err = t.query(eventsAmongSQL, func(r *row) error {
			if by, at := r.text(), r.int(); at <= open[by] && (connector == "" || by < connector) {
				connector = by
			}
			return r.err
		}, padded([]any{string(phone)}, some)...)
	}
	return connector, wrap(err, "whether a contact is to be forgotten")
}
