package connectors

import (
	"fmt"
	"strings"
	"time"
)

// History says whether what a sender posts is history: events of the past, brought in so that they are
// known, which send nothing. It is "true", or the moment until which it is so; "" for never. It stands in
// the config and not in the request, because a header or a query is the word of whoever posts.
type History string

// historyForms are how the moment may be written.
var historyForms = []string{"2006-01-02", "2006-01-02 15:04", "2006-01-02T15:04", time.RFC3339}

// UnmarshalText reads true, false, or a date with or without a time of day.
func (h *History) UnmarshalText(text []byte) error {
	switch word := strings.ToLower(strings.TrimSpace(string(text))); word {
	case "true":
		*h = "true"
		return nil
	case "false", "off":
		*h = ""
		return nil
	}
	*h = History(strings.TrimSpace(string(text)))
	if _, ok := h.until(time.UTC); !ok {
		return &historyError{string(text)}
	}
	return nil
}

type historyError struct{ text string }

func (e *historyError) Error() string { return fmt.Sprintf("%q is neither true nor a date", e.text) }

func (e *historyError) Hint() string {
	return "write history: true, or until when, as in history: 2026-12-01 18:00"
}

// Schema describes it to editors.
func (History) Schema() map[string]any {
	return map[string]any{"anyOf": []any{map[string]any{"type": "boolean"}, map[string]any{"type": "string"}}}
}

func (h History) until(zone *time.Location) (at time.Time, ok bool) {
	for _, form := range historyForms {
		if at, err := time.ParseInLocation(form, string(h), zone); err == nil {
			return at, true
		}
	}
	return at, false
}

// Over reports whether the moment until which it holds has passed.
func (h History) Over(now time.Time, zone string) bool {
	until, dated := h.until(zoneNamed(zone))
	return dated && !now.Before(until)
}

// holds reports whether what arrives now is history.
func (h History) holds(now time.Time, zone string) bool { return h != "" && !h.Over(now, zone) }

// zoneNamed is a zone by its name, UTC for none.
func zoneNamed(name string) *time.Location {
	if zone, err := time.LoadLocation(name); err == nil {
		return zone
	}
	return time.UTC
}
