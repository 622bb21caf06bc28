package triggers

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shopspring/decimal"
	"github.com/tidwall/gjson"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/units"
)

// print is a value as it stands in a message: amounts with all their digits, times in the
// contact's zone ("27 Nov 2026 09:30"), lists and objects as nothing.
func (s *scope) print(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int:
		return strconv.Itoa(v)
	case nudgewire.Amount:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	case time.Time:
		return v.In(s.zone()).Format("2 Jan 2006 15:04")
	case time.Duration:
		return span(v)
	default:
		return ""
	}
}

// show is a value as a decision keeps it: for people who ask why, not for recipients.
func show(v any, masked bool) string {
	const most = 100
	switch v := v.(type) {
	case nil:
		return "(missing)"
	case string:
		switch {
		case v == "":
			return "(empty)"
		case masked:
			return nudgewire.Phone(v).Masked()
		}
		return crop(flat(v), most)
	case int:
		return strconv.Itoa(v)
	case nudgewire.Amount:
		if !v.Told() {
			return "(empty)"
		}
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	case time.Time:
		return stamp(v)
	case time.Duration:
		return span(v)
	case nudgewire.Tags:
		if len(v) == 0 {
			return "(empty)"
		}
		return crop(flat(strings.Join(v, ", ")), most)
	case gjson.Result:
		if n := length(v); n >= 0 {
			return entries(n)
		}
		return "(an object)"
	default:
		if n := length(v); n >= 0 {
			return entries(n)
		}
		return "(an object)"
	}
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return strconv.Itoa(n) + " entries"
}

// stamp is a moment in decisions and reasons: to the second, always UTC.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" }

// span is a length of time to the second, without its smallest parts where it is long:
// nobody reads the seconds of three days.
func span(d time.Duration) string {
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
	}
	return sign + units.Duration(d).String()
}

// flat makes one line of a text: each run of white space and control characters becomes one
// space, and there is none at the ends. The messaging network refuses template variables with
// new lines, tabs or more than four spaces in a row, and invisible characters are only ever
// an accident or a trick in a name.
func flat(text string) string {
	clean := true
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == ' ' && (i == 0 || i+1 == len(text) || text[i+1] == ' ') {
			clean = false
			break
		}
	}
	if clean {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	gap := false
	for _, r := range text {
		switch {
		case r == utf8.RuneError: // bytes that are no text: left out
		case blank(r):
			gap = b.Len() > 0
		default:
			if gap {
				b.WriteByte(' ')
				gap = false
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// fixed is d with exactly so many digits after the point.
func fixed(d decimal.Decimal, digits int) decimal.Decimal {
	exact, err := decimal.NewFromString(d.StringFixed(int32(digits)))
	if err != nil {
		return d
	}
	return exact
}
