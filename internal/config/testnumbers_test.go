package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

func TestTestNumbersAreReadOrSaidToBeWrong(t *testing.T) {
	const head = "api: {base_url: \"https://api.example.com/api/v1\", key: \"${API_KEY}\"}\ndefaults: {country: GB}\n"
	read := func(section string) (messaging.TestNumbers, string) {
		c, problems := Parse("config.yaml", []byte(head+section), func(name string) (string, bool) {
			v, ok := map[string]string{"API_KEY": "key", "MINE": "+447700900123", "WRONG": "nobody"}[name]
			return v, ok
		})
		var wrong []string
		for _, p := range problems {
			if !p.Warning {
				wrong = append(wrong, fmt.Sprintf("%d: %s: %s; %s", p.Line, p.Path, p.Msg, p.Hint))
			}
		}
		if c == nil {
			return nil, strings.Join(wrong, "\n")
		}
		return c.TestNumbers, strings.Join(wrong, "\n")
	}
	all, wrong := read("test_numbers:\n  me: +447700900123\n  ann: 07700 900124\n  ben: ${MINE}\n  zoe: \"+4915123456789\"\n")
	if got := fmt.Sprint(all); wrong != "" || got != "[{me 447700900123 } {ann 447700900124 } {ben 447700900123 } {zoe 4915123456789 }]" {
		t.Errorf("read as %s; %s", got, wrong)
	}
	if one, known := all.Named("ann"); !known || one.Phone != "447700900124" {
		t.Errorf("ann is %+v", one)
	}
	for section, want := range map[string]string{
		"test_numbers: {me: soon}\n":          "3: test_numbers.me: is not a phone number",
		"test_numbers: {me: +4477}\n":         "3: test_numbers.me: is not a phone number: is too short for GB",
		"test_numbers: {me: \"${WRONG}\"}\n":  "3: test_numbers.me: is not a phone number",
		"test_numbers: {Me: +447700900123}\n": `3: test_numbers.Me: "Me" is not a name for a test number; write me`,
		"test_numbers: [+447700900123]\n":     "3: test_numbers: ",
	} {
		if _, wrong := read(section); !strings.HasPrefix(wrong, want) {
			t.Errorf("%s: %s, want %s", strings.TrimSpace(section), wrong, want)
		}
	}
	if _, wrong := read("test_numbers: {me: soon}\n"); !strings.HasSuffix(wrong, "write it with its country code, such as +447700900123") {
		t.Errorf("it does not say how to write one: %s", wrong)
	}
}
