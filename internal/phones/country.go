package phones

import (
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/nyaruka/phonenumbers"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
	"golang.org/x/text/unicode/norm"
)

// IsCountry reports whether code is a country that the phone network knows, in upper case.
func IsCountry(code string) bool { return phonenumbers.GetSupportedRegions()[code] }

// ReadCountry is the ISO 3166-1 alpha-2 code of a country as people and systems write it: "NO", "nor", "Norway",
// "Norge", "47", "+47". It is "" for what names none, and for a name that several countries have. A dialling code
// that countries share stands for the main one, because the numbers of all of them are read alike.
//
// Source of the names: the Unicode CLDR in all of its languages, through golang.org/x/text.
func ReadCountry(text string) string {
	if code := strings.ToUpper(text); len(code) == 2 && IsCountry(code) {
		return code
	}
	if len(text) > maxCountry {
		return ""
	}
	name := countryWord(text)
	switch {
	case name == "":
		return ""
	case strings.Trim(name, "0123456789") == "":
		code, err := strconv.Atoi(strings.TrimPrefix(name, "00"))
		if err != nil {
			return ""
		}
		return country(phonenumbers.GetRegionCodeForCountryCode(code))
	case len(name) <= 3 && strings.EqualFold(name, strings.NewReplacer(".", "", " ", "").Replace(text)): // "n/a" is not Namibia
		if region, err := language.ParseRegion(name); err == nil && IsCountry(region.Canonicalize().String()) {
			return region.Canonicalize().String()
		}
	}
	return countryNames()[name]
}

// LanguageOf is the language that most people speak where a number is of, as in "de"; "" where that is not known.
func LanguageOf(digits string) string {
	country := CountryOf(digits)
	if country == "" {
		return ""
	}
	tag, err := language.Parse("und-" + country)
	if err != nil {
		return ""
	}
	if base, sure := tag.Base(); sure != language.No {
		return base.String()
	}
	return ""
}

// maxCountry is longer than any name of a country, in bytes.
const maxCountry = 200

// countryWord is a name as names are compared: small letters and digits, without accents, signs and blanks.
func countryWord(text string) string {
	return strings.Map(func(r rune) rune {
		// An accent of Latin, Greek or Cyrillic, or a sign for a vowel or a hamza of Arabic, which most people leave out.
		if r >= 0x300 && r <= 0x36f || r >= 0x64b && r <= 0x655 || !unicode.In(r, unicode.L, unicode.M, unicode.Nd) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(text))
}

// countryNames are the codes by countryWord of the name, in every language. They are made when the first name is
// asked for, in a tenth of a second.
var countryNames = sync.OnceValue(func() map[string]string {
	names := map[string]string{}
	for _, tag := range display.Supported.Tags() {
		base, script, region := tag.Raw()
		if (script != language.Script{} || region != language.Region{}) {
			continue // a variant of a language
		}
		in := display.Regions(language.Make(base.String()))
		if in == nil {
			continue
		}
		for code := range phonenumbers.GetSupportedRegions() {
			name := countryWord(in.Name(language.MustParseRegion(code)))
			if other, taken := names[name]; taken && other != code {
				code = "" // of two countries, in one language or in two
			}
			names[name] = code
		}
	}
	for name, code := range furtherNames {
		names[name] = code
	}
	return names
})

// furtherNames are names in use that the CLDR does not have: those of ISO 3166, of parts of a country, and former ones.
var furtherNames = map[string]string{
	"usa": "US", "america": "US", "unitedstatesofamerica": "US", "theunitedstates": "US", "theunitedstatesofamerica": "US",
	"greatbritain": "GB", "britain": "GB", "england": "GB", "scotland": "GB", "wales": "GB", "northernireland": "GB", "theunitedkingdom": "GB",
	"unitedkingdomofgreatbritainandnorthernireland": "GB", "republicofireland": "IE", "eire": "IE",
	"uae": "AE", "emirates": "AE", "holland": "NL", "thenetherlands": "NL", "czechrepublic": "CZ", "czechia": "CZ",
	"turkey": "TR", "turkiye": "TR", "southkorea": "KR", "republicofkorea": "KR", "korearepublicof": "KR", "koreasouth": "KR",
	"northkorea": "KP", "koreademocraticpeoplesrepublicof": "KP", "russianfederation": "RU", "vietnam": "VN",
	"iranislamicrepublicof": "IR", "syrianarabrepublic": "SY", "tanzaniaunitedrepublicof": "TZ", "boliviaplurinationalstateof": "BO",
	"venezuelabolivarianrepublicof": "VE", "moldovarepublicof": "MD", "republicofmoldova": "MD", "taiwanprovinceofchina": "TW",
	"macedonia": "MK", "macedoniatheformeryugoslavrepublicof": "MK", "republicofnorthmacedonia": "MK", "burma": "MM",
	"ivorycoast": "CI", "capeverde": "CV", "swaziland": "SZ", "easttimor": "TL", "laopeoplesdemocraticrepublic": "LA",
	"bruneidarussalam": "BN", "palestinestateof": "PS", "stateofpalestine": "PS", "hongkong": "HK", "macao": "MO", "macau": "MO",
	"congodemocraticrepublicofthe": "CD", "congothedemocraticrepublicofthe": "CD", "democraticrepublicofthecongo": "CD", "drcongo": "CD",
	"republicofthecongo": "CG", "micronesiafederatedstatesof": "FM", "peoplesrepublicofchina": "CN", "mainlandchina": "CN",
	"thebahamas": "BS", "thegambia": "GM", "thephilippines": "PH", "vaticancity": "VA", "holyseevaticancitystate": "VA",
	"federalrepublicofgermany": "DE", "bundesrepublikdeutschland": "DE", "brd": "DE", "republicofsingapore": "SG",
	"southafricarepublicof": "ZA", "republicofsouthafrica": "ZA", "kingdomofsaudiarabia": "SA", "ksa": "SA",
	"السعودية": "SA", "الامارات": "AE", "امريكا": "US", "بريطانيا": "GB", // without hamza, as countryWord leaves them
	"congo": "", "korea": "", "virginislands": "", // one of two
}
