package phones

import "github.com/nyaruka/phonenumbers"

// TariffCountry is the country by which a message to a number is priced, as an ISO 3166-1 alpha-2
// code: the one that CountryOf tells, and where that is none (a number that no plan knows, or
// that several countries of a code may have) the code's main country, GB for 44; "" when no
// country has the code.
//
// It walks the same automata as AppendFast, because every row of a list is priced.
func TariffCountry(digits string) string {
	if digits == "" {
		return ""
	}
	p, national, ok := planOf([]byte(digits))
	if p == nil || !ok {
		return slowTariff(digits)
	}
	if len(p.regions) > 1 {
		r, ok := p.region(national)
		if !ok {
			return slowTariff(digits)
		}
		if r != nil {
			return r.id
		}
	}
	return country(p.main.id)
}

// slowTariff asks the library.
func slowTariff(digits string) string {
	if found := CountryOf(digits); found != "" {
		return found
	}
	n, err := phonenumbers.Parse("+"+digits, "")
	if err != nil {
		return ""
	}
	return country(phonenumbers.GetRegionCodeForCountryCode(int(n.GetCountryCode())))
}
