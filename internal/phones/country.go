package phones

import "github.com/nyaruka/phonenumbers"

var numberCountries cache // the answers of CountryOf

// CountryOf is the ISO 3166-1 alpha-2 code of the country a number belongs to; "" when its
// country code is shared and the rest does not decide.
func CountryOf(digits string) string {
	if a, ok := numberCountries.get(digits, ""); ok {
		return a.digits
	}
	country := countryOf(digits)
	numberCountries.put(digits, "", country, nil)
	return country
}

func countryOf(digits string) string {
	n, err := phonenumbers.Parse("+"+digits, "")
	if err != nil {
		return ""
	}
	found := country(phonenumbers.GetRegionCodeForNumber(n))
	if regions := phonenumbers.GetRegionCodesForCountryCode(int(n.GetCountryCode())); found == "" && len(regions) == 1 {
		return country(regions[0])
	}
	return found
}

// country is a region that is one, and "" for services that belong to none.
func country(region string) string {
	if region == "001" || region == "ZZ" {
		return ""
	}
	return region
}

// IsCountry reports whether code is a country that the phone network knows, in upper case.
func IsCountry(code string) bool { return phonenumbers.GetSupportedRegions()[code] }
