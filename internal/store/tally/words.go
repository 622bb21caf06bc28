package tally

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// What the service says about messages that it did not send is counted by text, so that somebody can read
// what is new, and what the rules of today make of it. A text is kept without what differs from
// message to message; of the newest as it came one sample stays. The rows are few, whatever the service says.

const (
	maxErrorTexts = 1000 // rows
	maxErrorText  = 300  // bytes
)

// errorTextSeen is what a transaction adds to a row of error_texts.
type errorTextSeen struct {
	sample           string
	rejected, failed int64
	id               messaging.MessageID
}

// Words are what the service said in a transaction, by text.
type Words map[string]errorTextSeen

// Hear counts the service's words about a message. A text about a message that keeps no variables loses
// all its numbers, for one may be the code that was sent.
func (w *Words) Hear(words string, id messaging.MessageID, failed, forget bool) {
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
	if *w == nil {
		*w = Words{}
	}
	h := (*w)[text]
	if h.sample, h.id = plain.Cut(words, maxErrorText), id; forget {
		h.sample = text
	}
	if failed {
		h.failed++
	} else {
		h.rejected++
	}
	(*w)[text] = h
}

var (
	errorTextSQL = engine.SQL(`INSERT INTO error_texts (text, sample, rejected, failed, first_at, last_at, message) VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6)
		ON CONFLICT (text) DO UPDATE SET sample = excluded.sample, rejected = error_texts.rejected + excluded.rejected,
			failed = error_texts.failed + excluded.failed, last_at = excluded.last_at, message = excluded.message`)
	trimErrorTextsSQL = engine.SQL(`DELETE FROM error_texts WHERE last_at < (SELECT last_at FROM error_texts ORDER BY last_at DESC LIMIT 1 OFFSET ?1 + 0)`)
)

// write adds what was said.
func (w Words) write(tx *engine.Tx) error {
	for _, text := range slices.Sorted(maps.Keys(w)) {
		h := w[text]
		if err := tx.Put(errorTextSQL, text, h.sample, h.rejected, h.failed, tx.At, int64(h.id)); err != nil {
			return fmt.Errorf("what the service said: %w", err)
		}
	}
	if len(w) > 0 {
		if err := tx.Put(trimErrorTextsSQL, int64(maxErrorTexts-1)); err != nil {
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
	return plain.Cut(text, maxErrorText)
}
