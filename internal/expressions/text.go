package expressions

import (
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/units"
)

// print is a value as a message has it: amounts with all their digits, times in the contact's zone
// ("27 Nov 2026 09:30"), lists and objects as nothing.
func (s *Scope) print(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int:
		return strconv.Itoa(v)
	case messaging.Amount:
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
func (s *Scope) show(v any, masked bool) string {
	const maxShown = 100
	switch v := v.(type) {
	case nil:
		return "(missing)"
	case time.Time:
		return units.Stamp(v)
	case string:
		if masked && v != "" {
			return mask.Number(v)
		}
	case messaging.Tags:
		if len(v) > 0 {
			return plain.Crop(plain.OneLine(strings.Join(v, ", ")), maxShown)
		}
		return "(empty)"
	}
	switch n := length(v); {
	case n >= 0:
		return entries(n)
	case !present(v):
		return "(empty)"
	case kindOf(v).Scalar():
		return plain.Crop(plain.OneLine(s.print(v)), maxShown)
	default:
		return "(an object)"
	}
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return strconv.Itoa(n) + " entries"
}
