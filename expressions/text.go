package expressions

import (
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/units"
)

// print is a value as a message has it: amounts with all their digits, times in the
// contact's zone ("27 Nov 2026 09:30"), lists and objects as nothing.
func (s *Scope) print(v any) string {
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
		return v.In(s.Zone()).Format("2 Jan 2006 15:04")
	case time.Duration:
		return units.About(v)
	default:
		return ""
	}
}

// show is a value as a decision keeps it: for people who ask why, not for recipients.
func show(v any, masked bool) string {
	const maxShown = 100
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
		return plain.Crop(plain.OneLine(v), maxShown)
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
		return units.Stamp(v)
	case time.Duration:
		return units.About(v)
	case nudgewire.Tags:
		if len(v) == 0 {
			return "(empty)"
		}
		return plain.Crop(plain.OneLine(strings.Join(v, ", ")), maxShown)
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

// fixed is d with exactly so many digits after the point.
func fixed(d decimal.Decimal, digits int) decimal.Decimal {
	exact, err := decimal.NewFromString(d.StringFixed(int32(digits)))
	if err != nil {
		return d
	}
	return exact
}
