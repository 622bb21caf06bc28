package messaging

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"
)

// An Amount is a decimal number that keeps every digit it was written with: money must not
// pass through binary fractions, and 49.90 stays "49.90". The zero value is "not told",
// which compares as 0 and prints as nothing.
type Amount struct {
	value decimal.Decimal
	told  bool
}

// ParseAmount reads "49.90", "-3", "1e3" or "1,234.50" (commas between groups of three
// digits). An empty text is an Amount that was not told.
func ParseAmount(text string) (Amount, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return Amount{}, nil
	}
	plain := text
	if strings.Contains(text, ",") {
		var ok bool
		if plain, ok = ungroup(text); !ok {
			return Amount{}, fmt.Errorf("%q is not a decimal number", text)
		}
	}
	// An exponent of a million digits would be expanded on the first comparison.
	if i := strings.IndexAny(plain, "eE"); len(plain) > 64 || (i >= 0 && len(plain)-i > 4) {
		return Amount{}, fmt.Errorf("a number of %d characters is not an amount", len(plain))
	}
	d, err := decimal.NewFromString(plain)
	if err != nil {
		return Amount{}, fmt.Errorf("%q is not a decimal number", text)
	}
	return Amount{value: d, told: true}, nil
}

// ungroup takes the commas out of "1,234,567.50"; ok is false where they do not part groups
// of three, as in the "49,90" of a locale that writes decimals so: guessing would be worse.
func ungroup(text string) (plain string, ok bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	groups := strings.Split(strings.TrimLeft(whole, "+-"), ",")
	for i, g := range groups {
		if len(g) != 3 && (i > 0 || len(g) > 3 || g == "") {
			return "", false
		}
	}
	if strings.Contains(fraction, ",") {
		return "", false
	}
	return strings.ReplaceAll(text, ",", ""), true
}

// AmountOf is a whole number as an Amount.
func AmountOf(n int64) Amount { return Amount{value: decimal.NewFromInt(n), told: true} }

// AmountFromFloat is f as an Amount with the fewest digits that say f.
func AmountFromFloat(f float64) Amount { return Amount{value: decimal.NewFromFloat(f), told: true} }

// AmountFromDecimal is d as an Amount: what arithmetic on Decimal gave.
func AmountFromDecimal(d decimal.Decimal) Amount { return Amount{value: d, told: true} }

// Reported says whether the sender gave this amount at all.
func (a Amount) Reported() bool { return a.told }

// A Sum is money in one currency.
type Sum struct {
	Currency string `json:"currency" kind:"ours"` // as the sender writes it, "" where it does not say
	Amount   Amount `json:"amount"`
}

// Sums are sums in different currencies, in the order of their names.
type Sums []Sum

// Plus are the sums with an amount more.
func (s Sums) Plus(currency string, a Amount) Sums {
	sums := slices.Clone(s)
	i, found := slices.BinarySearchFunc(sums, currency, func(one Sum, currency string) int { return strings.Compare(one.Currency, currency) })
	if !found {
		return slices.Insert(sums, i, Sum{currency, a})
	}
	sums[i].Amount = AmountFromDecimal(sums[i].Amount.Decimal().Add(a.Decimal()))
	return sums
}

// Decimal is the amount for arithmetic; 0 when it was not told.
func (a Amount) Decimal() decimal.Decimal { return a.value }

// Shift moves the decimal point by places: Shift(-2) reads cents as units.
func (a Amount) Shift(places int32) Amount {
	if !a.told {
		return a
	}
	return Amount{value: a.value.Shift(places), told: true}
}

// Cmp is -1, 0 or 1 as a is less than, equal to or greater than b.
func (a Amount) Cmp(b Amount) int { return a.value.Cmp(b.value) }

// String writes the amount with all its digits: "49.90", "1000", "" when it was not told.
func (a Amount) String() string {
	if !a.told {
		return ""
	}
	return a.value.StringFixed(max(0, -a.value.Exponent()))
}

// MarshalText writes the amount as String does.
func (a Amount) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads what ParseAmount reads.
func (a *Amount) UnmarshalText(text []byte) (err error) {
	*a, err = ParseAmount(string(text))
	return err
}
