package phones_test

import (
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/phones"
)

func TestNormalize(t *testing.T) {
	tests := map[string]struct {
		raw, country string
		want         string
	}{
		"a plus number needs no country":                     {"+44 20 7946 0958", "", "442079460958"},
		"a national number takes the country given":          {"020 7946 0958", "GB", "442079460958"},
		"the country may be in lower case":                   {"020 7946 0958", "gb", "442079460958"},
		"a trunk zero in brackets is dropped":                {"+44 (0)20 7946 0958", "", "442079460958"},
		"so is one of a number that no plan knows":           {"+44 (0)7700 900123", "", "447700900123"},
		"a trunk zero without brackets too, when that helps": {"+49 0170 1234567", "", "491701234567"},
		"Italy keeps its zero":                               {"06 698 12345", "IT", "390669812345"},
		"00 is a plus":                                       {"0044 20 7946 0958", "", "442079460958"},
		"011 is a plus in North America":                     {"011 44 20 7946 0958", "US", "442079460958"},
		"dots and dashes and brackets are only looks":        {"(212).555-0142", "US", "12125550142"},
		"typographic dashes too":                             {"212–555‑0142", "US", "12125550142"},
		"fiction numbers are possible":                       {"07700 900123", "GB", "447700900123"},
		"555 is possible":                                    {"(555) 555-5555", "US", "15555555555"},
		"a plus that got lost":                               {"442079460958", "US", "442079460958"},
		"a country code without plus in its own country":     {"442079460958", "GB", "442079460958"},
		"an extension is dropped":                            {"020 7946 0958 ext. 12", "GB", "442079460958"},
		"an x extension too":                                 {"+1 212-555-0142 x34", "", "12125550142"},
		"tel: in front":                                      {"tel:+442079460958", "", "442079460958"},
		"whatsapp: in front":                                 {"whatsapp:+5511987654321", "", "5511987654321"},
		"p: in front, as lead exports write":                 {"p:+5511987654321", "", "5511987654321"},
		"a spreadsheet's apostrophe":                         {"'+5511987654321", "", "5511987654321"},
		"a whole number written as a fraction":               {"447911123456.0", "GB", "447911123456"},
		"digits of another script":                           {"٠٢٠ ٧٩٤٦ ٠٩٥٨", "GB", "442079460958"},
		"full-width plus and digits":                         {"＋８１ ９０ １２３４ ５６７８", "", "819012345678"},
		"invisible direction marks":                          {"\u202a+44 20 7946 0958\u202c", "", "442079460958"},
		"a non-breaking space":                               {"020\u00a07946\u00a00958", "GB", "442079460958"},
		"a mobile of Brazil":                                 {"(11) 98765-4321", "BR", "5511987654321"},
		"a mobile of India":                                  {"098765 43210", "IN", "919876543210"},
		"a mobile of Russia dialled with 8":                  {"8 (912) 345-67-89", "RU", "79123456789"},
		"a length the plan does not know, with ten digits":   {"+1434993474", "", "1434993474"},
		"a length the plan does not know, with many":         {"+2389372075507", "", "2389372075507"},
		"a zero after the plus code stays when nothing fits": {"+910123456788", "", "910123456788"},
		"one of another country":                             {"+440740012345", "", "440740012345"},
		"it goes when the plan knows what is left":           {"+4407911123456", "", "447911123456"},
		"one of a country without a trunk zero stays":        {"+225 07 12 34 56", "", "22507123456"},
		"a mobile that is one digit short":                   {"0740012345", "GB", "44740012345"},
		"one with more digits than its plan has":             {"+44740012345678", "", "44740012345678"},
		"a small country's short number":                     {"+290 2158", "", "2902158"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := phones.Normalize(tt.raw, tt.country)
			if err != nil || got != tt.want {
				t.Errorf("Normalize(%q, %q) = %q, %v; want %q", tt.raw, tt.country, got, err, tt.want)
			}
		})
	}
}

