package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// nastyText holds every sort of what must not reach a terminal.
const nastyText = "N\x1b[31mRED\x1b]0;t\x07\r\nforged \u009b\u0085\u061c\u200f\u202e\u2066\u2028\ufeff\x7f"

// rawIn is the first character of out that steers a terminal; 0 for none.
func rawIn(out string) rune {
	for _, r := range out {
		switch {
		case r == '\n' || r == '\t':
		case r < ' ', r >= 0x7f && r <= 0x9f, r == 0x61c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069,
			r == 0x2028, r == 0x2029, r == 0xfeff:
			return r
		}
	}
	return 0
}

// Whatever a stranger can write is written nastily, and every command that prints it is run.
func TestNothingNastyReachesTheTerminal(t *testing.T) {
	w := newWard(t)
	order := map[string]any{
		"id": nastyText, "name": nastyText, "cart_token": nastyText, "currency": nastyText, "email": nastyText, "phone": "+447700900101", "total_price": "12.00",
		"customer": map[string]any{"first_name": nastyText, "last_name": nastyText, "tags": nastyText}, "line_items": []any{map[string]any{"title": nastyText}},
	}
	body, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "order.json")
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out := w.run("trigger", "shopify", file, "--topic", "orders/create"); code != 0 {
		t.Fatalf("the webhook was not taken: %s", out)
	}
	raw := strings.NewReplacer("\\u001b", "\x1b", "\\n", "\n").Replace(string(body)) // and where JSON is broken
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte(raw), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/hooks/" + url.PathEscape(nastyText), "/" + url.PathEscape(nastyText), "/hooks/shopify?x=" + url.QueryEscape(nastyText)} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Shopify-Topic", "\u202e\u009b")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
	}
	shown := false
	for _, args := range [][]string{
		{"events", "list"},
		{"events", "rejected"},
		{"events", "show", "1"},
		{"why", "+447700900101"},
		{"messages", "list"},
		{"messages", "show", "1"},
		{"status"},
		{"doctor"},
		{"try", "shopify", file, "--topic", "orders/create"},
		{"try", "shopify", broken},
		{"connectors", "test", "shopify", file},
		{"connectors", "test", "shopify", broken},
		{"sign", "shopify", file},
		{"trigger", "shopify", broken},
		{"events", "list", "--connector", nastyText},
		{nastyText},
		{"events", "--" + nastyText},
		{"events", "show", nastyText},
		{"messages", "show", nastyText},
		{"messages", "list", "--state", nastyText},
		{"why", nastyText},
		{"try", nastyText},
		{"connectors", "show", nastyText},
		{"jobs", "forecast", nastyText},
		{"jobs", "run", nastyText, "--yes"},
		{"halt", "trigger", nastyText},
		{"halt", nastyText},
		{"resume", "trigger", nastyText},
		{"contacts", "block", nastyText},
		{"contacts", "import", nastyText},
		{"halt", "--reason", nastyText},
		{"status"},
		{"resume"},
		{"check", nastyText},
		{"send", nastyText, "--template", nastyText},
	} {
		for _, with := range [][]string{nil, {"--json"}} {
			_, out := w.run(append(append([]string{}, args...), with...)...)
			if r := rawIn(out); r != 0 {
				t.Errorf("%.60q lets %U through:\n%q", append(args, with...), r, out)
			}
			for _, line := range strings.Split(out, "\n") {
				if strings.HasPrefix(line, "forged") {
					t.Errorf("%.60q lets a line be forged:\n%q", append(args, with...), out)
				}
			}
			shown = shown || strings.Contains(out, "N·[31mRED")
		}
	}
	if !shown {
		t.Error("nothing nasty was shown at all, so nothing was proven")
	}
}
