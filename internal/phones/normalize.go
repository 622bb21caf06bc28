package phones

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"
)

const (
	maxText    = 64 // characters; no written number is longer, and the cache keys stay small
	maxDigits  = 15 // E.164
	minLenient = 10 // below this, a length that the plan does not know is a cut-off number
)

// ErrNone is what Normalize says of a text that could not be any phone, where nothing more is known.
var ErrNone = errors.New("is not a phone number")

// Normalize reads a phone number as written by a person or a system and returns its digits,
// country code first. country is the ISO 3166-1 alpha-2 code of the place where a number
// without a country code would be dialled; "" when that is not known.
//
// It also understands a "tel:", "whatsapp:" or "p:" in front, "00" for the plus sign, an
// extension at the end (dropped), digits of other scripts, and the invisible marks that come
// along when a number is copied from a phone's address book.
//
// Errors are words for people ("has letters", "too short for GB") and never hold the number.
func Normalize(raw, country string) (string, error) {
	var room [maxFast]byte
	if digits, ok := AppendFast(room[:0], raw, country); ok {
		return string(digits), nil
	}
	if a, ok := seen.get(raw, country); ok {
		return a.digits, a.err
	}
	digits, err := normalize(raw, strings.ToUpper(strings.TrimSpace(country)))
	seen.put(raw, country, digits, err)
	return digits, err
}

var (
	scientific = regexp.MustCompile(`^[+-]?\d+([.,]\d+)?[eE]\+?\d+$`)
	wholeFloat = regexp.MustCompile(`^\+?\d{7,15}\.0$`)
	extension  = regexp.MustCompile(`(?i)[\s,;]*(?:\bext(?:ension)?\b\.?|\bx|#)[\s:.]*\d{1,7}$`)
	scheme     = regexp.MustCompile(`(?i)^(?:tel|whatsapp|phone|p):\s*`)
	trunkZero  = regexp.MustCompile(`\(\s*0\s*\)`)
)

func normalize(raw, country string) (string, error) {
	if len(raw) > maxText*4 {
		return "", errors.New("is too long to be a phone number")
	}
	text := clean(raw)
	switch {
	case text == "":
		return "", errors.New("is empty")
	case len([]rune(text)) > maxText:
		return "", errors.New("is too long to be a phone number")
	case scientific.MatchString(text):
		return "", &ShortenedError{text}
	}
	if wholeFloat.MatchString(text) {
		text = strings.TrimSuffix(text, ".0")
	}
	text = extension.ReplaceAllString(text, "")
	if err := characters(text); err != nil {
		return "", err
	}
	digits := phonenumbers.NormalizeDigitsOnly(text)
	switch {
	case digits == "":
		return "", errors.New("has no digits")
	case len(digits) > maxDigits+4: // 4: an international prefix such as 0011 and a trunk zero
		return "", fmt.Errorf("has %d digits, more than any phone number", len(digits))
	case strings.Trim(digits, "0") == "":
		return "", errors.New("has only zeros")
	}
	if plus := strings.HasPrefix(text, "+"); plus || strings.HasPrefix(digits, "00") {
		if !plus {
			digits = digits[2:]
		}
		return international(digits, trunkZero.MatchString(text))
	}
	return national(text, digits, country)
}

// A ShortenedError is a number of which a spreadsheet kept the first digits only.
type ShortenedError struct{ text string }

// Error quotes the cell, which holds no whole number, or else it would not be one.
func (e *ShortenedError) Error() string {
	text := e.text
	if at := strings.IndexAny(text, "eE"); at > minLenient {
		text = text[:3] + "…" + text[at:]
	}
	return "was shortened by a spreadsheet (" + text + " lost its last digits); format that column as text"
}

