package main

import (
	"os"
	"strings"
	"testing"
)

// Where the text of a template is declared, a try and a forecast show what the phone would.
func TestPreviewsShowTheTextOfTemplates(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("KEY", "a-secret-that-is-long-enough")
	for name, text := range map[string]string{
		"config.yaml": `api: {base_url: https://api.example.com/api/v1, key: "${KEY}"}
defaults: {country: GB, language: en}
connectors: {shopify: {secret: "${KEY}"}}
templates:
  cart_reminder: {languages: {en: "Hi {{1}}, your cart: {{2}}"}}
  miss_you: {id: 1042, languages: {en: "Hello {{1}}, come back!", de: "Hallo {{1}}!"}}
triggers:
  cart: {on: shopify.cart.updated, wait: 45m, cancel_on: shopify.order.created, consent: required, send: {template: cart_reminder, variables: [Ada, "https://x.example"]}}
jobs:
  files: {source: {csv: list.csv}, columns: {var_1: name}, campaign: {template_id: 1042}}
  rows: {source: {csv: list.csv}, columns: {var_1: name}, deliver: per_message, send: {template: miss_you, language: "{{ lang }}"}}
`,
		"list.csv": "phone,name,lang\n447700900123,Sade,de\n",
		"cart.json": `{"id": 7, "token": "t7", "total_price": "60.00", "currency": "GBP", "phone": "+447700900123", "updated_at": "<<now>>",
			"abandoned_checkout_url": "https://shop.example/7", "line_items": [{"title": "Mug", "quantity": 1, "price": "60.00"}]}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ command, want string }{
		{"try shopify cart.json --topic checkouts/update", "Hi Ada, your cart: https://x.example"},
		{"try shopify cart.json --topic checkouts/update --json", `"reads":"Hi Ada, your cart: https://x.example"`},
		{"jobs forecast files", "The first reads: Hello Sade, come back!"},
		{"jobs forecast rows", "The first reads: Hallo Sade!"},
	} {
		if out, words := said(t, strings.Fields(tt.command)...); !strings.Contains(strings.ReplaceAll(out, `": "`, `":"`), tt.want) {
			t.Errorf("%s: no %q in\n%s%s", tt.command, tt.want, out, words)
		}
	}
}
