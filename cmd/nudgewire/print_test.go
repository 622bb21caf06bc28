package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/zap"
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
		if got := sanitized(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// Whatever is told goes through say, warn, table and print: a command that writes by itself would
// write raw what strangers wrote.
func TestCommandsTellThroughOnePlace(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	direct := regexp.MustCompile(`(?:Fprint\w*\(|WriteString\(|NewEncoder\(|NewWriter\()(?:n\.)?c\.(?:out|err)\b`)
	for _, name := range files {
		if name == "print.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range direct.FindAllIndex(text, -1) {
			t.Errorf("%s:%d writes by itself: %s", name, 1+bytes.Count(text[:at[0]], []byte("\n")), text[at[0]:at[1]])
		}
	}
}

type nastyID string

func TestEachValueIsCleanedAndOursIsNot(t *testing.T) {
	var out bytes.Buffer
	c := &cli{streams: streams{out: &out, err: &out}}
	const nasty = "x\x1b[31m\nforged\u202e\u009b"
	c.say("a %s|%q|%v|%v|%d\n", nasty, nasty, nastyID(nasty), errors.New(nasty), 7)
	c.warn("%s\n%s\n", painted("\x1b[1mours\x1b[0m"), block("one\ntwo\x1b"))
	const clean = "x·[31m·forged··"
	want := "a " + clean + "|\"" + clean + "\"|" + clean + "|" + clean + "|7\n\x1b[1mours\x1b[0m\none\ntwo·\n"
	if got := out.String(); got != want {
		t.Errorf("told %q, want %q", got, want)
	}
	out.Reset()
	if err := c.table("A | B", [][]string{{nasty, "tab\there"}}); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "A                B\n"+clean+"  tab·here\n"; got != want {
		t.Errorf("the table is %q, want %q", got, want)
	}
	out.Reset()
	report(&out, fail(1, "hint"+nasty, "%s", nasty))
	if got, want := out.String(), "nudgewire: x·[31m\n  forged··\n  hint"+clean+"\n"; got != want {
		t.Errorf("the error is told as %q, want %q", got, want)
	}
	out.Reset()
	if err := c.print(map[string]string{"k": nasty}); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), `{"k":"x\u001b[31m\nforged\u202e\u009b"}`+"\n"; got != want {
		t.Errorf("the JSON is %s, want %s", got, want)
	}
}

func TestALogEntryCannotCommandTheTerminal(t *testing.T) {
	var out bytes.Buffer
	c := &cli{streams: streams{err: &out}}
	log, err := c.logger("info", "")
	if err != nil {
		t.Fatal(err)
	}
	log.Info("m\u202e", zap.String("s", "\x1b\u009b\n"))
	if got := out.String(); strings.ContainsFunc(got[:len(got)-1], func(r rune) bool { return r < ' ' || r == 0x9b || r == 0x202e }) || !json.Valid(out.Bytes()) {
		t.Errorf("logged %q", got)
	}
}
