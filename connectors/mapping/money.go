package mapping

import (
	"html"
	"regexp"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// minorPlaces is how many decimal places a currency's smallest unit has.
//
// Source: ISO 4217; the currencies that are not listed have two.
func minorPlaces(currency string) int32 {
	switch strings.ToUpper(currency) {
	case "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF", "XPF":
		return 0
	case "BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND":
		return 3
	default:
		return 2
	}
}

// amount reads the text that e led to; minor amounts become units of the currency.
func amount(text string, minor bool, currency string) (messaging.Amount, bool) {
	a, err := messaging.ParseAmount(text)
	if err != nil || !a.Reported() {
		return messaging.Amount{}, false
	}
	if minor {
		a = a.Shift(-minorPlaces(currency))
	}
	return a, true
}

var tags = regexp.MustCompile(`<[^<>]*>`)

// plainText is HTML without its tags and with its entities read.
func plainText(text string) string {
	if strings.Contains(text, "<") { // most texts have no tag, and the expression costs more than all else
		text = tags.ReplaceAllString(text, " ")
	}
	return strings.Join(strings.Fields(html.UnescapeString(text)), " ")
}

// currencySigns are the signs that stand for one currency alone. $ and ¥ do not.
var currencySigns = map[string]string{
	"€": "EUR", "£": "GBP", "₹": "INR", "R$": "BRL", "zł": "PLN", "₺": "TRY", "₴": "UAH", "₽": "RUB", "฿": "THB", "₫": "VND", "₩": "KRW",
	"₪": "ILS", "₦": "NGN", "₱": "PHP", "₵": "GHS", "₸": "KZT", "₡": "CRC", "Kč": "CZK", "Ft": "HUF", "lei": "RON", "лв": "BGN", "лв.": "BGN", "руб.": "RUB", "Rp": "IDR", "RM": "MYR",
	"Rs": "INR", "Rs.": "INR", "S/": "PEN", "US$": "USD", "CA$": "CAD", "C$": "CAD", "A$": "AUD", "AU$": "AUD", "NZ$": "NZD", "HK$": "HKD", "NT$": "TWD", "S$": "SGD", "MX$": "MXN",
	"ر.س": "SAR", "د.إ": "AED", "Fr.": "CHF", "TL": "TRY",
}

// currencyIn is the currency that stands beside an amount: "31,00 €" is EUR, "CHF 1'234.50" is CHF. A sign that several have stays as it is,
// which is none; "" where nothing stands there.
func currencyIn(text string) string {
	beside := strings.TrimSpace(strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || strings.ContainsRune(",'’-−+  ", r) {
			return ' '
		}
		return r
	}, plainText(text)))
	beside = strings.TrimSpace(strings.TrimLeft(beside, ". "))
	if fields := strings.Fields(beside); len(fields) > 1 { // the rest of an amount between two signs: "$ 1.50 USD"
		for _, f := range fields {
			if isCurrency(f) {
				return strings.ToUpper(f)
			}
		}
		beside = fields[0]
	}
	if known := currencySigns[beside]; known != "" {
		return known
	}
	if bare := strings.Trim(beside, "."); currencySigns[bare] != "" {
		return currencySigns[bare]
	}
	if isCurrency(beside) {
		return strings.ToUpper(beside)
	}
	return strings.Trim(beside, ".")
}

// plainAmount is an amount without the currency symbols, letters, spaces and separators of
// thousands around its digits: "£1,234.50", "1.234,50 €" and "CHF 1'234.50" are 1234.50.
// The last dot or comma begins the decimals, unless exactly three digits follow it and it is
// the only separator there: 1,234 is more often a thousand than one and a bit.
func plainAmount(text string) string {
	text = plainText(text)
	var digits strings.Builder
	negative := false
	for i, r := range text {
		switch {
		case r >= '0' && r <= '9', r == '.', r == ',':
			digits.WriteRune(r)
		case (r == '-' || r == '−') && digits.Len() == 0 && i < len(text)-1:
			negative = true
		}
	}
	number := strings.Trim(digits.String(), ".,")
	if number == "" {
		return ""
	}
	dot, comma := strings.LastIndexByte(number, '.'), strings.LastIndexByte(number, ',')
	point := max(dot, comma)
	if point >= 0 {
		mark := number[point]
		alone := dot < 0 || comma < 0
		if alone && (strings.Count(number, string(mark)) > 1 || (len(number)-point == 4 && mark == ',')) {
			point = -1
		}
	}
	var out strings.Builder
	if negative {
		out.WriteByte('-')
	}
	for i := range len(number) {
		switch c := number[i]; {
		case i == point:
			out.WriteByte('.')
		case c != '.' && c != ',':
			out.WriteByte(c)
		}
	}
	return out.String()
}
