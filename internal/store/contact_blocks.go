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

// A Block says that nothing is sent to a phone.
type Block struct {
	Phone  messaging.Phone   `json:"phone"`
	Reason string            `json:"reason,omitempty" kind:"text"` // in a person's words; "" for none given
	Source string            `json:"source,omitempty" kind:"text"` // who said so: "by hand", a file's name, or the event's connector and kind
	At     time.Time         `json:"at,omitzero"`
	Event  messaging.EventID `json:"event,omitempty"` // that said so; 0 for a person
}

// perBlocks is how many blocks share one operation.
const perBlocks = 256

var blockSQL = engine.SQL(`INSERT INTO blocks (phone, reason, source, at) VALUES (?1, ?2, ?3, ?4)
		ON CONFLICT (phone) DO UPDATE SET reason = excluded.reason, source = excluded.source, event_id = 0, by_service = 0`)

// Block blocks contacts, and says how many were not blocked before.
func (s *Store) Block(ctx context.Context, blocks []Block) (fresh int, err error) {
	for len(blocks) > 0 {
		some := blocks[:min(len(blocks), perBlocks)]
		blocks = blocks[len(some):]
		var n int
		err := s.Write(ctx, commit.LaneWork, func(t *Tx) error {
			n = 0
			t.lastBlock.Store(t.At)
			for _, b := range some {
				_, blocked, err := t.blocked(b.Phone)
				if err != nil {
					return err
				}
				if !blocked {
					n++
				}
				gone, _, err := t.forgotten(b.Phone)
				if err == nil && gone > 0 {
					err = t.mark(b.Phone, gone, 1) // blocked already, and its phone is kept nowhere; from now on by a person
				}
				if err != nil {
					return err
				}
				if gone > 0 {
					continue
				}
				at := engine.Micro(b.At)
				if at == 0 {
					at = t.At
				}
				t.noteContact(b.Phone, factBlock)
				if err := t.Put(blockSQL, string(b.Phone), b.Reason, b.Source, at); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fresh, fmt.Errorf("block contacts: %w", err)
		}
		fresh += n
	}
	return fresh, nil
}

var blockedSQL = engine.SQL(`SELECT reason FROM blocks WHERE phone = ?1`)

func (t *Tx) blocked(phone messaging.Phone) (reason string, found bool, err error) {
	err = t.Query(blockedSQL, func(r *engine.Row) error { reason, found = r.Text(), true; return nil }, string(phone))
	if err == nil && !found {
		if at, _, err := t.forgotten(phone); err != nil || at > 0 {
			return messaging.ForgottenWords, at > 0, err
		}
	}
	return reason, found, err
}

// clockSlack is how far the clock may be put back between a claim and a block without FactsOf
// taking the block for older than the claim.
const clockSlack = int64(time.Minute / time.Microsecond)

// FactsOf are the facts of a claimed message that may have changed since its claim, for the look just before its call: an event that
// cancelled it, a hold, a block of its contact. A block that is older than the claim was seen by
// the claim, so the database is asked only while blocks are fresh; the rest asks none.
func (s *Store) FactsOf(ctx context.Context, d *messaging.Message) (f messaging.DueFacts, err error) {
	f.Claimed, f.CalledOff = true, s.recent.why(d.ID)
	if h, held := s.Held(d); held {
		f.Held = h.Why()
	}
	if !d.Category.Blockable() || s.writer.lastBlock.Load()+clockSlack < engine.Micro(d.UpdatedAt) {
		return f, nil
	}
	blocked, err := s.Blocked(ctx, []messaging.Phone{d.Phone})
	f.Blocked = blocked[d.Phone]
	return f, Wrap(err, "the last look at a message to %s", d.Phone.Masked())
}

// Allow ends the block of a phone; ErrNotFound when there was none.
func (s *Store) Allow(ctx context.Context, phone messaging.Phone) error {
	var n int64
	err := s.Write(ctx, commit.LaneWork, func(t *Tx) (err error) {
		if n, err = t.Exec(allowSQL, string(phone)); err != nil {
			return err
		}
		if at, _, err := t.forgotten(phone); err != nil {
			return err
		} else if at > 0 {
			n++
			if err := t.Put(unmarkSQL, t.Marks.Of(phone)); err != nil {
				return err
			}
		}
		if n == 0 {
			return nil
		}
		// Else an older opt-out that arrives late would overrule the person.
		err = t.Put(proposalSQL, string(phone), int64(0), t.At, int64(0))
		return err
	})
	if err == nil && n == 0 {
		err = messaging.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("allow %s: %w", phone.Masked(), err)
	}
	return nil
}

// Blocks lists blocked contacts by phone, at most limit (0: 50).
func (s *Store) Blocks(ctx context.Context, limit int) (out []Block, err error) {
	if limit <= 0 {
		limit = defaultLimit
	}
	var q engine.Select
	err = s.Rows(ctx, q.SQL("phone, reason, source, at, event_id", "blocks", "phone", limit), nil, func(r *engine.Row) error {
		out = append(out, Block{r.Phone(), r.Text(), r.Text(), r.Time(), messaging.EventID(r.Int())})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list blocked contacts: %w", err)
	}
	return out, nil
}

// BlockOf is the block of one contact. That of one who was forgotten has no more than its time and its reason.
func (s *Store) BlockOf(ctx context.Context, phone messaging.Phone) (b Block, found bool, err error) {
	err = s.Rows(ctx, `SELECT phone, reason, source, at, event_id FROM blocks WHERE phone = ?1`, []any{string(phone)}, func(r *engine.Row) error {
		b, found = Block{r.Phone(), r.Text(), r.Text(), r.Time(), messaging.EventID(r.Int())}, true
		return nil
	})
	if err != nil {
		return b, false, fmt.Errorf("ask whether %s is blocked: %w", phone.Masked(), err)
	}
	if at, err := s.ForgottenAt(ctx, phone); err != nil || !found && !at.IsZero() {
		return Block{Phone: phone, Reason: messaging.ForgottenWords, At: at}, err == nil, err
	}
	return b, found, nil
}

// Blocked is which of the phones are blocked, those of contacts that were forgotten among them, and why, as a sentence.
func (s *Store) Blocked(ctx context.Context, phones []messaging.Phone) (map[messaging.Phone]string, error) {
	out := map[messaging.Phone]string{}
	for some := range slices.Chunk(phones, engine.PerList) {
		list, args := engine.ListOf(some)
		err := s.Rows(ctx, `SELECT phone, reason FROM blocks WHERE phone IN (`+list+`)`, args, func(r *engine.Row) error {
			out[r.Phone()] = messaging.BlockedWords(r.Text())
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("ask who is blocked: %w", err)
		}
	}
	gone, err := s.Forgotten(ctx, phones)
	for p := range gone {
		if out[p] == "" {
			out[p] = messaging.BlockedWords(messaging.ForgottenWords)
		}
	}
	return out, err
}

var (
	blockOfSQL = engine.SQL(`SELECT event_id FROM blocks WHERE phone = ?1`)
	allowSQL   = engine.SQL(`DELETE FROM blocks WHERE phone = ?1`)
)
