package units

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Limit is how many at the most in a window of time: "2 per day" counts within the calendar
// day, "2 per 24h" within any 24 hours. The zero value is no limit.
type Limit struct {
	Most     int64
	Per      time.Duration // of a window that rolls; 0 for a calendar's
	Calendar Calendar      // "" for a window that rolls
}

// A Calendar is a unit of the calendar. A week begins on Monday.
type Calendar string

// The units.
const (
	Day   Calendar = "day"
	Week  Calendar = "week"
	Month Calendar = "month"
)

const limitHint = "write a number and a window: 2 per day, 6 per week, 10 per month by the calendar; 2 per 24h, 6 per 7d for any such time"

// ParseLimit reads what Limit describes. The error is an *Error.
func ParseLimit(text string) (Limit, error) {
	bad := func(format string, args ...any) (Limit, error) {
		return Limit{}, &Error{Msg: fmt.Sprintf(format, args...), Next: limitHint}
	}
	count, window, ok := strings.Cut(text, " per ")
	count, window = strings.TrimSpace(count), strings.TrimSpace(window)
	switch {
	case strings.TrimSpace(text) == "":
		return bad("is empty, wants a limit")
	case !ok:
		return bad("%q is not a limit", text)
	}
	most, err := strconv.ParseInt(count, 10, 64)
	if err != nil || most < 0 || most > 1e12 {
		return bad("%q is not a number from 0", count)
	}
	switch c := Calendar(strings.TrimSuffix(window, "s")); c {
	case Day, Week, Month:
		return Limit{Most: most, Calendar: c}, nil
	case "hour":
		return Limit{}, &Error{Msg: fmt.Sprintf("%q has an unknown window %q", text, window), Next: fmt.Sprintf("write %d per 1h, which is any 60 minutes", most)}
	}
	per, err := ParseDuration(window)
	switch {
	case err != nil:
		return bad("%q has an unknown window %q", text, window)
	case per == 0:
		return bad("%q has a window of no time", text)
	}
	return Limit{Most: most, Per: per.D()}, nil
}

// Window is the window as it is read: "day", "24h".
func (l Limit) Window() string {
	switch {
	case l.Calendar != "":
		return string(l.Calendar)
	case l.Per == 24*time.Hour: // 1d would be taken for a day of the calendar
		return "24h"
	default:
		return Duration(l.Per).String()
	}
}

// IsZero reports whether it is no limit.
func (l Limit) IsZero() bool { return l == Limit{} }

// String writes the limit as it is read: "2 per day"; "" for the zero value.
func (l Limit) String() string {
	if l.IsZero() {
		return ""
	}
	return strconv.FormatInt(l.Most, 10) + " per " + l.Window()
}

// MarshalText writes what String does.
func (l Limit) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads what ParseLimit reads.
func (l *Limit) UnmarshalText(text []byte) (err error) {
	*l, err = ParseLimit(string(text))
	return err
}

// Schema describes the text to editors.
func (Limit) Schema() map[string]any {
	return map[string]any{"type": "string", "pattern": `^([0-9]+ per [0-9a-z. ]+|.*\$\{.*)$`}
}
