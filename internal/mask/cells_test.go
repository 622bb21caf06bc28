package mask

import "testing"

func TestCellsStandInNoWordsForWhoMayNotSeeThem(t *testing.T) {
	for text, want := range map[string]string{
		"nothing quoted, and a \"name\"":                   "nothing quoted, and a \"name\"",
		"the source has " + Quote("a") + ", " + Quote("b"): "the source has “…”, “…”",
		"has " + Quote("x” y “z") + " and more":            "has “…” and more",
		"cut off: “SECRET=ye":                              "cut off: “…”",
		Quote("one\ntwo"):                                  "“…”",
	} {
		if got := Cells(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
