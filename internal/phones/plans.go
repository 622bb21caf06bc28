package phones

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nyaruka/phonenumbers"
)

// A plan is what the numbering plans say of digits that begin with a country code.
type plan struct {
	code   int    // 0 where no country has the code
	region string // the country the number is of, "001" for a service of none; "" where several share the code and none knows it
	valid  bool   // a plan knows the number
}

var plans cache[string, plan]

// planOf asks the library once for each number: whether it is valid and whose it is need the same patterns. A number is
// valid when one of its spellings is: networks write some as no plan does.
func planOf(digits string) plan {
	if len(digits) > maxDigits+2 {
		return plan{}
	}
	if known, ok := plans.get(digits); ok {
		return known
	}
	found := askPlan(digits)
	for _, other := range Spellings(Identity(digits)) {
		if !found.valid && other != digits {
			if spelled := askPlan(other); spelled.valid {
				found = spelled
			}
		}
	}
	plans.put(strings.Clone(digits), found)
	return found
}

func askPlan(digits string) (found plan) {
	if n := numberOf(digits); n != nil {
		found.code = int(n.GetCountryCode())
		found.region = phonenumbers.GetRegionCodeForNumber(n)
		// The library names US and GB, which share their codes, only for a number that is valid there: 5 µs less than asking twice.
		found.valid = found.region == "US" || found.region == "GB" || found.region != "" && phonenumbers.IsValidNumberForRegion(n, found.region)
	}
	return found
}

// numberOf is the library's number of digits as they stand: nothing is taken away behind the country code,
// which Parse does. It is nil where the code does not exist.
func numberOf(digits string) *phonenumbers.PhoneNumber {
	for size := 1; size <= min(3, len(digits)); size++ {
		code, err := strconv.ParseInt(digits[:size], 10, 32)
		if err != nil || code == 0 {
			return nil
		}
		if len(phonenumbers.GetRegionCodesForCountryCode(int(code))) == 0 {
			continue
		}
		national := digits[size:]
		value, err := strconv.ParseUint("0"+national, 10, 64)
		if err != nil {
			return nil
		}
		n := &phonenumbers.PhoneNumber{CountryCode: new(int32(code)), NationalNumber: &value}
		if zeros := len(national) - len(strings.TrimLeft(national, "0")); zeros > 0 {
			n.ItalianLeadingZero, n.NumberOfLeadingZeros = new(true), new(int32(zeros))
		}
		return n
	}
	return nil
}

// Valid reports whether a numbering plan knows such a number, in one of its spellings; digits are those of Read, which also lets through
// what only looks like one: plans change, and a number that is not known is not always wrong.
func Valid(digits string) bool { return planOf(digits).valid }

// CountryOf is the ISO 3166-1 alpha-2 code of the country a number belongs to; "" when its
// country code is shared and the rest does not decide.
func CountryOf(digits string) string { return country(planOf(digits).region) }

// TariffCountry is the country by which a message to a number is priced, as an ISO 3166-1 alpha-2
// code: the one that CountryOf tells, and where that is none (a number that no plan knows, or
// that several countries of a code may have) the code's main country, GB for 44; "" when no
// country has the code.
func TariffCountry(digits string) string {
	p := planOf(digits)
	if p.region != "" {
		return country(p.region)
	}
	return country(phonenumbers.GetRegionCodeForCountryCode(p.code))
}

// PlanOf names whose numbering plan digits belong to, for people: "GB", "country code 1".
func PlanOf(digits string) string {
	code := planOf(digits).code
	if code == 0 {
		return "any country"
	}
	return countryName(code)
}

// countryName names the country of a code for people, by region where that is certain.
func countryName(code int) string {
	regions := phonenumbers.GetRegionCodesForCountryCode(code)
	if len(regions) == 1 || (len(regions) > 1 && code != 1) {
		return regions[0] // the main country of a shared code comes first
	}
	return fmt.Sprintf("country code %d", code)
}

// country is a region that is one, and "" for services that belong to none.
func country(region string) string {
	if region == "001" || region == phonenumbers.UNKNOWN_REGION {
		return ""
	}
	return region
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
