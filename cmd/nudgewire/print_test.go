package main

import (
	"strings"
	"testing"
)

func TestACellCannotCommandTheTerminal(t *testing.T) {
	for text, want := range map[string]string{
		"Zoë":                   "Zoë",
		"\x1b[31mred\x1b[0m\a":  "·[31mred·[0m·",
		"two\nlines\tand a tab": "two·lines·and a tab",
		"cut \xff":              "cut \uFFFD",
		"\u202e turned":         "· turned",
		strings.Repeat("ä", 40): strings.Repeat("ä", 40),
		strings.Repeat("ä", 41): strings.Repeat("ä", 39) + "…",
	} {
		if got := tamed(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
