package plain

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// Nasty has every sort of what must not reach a terminal.
const nasty = "a\x1b[31mRED\x1b]0;title\x07\rb\nc\td\x7f\u009b\u0085\u061c\u200e\u200f\u202a\u202e\u2066\u2069\u2028\u2029\ufeff\x00é😀\xff"

func TestWhatSteersIsShownAsAMark(t *testing.T) {
	const want = "a·[31mRED·]0;title··b·c·d" + "··············" + "é😀\uFFFD"
	if got := Text(nasty); got != want {
		t.Errorf("Text = %q, want %q", got, want)
	}
	if got := Lines("a\r\nb\tc\r\x1b"); got != "a\nb\tc··" {
		t.Errorf("Lines = %q", got)
	}
	for _, same := range []string{"", "plain", "Zoë 👩‍👩‍👧 №5", "١٢٣", "…·"} {
		if got := Text(same); got != same {
			t.Errorf("Text(%q) = %q, want it unchanged", same, got)
		}
	}
}

func TestJSONMeansTheSame(t *testing.T) {
	raw, err := json.Marshal(map[string]string{nasty: nasty})
	if err != nil {
		t.Fatal(err)
	}
	got := string(JSON(raw))
	for _, r := range got {
		if steers(r) {
			t.Errorf("%U stands raw in %s", r, got)
		}
	}
	var a, b map[string]string
	if err := json.Unmarshal(raw, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(got), &b); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	for k, v := range a {
		if b[k] != v {
			t.Errorf("%q became %q", v, b[k])
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add(nasty)
	f.Fuzz(func(t *testing.T, text string) {
		got := Text(text)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, steers) {
			t.Errorf("Text(%q) = %q", text, got)
		}
		if Text(got) != got {
			t.Errorf("cleaning %q twice is another text", text)
		}
	})
}

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"Ann Lee": "Ann Lee", " Ann \n\t Lee ": "Ann Lee", "a\u200bb": "a b", "\u202eevil": "evil", "b\xffd": "bd", "  ": "", "Zoë": "Zoë",
	} {
		if got := OneLine(text); got != want {
			t.Errorf("OneLine(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestCrop(t *testing.T) {
	for text, want := range map[string]string{"": "", "Zoë": "Zoë", "Zoës": "Zoë…"} {
		if got := Crop(text, 3); got != want {
			t.Errorf("Crop(%q) = %q, want %q", text, got, want)
		}
	}
}
