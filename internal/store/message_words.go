package store

import (
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/internal/backoff"
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

// A message that the service took, and that failed for no lasting reason of its own (ErrorClass.GoesAgain), was
// not sent and is queued once more, due after a rest: by the rules of what a person sends again (RunRow.MayGoAgain), the table that holds each
// message to one successor, and in the commit that knows of the failure, so that a crash loses none and
// makes none twice. It waits like any other, while sending is halted, and until the expiry that
// the message had at first; a limit of the contact's puts that off as well, where nobody named it.

// pointsRest is how long a message rests that failed for points again while others were sent: it has its own fault, such as a country that
// costs more than is left. The first times only the halt of the account holds it.
var pointsRest = rest{time.Minute, time.Hour}

// pointsChances is how many times a message fails for points before it rests.
const pointsChances = 3

// enqueueRetry queues a message once more that failed at at with words of that class, if nothing is against it.
func (t *Tx) enqueueRetry(id messaging.MessageID, class messaging.ErrorClass, at time.Time, s *Store) error {
	d, send, _, err := t.mayGoAgain(id)
	if err != nil || d == nil {
		return err
	}
	wait, _ := class.GoesAgain()
	if d.Tries++; class == messaging.ErrorNoPoints && d.Tries >= pointsChances {
		wait = backoff.Next(d.Tries-pointsChances+1, pointsRest.first, pointsRest.most, 0)
	}
	due, expires := at.Add(wait), d.ExpiresAt
	if class == messaging.ErrorRecipientLimit && !expires.IsZero() && !s.ownExpiry(d) {
		expires = expires.Add(wait)
	}
	switch {
	case !expires.IsZero() && !due.Before(expires):
		return nil
	case d.EventID != 0:
		if s.settle == nil {
			return nil // nobody can tell whether it still makes sense
		}
		_, err = t.enqueueEventRetry(d, at, due, expires, s, false)
		return err
	}
	of, ok := messaging.RunOfKey(d.Key)
	if !ok {
		return nil
	}
	run, err := t.run(of)
	if err != nil || run.State == messaging.RunCancelled {
		return err
	}
	number, err := t.newestBelow(of, 1<<62)
	if err != nil {
		return err
	}
	number = max(number+1, unlisted)
	return t.enqueueRowRetry(&run, number, d, send, at, due, expires)
}

// sendsBy reports whether the present config sends by a trigger.
func (s *Store) sendsBy(trigger string) bool { return s.sending == nil || s.sending(trigger) }

// ownExpiry reports whether the present config names when a message expires.
func (s *Store) ownExpiry(d *messaging.Message) bool { return s.expiry == nil || s.expiry(d) }
