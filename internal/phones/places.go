package phones

import "github.com/nyaruka/phonenumbers"

// ZonesOf lists the IANA time zones in which the number may live: one for most, several for
// mobiles of large countries, none when the number tells nothing.
func ZonesOf(digits string) []string {
	n, err := phonenumbers.Parse("+"+digits, "")
	if err != nil {
		return nil
	}
	zones, err := phonenumbers.GetTimezonesForNumber(n)
	if err != nil || (len(zones) == 1 && zones[0] == phonenumbers.UNKNOWN_TIMEZONE) {
		return nil
	}
	return zones
}

// places remembers the answers of CountryOf, for the same reason as seen does those of
// Normalize.
var places = &cache{seed: seen.seed}

// CountryOf is the ISO 3166-1 alpha-2 code of the country a number belongs to; "" when its
// country code is shared and the rest does not decide.
func CountryOf(digits string) string {
	if a, ok := places.get(digits, ""); ok {
		return a.digits
	}
	country := countryOf(digits)
	places.put(digits, "", country, nil)
	return country
}

func countryOf(digits string) string {
	n, err := phonenumbers.Parse("+"+digits, "")
	if err != nil {
		return ""
	}
	if region := phonenumbers.GetRegionCodeForNumber(n); region != "" && region != "001" && region != "ZZ" {
		return region
	}
	if regions := phonenumbers.GetRegionCodesForCountryCode(int(n.GetCountryCode())); len(regions) == 1 && regions[0] != "001" {
		return regions[0]
	}
	return ""
}

// IsCountry reports whether code is a country that the phone network knows, in upper case.
func IsCountry(code string) bool { return phonenumbers.GetSupportedRegions()[code] }
