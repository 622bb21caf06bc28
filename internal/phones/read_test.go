package phones_test

import (
	"strings"
	"testing"

	"github.com/nyaruka/phonenumbers"
	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire/internal/phones"
)

func TestRead(t *testing.T) {
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
		"a country code without plus in its own country":     {"442079460958", "GB", "442079460958"},
		"an extension is dropped":                            {"020 7946 0958 ext. 12", "GB", "442079460958"},
		"an x extension too":                                 {"+1 212-555-0142 x34", "", "12125550142"},
		"tel: in front":                                      {"tel:+442079460958", "", "442079460958"},
		"whatsapp: in front":                                 {"whatsapp:+5511987654321", "", "5511987654321"},
		"p: in front, as lead exports write":                 {"p:+5511987654321", "", "5511987654321"},
		"sms: in front":                                      {"sms:+5511987654321", "", "5511987654321"},
		"an account of a messaging network":                  {"447700900161@c.us", "US", "447700900161"},
		"one with its device":                                {"447700900161:12@s.whatsapp.net", "", "447700900161"},
		"brackets around the country code":                   {"(+44) 20 7946 0958", "US", "442079460958"},
		"0011 is a plus in Australia":                        {"0011 44 20 7946 0958", "AU", "442079460958"},
		"also in front of a number that no plan knows":       {"0011 44 7700 900123", "AU", "447700900123"},
		"also in front of the code 1":                        {"0011 1 212 555 0142", "AU", "12125550142"},
		"00 is a plus in Australia":                          {"0044 20 7946 0958", "AU", "442079460958"},
		"00 is a plus in North America":                      {"001 949 555 0142", "US", "19495550142"},
		"010 is a plus in Japan":                             {"010 44 20 7946 0958", "JP", "442079460958"},
		"a carrier's prefix that is none":                    {"0055 11 98765-4321", "BR", "5511987654321"},
		"a number with an exponent and all its digits":       {"4.47700900176E11", "GB", "447700900176"},
		"one of a spreadsheet":                               {"4.47700900176E+11", "GB", "447700900176"},
		"one with a comma":                                   {"4,47700900176e11", "GB", "447700900176"},
		"one whose last digits are zeros":                    {"4.4770090010E11", "GB", "447700900100"},
		"one whose zeros were left out":                      {"4.477009001E11", "GB", "447700900100"},
		"one that is national":                               {"7.400123456E9", "GB", "447400123456"},
		"one with the exponent zero":                         {"447911123456E+0", "GB", "447911123456"},
		"an extension without a blank":                       {"212-555-0123x5", "US", "12125550123"},
		"an extension of a tel: address":                     {"tel:+1-212-555-0123;ext=5", "", "12125550123"},
		"ext. without a blank":                               {"(212)555-0123ext.45", "US", "12125550123"},
		"extn":                                               {"212 555 0123 extn: 5", "US", "12125550123"},
		"a variation selector":                               {"+447\ufe0d400000001", "", "447400000001"},
		"a joiner":                                           {"+447400\u034f000002", "", "447400000002"},
		"a filler":                                           {"\u3164+447400000003", "", "447400000003"},
		"a blank of Braille":                                 {"+447400000004\u2800", "", "447400000004"},
		"a picture of a telephone":                           {"\U0001F4F1 +447400000006", "", "447400000006"},
		"one with a selector":                                {"\u260e\ufe0f 020 7946 0958", "GB", "442079460958"},
		"digits as pictures of keys":                         {"+4\ufe0f\u20e34\ufe0f\u20e32079460958", "", "442079460958"},
		"a flag":                                             {"\U0001F1EC\U0001F1E7 07911 123456", "GB", "447911123456"},
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
			got, err := phones.Read(tt.raw, phones.Home{Country: tt.country})
			if err != nil || got.Digits != tt.want || got.Abroad != "" {
				t.Errorf("Read(%q, %q) = %+v, %v; want %q", tt.raw, tt.country, got, err, tt.want)
			}
		})
	}
}