// clean drops what surrounds a number without being part of it.
func clean(raw string) string {
	text := strings.Map(func(r rune) rune {
		switch {
		case r == '\uff0b': // full-width plus
			return '+'
		case unicode.Is(unicode.Cf, r), unicode.IsControl(r) && !unicode.IsSpace(r):
			return -1 // direction marks, zero-width joiners
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, raw)
	text = strings.TrimLeft(strings.TrimSpace(text), "'\"=") // a spreadsheet's ways to say "this is text"
	text = strings.TrimSpace(strings.TrimRight(text, "'\""))
	return scheme.ReplaceAllString(text, "")
}

// characters refuses texts that hold more than one number's digits and separators.
func characters(text string) error {
	for i, r := range text {
		switch {
		case unicode.IsDigit(r), r == ' ', r == '(', r == ')', r == '.', r == '-', r == '/', r == '*',
			r == '[', r == ']', r == '~', unicode.Is(unicode.Pd, r):
		case r == '+':
			if i > 0 {
				return errors.New("holds more than one number")
			}
		case unicode.IsLetter(r):
			return errors.New("has letters")
		case r == ',', r == ';', r == '|', r == '&':
			return errors.New("holds more than one number")
		default:
			return fmt.Errorf("has the character %q", r)
		}
	}
	if strings.Contains(text, "*") {
		return errors.New("is masked with asterisks")
	}
	return nil
}

// international reads digits that start with a country code. trunk tells that a "(0)" was
// written, which is dialled only inside the country. Whoever wrote the code wrote the whole number: where no plan
// knows it, with or without a zero behind the code, it stays as written.
func international(digits string, trunk bool) (string, error) {
	n, err := phonenumbers.Parse("+"+digits, "")
	if err != nil {
		return "", explain(err, "")
	}
	read := strings.TrimPrefix(phonenumbers.Format(n, phonenumbers.E164), "+")
	if phonenumbers.IsValidNumber(n) {
		return read, nil
	}
	if trunk {
		digits = read
	}
	reason := phonenumbers.IsPossibleNumberWithReason(n)
	if len(digits) > maxDigits || (reason != phonenumbers.IS_POSSIBLE && len(digits) < minLenient) {
		return "", length(reason, countryName(n))
	}
	if n.GetCountryCode() == 1 && !areaCode(n) {
		return "", errors.New("has an area code that begins with 0 or 1, which no number of country code 1 does")
	}
	return digits, nil
}

// national reads a number without plus sign: as one of the country, else, where it can only
// be that, as an international one whose plus sign got lost.
func national(text, digits, country string) (string, error) {
	if country == "" {
		return "", errors.New("needs a country code: it has no + in front and no country is known (set defaults.country)")
	}
	if !phonenumbers.GetSupportedRegions()[country] {
		return "", fmt.Errorf("needs a country code: %q is not a country of the phone network", country)
	}
	n, err := phonenumbers.Parse(text, country)
	if err != nil {
		return "", explain(err, country)
	}
	read := strings.TrimPrefix(phonenumbers.Format(n, phonenumbers.E164), "+")
	if phonenumbers.IsValidNumber(n) {
		return read, nil
	}
	if m, err := phonenumbers.Parse("+"+digits, ""); err == nil && phonenumbers.IsValidNumber(m) {
		return digits, nil
	}
	n, read = withoutTrunk(n, read)
	reason := phonenumbers.IsPossibleNumberWithReason(n)
	switch {
	case reason != phonenumbers.IS_POSSIBLE || len(read) > maxDigits:
		return "", length(reason, country)
	case n.GetCountryCode() == 1 && !areaCode(n):
		return "", fmt.Errorf("is no number of %s: no area code begins with 0 or 1", country)
	}
	return read, nil
}

// withoutTrunk takes the zero away with which numbers begin that are dialled inside of a country: behind its code it
// is part of none. Numbers of countries that dial no such zero stay as they are.
func withoutTrunk(n *phonenumbers.PhoneNumber, digits string) (*phonenumbers.PhoneNumber, string) {
	code := strconv.Itoa(int(n.GetCountryCode()))
	rest, found := strings.CutPrefix(digits, code+"0")
	regions := phonenumbers.GetRegionCodesForCountryCode(int(n.GetCountryCode()))
	if !found || rest == "" || len(regions) == 0 || phonenumbers.GetNddPrefixForRegion(regions[0], true) != "0" {
		return n, digits
	}
	value, err := strconv.ParseUint(rest, 10, 64)
	if err != nil {
		return n, digits
	}
	return &phonenumbers.PhoneNumber{CountryCode: n.CountryCode, NationalNumber: &value}, code + strings.TrimLeft(rest, "0")
}

// Valid reports whether a numbering plan knows such a number, in one of its spellings; digits are those of Normalize, which also lets through
// what only looks like one: plans change, and a number that is not known is not always wrong.
func Valid(digits string) bool {
	digits = Identity(digits)
	if len(digits) > maxFast || len(digits) < 3 {
		return false
	}
	var room [maxFast]byte
	if valid, ok := lostPlus(append(room[:0], digits...)); ok {
		return valid
	}
	n, err := phonenumbers.Parse("+"+digits, "")
	return err == nil && phonenumbers.IsValidNumber(n)
}

// PlanOf names whose numbering plan digits belong to, for people: "GB", "country code 1".
func PlanOf(digits string) string {
	n, err := phonenumbers.Parse("+"+digits, "")
	if err != nil {
		return "any country"
	}
	return countryName(n)
}

// areaCode reports whether a number of country code 1 has an area code that can exist: the
// one rule of that plan which has never changed.
func areaCode(n *phonenumbers.PhoneNumber) bool {
	national := phonenumbers.GetNationalSignificantNumber(n)
	return national != "" && national[0] >= '2'
}

// countryName names the country of n for an error, by region where that is certain.
func countryName(n *phonenumbers.PhoneNumber) string {
	regions := phonenumbers.GetRegionCodesForCountryCode(int(n.GetCountryCode()))
	if len(regions) == 1 || (len(regions) > 1 && n.GetCountryCode() != 1) {
		return regions[0] // the main country of a shared code comes first
	}
	return fmt.Sprintf("country code %d", n.GetCountryCode())
}

func length(reason phonenumbers.ValidationResult, country string) error {
	switch reason {
	case phonenumbers.TOO_SHORT, phonenumbers.IS_POSSIBLE_LOCAL_ONLY:
		return fmt.Errorf("is too short for %s", country)
	case phonenumbers.TOO_LONG:
		return fmt.Errorf("is too long for %s", country)
	default:
		return fmt.Errorf("is no number of %s", country)
	}
}

// explain says a parser's error in our words, for the country tried.
func explain(err error, country string) error {
	switch {
	case errors.Is(err, phonenumbers.ErrInvalidCountryCode):
		return errors.New("begins with a country code that does not exist")
	case errors.Is(err, phonenumbers.ErrNumTooLong):
		return errors.New("has more digits than any phone number")
	case errors.Is(err, phonenumbers.ErrTooShortNSN), errors.Is(err, phonenumbers.ErrTooShortAfterIDD):
		if country != "" {
			return fmt.Errorf("is too short for %s", country)
		}
		return errors.New("is too short")
	default:
		return ErrNone
	}
}