func TestNormalizeRefusesInWords(t *testing.T) {
	tests := map[string]struct{ raw, country, want string }{
		"nothing":                    {"", "GB", "is empty"},
		"only space":                 {" \u00a0 ", "GB", "is empty"},
		"a placeholder with letters": {"555-555-SHIP", "US", "has letters"},
		"a keypad word":              {"1-800-FLOWERS", "US", "has letters"},
		"a word":                     {"CONTACT PHONE NUMBER", "", "has letters"},
		"too short":                  {"123", "VN", "is too short for VN"},
		"too short with plus":        {"+44 7911", "", "is too short for GB"},
		"a number without its area":  {"555-0142", "US", "is too short for US"},
		"nine digits after the plus": {"+125433437", "", "is too short for country code 1"},
		"no country":                 {"07911 123456", "", "needs a country code: it has no + in front and no country is known (set defaults.country)"},
		"a country that is none":     {"07911 123456", "ZZ", `needs a country code: "ZZ" is not a country of the phone network`},
		"an area code with 1":        {"123-123-1234", "CA", "is no number of CA: no area code begins with 0 or 1"},
		"that with a plus":           {"+1 123 123 1234", "", "has an area code that begins with 0 or 1, which no number of country code 1 does"},
		"a spreadsheet's number":     {"4.47911E+11", "GB", "was shortened by a spreadsheet (4.47911E+11 lost its last digits); format that column as text"},
		"with a comma for the point": {"4,47911E+11", "DE", "was shortened by a spreadsheet (4,47911E+11 lost its last digits); format that column as text"},
		"two numbers":                {"+442079460958, +442079460959", "", "holds more than one number"},
		"two with a plus each":       {"+442079460958 +442079460959", "", "holds more than one number"},
		"a masked number":            {"+4477******23", "", "is masked with asterisks"},
		"zeros":                      {"0000000000", "GB", "has only zeros"},
		"no digits":                  {"--", "GB", "has no digits"},
		"a code that does not exist": {"+999 123456789", "", "begins with a country code that does not exist"},
		"too many digits":            {"12345678901234567890", "GB", "has 20 digits, more than any phone number"},
		"its own trunk zero makes no number long enough": {"074001234", "GB", "is too short for GB"},
		"one that was shortened, with all its digits":    {"447911123456E+0", "GB", "was shortened by a spreadsheet (447…E+0 lost its last digits); format that column as text"},
		"another's number": {"3.36123E+10", "FR", "was shortened by a spreadsheet (3.36123E+10 lost its last digits); format that column as text"},
		"a whole page":     {strings.Repeat("1", 100), "GB", "is too long to be a phone number"},
		"an odd character": {"+44 20 7946 0958 €", "", "has the character '€'"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := phones.Normalize(tt.raw, tt.country)
			if err == nil || err.Error() != tt.want {
				t.Errorf("Normalize(%q, %q) = %q, %v; want the words %q", tt.raw, tt.country, got, err, tt.want)
			}
		})
	}
}

func TestASecondReadingOfANumberAnswersTheSame(t *testing.T) {
	for range 2 {
		if got, err := phones.Normalize("020 7946 0958", "GB"); got != "442079460958" || err != nil {
			t.Fatalf("Normalize = %q, %v", got, err)
		}
		if _, err := phones.Normalize("020 7946 0958", ""); err == nil {
			t.Fatal("the country is not part of what is remembered")
		}
	}
}

func TestWhereANumberLives(t *testing.T) {
	for digits, want := range map[string]string{"442079460958": "GB", "12125550142": "US", "999123": "", "": ""} {
		if got := phones.CountryOf(digits); got != want {
			t.Errorf("CountryOf(%q) = %q, want %q", digits, got, want)
		}
	}
}

func TestWhichNumbersAPlanKnows(t *testing.T) {
	for digits, want := range map[string]bool{
		"442079460958": true, "447911123456": true, "12125550142": true, "390669812345": true, "5511987654321": true,
		"44740012345": false, "44740012345678": false, "15555555555": false, "999123456789": false, "44": false, "": false, "12345678901234567890": false,
	} {
		if got := phones.Valid(digits); got != want {
			t.Errorf("Valid(%s) = %v", digits, got)
		}
	}
	for digits, want := range map[string]string{"44740012345": "GB", "15555555555": "country code 1", "999": "any country"} {
		if got := phones.PlanOf(digits); got != want {
			t.Errorf("PlanOf(%s) = %q, want %q", digits, got, want)
		}
	}
}

func FuzzNormalize(f *testing.F) {
	for _, s := range []string{"+44 20 7946 0958", "0044", "4.47911E+11", "p:+1", "\u202a+", "()", "x1", "00", "+٣"} {
		f.Add(s, "GB")
		f.Add(s, "")
	}
	f.Fuzz(func(t *testing.T, raw, country string) {
		digits, err := phones.Normalize(raw, country)
		if (digits == "") == (err == nil) {
			t.Fatalf("Normalize(%q, %q) = %q, %v: neither or both", raw, country, digits, err)
		}
		if strings.Trim(digits, "0123456789") != "" || len(digits) > 15 || strings.HasPrefix(digits, "0") {
			t.Fatalf("Normalize(%q, %q) = %q is no E.164", raw, country, digits)
		}
	})
}

func BenchmarkNormalizeRemembered(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := phones.Normalize("+44 20 7946 0958", "GB"); err != nil {
			b.Fatal(err)
		}
	}
}
