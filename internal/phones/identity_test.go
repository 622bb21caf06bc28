package phones

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestOneNumberHasOneIdentity(t *testing.T) {
	tests := map[string]struct{ digits, want string }{
		"Brazil, a mobile without its 9":     {"551187654321", "5511987654321"},
		"Brazil, with it":                    {"5511987654321", "5511987654321"},
		"Brazil, 6 and 7 and 9 are mobile":   {"552161234567", "5521961234567"},
		"Brazil, nine at the front of eight": {"553196883193", "5531996883193"},
		"Brazil, a landline":                 {"551132654321", "551132654321"},
		"Brazil, no area code has a 0":       {"550087654321", "550087654321"},
		"Mexico, with the 1":                 {"5215512345678", "525512345678"},
		"Mexico, without it":                 {"525512345678", "525512345678"},
		"Mexico, too long for the 1":         {"52155123456789", "52155123456789"},
		"Argentina, with the 9":              {"5491123456789", "541123456789"},
		"Argentina, without it":              {"541123456789", "541123456789"},
		"Argentina, as many digits at home":  {"549112345678", "549112345678"},
		"Benin, eight digits":                {"22997123456", "2290197123456"},
		"Benin, ten digits":                  {"2290197123456", "2290197123456"},
		"Britain has none":                   {"447700900161", "447700900161"},
		"Côte d'Ivoire is not guessed":       {"22507123456", "22507123456"},
		"nothing":                            {"", ""},
		"a piece":                            {"55", "55"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Identity(tt.digits); got != tt.want {
				t.Errorf("Identity(%s) = %s, want %s", tt.digits, got, tt.want)
			}
			if got := Identity([]byte(tt.digits)); string(got) != tt.want {
				t.Errorf("Identity of the bytes %s = %s, want %s", tt.digits, got, tt.want)
			}
		})
	}
}

// Twins are the two spellings of a number, by country: the identity first.
func twins(t *rapid.T) (identity, other string) {
	switch rapid.SampledFrom([]string{"BR", "MX", "AR", "BJ"}).Draw(t, "country") {
	case "BR":
		area, rest := rapid.StringMatching(`[1-9][1-9]`).Draw(t, "area"), rapid.StringMatching(`[6-9]\d{7}`).Draw(t, "number")
		return "55" + area + "9" + rest, "55" + area + rest
	case "MX":
		rest := rapid.StringMatching(`[2-9]\d{9}`).Draw(t, "number")
		return "52" + rest, "521" + rest
	case "AR":
		rest := rapid.StringMatching(`(11|2[2-9]|3[3-8])\d{8}`).Draw(t, "number")
		return "54" + rest, "549" + rest
	default:
		rest := rapid.StringMatching(`[2-9]\d{7}`).Draw(t, "number")
		return "22901" + rest, "229" + rest
	}
}

func TestBothSpellingsOfANumberAreOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		identity, other := twins(t)
		if Identity(identity) != identity || Identity(other) != identity {
			t.Fatalf("Identity(%s) = %s, Identity(%s) = %s", identity, Identity(identity), other, Identity(other))
		}
		all := Spellings(identity)
		if !slices.Equal(all, []string{identity, other}) {
			t.Fatalf("Spellings(%s) = %v, want it and %s", identity, all, other)
		}
		if Valid(identity) != Valid(other) {
			t.Fatalf("a plan knows one of %s and %s", identity, other)
		}
		if TariffCountry(identity) != TariffCountry(other) {
			t.Fatalf("%s is priced as %s, %s as %s", identity, TariffCountry(identity), other, TariffCountry(other))
		}
	})
}

// What the plans know as two telephones stays two.
func TestNoTwoNumbersBecomeOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		digits := rapid.StringMatching(`(55|52|521|54|549|229|1|44|49)\d{6,11}`).Draw(t, "digits")
		identity := Identity(digits)
		if Identity(identity) != identity {
			t.Fatalf("the identity of %s is %s, whose own is %s", digits, identity, Identity(identity))
		}
		if identity != digits && Valid(digits) && !Valid(identity) {
			t.Fatalf("%s is known to its plan, and its identity %s is not", digits, identity)
		}
		if all := Spellings(identity); !slices.Contains(all, digits) {
			t.Fatalf("Spellings(%s) = %v, without %s", identity, all, digits)
		}
	})
}

// A number that is forgotten goes however it is written.
func TestAFinderFindsBothSpellings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		identity, other := twins(t)
		for _, given := range []string{identity, other} {
			for _, written := range []string{identity, other} {
				if out, found := NewFinder(given).BlotString(`{"phone":"+` + written + `"}`); !found || out == `{"phone":"+`+written+`"}` {
					t.Fatalf("a finder of %s leaves %s", given, written)
				}
				if !NewFinder(given).Holds([]byte("x" + written + "x")) {
					t.Fatalf("a finder of %s does not see %s", given, written)
				}
			}
		}
	})
}
