package units

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Rate is how often something may happen: "20/s", "600/min", "1000/h", "5000/d". It is
// above zero unless it is the zero value, which means that no rate was given.
type Rate struct {
	Count int64
	Per   time.Duration
}

const rateHint = "write a whole number, a slash and s, min, h or d: 20/s, 600/min"

var rateUnits = []unit{
	{"s", time.Second}, {"min", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour}, // as they are written
	{"sec", time.Second}, {"second", time.Second}, {"m", time.Minute}, {"minute", time.Minute}, {"hour", time.Hour}, {"day", 24 * time.Hour},
}

// ParseRate reads what Rate describes. The error is an *Error.
func ParseRate(text string) (Rate, error) {
	bad := func(format string, args ...any) (Rate, error) {
		return Rate{}, &Error{Msg: fmt.Sprintf(format, args...), Next: rateHint}
	}
	count, per, ok := strings.Cut(text, "/")
	count, per = strings.TrimSpace(count), strings.TrimSpace(per)
	switch {
	case strings.TrimSpace(text) == "":
		return bad("is empty, wants a rate")
	case !ok:
		return bad("%q does not say per what", text)
	}
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil || n > 1e12 {
		return bad("%q is not a rate", text)
	}
	if n < 1 {
		return bad("%q is not above zero", text)
	}
	for _, u := range rateUnits {
		if u.name == per {
			return Rate{Count: n, Per: u.is}, nil
		}
	}
	return bad("%q has an unknown unit %q", text, per)
}

// PerSecond is the rate as times a second; 0 for the zero value.
func (r Rate) PerSecond() float64 {
	if r.Per <= 0 {
		return 0
	}
	return float64(r.Count) / r.Per.Seconds()
}

// Float is PerSecond, by which rates are compared with their bounds.
func (r Rate) Float() float64 { return r.PerSecond() }

// String writes the rate as it is read: "20/s"; "" for the zero value.
func (r Rate) String() string {
	for _, u := range rateUnits {
		if r.Per == u.is {
			return strconv.FormatInt(r.Count, 10) + "/" + u.name
		}
	}
	return ""
}

// MarshalText writes what String does.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what ParseRate reads.
func (r *Rate) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRate(string(text))
	return err
}

// Schema describes the text to editors.
func (Rate) Schema() map[string]any {
	return map[string]any{"type": "string", "pattern": `^([0-9]+\s*/\s*[a-z]+|.*\$\{.*)$`}
}
