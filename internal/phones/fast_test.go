package phones

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/nyaruka/phonenumbers"
	"pgregory.net/rapid"
)

// agree fails the test where the fast path decides and the slow one differs.
func agree(t interface {
	Errorf(string, ...any)
}, raw, country string,
) (decided bool) {
	fast, ok := AppendFast(nil, raw, country)
	if !ok {
		return false
	}
	slow, err := normalize(raw, strings.ToUpper(country))
	if err != nil || slow != string(fast) {
		t.Errorf("AppendFast(%q, %q) = %q, normalize = %q, %v", raw, country, fast, slow, err)
	}
	return true
}

func countries() []string {
	var all []string
	for c := range phonenumbers.GetSupportedRegions() {
		all = append(all, c)
	}
	return all
}

func TestTheFastPathAnswersAsTheLibraryInEveryCountry(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	decided, all := 0, 0
	for _, country := range countries() {
		code := strconv.Itoa(phonenumbers.GetCountryCodeForRegion(country))
		for _, kind := range []phonenumbers.PhoneNumberType{phonenumbers.MOBILE, phonenumbers.FIXED_LINE, phonenumbers.TOLL_FREE, phonenumbers.VOIP} {
			n := phonenumbers.GetExampleNumberForType(country, kind)
			if n == nil {
				continue
			}
			example := phonenumbers.GetNationalSignificantNumber(n)
			for range 6 {
				// The tail is drawn anew: the example alone would prove one number.
				digits := []byte(example)
				for i := len(digits) - 1 - r.IntN(len(digits)); i < len(digits); i++ {
					digits[i] = byte('0' + r.IntN(10))
				}
				national := string(digits)
				for _, raw := range []string{
					"+" + code + national, code + national, national, "0" + national, "1" + national, "8" + national, "06" + national,
					"+" + code + " " + national[:2] + "-" + national[2:], "+" + code + "0" + national,
				} {
					all++
					if agree(t, raw, country) {
						decided++
					}
				}
			}
		}
	}
	if decided*2 < all {
		t.Errorf("the fast path decided only %d of %d", decided, all)
	}
}

func TestTheFastPathAnswersAsTheLibraryOnAnyDigits(t *testing.T) {
	homes := countries()
	rapid.Check(t, func(t *rapid.T) {
		country := rapid.SampledFrom(homes).Draw(t, "country")
		code := strconv.Itoa(phonenumbers.GetCountryCodeForRegion(rapid.SampledFrom(homes).Draw(t, "code of")))
		body := rapid.StringMatching(`[0-9]{3,14}`).Draw(t, "digits")
		for _, raw := range []string{body, "+" + body, "+" + code + body, code + body, "0" + body} {
			agree(t, raw, country)
		}
	})
}

func TestTheFastPathDecidesWhatListsAreMadeOf(t *testing.T) {
	tests := []struct{ raw, country, want string }{
		{"+447911123456", "", "447911123456"},
		{"+44 7911 123456", "GB", "447911123456"},
		{"447911123456", "GB", "447911123456"},
		{"07911123456", "GB", "447911123456"},
		{"7911123456", "GB", "447911123456"},
		{"07700900123", "GB", "447700900123"},
		{"447700900123", "GB", "447700900123"},
		{"2125550142", "US", "12125550142"},
		{"12125550142", "US", "12125550142"},
		{"+5511987654321", "", "5511987654321"},
		{"11987654321", "BR", "5511987654321"},
		{"+8613812345678", "", "8613812345678"},
		{"+919876543210", "", "919876543210"},
		{"+491701234567", "", "491701234567"},
	}
	for _, tt := range tests {
		got, ok := AppendFast(nil, tt.raw, tt.country)
		if !ok || string(got) != tt.want {
			t.Errorf("AppendFast(%q, %q) = %q, %v; want %q", tt.raw, tt.country, got, ok, tt.want)
		}
	}
}

func TestTheFastPathLeavesTheRestToWords(t *testing.T) {
	for _, raw := range []string{"", "+", "12", "4.47911E+11", "+44 (0)7911 123456", "+999123456789", "+1 123 123 1234", "0044 7911123456", "+44--7911123456", "-447911123456", "447911123456 ", strings.Repeat("1", 30)} {
		if got, ok := AppendFast([]byte("kept"), raw, "GB"); ok || string(got) != "kept" {
			t.Errorf("AppendFast(%q) = %q, %v; want it undecided", raw, got, ok)
		}
	}
}

func FuzzFast(f *testing.F) {
	f.Add("+447911123456", "GB")
	f.Add("0 1-2", "AR")
	f.Fuzz(func(t *testing.T, raw, country string) { agree(t, raw, country) })
}

func BenchmarkFast(b *testing.B) {
	numbers := make([]string, 4096)
	for i := range numbers {
		numbers[i] = fmt.Sprintf("+4479111%05d", i)
	}
	var buf [32]byte
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, ok := AppendFast(buf[:0], numbers[i%len(numbers)], "GB"); !ok {
			b.Fatal("undecided")
		}
	}
}

func BenchmarkFastNational(b *testing.B) {
	var buf [32]byte
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := AppendFast(buf[:0], "07700900123", "GB"); !ok {
			b.Fatal("undecided")
		}
	}
}
