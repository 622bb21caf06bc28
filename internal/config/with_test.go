package config

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Each mistake of a value that is long takes as long to find as the value is, and whoever may look at pages may try rules.
func TestNotAllOfThousandsOfMistakesInEditedRulesAreTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	rules := "triggers:\n  t:\n    on: g.form.submitted\n    send: {template: hello, variables: [x]}\n"
	src := "api: {base_url: https://api.example.com/api/v1, key: \"${API_KEY}\"}\nstorage: sqlite:./n.db\ndefaults: {country: GB, language: en}\nconnectors: {g: {preset: generic, secret: \"${API_KEY}\"}}\n" + rules
	if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	c, ps := Load(path, environ)
	if ps.Errors() > 0 {
		t.Fatal(ps)
	}
	if n, said := c.With(rules); n == nil || said.Errors() > 0 {
		t.Errorf("the rules in use: %v", said)
	}
	n, said := c.With(strings.Replace(rules, "[x]", `["`+strings.Repeat("{{ nothing.a }}", 3000)+`"]`, 1))
	if got := said.Errors(); n != nil || got != mostEdited {
		t.Errorf("%d mistakes are told, want %d", got, mostEdited)
	}
	// Warnings take no mistake's place.
	var many strings.Builder
	for i := range 2 * mostEdited {
		many.WriteString("  t" + strconv.Itoa(i) + ": {on: g.form.submitted, send: {template: hello}}\n")
	}
	n, said = c.With("triggers:\n" + many.String() + "  z: {on: g.form.submitted, send: {template: hello, variables: ['{{ nothing }}']}}\n")
	if n != nil || said.Errors() != 1 || len(said.Warnings()) != mostEdited {
		t.Errorf("a mistake behind many warnings is not told: %v", said)
	}
}
