package expressions

import (
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"
	"golang.org/x/text/currency"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/units"
)

func onText(change func(string) string) func(*Scope, []any) any {
	return func(_ *Scope, a []any) any { return change(a[0].(string)) }
}

func runLen(_ *Scope, a []any) any {
	switch v := a[0].(type) {
	case string:
		return len([]rune(v))
	case map[string]string:
		return len(v)
	default:
		return length(v)
	}
}

// runNumber reads text as a number. An empty text is no number.
func runNumber(s *Scope, a []any) any {
	text, ok := a[0].(string)
	if !ok {
		return a[0]
	}
	n, err := messaging.ParseAmount(text)
	if err != nil {
		return s.unfit(plain.Crop(err.Error(), 100))
	}
	if !n.Reported() {
		return s.fail("an empty text is not a number")
	}
	return n
}

// runTime reads the usual spellings of a time; a number is seconds since 1970, or
// milliseconds where that would be past the year 5000.
func runTime(s *Scope, a []any) any {
	switch v := a[0].(type) {
	case int:
		if v > 1e11 || v < -1e11 {
			return time.UnixMilli(int64(v)).UTC()
		}
		return time.Unix(int64(v), 0).UTC()
	case string:
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
			if t, err := time.ParseInLocation(layout, strings.TrimSpace(v), s.Zone()); err == nil {
				return t
			}
		}
		if strings.TrimSpace(v) == "" {
			return s.fail("an empty text is not a time")
		}
		return s.unfit(fmt.Sprintf("%q is not a time such as 2026-11-27T09:30:00Z", plain.Crop(v, 40)))
	default:
		return s.unfit("a decimal number is not a time")
	}
}

func runDuration(s *Scope, a []any) any {
	text := a[0].(string)
	if strings.TrimSpace(text) == "" {
		return s.fail("an empty text is not a length of time")
	}
	d, err := units.ParseDuration(text)
	if err != nil {
		return s.unfit(plain.Crop(err.Error(), 100))
	}
	return d.D()
}

func runRound(s *Scope, a []any) any {
	n, _ := amountOf(a[0])
	digits := 0
	if len(a) > 1 {
		var ok bool
		if digits, ok = a[1].(int); !ok || digits < 0 || digits > 12 {
			return s.fail("round keeps 0 to 12 digits")
		}
	}
	if !n.Reported() {
		return n
	}
	if size(n.Decimal()) > maxDigits {
		return s.fail("the number has too many digits")
	}
	// A fixed exponent, so that 49.9 rounded to two digits prints as 49.90.
	d := n.Decimal().Round(int32(digits))
	if exact, err := decimal.NewFromString(d.StringFixed(int32(digits))); err == nil {
		d = exact
	}
	return messaging.AmountFromDecimal(d)
}

// runMoney writes an amount with the places of its currency: 1234.5 GBP is 1234.50, 500 JPY is 500.
func runMoney(s *Scope, a []any) any {
	places := 2
	if len(a) > 1 && strings.TrimSpace(a[1].(string)) != "" {
		unit, err := currency.ParseISO(strings.TrimSpace(a[1].(string)))
		if err != nil {
			return s.fail(fmt.Sprintf("%q is no currency", plain.Crop(a[1].(string), 20)))
		}
		places, _ = currency.Standard.Rounding(unit)
	}
	if rounded, ok := runRound(s, []any{a[0], places}).(messaging.Amount); ok {
		return rounded.String()
	}
	return nil
}

func runJoin(s *Scope, a []any) any {
	between := ", "
	if len(a) > 1 {
		between = a[1].(string)
	}
	var b strings.Builder
	ok := each(s, a[0], func(v any) bool {
		text := s.print(v)
		if text == "" {
			return true
		}
		if b.Len() > 0 {
			b.WriteString(between)
		}
		b.WriteString(text)
		return b.Len() <= maxText
	})
	if !ok && s.fault != "" {
		return nil
	}
	if b.Len() > maxText {
		return s.fail("the text grows longer than 64 kB")
	}
	return b.String()
}

func runSplit(s *Scope, a []any) any {
	text, by := a[0].(string), a[1].(string)
	if by == "" {
		return s.fail("split needs something to split at")
	}
	if !s.spend(strings.Count(text, by)) {
		return nil
	}
	parts := strings.Split(text, by)
	list := make([]any, len(parts))
	for i, p := range parts {
		list[i] = strings.TrimSpace(p)
	}
	return list
}

func runReplace(s *Scope, a []any) any {
	text, old, with := a[0].(string), a[1].(string), a[2].(string)
	if old == "" {
		return s.fail("replace needs something to replace")
	}
	if n := strings.Count(text, old); len(text)+n*(len(with)-len(old)) > max(maxText, len(text)) {
		return s.fail("the text grows longer than 64 kB")
	}
	return strings.ReplaceAll(text, old, with)
}
