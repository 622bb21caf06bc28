package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/peers"
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

const redactionColumns = `connector, event_id, source, at, up_to, contacts, events, recorded`

func scanRedaction(r *engine.Row) (Redaction, error) {
	return Redaction{
		Connector: r.Text(), Event: messaging.EventID(r.Int()), Source: r.Text(), At: r.Time(), UpTo: r.Time(), Contacts: r.Int(), Events: r.Int(), Recorded: r.Int() == 1,
	}, r.Err
}

// Redactions are the requests that are open, the oldest first.
func (s *Store) Redactions(ctx context.Context) ([]Redaction, error) {
	out, err := List(ctx, s, `SELECT `+redactionColumns+` FROM redactions ORDER BY at, connector`, nil, scanRedaction)
	return out, Wrap(err, "list requests to forget what came by a connector")
}

var askRedactionSQL = engine.SQL(`INSERT INTO redactions (` + redactionColumns + `) VALUES (?1, ?2, ?3, ?4, ?4, 0, 0, 0)
		ON CONFLICT (connector) DO UPDATE SET up_to = CASE WHEN excluded.up_to > redactions.up_to THEN excluded.up_to ELSE redactions.up_to END`)

// askRedaction opens a request, or widens the one that is open. The same request again is the same open one.
func (t *Tx) askRedaction(e *messaging.Event, id messaging.EventID, at int64) (reason string, err error) {
	err = t.Put(askRedactionSQL, e.Connector, int64(id), e.Ref(), at)
	return "a person decides whether all that came by " + e.Connector + " is forgotten (nudgewire contacts redactions); its contacts get no marketing meanwhile",
		Wrap(err, "ask to forget what came by a connector")
}

// Redacting is which of the phones came by a connector all of which is asked to be forgotten, and by which. It costs one look
// while nothing is asked.
func (s *Store) Redacting(ctx context.Context, phones []messaging.Phone) (map[messaging.Phone]string, error) {
	all, err := s.Redactions(ctx)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	open, out := map[string]int64{}, map[messaging.Phone]string{}
	for i := range all {
		open[all[i].Connector] = engine.Micro(all[i].UpTo)
	}
	for some := range slices.Chunk(phones, engine.PerList) {
		ids, err := s.keyedEvents(ctx, some)
		for few := range slices.Chunk(ids, engine.PerList) {
			if err == nil {
				err = s.Rows(ctx, `SELECT phone, connector, received_at FROM events WHERE id IN `+engine.In(few), nil, func(r *engine.Row) error {
					phone := r.Phone()
					connector := out[phone]
					err := cameBy(r, open, &connector)
					if connector != "" && slices.Contains(some, phone) {
						out[phone] = connector
					}
					return err
				})
			}
		}
		if err != nil {
			return nil, fmt.Errorf("ask who is to be forgotten: %w", err)
		}
	}
	return out, nil
}

// cameBy reads an event's connector and when it came. first is the first of the open connectors, by name, by which something came in time.
func cameBy(r *engine.Row, open map[string]int64, first *string) error {
	if by, at := r.Text(), r.Int(); at <= open[by] && (*first == "" || by < *first) {
		*first = by
	}
	return r.Err
}

var (
	openRedactionsSQL = engine.SQL(`SELECT connector, up_to FROM redactions ORDER BY connector`)
	eventsAmongSQL    = engine.SQL(`SELECT connector, received_at FROM events WHERE id IN (` + engine.Placeholders(2) + `) AND phone = ?1`)
)

// openRedactions are the connectors all of which is asked to be forgotten, each with the microsecond up to which.
func (t *Tx) openRedactions() (open map[string]int64, err error) {
	err = t.Query(openRedactionsSQL, func(r *engine.Row) error {
		if open == nil {
			open = map[string]int64{}
		}
		open[r.Text()] = r.Int()
		return r.Err
	})
	return open, Wrap(err, "requests to forget")
}

// redacting is one of the open connectors by which the contact came; "" where there is none.
func (t *Tx) redacting(open map[string]int64, phone messaging.Phone, hash func(...string) int64) (connector string, err error) {
	if len(open) == 0 || phone == "" {
		return "", nil
	}
	ids, err := t.peers.Find(t.Tx, peers.PhonesOfEvents, peers.PhonesOfEvents, phoneHash(phone, hash), nil)
	for some := range slices.Chunk(ids, engine.RowsAtOnce) {
		if err != nil {
			break
		}
		err = t.Query(eventsAmongSQL, func(r *engine.Row) error { return cameBy(r, open, &connector) }, engine.Padded([]any{string(phone)}, some)...)
	}
	return connector, Wrap(err, "whether a contact is to be forgotten")
}
