package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// An Erasure is an order to forget a contact, or all that came by a connector, that is not carried out yet.
type Erasure struct {
	Phone     messaging.Phone // "" where all of a connector is meant
	Connector string
	Source    string // who asked: "by hand", or the event's connector and kind
	At        time.Time
	Waits     string // what it waits for, in words; "" for its turn
	Recorded  bool   // the audit says who ordered it
}

// Forget orders contacts to be forgotten. From this commit on they are blocked, by a mark that names nobody; what is
// stored about them goes in steps afterwards (Erase).
func (s *Store) Forget(ctx context.Context, phones []messaging.Phone, source string) error {
	for some := range slices.Chunk(phones, perBlocks) {
		err := s.write(ctx, laneWork, func(t *tx) error {
			for _, p := range some {
				if err := t.forget(p, source, t.at, true); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("forget contacts: %w", err)
		}
	}
	return nil
}

var (
	dropConsentsSQL = statementOf(`DELETE FROM consents WHERE phone = ?1`)
	dropOptOutSQL   = statementOf(`DELETE FROM opt_outs WHERE phone = ?1`)
	forgetSQL       = statementOf(`INSERT INTO forgetting (phone, connector, source, at, waits, recorded) VALUES (?1, ?2, ?3, ?4, '', ?5)
			ON CONFLICT (phone, connector) DO UPDATE SET source = excluded.source, at = excluded.at, waits = '',
				recorded = CASE WHEN forgetting.recorded = 0 THEN 0 ELSE excluded.recorded END`)
)

// forget orders one contact to be forgotten. recorded says that the audit has the order already, as it has those of people.
func (t *tx) forget(phone messaging.Phone, source string, at int64, recorded bool) error {
	byHand := int64(0)
	if err := t.query(blockOfSQL, func(r *row) error { byHand = flag(r.int() == 0); return nil }, string(phone)); err != nil {
		return err
	}
	if err := t.mark(phone, at, byHand); err != nil {
		return err
	}
	t.lastBlock.Store(micro(time.Now()))
	for _, drop := range []*statement{allowSQL, dropOptOutSQL, dropConsentsSQL} {
		if err := t.put(drop, string(phone)); err != nil {
			return fmt.Errorf("forget: %w", err)
		}
	}
	err := t.put(forgetSQL, string(phone), "", source, at, flag(recorded))
	return wrap(err, "forget")
}

var markSQL = statementOf(`INSERT INTO forgotten (mark, at, by_hand) VALUES (?1, ?2, ?3)
			ON CONFLICT (mark) DO UPDATE SET at = CASE WHEN excluded.at > forgotten.at THEN excluded.at ELSE forgotten.at END,
				by_hand = CASE WHEN excluded.by_hand = 1 THEN 1 ELSE CASE WHEN forgotten.allowed = 1 THEN 0 ELSE forgotten.by_hand END END, allowed = 0`)

// mark notes that a contact was forgotten, by a hash.
func (t *tx) mark(phone messaging.Phone, at, byHand int64) error {
	if err := t.marks.need(true); err != nil {
		return err
	}
	t.marks.any.Store(true)
	err := t.put(markSQL, t.marks.of(phone), at, byHand)
	return wrap(err, "forget")
}

// ForgetConnector orders all that came by a connector to be forgotten.
func (s *Store) ForgetConnector(ctx context.Context, connector, source string) error {
	err := s.write(ctx, laneWork, func(t *tx) error { return t.forgetConnector(connector, source, t.at) })
	return wrap(err, "forget what came by %s", connector)
}

var dropRedactionSQL = statementOf(`DELETE FROM redactions WHERE connector = ?1 AND at <= ?2`)

func (t *tx) forgetConnector(connector, source string, at int64) error {
	err := t.put(forgetSQL, "", connector, source, at, int64(1))
	if err == nil { // a request of its own has nothing left to ask
		err = t.put(dropRedactionSQL, connector, at)
	}
	return wrap(err, "forget")
}

// obey carries out an event that asks for its contact to be forgotten, and has a person decide where it asks for all of its sender. It
// says what comes of it.
func (t *tx) obey(e *messaging.Event, id messaging.EventID, of messaging.Outcome) (reason string, err error) {
	at := max(t.at, micro(e.ReceivedAt)) // the event itself goes, too
	if of == messaging.ForgettingAll {
		return t.askRedaction(e, id, at)
	}
	return "the contact is forgotten, in steps, and stays blocked", t.forget(e.Contact.Phone, e.Ref(), at, false)
}

// Erasures lists what is ordered to be forgotten and is not yet, the oldest order first.
func (s *Store) Erasures(ctx context.Context) ([]Erasure, error) {
	out, err := list(ctx, s, `SELECT phone, connector, source, at, waits, recorded FROM forgetting ORDER BY at, phone, connector`, nil, func(r *row) (Erasure, error) {
		return Erasure{r.phone(), r.text(), r.text(), r.time(), r.text(), r.int() == 1}, r.err
	})
	return out, wrap(err, "list what is to be forgotten")
}

var forgetMoreSQL = statementOf(`UPDATE forgetting SET waits = ?3 WHERE phone = ?1 AND connector = ?2`)

// ErasureWaits notes what orders wait for.
func (s *Store) ErasureWaits(ctx context.Context, all []Erasure, why string) error {
	err := s.write(ctx, laneWork, func(t *tx) error {
		for _, e := range all {
			if err := t.put(forgetMoreSQL, string(e.Phone), e.Connector, why); err != nil {
				return err
			}
		}
		return nil
	})
	return wrap(err, "note what forgetting waits for")
}

var (
	erasedSQL   = statementOf(`DELETE FROM forgetting WHERE phone = ?1 AND connector = ?2 AND at = ?3`)
	setCountSQL = statementOf(`INSERT INTO counts (name, writer, value) VALUES (?1, 0, ?2)
		ON CONFLICT (name, writer) DO UPDATE SET value = excluded.value`)
)

// Erased notes that orders are carried out but for what Wipe does. One that was given anew meanwhile stays.
func (s *Store) Erased(ctx context.Context, all []Erasure) error {
	err := s.write(ctx, laneWork, func(t *tx) error {
		if s.file != nil {
			if err := t.put(setCountSQL, rewriteDue, int64(1)); err != nil {
				return err
			}
		}
		for _, e := range all {
			if err := t.put(erasedSQL, string(e.Phone), e.Connector, micro(e.At)); err != nil {
				return err
			}
		}
		return nil
	})
	return wrap(err, "note what is forgotten")
}

// ForgottenAt is when a contact was forgotten; zero for one that was not.
func (s *Store) ForgottenAt(ctx context.Context, phone messaging.Phone) (time.Time, error) {
	gone, err := s.Forgotten(ctx, []messaging.Phone{phone})
	return gone[phone], err
}

// answeredRequests is the counter of the newest event that asked for a contact's data and got it.
const answeredRequests = "data_requests/answered"

const dataRequestsSQL = `SELECT id FROM events WHERE id > ?1 AND id <= ?2 AND kind = 'contact.data_requested' ORDER BY id`

// DataRequests are the events after the given one that ask for what is stored about their contact, and the newest event there
// is. After 0 it is those that nobody was given anything for.
func (s *Store) DataRequests(ctx context.Context, after messaging.EventID) (ids []messaging.EventID, newest messaging.EventID, err error) {
	if after == 0 {
		err = s.rows(ctx, `SELECT value FROM counters WHERE name = ?1`, []any{answeredRequests}, func(r *row) error {
			after = messaging.EventID(r.int())
			return nil
		})
	}
	if err == nil {
		err = s.rows(ctx, `SELECT coalesce(max(id), 0) FROM events`, nil, func(r *row) error { newest = messaging.EventID(r.int()); return nil })
	}
	if err == nil && newest > after {
		ids, err = list(ctx, s, dataRequestsSQL, []any{int64(after), int64(newest)}, number[messaging.EventID])
	}
	return ids, newest, wrap(err, "look for requests of data")
}

// DataRequestAnswered notes that what the event asks for lies ready.
func (s *Store) DataRequestAnswered(ctx context.Context, id messaging.EventID) error {
	err := s.write(ctx, laneWork, func(t *tx) error {
		return t.put(setCountSQL, answeredRequests, int64(id))
	})
	return wrap(err, "note a request of data")
}
