package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/config"
)

func TestEditsAreWhatDiffers(t *testing.T) {
	t.Parallel()
	const base = `
api: {base_url: https://api.example.com/api/v1, key: "${API_KEY}"}
defaults: {country: GB, language: en}
connectors: {shop: {preset: shopify, secret: "${SECRET}"}}
triggers:
  cart:
    on: shop.cart.updated
    wait: 45m
    if: cart.total >= 50
    send: {template: t, variables: ["{{ contact.first_name }}", two]}
`
	printed := func(text string) string {
		cfg, problems := config.Parse("config.yaml", []byte(text), func(string) (string, bool) { return "value-of-some-length", true })
		if problems.Errors() > 0 {
			t.Fatal(problems)
		}
		return cfg.Redacted()
	}
	for name, tt := range map[string]struct {
		to   string
		want []config.Edit
	}{
		"nothing, and another way to write it": {base + "# a comment\n", nil},
		"a value":                              {replaced(t, base, "45m", "2h"), []config.Edit{{"triggers.cart.wait", "45m", "2h"}}},
		"a list":                               {replaced(t, base, ", two]", ", \"2\\n3\"]"), []config.Edit{{"triggers.cart.send.variables", `['{{ contact.first_name }}', two]`, `['{{ contact.first_name }}', "2\n3"]`}}},
		"a space more":                         {replaced(t, base, ", two]", ", t  wo]"), []config.Edit{{"triggers.cart.send.variables", `['{{ contact.first_name }}', two]`, `['{{ contact.first_name }}', t  wo]`}}},
		"a new entry": {base + "  bought: {on: shop.order.paid, send: {template: b}}\n", []config.Edit{{
			"triggers.bought", "", `{on: [shop.order.paid], remember_cancel: 1d, send: {template: b}, category: marketing, on_change: pin, mode: live}`,
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := config.Edits(printed(base), printed(tt.to))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("edits\n%+v, want\n%+v", got, tt.want)
			}
			back, err := config.Edits(printed(tt.to), printed(base))
			for i := range back {
				back[i].Was, back[i].Is = back[i].Is, back[i].Was
			}
			if err != nil || !slices.Equal(back, got) {
				t.Errorf("the other way round %+v, %v", back, err)
			}
		})
	}
	if got, err := config.Edits(printed(base), "defaults: {}"); err != nil || !slices.ContainsFunc(got, func(e config.Edit) bool { return e.Path == "triggers.cart" && e.Is == "" }) {
		t.Errorf("all is gone: %+v %v", got, err)
	}
	if _, err := config.Edits("a: [", ""); err == nil {
		t.Error("no YAML is compared")
	}
}

// replaced is a text with something else in it, which it must have.
func replaced(t *testing.T, text, was, is string) string {
	t.Helper()
	if !strings.Contains(text, was) {
		t.Fatalf("no %q in\n%s", was, text)
	}
	return strings.Replace(text, was, is, 1)
}
