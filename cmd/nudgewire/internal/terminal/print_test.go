package terminal

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
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
		if got := Sanitized(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

type nastyID string

func TestEachValueIsCleanedAndOursIsNot(t *testing.T) {
	var out bytes.Buffer
	c := &CLI{Streams: Streams{Out: &out, Err: &out}}
	const nasty = "x\x1b[31m\nforged\u202e\u009b"
	c.Say("a %s|%q|%v|%v|%d\n", nasty, nasty, nastyID(nasty), errors.New(nasty), 7)
	c.Warn("%s\n%s\n", Painted("\x1b[1mours\x1b[0m"), Block("one\ntwo\x1b"))
	const clean = "x·[31m·forged··"
	want := "a " + clean + "|\"" + clean + "\"|" + clean + "|" + clean + "|7\n\x1b[1mours\x1b[0m\none\ntwo·\n"
	if got := out.String(); got != want {
		t.Errorf("told %q, want %q", got, want)
	}
	out.Reset()
	if err := c.Table("A | B", [][]string{{nasty, "tab\there"}}); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "A                B\n"+clean+"  tab·here\n"; got != want {
		t.Errorf("the table is %q, want %q", got, want)
	}
	out.Reset()
	exit.Report(&out, exit.Fail(1, "hint"+nasty, "%s", nasty))
	if got, want := out.String(), "nudgewire: x·[31m\n  forged··\n  hint"+clean+"\n"; got != want {
		t.Errorf("the error is told as %q, want %q", got, want)
	}
	out.Reset()
	if err := c.Print(map[string]string{"k": nasty}); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), `{"k":"x\u001b[31m\nforged\u202e\u009b"}`+"\n"; got != want {
		t.Errorf("the JSON is %s, want %s", got, want)
	}
}