func TestReadRefusesInWords(t *testing.T) {
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
		"another's number":              {"3.36123E+10", "FR", "was shortened by a spreadsheet (3.36123E+10 lost its last digits); format that column as text"},
		"one that lost its last digits": {"4.47911123E11", "GB", "was shortened by a spreadsheet (4.47911123E11 lost its last digits); format that column as text"},
		"a fraction":                    {"4.479111234567E11", "GB", "was shortened by a spreadsheet (4.4…E11 lost its last digits); format that column as text"},
		"two numbers with pictures":     {"\U0001F4F1 1234567 \U0001F4DE 1234567", "GB", "has the character '\U0001F4DE'"},
		"a whole page":                  {strings.Repeat("1", 100), "GB", "is too long to be a phone number"},
		"an odd character":              {"+44 20 7946 0958 €", "", "has the character '€'"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := phones.Read(tt.raw, phones.Home{Country: tt.country})
			if err == nil || err.Error() != tt.want {
				t.Errorf("Read(%q, %q) = %+v, %v; want the words %q", tt.raw, tt.country, got, err, tt.want)
			}
		})
	}
}

func TestASecondReadingOfANumberAnswersTheSame(t *testing.T) {
	for range 2 {
		if got, err := phones.Read("020 7946 0958", phones.Home{Country: "GB"}); got.Digits != "442079460958" || err != nil {
			t.Fatalf("Read = %+v, %v", got, err)
		}
		if _, err := phones.Read("020 7946 0958", phones.Home{}); err == nil {
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

// What has no plus sign is read by one rule: where the home has such a number, where it could have, and where it could not.
func TestANumberWithoutAPlusSign(t *testing.T) {
	const two = "could be a number of US that no plan knows, or one of %s: write it with + and its country code, or say phones: national or phones: international"
	for name, tt := range map[string]struct {
		raw  string
		home phones.Home
		want phones.Number
		err  string
	}{
		"valid at home":                                {"(212) 555-0142", phones.Home{Country: "US"}, phones.Number{Digits: "12125550142"}, ""},
		"valid at home with its code":                  {"442079460958", phones.Home{Country: "GB"}, phones.Number{Digits: "442079460958"}, ""},
		"valid at home and abroad":                     {"40612340", phones.Home{Country: "DE"}, phones.Number{Digits: "4940612340"}, ""},
		"possible at home, valid in Germany":           {"497-829-0000", phones.Home{Country: "US"}, phones.Number{}, strings.ReplaceAll(two, "%s", "DE")},
		"possible at home, valid in Singapore":         {"659-123-4567", phones.Home{Country: "CA"}, phones.Number{}, strings.ReplaceAll(strings.ReplaceAll(two, "%s", "SG"), "of US", "of CA")},
		"the same, told to be national":                {"497-829-0000", phones.Home{Country: "US", Spelling: phones.National}, phones.Number{Digits: "14978290000"}, ""},
		"the same, told to be international":           {"4978290000", phones.Home{Country: "US", Spelling: phones.International}, phones.Number{Digits: "4978290000"}, ""},
		"not possible at home, valid abroad":           {"33612345678", phones.Home{Country: "GB"}, phones.Number{Digits: "33612345678", Abroad: "FR"}, ""},
		"with a code of many":                          {"442079460958", phones.Home{Country: "US"}, phones.Number{Digits: "442079460958", Abroad: "GB"}, ""},
		"not possible at home, told to be national":    {"33612345678", phones.Home{Country: "GB", Spelling: phones.National}, phones.Number{}, "is too long for GB"},
		"its own code, told to be national":            {"442079460958", phones.Home{Country: "GB", Spelling: phones.National}, phones.Number{Digits: "442079460958"}, ""},
		"possible at home, valid nowhere":              {"(555) 555-5555", phones.Home{Country: "US"}, phones.Number{Digits: "15555555555"}, ""},
		"neither":                                      {"123456789012", phones.Home{Country: "GB"}, phones.Number{}, "is too long for GB"},
		"a zero in front is national whatever is told": {"07911 123456", phones.Home{Country: "GB", Spelling: phones.International}, phones.Number{Digits: "447911123456"}, ""},
		"00 is a plus whatever is told":                {"0033612345678", phones.Home{Country: "GB", Spelling: phones.National}, phones.Number{Digits: "33612345678"}, ""},
		"international needs no country":               {"5511987654321", phones.Home{Spelling: phones.International}, phones.Number{Digits: "5511987654321"}, ""},
		"a country that cannot be read":                {"40612340", phones.Home{Unread: "Norwey"}, phones.Number{}, `needs a country code: it has no + in front, and its country is given as "Norwey", which is none that is known`},
		"it does not matter with a plus":               {"+4740612340", phones.Home{Unread: "Norwey"}, phones.Number{Digits: "4740612340"}, ""},
		"it does not matter behind 00":                 {"004740612340", phones.Home{Unread: "Norwey"}, phones.Number{Digits: "4740612340"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := phones.Read(tt.raw, tt.home)
			said := ""
			if err != nil {
				said = err.Error()
			}
			if got != tt.want || said != tt.err {
				t.Errorf("Read(%q, %+v) = %+v, %q; want %+v, %q", tt.raw, tt.home, got, said, tt.want, tt.err)
			}
		})
	}
}

// No number that one country could have becomes one of another without a word, whatever the digits are.
func TestNoNumberLeavesItsCountryUnsaid(t *testing.T) {
	homes := []string{"US", "GB", "DE", "BR", "AU", "IN", "NO", "IT", "MX", "JP", "ZA", "RU"}
	rapid.Check(t, func(t *rapid.T) {
		home := rapid.SampledFrom(homes).Draw(t, "home")
		raw := rapid.StringMatching(`[1-9][0-9]{6,13}`).Draw(t, "digits")
		code := phones.PlanOf(phoneCode(home))
		got, err := phones.Read(raw, phones.Home{Country: home})
		if err == nil && got.Abroad == "" && phones.PlanOf(got.Digits) != code {
			t.Fatalf("Read(%q, %s) = %+v: not of %s, and nobody is told", raw, home, got, home)
		}
		if national, err := phones.Read(raw, phones.Home{Country: home, Spelling: phones.National}); err == nil && phones.PlanOf(national.Digits) != code {
			t.Fatalf("Read(%q, %s, national) = %+v", raw, home, national)
		}
		if got, err := phones.Read(raw, phones.Home{Country: home, Spelling: phones.International}); err == nil && !strings.HasPrefix(raw, got.Digits[:1]) {
			t.Fatalf("Read(%q, %s, international) = %+v", raw, home, got)
		}
	})
}

// phoneCode is a number of a country, so that its code can be compared.
func phoneCode(country string) string {
	n := phonenumbers.GetExampleNumber(country)
	return strings.TrimPrefix(phonenumbers.Format(n, phonenumbers.E164), "+")
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"+44 20 7946 0958", "0044", "4.47911E+11", "p:+1", "\u202a+", "()", "x1", "00", "+٣", "0011 44 1", "1e9", "1@c.us"} {
		f.Add(s, "GB")
		f.Add(s, "")
		f.Add(s, "AU")
	}
	f.Fuzz(func(t *testing.T, raw, country string) {
		got, err := phones.Read(raw, phones.Home{Country: country})
		if (got.Digits == "") == (err == nil) {
			t.Fatalf("Read(%q, %q) = %+v, %v: neither or both", raw, country, got, err)
		}
		if strings.Trim(got.Digits, "0123456789") != "" || len(got.Digits) > 15 || strings.HasPrefix(got.Digits, "0") {
			t.Fatalf("Read(%q, %q) = %+v is no E.164", raw, country, got)
		}
	})
}

func BenchmarkReadRemembered(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := phones.Read("+44 20 7946 0958", phones.Home{Country: "GB"}); err != nil {
			b.Fatal(err)
		}
	}
}
