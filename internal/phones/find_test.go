package phones

import (
	"strings"
	"testing"
)

func TestAFinderBlotsANumberHoweverItIsWritten(t *testing.T) {
	f := NewFinder("447700900123", "4930123456")
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"none 12345", "none 12345"},
		{"447700900123", "999999999999"},
		{`{"phone":447700900123}`, `{"phone":999999999999}`},
		{`{"phone":"+44 7700 900123"}`, `{"phone":"+99 9999 999999"}`},
		{"07700 900 123", "09999 999 999"},
		{"+44 (0)7700-900-123", "+44 (0)9999-999-999"},
		{"2026-11-20 07700 900123", "2026-11-20 09999 999999"},
		{"phone=%2B44%207700%20900123&x=1", "phone=%2B99%209999%20999999&x=1"},
		{"phone=%2B44+7700+900123", "phone=%2B99+9999+999999"},
		{`"07700\u00a0900123"`, `"09999\u00a0999999"`},
		{"07700\u00a0900123", "09999\u00a0999999"},
		{"447700900123,447700900123", "999999999999,999999999999"},
		{"447700900124", "447700900124"},
		{"44770090012 3", "99999999999 9"},
		{"+49 30 123456", "+99 99 999999"},
		{"tel:030/123456", "tel:099/999999"},
		{"the price is 7700 and the id 900123", "the price is 7700 and the id 900123"},
	} {
		got, found := f.BlotString(c.text)
		if MayBeBlotted(got) != found {
			t.Errorf("%q: it may be blotted: %v", got, !found)
		}
		if got != c.want || found != (c.text != c.want) {
			t.Errorf("%q: %q, %v; want %q", c.text, got, found, c.want)
		}
	}
}

func TestABlottedTextIsClean(t *testing.T) {
	f := NewFinder("447700900123")
	text := []byte(strings.Repeat("a 07700 900123, b +447700900123; ", 100))
	f.Blot(text)
	if f.Blot(text) {
		t.Errorf("a second look finds one: %s", text)
	}
}

func FuzzBlot(f *testing.F) {
	f.Add("447700900123")
	f.Add("%2B44\\u00a07700 (900) 123")
	find := NewFinder("447700900123")
	f.Fuzz(func(t *testing.T, text string) {
		got, found := find.BlotString(text)
		if len(got) != len(text) || found != (got != text) {
			t.Errorf("%q: %q, %v", text, got, found)
		}
		if strings.Contains(got, "7700900123") {
			t.Errorf("%q is still there", got)
		}
	})
}
