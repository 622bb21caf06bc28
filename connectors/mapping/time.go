package mapping

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The units of times in requests and payloads.
const (
	UnitSeconds = "s"
	UnitMillis  = "ms"
	UnitRFC3339 = "rfc3339"
	UnitHTTP    = "http_date"
	UnitAuto    = "auto"
)

// Seconds and milliseconds since 1970 differ in size: as seconds, these bounds are the years
// 1973 and 5138; as milliseconds, 1973 and 5138 again.
const (
	minSeconds = 100_000_000
	minMillis  = 100_000_000_000
	minMicros  = minMillis * 1000
)

// ParseTime reads text in unit; times without a zone are taken to be in zone.
func ParseTime(text, unit string, zone *time.Location) (time.Time, bool) {
	text = strings.TrimSpace(text)
	switch unit {
	case UnitSeconds, UnitMillis:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || n > minMicros*1000 {
			return time.Time{}, false
		}
		if unit == UnitMillis {
			return time.UnixMilli(n).UTC(), true
		}
		if n >= minMillis*10 {
			return time.Time{}, false // milliseconds, or nonsense: the year 33658 and later
		}
		return time.Unix(n, 0).UTC(), true
	case UnitRFC3339:
		t, err := time.Parse(time.RFC3339, text)
		return t.UTC(), err == nil
	case UnitHTTP:
		t, err := http.ParseTime(text)
		return t.UTC(), err == nil
	}
	return anyTime(text, zone)
}

var timeLayouts = []string{
	time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 MST",
	time.RFC1123Z, time.RFC1123, "Mon Jan _2 2006 15:04:05 GMT-0700",
}

var zonelessLayouts = []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"}

// zoneNames are the names of zones that were met: no more than there are zones.
var zoneNames sync.Map

// isZone reports whether text names a time zone, as Europe/London does.
func isZone(text string) bool {
	if _, ok := zoneNames.Load(text); ok {
		return true
	}
	const longest = 64
	if len(text) > longest || !strings.Contains(text, "/") {
		return false
	}
	if _, err := time.LoadLocation(text); err != nil {
		return false
	}
	zoneNames.Store(strings.Clone(text), true)
	return true
}

// anyTime knows what senders write: seconds, milliseconds or microseconds since 1970, also
// with a fraction, RFC 3339 and its cousins, HTTP dates, JavaScript's "Sun Jun 26 2022 12:21:48 GMT+0300", and .NET's
// /Date(1503534000000)/.
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
	if err != nil || n < minSeconds || n >= minMicros*1000 {
		return time.Time{}, false // 0 is a field nobody filled, 20260101 a date without dashes
	}
	switch {
	case n >= minMicros:
		return time.UnixMicro(n).UTC(), true
	case n >= minMillis:
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
