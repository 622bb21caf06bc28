package yamlpos_test

import (
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

func TestAnEntryIsShownAsItStandsInItsFile(t *testing.T) {
	const file = `# head
triggers:
  cart:                 # said of it
    on: shop.cart
    if:
      - cart.total >= 50
      # between
      - customer.tags contains "vip"
    send: {template: a,
           variables: [
             '{{ x }}'
           ]
          }

  # of the next one
  note:
    text: |
      one

      two
  short: {on: shop.order}
  empty:
jobs: {}
`
	doc := yamlpos.Options{}.Parse("config.yaml", []byte(file))
	for _, c := range []struct {
		path        string
		first, last int
	}{
		{"triggers.cart", 3, 13}, {"triggers.cart.if", 5, 8}, {"triggers.note", 16, 20}, {"triggers.short", 21, 21}, {"triggers.empty", 22, 22}, {"jobs", 23, 23},
	} {
		got := doc.Source(c.path)
		want := strings.Join(strings.Split(file, "\n")[c.first-1:c.last], "\n")
		if got.File != "config.yaml" || got.First != c.first || strings.Join(got.Lines, "\n") != want {
			t.Errorf("%s: from line %d of %q:\n%s\nwant from line %d:\n%s", c.path, got.First, got.File, strings.Join(got.Lines, "\n"), c.first, want)
		}
	}
	if got := doc.Source("triggers.gone"); len(got.Lines) != 0 {
		t.Errorf("what is not there is shown as %v", got)
	}
}

type secretText string

func (secretText) Hidden() bool { return true }

func TestTheSourceShowsNoSecret(t *testing.T) {
	var in struct {
		A struct {
			Key secretText `yaml:"key"`
		} `yaml:"a"`
	}
	doc, problems := yamlpos.Options{}.Decode("config.yaml", []byte("a:\n  key: very-secret # x\n"), &in)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if got := strings.Join(doc.Source("a").Lines, "\n"); strings.Contains(got, "very-secret") || !strings.Contains(got, "key: ***") {
		t.Errorf("shown: %s", got)
	}
}

// What is written beside a reference, or counts where there is nothing to refer to, is as secret as a value without one.
func TestASecretBesideAReferenceIsHidden(t *testing.T) {
	look := yamlpos.Options{Expand: func(string) (string, error) { return "what it stands for", nil }}
	for value, want := range map[string]string{
		"${NAME}":                    "${NAME}",
		`"${NAME}"`:                  `"${NAME}"`,
		"${file:/run/secrets/x}":     "${file:/run/secrets/x}",
		"${NAME:-very-secret}":       "${NAME:-***********}",
		`'${NAME:-very-secret}'`:     `'${NAME:-***********}'`,
		"very$$secret":               "************",
		"very$${secret}":             "**************",
		"very-${NAME}-secret":        "*****${NAME}*******",
		"${NAME}${NAME:-very}secret": "${NAME}${NAME:-****}******",
	} {
		var in struct {
			A struct {
				Key secretText `yaml:"key"`
			} `yaml:"a"`
		}
		doc, problems := look.Decode("config.yaml", []byte("a:\n  key: "+value+" # x\n"), &in)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if got := doc.Source("a").Lines[1]; got != "  key: "+want+" # x" {
			t.Errorf("%s is shown as %s, want key: %s", value, got, want)
		}
	}
}
