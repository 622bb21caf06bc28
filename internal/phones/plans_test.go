package phones

import (
	"fmt"
	"testing"

	"github.com/nyaruka/phonenumbers"
	"pgregory.net/rapid"
)

func TestACountryIsFoundForEveryPrice(t *testing.T) {
	for digits, want := range map[string]string{
		"442079460958":    "GB",
		"447400123456":    "GB",
		"447700900123":    "GB", // fiction: no plan knows it
		"441481960194":    "GG", // Guernsey shares the code of Great Britain
		"447781123456":    "GG",
		"4915123456789":   "DE",
		"12125550142":     "US",
		"14165550142":     "CA",
		"77012345678":     "KZ",
		"79161234567":     "RU",
		"5511999990000":   "BR",
		"80012345678":     "", // free calls of the world belong to no country
		"999123456789":    "",
		"":                "",
		"0":               "",
		"44":              "GB",
		"390212345678":    "IT",
		"390669812345":    "VA", // the Vatican has a part of Rome
		"393912345678901": "IT",
	} {
		if got := TariffCountry(digits); got != want {
			t.Errorf("%s is priced as %q, want %q", digits, got, want)
		}
	}
}

// Digits are taken as they stand, and what the library makes of them behind a plus sign is the same.
func TestThePlanOfANumberIsTheLibrarys(t *testing.T) {
	for region := range phonenumbers.GetSupportedRegions() {
		for _, kind := range []phonenumbers.PhoneNumberType{phonenumbers.MOBILE, phonenumbers.FIXED_LINE, phonenumbers.VOIP, phonenumbers.TOLL_FREE} {
			n := phonenumbers.GetExampleNumberForType(region, kind)
			if n == nil {
				continue
			}
			digits := phonenumbers.Format(n, phonenumbers.E164)[1:]
			want := country(phonenumbers.GetRegionCodeForNumber(n))
			if Valid(digits) != phonenumbers.IsValidNumber(n) || CountryOf(digits) != want || want != "" && TariffCountry(digits) != want {
				t.Errorf("%s: valid %v, of %q, priced as %q; want of %q", digits, Valid(digits), CountryOf(digits), TariffCountry(digits), want)
			}
		}
	}
}

// Also of numbers that nobody has, under each code.
func TestAnyNumberIsAsValidAsTheLibrarySays(t *testing.T) {
	var codes []int
	for code := range 1000 {
		if len(phonenumbers.GetRegionCodesForCountryCode(code)) > 0 {
			codes = append(codes, code)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		digits := fmt.Sprint(rapid.SampledFrom(codes).Draw(t, "code"), rapid.StringMatching(`[1-9][0-9]{6,9}`).Draw(t, "number"))
		n := numberOf(digits)
		got, want := askPlan(digits), phonenumbers.IsValidNumber(n)
		if region := phonenumbers.GetRegionCodeForNumber(n); got.valid != want || got.region != region {
			t.Errorf("%s: valid %v of %q, the library says %v of %q", digits, got.valid, got.region, want, region)
		}
	})
}
