package mask

import (
	"strconv"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire/internal/plain"
)

// spelt are ways in which people, programs and tricks write a phone into a note.
var spelt = []string{
	"07700900123", "447700900123", "+447700900123", "00447700900123", "7700900", "(07700) 900123", "+44 (0)7700 900123", "+44 (0) 7700 900 123",
	"07700 900 123", "07700-900-123", "07700.900.123", "07700/900/123", "07700,900,123", "07700_900_123", "07700 - 900 - 123", "07700*900*123", "07700~900~123", "07700|900|123",
	"07700+900+123", `07700\900\123`, "07700\t900\t123", "077 009 001 23", "0 7 7 0 0 9 0 0 1 2 3", "0-7-7-0-0-9-0-0-1-2-3", "0,7,7,0,0,9,0,0,1,2,3", "%2B447700900123",
	"07700%20900%20123", "tel:07700900123", "wa.me/447700900123", "447700900123@c.us", "x07700900123x", `{"phone":"07700900123"}`, "2026112207700900123",
	"07700 900 123", "07700 900 123", "07700 900 123", "07700–900–123", "07700—900—123", "07700‑900‑123", "07700−900−123", "07700·900·123", "07700•900•123", "07700　900　123",
	"077\u200b009\u200b00123", "0\u200b7\u200b7\u200b0\u200b0\u200b9\u200b0\u200b0\u200b1\u200b2\u200b3", "07700\u00ad900\u00ad123", "\u202e07700\u202c900\u202a123", "07700\u2066900\u2069123",
	"07700\ufeff900123", "077\u2060009\u200d00123", "0\ufe0f\u20e37\ufe0f\u20e37\ufe0f\u20e30\ufe0f\u20e30\ufe0f\u20e39\ufe0f\u20e30\ufe0f\u20e30\ufe0f\u20e31\ufe0f\u20e32\ufe0f\u20e33\ufe0f\u20e3", "0\u03367\u03367\u03360\u03360\u03369\u03360\u03360\u03361\u03362\u03363",
	"٠٧٧٠٠٩٠٠١٢٣", "۰۷۷۰۰۹۰۰۱۲۳", "०७७००९००१२३", "০৭৭০০৯০০১২৩", "０７７００９００１２３", "０７７００，９００，１２３", "＋４４（０）７７００－９００１２３", "𝟎𝟕𝟕𝟎𝟎𝟗𝟎𝟎𝟏𝟐𝟑", "𝟶𝟽𝟽𝟶𝟶𝟿𝟶𝟶𝟷𝟸𝟹", "⁰⁷⁷⁰⁰⁹⁰⁰¹²³", "₀₇₇₀₀₉₀₀₁₂₃",
	"⓪⑦⑦⓪⓪⑨⓪⓪①②③", "⑦⑦⑨①②③⑴⑵⑶", "07700٩٠٠123", "07700 ９００ ١٢٣", "๐๗๗๐๐๙๐๐๑๒๓",
}

// asRead is a text as somebody reads it: the digits of all scripts as ours, and nothing between them.
func asRead(text string) string {
	var out strings.Builder
	for _, r := range norm.NFKC.String(text) {
		switch at := strings.IndexRune("٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹०१२३४५६७८९০১২৩৪৫৬৭৮৯๐๑๒๓๔๕๖๗๘๙", r); {
		case at >= 0:
			out.WriteByte('0' + byte(len([]rune("٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹०१२३४५६७८९০১২৩৪৫৬৭৮৯๐๑๒๓๔๕๖๗๘๙"[:at]))%10))
		case r >= '0' && r <= '9', r == '*':
			out.WriteRune(r)
		}
	}
	return out.String()
}

func TestPhonesAreFoundHoweverTheyAreSpelt(t *testing.T) {
	for _, text := range spelt {
		for _, around := range []string{"%", "call %, please", "ring%now", "«%»", "9 % 9", "12, %, 13"} {
			text := strings.Replace(around, "%", text, 1)
			got := asRead(Phones(text))
			quoted := Phones(strconv.Quote(text)) // as our sentences have it
			if plain, err := strconv.Unquote(quoted); err == nil {
				got += " " + asRead(plain)
			} else {
				t.Errorf("Phones(%q) = %q: %v", strconv.Quote(text), quoted, err)
			}
			for _, part := range []string{"00900", "9001", "00123", "7009", "779123"} {
				if strings.Contains(got, part) {
					t.Errorf("Phones(%q) = %q: it shows %s", text, Phones(text), part)
				}
			}
		}
	}
}

func TestWhatIsNoPhoneStays(t *testing.T) {
	for _, text := range []string{
		"2026-11-22", "2026-11-22 14:02:00", "2026-11-22T14:02:00Z", "2026-11-22T14:02:00.123456789Z", "2026-11-22T14:02:00.123456+01:00", "from 2026-11-22 to 2026-11-23",
		"2026-11-22 - 2026-11-23", "2026-11-22/2026-11-23", "2026-11-22 14:02:00 - 2026-11-23 14:02:00", "192.0.2.17", "203.0.113.200:443", "203.0.113.0/24", "events 12, 13, 14, 15, 16 and 17",
		"21:00-09:00", "£129.00", "300,000", "1,234.50", "#1001", "1.26.8", "v1.2.3", "Ada ٣ ４", "à la carte №5", "ab_12_cd_34_ef_56",
	} {
		if got := Phones(text); got != text {
			t.Errorf("Phones(%q) = %q", text, got)
		}
	}
}

// Whatever nobody sees is put into a text, no more of it is shown.
func TestWhatNobodySeesHidesNoDigit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		for _, r := range "+44 7700 900123" {
			text.WriteString(rapid.StringOfN(rapid.SampledFrom([]rune("\u00ad\u200b\u200d\u2060\u202e\u2066\ufe0f\u0301")), 0, 3, -1).Draw(t, "unseen"))
			text.WriteRune(r)
		}
		seen := strings.Map(func(r rune) rune {
			if plain.Unseen(r) || r == '\u0301' {
				return -1
			}
			return r
		}, Phones(text.String()))
		if seen != "+44 77** ****23" {
			t.Errorf("%q", seen)
		}
	})
}

func BenchmarkPhones(b *testing.B) {
	for name, text := range map[string]string{
		"words": "cart.total >= 50 does not hold (cart.total is lower)", "number": "call 07700 900 123 after 14:02", "unseen": "call 07700\u200b900\u200b123, ٠٧٧٠٠٩٠٠١٢٣",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Phones(text)
			}
		})
	}
}
