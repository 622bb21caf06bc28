package units

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// A Duration is a length of time as people write it: a number and a unit, several in a row
// ("1h30m", "2w 3d"). Units are ms, s, m, h, d (24 hours) and w (7 days). It is never
// negative; "0" needs no unit.
type Duration time.Duration

// D is the duration for the standard library.
func (d Duration) D() time.Duration { return time.Duration(d) }

const durationHint = "write a number with a unit: 90s, 45m, 2h, 3d, 1w or 1h30m"

// A unit is a length of time with a name.
type unit struct {
	name string
	is   time.Duration
}

var durationUnits = []unit{
	{"d", 24 * time.Hour},
	{"h", time.Hour},
	{"m", time.Minute},
	{"s", time.Second},
	{"ms", time.Millisecond},
	{"w", 7 * 24 * time.Hour}, // read, never written: "14d" is clearer than "2w" beside "10d"
}

// ParseDuration reads what Duration describes. The error is an *Error.
func ParseDuration(text string) (Duration, error) {
	bad := func(format string, args ...any) (Duration, error) {
		return 0, &Error{Msg: fmt.Sprintf(format, args...), Next: durationHint}
	}
	rest := strings.TrimSpace(text)
	switch {
	case rest == "":
		return bad("is empty, wants a duration")
	case rest == "0":
		return 0, nil
	case strings.HasPrefix(rest, "-"):
		return bad("%q is negative; a duration is not", text)
	}
	var total float64
	for rest != "" {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789."))
		number, err := strconv.ParseFloat(rest[:digits], 64)
		if err != nil {
			return bad("%q is not a duration", text)
		}
		rest = strings.TrimLeft(rest[digits:], " ")
		after := strings.TrimLeftFunc(rest, unicode.IsLetter)
		name := rest[:len(rest)-len(after)]
		if name == "" {
			return bad("%q has no unit", text)
		}
		i := slices.IndexFunc(durationUnits, func(u unit) bool { return u.name == name })
		if i < 0 {
			return bad("%q has an unknown unit %q", text, name)
		}
		total += number * float64(durationUnits[i].is)
		rest = strings.TrimLeft(after, " ")
	}
	if total >= math.MaxInt64 {
		return bad("%q is longer than 292 years", text)
	}
	return Duration(math.Round(total)), nil
}

// String writes the duration in the units it is read in, largest first: "3d", "1h30m", "0s".
// What is shorter than a millisecond is written as Go does.
func (d Duration) String() string {
	if d == 0 {
		return "0s"
	}
	left := time.Duration(d)
	if left < 0 || left%time.Millisecond != 0 {
		return left.String()
	}
	var b strings.Builder
	for _, u := range durationUnits[:5] {
		if n := left / u.is; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
			left %= u.is
		}
	}
	return b.String()
}

// MarshalText writes what String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what ParseDuration reads.
func (d *Duration) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDuration(string(text))
	return err
}

// Schema describes the text to editors.
func (Duration) Schema() map[string]any {
	return map[string]any{
		"type":    []string{"string", "integer"},
		"pattern": `^(0|(\s*[0-9.]+\s*(ms|s|m|h|d|w))+\s*|.*\$\{.*)$`,
	}
}

// About writes a length of time to the second, and without its smallest parts where it is long:
// nobody reads the seconds of three days.
func About(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	switch {
	case d >= 48*time.Hour:
		d = d.Round(time.Hour)
	case d >= time.Hour:
		d = d.Round(time.Minute)
	case d >= time.Second:
		d = d.Round(time.Second)
	case d >= time.Millisecond:
		d = d.Round(time.Millisecond)
	}
	return sign + Duration(d).String()
}

// Stamp writes a moment to the second, always UTC: "2026-11-27 09:30:00 UTC".
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
