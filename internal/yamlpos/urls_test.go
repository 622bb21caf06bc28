package yamlpos

import (
	"strings"
	"testing"
)

func TestAddressesShowNoSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"base_url: http://user:PASSWORD@api.example.com/api/v1": "base_url: http://****:********@api.example.com/api/v1",
		"postgres://u:PASS@h/db?sslmode=disable":                "postgres://*:****@h/db?sslmode=*******",
		`{url: "https://x.example.com/l?key=abc&page=1"}`:       `{url: "https://x.example.com/l?key=***&page=*"}`,
		"https://${USER}:${PASS}@h/?key=${KEY}":                 "https://${USER}:${PASS}@h/?key=${KEY}",
		"https://u:${PASS:-geheim}@h/?key=a${KEY}b":             "https://*:${PASS:-******}@h/?key=*${KEY}*",
		"https://h/?token": "https://h/?*****",
		"https://h/a@b?":   "https://h/a@b?",
		"see https://docs.example.com/x, then go on": "see https://docs.example.com/x, then go on",
		"no address: a@b.example.com":                "no address: a@b.example.com",
	} {
		if got := HideURLs(text); got != want {
			t.Errorf("%s is shown as %s, want %s", text, got, want)
		}
	}
}

func TestALineBesideAMistakeShowsNoSecretOfAnAddress(t *testing.T) {
	for name, src := range map[string]string{
		"a tree":    "a: {url: \"https://u:PASSWORD@h.example.com/?key=SECRET\", what: 1}\n",
		"no tree":   "a: [https://u:PASSWORD@h.example.com/?key=SECRET\nb: {\n",
		"a message": "a: {url: \"https://u:PASSWORD@h.example.com/?key=SECRET\"\n",
	} {
		var v struct {
			A struct {
				URL string `yaml:"url"`
			} `yaml:"a"`
		}
		d, _ := Decode("c.yaml", []byte(src), &v)
		var b strings.Builder
		if err := d.Problems().Render(&b, false); err != nil {
			t.Fatal(err)
		}
		if len(d.Problems()) == 0 {
			t.Errorf("%s: no mistake found", name)
		}
		if strings.Contains(b.String(), "PASSWORD") || strings.Contains(b.String(), "SECRET") {
			t.Errorf("%s:\n%s", name, b.String())
		}
	}
}
