package mask

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestEmail(t *testing.T) {
	for address, want := range map[string]string{
		"ada@example.com": "a***@example.com", "Über@example.com": "Ü***@example.com", "@example.com": "***@example.com", "a@b@c": "a***@b@c", "nobody": "***", "": "***", "\xff@x": "\xff***@x",
	} {
		if got := Email(address); got != want {
			t.Errorf("%q is shown as %q, want %q", address, got, want)
		}
	}
}

func TestPhones(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"447700900123 is blocked":     "4477******23 is blocked",
		"+44 (7700) 900-123, twice":   "+44 (77**) ***-*23, twice",
		`{"phone":+447700900123}`:     `{"phone":+4477******23}`,
		"call 7009001 now":            "call ******* now",
		"7009001 3 times":             "******* * times",
		"12345 and 123456é":           "12345 and 123456é",
		"costs 0.40 of 300,000":       "costs 0.40 of 300,000",
		"192.0.2.17 at 12:30":         "192.0.2.17 at 12:30",
		"dial 203.0.113.200:443":      "dial 203.0.113.200:443",
		"447.700.900.123":             "447.7**.***.*23",
		"since 2026-11-22 14:02:00":   "since 2026-11-22 14:02:00",
		"2026-11-22 447700900123":     "2026-**-** **********23",
		"20261122447700900123":        "2026**************23",
		"a٣٣٣٣٣٣٣٣٣٣":                 "a٣٣٣٣****٣٣",
		"run 12 of 300,000 messages.": "run 12 of 300,000 messages.",
	} {
		if got := Phones(text); got != want {
			t.Errorf("Phones(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for digits, want := range map[string]string{"": "", "12345678": "********", "123456789": "1234***89", "447700900123": "4477******23"} {
		if got := Number(digits); got != want {
			t.Errorf("Number(%s) = %s, want %s", digits, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a\n\tb": "a b", "a\x1b[31mred\u202e\xff\x00": "a[31mred", "4477\u00ad0090\u200b0123": "4477******23",
		"abcdefghijklmnopqrst": "abcdefghijklmnopqrst", "abcdefghijklmnopqrstu": "abcdefghijklmnopqrs…", "ééééééééééééééééééééé": "ééééééééééééééééééé…",
	} {
		if got := Words(text, 20); got != want {
			t.Errorf("Words(%q) = %q, want %q", text, got, want)
		}
	}
}

const (
	phone  = "447700900123"
	spaced = "+44 7700 900 123"
	token  = "/hooks/T0KEN-of-the-address"
)

// shows reports whether a text shows more of a phone than its first four digits and its last two.
func shows(text string) bool {
	digits := strings.Map(func(r rune) rune {
		if strings.ContainsRune("0123456789*", r) {
			return r
		}
		return -1
	}, text)
	return strings.Contains(digits, phone[:5]) || strings.Contains(digits, phone[4:7]) || strings.Contains(digits, phone[len(phone)-3:])
}

func answer(text string) string {
	u := &url.URL{Scheme: "https", Host: "example.com", Path: token}
	return Answer(&http.Response{Body: io.NopCloser(strings.NewReader(text)), Request: &http.Request{URL: u}})
}

// Wherever what is read ends, and wherever what is shown ends.
func TestNoCutShowsAPhoneOrTheAddress(t *testing.T) {
	if got := answer("cannot POST " + token + " for " + spaced); got != "cannot POST [secret] for +44 77** *** *23" {
		t.Errorf("%q", got)
	}
	for what, secret := range map[string]string{"phone": phone, "phone with blanks": spaced, "address": token} {
		for name, filler := range map[string]string{"blanks": " ", "letters": "x", "words": "no ", "invisible": "\u200b"} {
			for _, border := range []int{mostRead, mostShown, mostShown * len(filler), mostShown - 1} {
				for cut := range len(secret) + 3 {
					head := strings.Repeat(filler, border/len(filler)+1)[:border-cut]
					got := answer(strings.ToValidUTF8(head, "") + secret + " and more " + strings.Repeat("y", mostRead))
					if shows(got) || strings.Contains(got, "T0KEN") || strings.Contains(got, "T0K") {
						t.Errorf("%s %d before %d after %s: %q", what, cut, border, name, got)
					}
					if n := utf8.RuneCountInString(got); n > mostShown {
						t.Errorf("%d characters are shown", n)
					}
				}
			}
		}
	}
}

func TestAnErrorIsToldWithoutTheAddress(t *testing.T) {
	u := &url.URL{Scheme: "https", Host: "example.com", Path: token}
	err := &url.Error{Op: "Post", URL: u.String(), Err: io.ErrUnexpectedEOF}
	if got := Error(err, u); got != `Post "[secret]": unexpected EOF` {
		t.Errorf("%q", got)
	}
}

func FuzzWords(f *testing.F) {
	f.Add("to "+spaced, 7)
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = 1 + max(0, most)%500
		if got := Words(text, most); utf8.RuneCountInString(got) > most || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\x00\x1b") {
			t.Errorf("%q", got)
		}
	})
}

func TestPhonesKeepTheirLength(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[0-9 .()/+a-]{0,60}`).Draw(t, "text")
		if got := Phones(text); len(got) != len(text) {
			t.Errorf("%q became %q", text, got)
		}
	})
}
