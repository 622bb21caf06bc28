package phones

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nyaruka/phonenumbers"
)

const (
	maxText    = 64 // characters; no written number is longer, and the cache keys stay small
	maxDigits  = 15 // E.164
	minLenient = 10 // below this, a length that the plan does not know is a cut-off number
)

// ErrNone is what Read says of a text that could not be any phone, where nothing more is known.
var ErrNone = errors.New("is not a phone number")

// A Spelling says how numbers are written that have no plus sign. The zero value is not known: what has two
// readings is refused then.
type Spelling string

// The spellings.
const (
	National      Spelling = "national"      // as they are dialled inside the country
	International Spelling = "international" // with their country code, as messaging networks do
)

// A Home is what is known about numbers without a plus sign.
type Home struct {
	Country  string // ISO 3166-1 alpha-2 code of the place where they would be dialled; "" when that is not known
	Spelling Spelling
	// Unread is what stands where the country should be and is none that is known. Such a number is not read by
	// any other country; Country is "" then.
	Unread string
}

// A Number is a phone as it was read.
type Number struct {
	Digits string // country code first, no plus sign
	// Abroad names the country whose number it is (as PlanOf does), where nothing but the digits said that it is
	// not one of the home's; "" otherwise.
	Abroad string
}

// Read reads a phone number as written by a person or a system.
//
// A number with a plus sign, or with an international prefix in its place (the home's own, else "00"), has its
// country code. One without is, in this order: what a plan of the home knows; refused, where the home could have
// such a number and another country has it; a number of that other country; a number of the home of a possible
// length. home.Spelling says which of the first is meant.
//
// It also understands "tel:", "whatsapp:" or "p:" in front, an extension at the end (dropped), digits of other
// scripts, numbers with an exponent that have all their digits, and drops what nobody can see.
//
// Errors are words for people ("has letters", "too short for GB") and never hold the number.
func Read(raw string, home Home) (Number, error) {
	home.Country = strings.ToUpper(strings.TrimSpace(home.Country))
	k := asked{raw, home}
	if a, ok := answers.get(k); ok {
		return a.number, a.err
	}
	number, err := read(raw, home)
	if len(raw) <= maxText && len(home.Unread) <= maxText {
		// A phone is mostly a piece of a webhook's body; kept as it is, it would keep the body.
		k.raw, k.home.Unread = strings.Clone(raw), strings.Clone(home.Unread)
		k.home.Country = strings.Clone(home.Country)
		answers.put(k, answer{number, err})
	}
	return number, err
}

type asked struct {
	raw  string
	home Home
}

type answer struct {
	number Number
	err    error
}

var answers cache[asked, answer]

func read(raw string, home Home) (Number, error) {
	if digits, found := strings.CutPrefix(raw, "+"); found && whole(digits) { // most numbers: the rest would find nothing to do
		return (&written{text: raw, digits: digits}).international(digits)
	}
	if len(raw) > maxText*4 {
		return Number{}, errors.New("is too long to be a phone number")
	}
	text := clean(raw)
	switch {
	case text == "":
		return Number{}, errors.New("is empty")
	case len([]rune(text)) > maxText:
		return Number{}, errors.New("is too long to be a phone number")
	}
	text, err := exact(text)
	if err != nil {
		return Number{}, err
	}
	if wholeFloat.MatchString(text) {
		text, _, _ = strings.Cut(text, ".")
	}
	text = extension.ReplaceAllString(text, "")
	plus, err := characters(text)
	if err != nil {
		return Number{}, err
	}
	digits := phonenumbers.NormalizeDigitsOnly(text)
	switch {
	case digits == "":
		return Number{}, errors.New("has no digits")
	case len(digits) > maxDigits+4: // 4: an international prefix such as 0011 and a trunk zero
		return Number{}, fmt.Errorf("has %d digits, more than any phone number", len(digits))
	case strings.Trim(digits, "0") == "":
		return Number{}, errors.New("has only zeros")
	}
	w := written{text: text, digits: digits, trunk: trunkZero.MatchString(text)}
	// A zero in front is dialled inside of a country only: no country code begins with one.
	if plus || home.Spelling == International && digits[0] != '0' {
		return w.international(digits)
	}
	return w.withoutPlus(home)
}

// whole reports whether a text is digits and nothing else, and few enough for a number with its country code.
func whole(digits string) bool {
	return len(digits) > 0 && len(digits) <= maxDigits && digits[0] != '0' && strings.Trim(digits, "0123456789") == ""
}

// written is a number as it stands there.
type written struct {
	text, digits string
	trunk        bool // a "(0)" was written, which is dialled only inside the country
}

