package connectors

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// The units of times in requests and payloads.
const (
	unitSeconds = "s"
	unitMillis  = "ms"
	unitRFC3339 = "rfc3339"
	unitHTTP    = "http_date"
	unitAuto    = "auto"
)

// defaultTolerance is how old a signed time may be: what Stripe's, HubSpot's and the Standard
// Webhooks libraries use.
const defaultTolerance = 5 * time.Minute

// A stamp is a compiled Timestamp.
type stamp struct {
	header    string // canonical; or
	list      string // entry of the signature's list; or
	body      *expr  // path in the body, with a program of its own
	program   *rawjson.Program
	unit      string
	tolerance time.Duration
	skew      time.Duration
	optional  bool
}

// stale is why a time is not acceptable now; "" when it is.
func (s *stamp) stale(text string, now time.Time) string {
	t, ok := parseTime(text, s.unit, time.UTC)
	if !ok {
		if s.body != nil { // what a body holds is not told
			return fmt.Sprintf("the timestamp in the body, of %s, cannot be read as %s", count(len(text), "character"), unitWords(s.unit))
		}
		return fmt.Sprintf("the timestamp %q cannot be read as %s", short(text), unitWords(s.unit))
	}
	// Times are compared, not durations: one of those ends at 292 years, and its negative is then wrong.
	switch {
	case t.Before(now.Add(-s.tolerance)):
		return fmt.Sprintf("the timestamp is %s, more than %s", ago(now, t), s.tolerance)
	case t.After(now.Add(s.skew)):
		return fmt.Sprintf("the timestamp is %s, more than %s", ago(now, t), s.skew)
	}
	return ""
}

// fromBody is the time that stands in a JSON body.
func (s *stamp) fromBody(body []byte) (text, reason string) {
	found := make([]rawjson.Span, s.program.Slots)
	text = sharedText(rawjson.OneReading(trimBOM(body)))
	if err := s.program.Run(text, found); err != nil {
		if s.optional {
			return "", "" // what is wrong with the body is said by whoever reads it next
		}
		return "", "the body that should hold the time is not JSON: " + err.Error()
	}
	v := &view{item: text, inItem: found}
	if text = s.body.text(v); text == "" && !s.optional {
		return "", "the body has no " + s.body.source + ", where the time should stand"
	}
	return text, ""
}

// write is now in the stamp's unit.
func (s *stamp) write(now time.Time) string {
	switch s.unit {
	case unitMillis:
		return strconv.FormatInt(now.UnixMilli(), 10)
	case unitRFC3339:
		return now.UTC().Format(time.RFC3339)
	case unitHTTP:
		return now.UTC().Format(http.TimeFormat)
	default:
		return strconv.FormatInt(now.Unix(), 10)
	}
}

func unitWords(unit string) string {
	switch unit {
	case unitSeconds:
		return "seconds since 1970"
	case unitMillis:
		return "milliseconds since 1970"
	case unitRFC3339:
		return "2006-01-02T15:04:05Z"
	case unitHTTP:
		return "an HTTP date"
	default:
		return "a time"
	}
}

// Seconds and milliseconds since 1970 differ in size: as seconds, these bounds are the years
// 1973 and 5138; as milliseconds, 1973 and 5138 again.
const (
	leastSeconds = 100_000_000
	leastMillis  = 100_000_000_000
	leastMicros  = leastMillis * 1000
)

// parseTime reads text in unit; times without a zone are taken to be in zone.
func parseTime(text, unit string, zone *time.Location) (time.Time, bool) {
	text = strings.TrimSpace(text)
	switch unit {
	case unitSeconds, unitMillis:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || n > leastMicros*1000 {
			return time.Time{}, false
		}
		if unit == unitMillis {
			return time.UnixMilli(n).UTC(), true
		}
		if n >= leastMillis*10 {
			return time.Time{}, false // milliseconds, or nonsense: the year 33658 and later
		}
		return time.Unix(n, 0).UTC(), true
	case unitRFC3339:
		t, err := time.Parse(time.RFC3339, text)
		return t.UTC(), err == nil
	case unitHTTP:
		t, err := http.ParseTime(text)
		return t.UTC(), err == nil
	}
	return anyTime(text, zone)
}

var timeLayouts = []string{
	time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 MST",
	time.RFC1123Z, time.RFC1123,
}

var zonelessLayouts = []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"}

// anyTime knows what senders write: seconds, milliseconds or microseconds since 1970, also
// with a fraction, RFC 3339 and its cousins, HTTP dates, and .NET's /Date(1503534000000)/.
func anyTime(text string, zone *time.Location) (time.Time, bool) {
	if text == "" {
		return time.Time{}, false
	}
	if inside, ok := strings.CutPrefix(text, "/Date("); ok {
		inside, _, _ = strings.Cut(inside, ")")
		if i := strings.IndexAny(inside, "+-"); i > 0 {
			inside = inside[:i]
		}
		n, err := strconv.ParseInt(inside, 10, 64)
		return time.UnixMilli(n).UTC(), err == nil
	}
	if c := text[0]; c >= '0' && c <= '9' && strings.Trim(text, "0123456789.") == "" {
		return unixTime(text)
	}
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), true
		}
	}
	for _, layout := range zonelessLayouts {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t.UTC(), true
		}
	}
	if t, err := http.ParseTime(text); err == nil {
		return t.UTC(), true
	}
	return time.Time{}, false
}

func unixTime(text string) (time.Time, bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n < leastSeconds || n >= leastMicros*1000 {
		return time.Time{}, false // 0 is a field nobody filled, 20260101 a date without dashes
	}
	switch {
	case n >= leastMicros:
		return time.UnixMicro(n).UTC(), true
	case n >= leastMillis:
		return time.UnixMilli(n).UTC(), true
	}
	nanos := int64(0)
	if fraction != "" {
		if nanos, err = strconv.ParseInt((fraction + "000000000")[:9], 10, 64); err != nil {
			return time.Time{}, false
		}
	}
	return time.Unix(n, nanos).UTC(), true
}

// short is text as it may stand in a reason: not long, and without control characters.
func short(text string) string {
	const most = 60
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if runes := []rune(clean); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return clean
}
