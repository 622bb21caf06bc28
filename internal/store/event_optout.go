package store

import (
	"fmt"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// wants reports whether a decision is about what a contact wants.
func wants(o messaging.Outcome) bool {
	switch o {
	case messaging.Blocked, messaging.Allowed, messaging.Forgetting, messaging.ForgettingAll:
		return true
	default:
		return false
	}
}

var (
	unmarkSQL = engine.SQL(`UPDATE forgotten SET allowed = 1 WHERE mark = ?1`)

	// A person's block stays as it is.
	optOutSQL = engine.SQL(`INSERT INTO blocks (phone, reason, source, at, event_id) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (phone) DO UPDATE SET reason = excluded.reason, source = excluded.source, at = excluded.at, event_id = excluded.event_id, by_service = 0
		WHERE blocks.event_id > 0 OR blocks.by_service = 1`)
	optInSQL    = engine.SQL(`DELETE FROM blocks WHERE phone = ?1 AND (event_id > 0 OR (by_service = 1 AND at <= ?2))`)
	optedOutSQL = engine.SQL(`SELECT opted_out, event_at, event_id FROM opt_outs WHERE phone = ?1`)
	proposalSQL = engine.SQL(`INSERT INTO opt_outs (phone, opted_out, event_at, event_id) VALUES (?1, ?2, ?3, ?4)
		ON CONFLICT (phone) DO UPDATE SET opted_out = excluded.opted_out, event_at = excluded.event_at, event_id = excluded.event_id`)
)

// optOut carries out an event's word on whether its contact wants messages, and says what came of
// it. The later word counts by the time when it happened, and of two at the same time the no. A
// person's block is a person's to end.
func (t *Tx) optOut(e *messaging.Event, w *messaging.Proposal, id messaging.EventID) (reason string, err error) {
	phone, at, out := string(w.Correlation.Phone), engine.Micro(w.EventAt), w.Decision.Outcome == messaging.Blocked
	var later int64 = -1
	gone, byHand, err := t.forgotten(w.Correlation.Phone)
	switch {
	case err != nil:
		return "", err
	case gone > 0 && (out || at <= gone):
		return "changes nothing: the contact was forgotten, and stays blocked", nil
	case gone > 0 && byHand:
		return "the contact stays blocked: a person did it, and only a person ends it", nil
	case gone > 0:
		if err := t.Put(unmarkSQL, t.Marks.Of(w.Correlation.Phone)); err != nil {
			return "", fmt.Errorf("what the contact wants: %w", err)
		}
	}
	if err := t.consentOfEvent(e, id, w.Correlation.Phone, messaging.ChannelPhone, !out); err != nil {
		return "", err
	}
	err = t.Query(optedOutSQL, func(r *engine.Row) error {
		was, when, event := r.Int() == 1, r.Int(), r.Int()
		if when > at || when == at && was && !out {
			later = event
		}
		return nil
	}, phone)
	switch {
	case err != nil:
		return "", fmt.Errorf("what the contact wanted before: %w", err)
	case later > 0:
		return fmt.Sprintf("changes nothing: event %d happened later", later), nil
	case later == 0:
		return "changes nothing: a person allowed the contact later", nil
	}
	if err := t.Put(proposalSQL, phone, engine.Flag(out), at, int64(id)); err != nil {
		return "", fmt.Errorf("what the contact wants: %w", err)
	}
	if out {
		t.lastBlock.Store(t.At)
		t.noteContact(w.Correlation.Phone, factBlock)
		n, err := t.Exec(optOutSQL, phone, fmt.Sprintf("opted out (event %d)", id), e.Ref(), t.At, int64(id))
		if err == nil && n == 0 {
			return "the contact is blocked by a person already", nil
		}
		return "the contact is blocked: it gets nothing but codes", err
	}
	n, err := t.Exec(optInSQL, phone, at)
	if err != nil || n > 0 || gone > 0 {
		return "the contact's block ends", err
	}
	if _, blocked, err := t.blocked(w.Correlation.Phone); err != nil || blocked {
		return "the contact stays blocked: a person did it, and only a person ends it", err
	}
	return "the contact was not blocked", nil
}
