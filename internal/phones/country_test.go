package phones_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/nyaruka/phonenumbers"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"github.com/nudgewire/nudgewire/internal/phones"
)

func TestACountryIsReadAsItIsWritten(t *testing.T) {
	for text, want := range map[string]string{
		"NO": "NO", "no": "NO", "NOR": "NO", "Norway": "NO", "NORWAY": "NO", "Norge": "NO", " norge ": "NO", "47": "NO", "+47": "NO", "0047": "NO",
		"UK": "GB", "U.K.": "GB", "GBR": "GB", "United Kingdom": "GB", "Great Britain": "GB", "England": "GB", "Vereinigtes Königreich": "GB",
		"USA": "US", "U.S.A.": "US", "U. S.": "US", "United States": "US", "United States of America": "US", "Estados Unidos": "US", "1": "US", "+1": "US",
		"Deutschland": "DE", "Allemagne": "DE", "Duitsland": "DE", "Brasil": "BR", "Brazil": "BR", "BRA": "BR", "México": "MX", "Mexico": "MX",
		"Österreich": "AT", "Osterreich": "AT", "Suisse": "CH", "Schweiz": "CH", "België": "BE", "Belgique": "BE", "Suomi": "FI", "España": "ES",
		"Türkiye": "TR", "Turkey": "TR", "Russian Federation": "RU", "Россия": "RU", "日本": "JP", "中国": "CN", "भारत": "IN", "مصر": "EG", "Ελλάδα": "GR",
		"Côte d’Ivoire": "CI", "Cote d'Ivoire": "CI", "Czech Republic": "CZ", "The Netherlands": "NL", "Viet Nam": "VN", "Korea, Republic of": "KR",
		"السعودية": "SA", "المملكة العربية السعودية": "SA", "الإمارات": "AE", "الامارات": "AE", "عمان": "OM", "عُمان": "OM", "الاردن": "JO", "الكويت": "KW", "قطر": "QA",
		"Niger": "NE", "Nigeria": "NG", "Dominica": "DM", "Dominican Republic": "DO", "Guinea": "GN", "Guinea-Bissau": "GW", "Georgia": "GE",
		"XX": "", "ZZ": "", "Norwey": "", "true": "", "0": "", "999": "", "": "", "-": "", "n/a": "", "EU": "", "Europe": "", "150": "", "840": "", "Congo": "", "Virgin Islands": "",
		strings.Repeat("Norway", 100): "",
	} {
		if got := phones.ReadCountry(text); got != want {
			t.Errorf("ReadCountry(%q) = %q, want %q", text, got, want)
		}
	}
}

// Each country is found by its codes, its English name, its own and the one it has in large languages.
func TestEveryCountryIsFoundByItsNames(t *testing.T) {
	for code := range phonenumbers.GetSupportedRegions() {
		region := language.MustParseRegion(code)
		names := []string{code, strings.ToLower(code), display.English.Regions().Name(region)}
		if iso := region.ISO3(); region.IsCountry() && iso != "ZZZ" && code != "AC" && code != "TA" {
			names = append(names, iso)
		}
		own, _ := language.Make("und-" + code).Base()
		for _, tag := range []language.Tag{language.Make(own.String()), language.German, language.French, language.Spanish, language.Portuguese, language.Italian, language.Dutch} {
			if in := display.Regions(tag); in != nil {
				names = append(names, in.Name(region))
			}
		}
		for _, name := range names {
			if got := phones.ReadCountry(name); got != code {
				t.Errorf("%q is %q, want %s", name, got, code)
			}
		}
		calling := phonenumbers.GetCountryCodeForRegion(code)
		if got := phones.ReadCountry("+" + strconv.Itoa(calling)); phonenumbers.GetCountryCodeForRegion(got) != calling {
			t.Errorf("+%d is %q", calling, got)
		}
	}
}