// international reads digits that start with a country code. Whoever wrote the code wrote the whole number: where no
// plan knows it, with or without a zero behind the code, it stays as written.
func (w *written) international(digits string) (Number, error) {
	if planOf(digits).valid {
		return Number{Digits: digits}, nil
	}
	n, err := phonenumbers.Parse("+"+digits, "")
	if err != nil {
		return Number{}, explain(err, "")
	}
	without := e164(n) // and without the trunk zero
	if planOf(without).valid {
		return Number{Digits: without}, nil
	}
	if w.trunk {
		digits = without
	}
	reason := phonenumbers.IsPossibleNumberWithReason(n)
	if len(digits) > maxDigits || (reason != phonenumbers.IS_POSSIBLE && len(digits) < minLenient) {
		return Number{}, length(reason, countryName(int(n.GetCountryCode())))
	}
	if n.GetCountryCode() == 1 && !areaCode(n) {
		return Number{}, errors.New("has an area code that begins with 0 or 1, which no number of country code 1 does")
	}
	return Number{Digits: digits}, nil
}

// withoutPlus reads a number without plus sign.
func (w *written) withoutPlus(home Home) (Number, error) {
	zeros := strings.HasPrefix(w.digits, "00")
	switch {
	case home.Country == "" && zeros:
		return w.international(w.digits[2:])
	case home.Unread != "":
		return Number{}, fmt.Errorf("needs a country code: it has no + in front, and its country is given as %q, which is none that is known", home.Unread)
	case home.Country == "":
		return Number{}, errors.New("needs a country code: it has no + in front and no country is known (set defaults.country)")
	case !IsCountry(home.Country):
		return Number{}, fmt.Errorf("needs a country code: %q is not a country of the phone network", home.Country)
	}
	n, err := phonenumbers.ParseAndKeepRawInput(w.text, home.Country)
	prefixed := err == nil && n.GetCountryCodeSource() == phonenumbers.PhoneNumber_FROM_NUMBER_WITH_IDD
	switch {
	case prefixed:
		return w.prefixed(n)
	case zeros:
		return w.international(w.digits[2:])
	case err != nil:
		return Number{}, explain(err, home.Country)
	}
	return w.national(n, home)
}

// prefixed reads a number behind the home's own international prefix; n is what the library made of it. Where that
// begins with "00" and no plan knows the number, a known one behind "00" alone is what was meant.
func (w *written) prefixed(n *phonenumbers.PhoneNumber) (Number, error) {
	own := e164(n)
	zero, found := strings.CutPrefix(w.digits, "00")
	if !found {
		return w.international(own)
	}
	code := strconv.Itoa(int(n.GetCountryCode()))
	if rest, same := strings.CutPrefix(zero, code); same && strings.TrimLeft(rest, "0") == strings.TrimLeft(own[len(code):], "0") {
		return w.international(zero) // 00 is the home's own prefix
	}
	other := planOf(zero)
	switch {
	case other.valid && planOf(own).valid:
		return Number{}, twoReadings(PlanOf(own), countryName(other.code))
	case other.valid:
		return w.international(zero)
	default:
		return w.international(own)
	}
}

// national reads a number as one of the home, which n is, or as one of another country whose plus sign got lost.
func (w *written) national(n *phonenumbers.PhoneNumber, home Home) (Number, error) {
	read := e164(n)
	if planOf(read).valid {
		return Number{Digits: read}, nil
	}
	abroad := planOf(w.digits)
	if abroad.valid && abroad.code == int(n.GetCountryCode()) {
		return Number{Digits: w.digits}, nil // the home's own country code
	}
	n, read = withoutTrunk(n, read)
	reason := phonenumbers.IsPossibleNumberWithReason(n)
	possible := reason == phonenumbers.IS_POSSIBLE && len(read) <= maxDigits && (n.GetCountryCode() != 1 || areaCode(n))
	switch {
	case abroad.valid && home.Spelling != National && possible:
		return Number{}, twoReadings(home.Country, PlanOf(w.digits))
	case abroad.valid && home.Spelling != National:
		return Number{Digits: w.digits, Abroad: PlanOf(w.digits)}, nil
	case possible:
		return Number{Digits: read}, nil
	case reason == phonenumbers.IS_POSSIBLE && n.GetCountryCode() == 1:
		return Number{}, fmt.Errorf("is no number of %s: no area code begins with 0 or 1", home.Country)
	default:
		return Number{}, length(reason, home.Country)
	}
}

// twoReadings refuses a number that one country could have and another one has.
func twoReadings(home, abroad string) error {
	return fmt.Errorf("could be a number of %s that no plan knows, or one of %s: write it with + and its country code, "+
		"or say phones: national or phones: international", home, abroad)
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
	digits = code + strings.TrimLeft(rest, "0")
	if n = numberOf(digits); n == nil {
		return &phonenumbers.PhoneNumber{}, digits
	}
	return n, digits
}

func e164(n *phonenumbers.PhoneNumber) string {
	return strconv.Itoa(int(n.GetCountryCode())) + phonenumbers.GetNationalSignificantNumber(n)
}

// areaCode reports whether a number of country code 1 has an area code that can exist: the
// one rule of that plan which has never changed.
func areaCode(n *phonenumbers.PhoneNumber) bool {
	national := phonenumbers.GetNationalSignificantNumber(n)
	return national != "" && national[0] >= '2'
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
