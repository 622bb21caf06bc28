package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/commit"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// Forget orders contacts to be forgotten. From this commit on they are blocked, by a mark that names nobody; what is
// stored about them goes in steps afterwards (Erase).
func (s *Store) Forget(ctx context.Context, phones []messaging.Phone, source string) error {
	for some := range slices.Chunk(phones, perBlocks) {
		err := s.Write(ctx, commit.LaneWork, func(t *Tx) error {
			for _, p := range some {
				if err := t.forget(p, source, t.At, true); err != nil {
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
	dropConsentsSQL = engine.SQL(`DELETE FROM consents WHERE phone = ?1`)
	dropOptOutSQL   = engine.SQL(`DELETE FROM opt_outs WHERE phone = ?1`)
	forgetSQL       = engine.SQL(`INSERT INTO forgetting (phone, connector, source, at, waits, recorded) VALUES (?1, ?2, ?3, ?4, '', ?5)
			ON CONFLICT (phone, connector) DO UPDATE SET source = excluded.source, at = excluded.at, waits = '',
				recorded = CASE WHEN forgetting.recorded = 0 THEN 0 ELSE excluded.recorded END`)
)

// forget orders one contact to be forgotten. recorded says that the audit has the order already, as it has those of people.
func (t *Tx) forget(phone messaging.Phone, source string, at int64, recorded bool) error {
	byHand := int64(0)
	if err := t.Query(blockOfSQL, func(r *engine.Row) error { byHand = engine.Flag(r.Int() == 0); return nil }, string(phone)); err != nil {
		return err
	}
	if err := t.mark(phone, at, byHand); err != nil {
		return err
	}
	t.lastBlock.Store(t.At)
	for _, drop := range []*engine.Statement{allowSQL, dropOptOutSQL, dropConsentsSQL} {
		if err := t.Put(drop, string(phone)); err != nil {
			return fmt.Errorf("forget: %w", err)
		}
	}
	err := t.Put(forgetSQL, string(phone), "", source, at, engine.Flag(recorded))
	return Wrap(err, "forget")
}

var markSQL = engine.SQL(`INSERT INTO forgotten (mark, at, by_hand) VALUES (?1, ?2, ?3)
			ON CONFLICT (mark) DO UPDATE SET at = CASE WHEN excluded.at > forgotten.at THEN excluded.at ELSE forgotten.at END,
				by_hand = CASE WHEN excluded.by_hand = 1 THEN 1 ELSE CASE WHEN forgotten.allowed = 1 THEN 0 ELSE forgotten.by_hand END END, allowed = 0`)

// mark notes that a contact was forgotten, by a hash.
func (t *Tx) mark(phone messaging.Phone, at, byHand int64) error {
	if err := t.Marks.Need(true); err != nil {
		return err
	}
	t.Marks.Any.Store(true)
	err := t.Put(markSQL, t.Marks.Of(phone), at, byHand)
	return Wrap(err, "forget")
}

// MarkBlockOf replaces a block that this event brought by a mark that names nobody.
func (t *Tx) MarkBlockOf(phone messaging.Phone, event int64) error {
	brought := false
	err := t.Query(blockOfSQL, func(r *engine.Row) error { brought = r.Int() == event; return r.Err }, string(phone))
	if err == nil && brought {
		if err = t.mark(phone, t.At, 0); err == nil {
			err = t.Put(allowSQL, string(phone))
		}
	}
	return err
}

// ForgetConnector orders all that came by a connector to be forgotten.
func (s *Store) ForgetConnector(ctx context.Context, connector, source string) error {
	err := s.Write(ctx, commit.LaneWork, func(t *Tx) error { return t.ForgetConnector(connector, source, t.At) })
	return Wrap(err, "forget what came by %s", connector)
}

var dropRedactionSQL = engine.SQL(`DELETE FROM redactions WHERE connector = ?1 AND at <= ?2`)

// ForgetConnector is Store.ForgetConnector for what came up to a moment.
func (t *Tx) ForgetConnector(connector, source string, at int64) error {
	err := t.Put(forgetSQL, "", connector, source, at, int64(1))
	if err == nil { // a request of its own has nothing left to ask
		err = t.Put(dropRedactionSQL, connector, at)
	}
	return Wrap(err, "forget")
}

// applyErasure carries out an event that asks for its contact to be forgotten, and has a person decide where it asks for all of its sender. It
// says what comes of it.
func (t *Tx) applyErasure(e *messaging.Event, id messaging.EventID, of messaging.Outcome) (reason string, err error) {
	at := max(t.At, engine.Micro(e.ReceivedAt)) // the event itself goes, too
	if of == messaging.ForgettingAll {
		return t.askRedaction(e, id, at)
	}
	return "the contact is forgotten, in steps, and stays blocked", t.forget(e.Contact.Phone, e.Ref(), at, false)
}

// ForgottenAt is when a contact was forgotten; zero for one that was not.
func (s *Store) ForgottenAt(ctx context.Context, phone messaging.Phone) (time.Time, error) {
	gone, err := s.Forgotten(ctx, []messaging.Phone{phone})
	return gone[phone], err
}

// forgotten is when a contact was forgotten, 0 for one that was not or was allowed again, and whether a person had blocked it.
func (t *Tx) forgotten(phone messaging.Phone) (at int64, byHand bool, err error) {
	at, byHand, allowed, err := t.everForgotten(phone)
	if allowed {
		return 0, false, err
	}
	return at, byHand, err
}

var forgottenSQL = engine.SQL(`SELECT at, by_hand, allowed FROM forgotten WHERE mark = ?1`)

func scanForgotten(r *engine.Row) (at int64, byHand, allowed bool) {
	return r.Int(), r.Int() == 1, r.Int() == 1
}

// everForgotten is forgotten also of a contact that was allowed again since.
func (t *Tx) everForgotten(phone messaging.Phone) (at int64, byHand, allowed bool, err error) {
	if !t.Marks.Any.Load() || phone == "" {
		return 0, false, false, nil
	}
	err = t.Query(forgottenSQL, func(r *engine.Row) error {
		at, byHand, allowed = scanForgotten(r)
		return r.Err
	}, t.Marks.Of(phone))
	return at, byHand, allowed, Wrap(err, "who was forgotten")
}

// Forgotten is which of the phones are of contacts that were forgotten, and since when. It costs nothing while nobody was.
func (s *Store) Forgotten(ctx context.Context, phones []messaging.Phone) (map[messaging.Phone]time.Time, error) {
	if !s.Marks.Any.Load() {
		return nil, nil
	}
	out := map[messaging.Phone]time.Time{}
	for some := range slices.Chunk(phones, engine.PerList) {
		by := make(map[string]messaging.Phone, len(some))
		hashes := make([]string, len(some))
		for i, p := range some {
			hashes[i] = s.Marks.Of(p)
			by[hashes[i]] = p
		}
		in, args := engine.ListOf(hashes)
		err := s.Rows(ctx, `SELECT mark, at FROM forgotten WHERE allowed = 0 AND mark IN (`+in+`)`, args, func(r *engine.Row) error {
			out[by[r.Text()]] = r.Time()
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("ask who was forgotten: %w", err)
		}
	}
	return out, nil
}

var eraseEventSQL = engine.SQL(`UPDATE events SET phone = '', phone_problem = ?2, dedupe_key = ?3, cleared = 'forgotten', content_type = '', content = ?4 WHERE id = ?1`)

// EraseEvent takes out of an event whom it is about. Its key stays known as one that was used.
func (t *Tx) EraseEvent(id int64) error {
	if err := t.Marks.Need(true); err != nil {
		return err
	}
	known, err := t.eventKey(id)
	if err != nil {
		return err
	}
	return t.Put(eraseEventSQL, id, messaging.ForgottenWords, t.Marks.UsedKey(known.key), []byte{})
}

// loadMarks reads the key where somebody is forgotten.
func (s *Store) loadMarks(ctx context.Context) error {
	return s.Rows(ctx, `SELECT mark FROM forgotten LIMIT 1`, nil, func(*engine.Row) error {
		s.Marks.Any.Store(true)
		return s.Marks.Need(false)
	})
}
