package store

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// What the service says about messages that it did not send is counted by text, so that somebody can read
// what is new, and what the rules of today make of it. A text is kept without what differs from
// message to message; of the newest as it came one sample stays. The rows are few, whatever the service says.

const (
	maxErrorTexts = 1000 // rows
	maxErrorText  = 300  // bytes
)

// An ErrorText is what the service said about messages that it did not send.
type ErrorText struct {
	Text     string // numbers and identifiers are #
	Sample   string // the newest as it came
	Rejected int64  // attempts
	Failed   int64  // messages that it took and failed later
	First    time.Time
	Last     time.Time
	Message  messaging.MessageID // whose the newest was
}

// errorTextSeen is what a group adds to a row of error_texts.
type errorTextSeen struct {
	sample           string
	rejected, failed int64
	id               messaging.MessageID
}

// hear counts the service's words about a message. A text about a message that keeps no variables loses
// all its numbers, for one may be the code that was sent.
func (t *Tx) hear(words string, id messaging.MessageID, failed, forget bool) {
	if words == "" {
		return
	}
	words = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, words)
	text := foldText(words)
	if t.heard == nil {
		t.heard = map[string]errorTextSeen{}
	}
	h := t.heard[text]
	if h.sample, h.id = cut(words, maxErrorText), id; forget {
		h.sample = text
	}
	if failed {
		h.failed++
	} else {
		h.rejected++
	}
	t.heard[text] = h
}

var (
	errorTextSQL = engine.SQL(`INSERT INTO error_texts (text, sample, rejected, failed, first_at, last_at, message) VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6)
		ON CONFLICT (text) DO UPDATE SET sample = excluded.sample, rejected = error_texts.rejected + excluded.rejected,
			failed = error_texts.failed + excluded.failed, last_at = excluded.last_at, message = excluded.message`)
	trimErrorTextsSQL = engine.SQL(`DELETE FROM error_texts WHERE last_at < (SELECT last_at FROM error_texts ORDER BY last_at DESC LIMIT 1 OFFSET ?1 + 0)`)
)

func (t *Tx) writeErrorTexts() error {
	for _, text := range slices.Sorted(maps.Keys(t.heard)) {
		h := t.heard[text]
		if err := t.Put(errorTextSQL, text, h.sample, h.rejected, h.failed, t.At, int64(h.id)); err != nil {
			return fmt.Errorf("what the service said: %w", err)
		}
	}
	if len(t.heard) > 0 {
		if err := t.Put(trimErrorTextsSQL, int64(maxErrorTexts-1)); err != nil {
			return fmt.Errorf("old words of the service: %w", err)
		}
	}
	return nil
}

// A numbered is a word with a digit in it, and what stands before it.
var numbered = regexp.MustCompile(`(?i)((?:#|\b(?:code|error)[ :=(#]*)?)([\p{L}\d_*•.-]*\d[\p{L}\d_*•-]*)`)

// mostCode is how many digits a number has at the most that may be an error's own.
const mostCode = 6

// foldText makes one text of those that differ by numbers and identifiers only. The number of an error stays.
func foldText(words string) string {
	text := strings.Join(strings.Fields(words), " ")
	text = numbered.ReplaceAllStringFunc(text, func(found string) string {
		parts := numbered.FindStringSubmatch(found)
		if parts[1] != "" && len(parts[2]) <= mostCode && strings.Trim(parts[2], "0123456789") == "" {
			return found
		}
		return strings.TrimSuffix(parts[1], "#") + "#"
	})
	return cut(text, maxErrorText)
}

// ErrorTexts lists what the service said since a time, the newest first, at most limit of them (0: 50).
func (s *Store) ErrorTexts(ctx context.Context, since time.Time, limit int) ([]ErrorText, error) {
	if limit <= 0 {
		limit = defaultLimit
	}
	var q engine.Select
	q.And("last_at >= ?", engine.Micro(since))
	out, err := List(ctx, s, q.SQL("text, sample, rejected, failed, first_at, last_at, message", "error_texts", "last_at DESC, text", limit), q.Args,
		func(r *engine.Row) (ErrorText, error) {
			return ErrorText{r.Text(), r.Text(), r.Int(), r.Int(), r.Time(), r.Time(), messaging.MessageID(r.Int())}, nil
		})
	return out, Wrap(err, "list what the service said")
}

// applyErrorText does what the service's words about a claimed message to a phone mean beyond that message. Words about a test are not counted.
func (t *Tx) applyErrorText(a *messaging.Attempt, phone messaging.Phone, test bool) error {
	if !test {
		t.hear(a.Words, a.MessageID, false, false) // the sender took out what was sent
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
	if err := t.Query(MessageSQL, func(r *engine.Row) error { d, _ = ScanMessage(r); return r.Err }, int64(m.ID)); err != nil {
		return err
	}
	if d.Test == "" {
		t.hear(m.Error, m.ID, true, d.Send.Forget)
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
	if err := t.Put(serviceBlockSQL, string(phone), cut(words, maxErrorText), byService, t.At); err != nil {
		return fmt.Errorf("block by the service's word: %w", err)
	}
	return nil
}
