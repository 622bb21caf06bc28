package store

import (
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// applyErrorText does what the service's words about a claimed message to a phone mean beyond that message. Words about a test are not counted.
func (t *Tx) applyErrorText(a *messaging.Attempt, phone messaging.Phone, test bool) error {
	if !test {
		t.tally.Words.Hear(a.Words, a.MessageID, false, false) // the sender took out what was sent
	}
	if a.Class != messaging.ErrorOptOut {
		return nil
	}
	return t.blockByService(phone, a.Words)
}

// heedFailure does what the words of a message that the service took and failed mean: for its contact, for
// its template, and for another try.
func (t *Tx) heedFailure(m *messaging.Message, at time.Time, s *Store) error {
	var d messaging.Message
	if err := t.Query(MessageSQL, func(r *engine.Row) error { d, _ = stored.ScanMessage(r); return r.Err }, int64(m.ID)); err != nil {
		return err
	}
	if d.Test == "" {
		t.tally.Words.Hear(m.Error, m.ID, true, d.Send.Forget)
	}
	switch m.ErrorClass {
	case messaging.ErrorOptOut:
		return t.blockByService(m.Phone, m.Error)
	case messaging.ErrorTemplate:
		if err := t.pauseTemplateOf(m.ID, m.Error, m.AcceptedAt, at); err != nil {
			return err
		}
	}
	// What was accepted before the data was restored may have failed before, too, and have gone again then.
	if _, again := m.ErrorClass.GoesAgain(); again && !t.mayHaveGone(m.AcceptedAt) {
		return t.enqueueRetry(m.ID, m.ErrorClass, at, s)
	}
	return nil
}

// maxServiceWords is how much of them stands with a block, in bytes.
const maxServiceWords = 300

// byService is who blocked a contact of whom the service said that he wants no messages.
const byService = "the service"

// Whoever blocked the contact before stays the one who did.
var serviceBlockSQL = engine.SQL(`INSERT INTO blocks (phone, reason, source, at, by_service) VALUES (?1, ?2, ?3, ?4, 1) ON CONFLICT (phone) DO NOTHING`)

// blockByService blocks a contact by the service's word, unless somebody did before.
func (t *Tx) blockByService(phone messaging.Phone, words string) error {
	if phone == "" { // of an upload's message whose phone nobody told
		return nil
	}
	t.lastBlock.Store(t.At)
	t.noteContact(phone, factBlock)
	if err := t.Put(serviceBlockSQL, string(phone), plain.Cut(words, maxServiceWords), byService, t.At); err != nil {
		return fmt.Errorf("block by the service's word: %w", err)
	}
	return nil
}
