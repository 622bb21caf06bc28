package connectors

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/internal/config"
)

// block is every fenced block of that language on the page.
func blocks(page, language string) []string {
	var out []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(page, -1) {
		out = append(out, m[1])
	}
	return out
}

func ownConnectors(t *testing.T, entries string) *config.Config {
	t.Helper()
	env := func(name string) (string, bool) { return "0123456789abcdef-" + name, true }
	cfg, problems := config.Parse("config.yaml", []byte("api: {base_url: https://api.example.com/api/v1, key: \"${KEY}\"}\ndefaults: {country: GB}\n"+entries), env)
	if problems.Errors() > 0 {
		t.Fatalf("%v\n%s", problems, entries)
	}
	for _, p := range problems {
		if !strings.Contains(p.Msg, "there are no triggers") {
			t.Errorf("check warns: %s: %s\n%s", p.Path, p.Msg, entries)
		}
	}
	return cfg
}

func ownRequest(body string) connectors.Request {
	return connectors.Request{
		Method: http.MethodPost, URL: "https://hooks.example.com/hooks/own?source=web", Path: "/hooks/own", RawQuery: "source=web",
		Header: http.Header{"Content-Type": {"application/json"}, "X-Topic": {"basket/left"}}, Body: []byte(body), Now: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC),
	}
}

// What the page on own connectors shows must run, to the last path.
func TestThePageOnOwnConnectorsIsTrue(t *testing.T) {
	page := docsOwn()
	body := blocks(page, "json")[0]
	for _, entries := range blocks(page, "yaml") {
		ownConnectors(t, entries)
	}

	loyalty := ownConnectors(t, blocks(page, "yaml")[0]).Receivers["loyalty"]
	r := ownRequest(body)
	if err := sign(&r, loyalty); err != nil {
		t.Fatal(err)
	}
	got, err := loyalty.Receive(r)
	if err != nil || len(got.Events) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	e := got.Events[0]
	if e.Ref() != "loyalty.cart.abandoned" || e.Contact.Phone != "447700900123" || e.Contact.FirstName != "Ada" || e.Cart.ID != "b1" || e.Cart.Total.String() != "1234.50" ||
		e.Cart.Currency != "GBP" || len(e.Cart.Items) != 1 || e.Cart.Items[0].Price.String() != "12.75" || e.Order.ID != "" || !e.Contact.AcceptsMarketing || len(e.Unread) > 0 {
		t.Errorf("%+v", e)
	}

	rows := regexp.MustCompile("(?m)^\\| `(.+?)` \\| .* \\| `(.+?)` \\|$").FindAllStringSubmatch(page[strings.Index(page, "## Paths"):strings.Index(page, "## Names that can be mapped")], -1)
	if len(rows) != 24 {
		t.Errorf("%d paths on the page, want 24", len(rows))
	}
	for _, row := range rows {
		path, want := strings.ReplaceAll(row[1], `\|`, "|"), row[2]
		cfg := ownConnectors(t, "connectors:\n  own:\n    verify: {kind: token, from: bearer, secret: \"${S}\"}\n    items: \"events[*]\"\n    map: {form.name: '"+strings.ReplaceAll(path, "'", "''")+"'}\n")
		r := ownRequest(body)
		if err := sign(&r, cfg.Receivers["own"]); err != nil {
			t.Fatal(err)
		}
		got, err := cfg.Receivers["own"].Receive(r)
		if err != nil || len(got.Events) != 1 || got.Events[0].Form.Name != want {
			t.Errorf("%s gives %+v (%v), want %s", path, got.Events, err, want)
		}
	}
}

func TestThePageOnOwnConnectorsNamesEveryTargetAndKind(t *testing.T) {
	page := docsOwn()
	for _, target := range mapping.MapTargets() {
		if !strings.Contains(page, "| `"+target.Name+"` |") || target.Is == "" {
			t.Errorf("%s is not explained", target.Name)
		}
	}
	for _, k := range connectors.CanonicalKinds() {
		if !strings.Contains(page, "| `"+k.Kind+"` |") {
			t.Errorf("%s is not on the page", k.Kind)
		}
	}
	for _, answer := range []string{"200", "400", "401", "404", "405", "413", "415", "429", "503", "/healthz", "/readyz"} {
		if !strings.Contains(page, answer) {
			t.Errorf("the answer %s is not on the page", answer)
		}
	}
	for word, want := range map[string]string{"abandonedCart": "own.abandoned.cart", "Abandoned Cart": "own.abandoned.cart", "abandoned/cart": "own.abandoned.cart"} {
		cfg := ownConnectors(t, "connectors:\n  own:\n    verify: {kind: token, from: bearer, secret: \"${S}\"}\n    event: {type: type}\n")
		r := ownRequest(`{"type":"` + word + `"}`)
		if err := sign(&r, cfg.Receivers["own"]); err != nil {
			t.Fatal(err)
		}
		if got, err := cfg.Receivers["own"].Receive(r); err != nil || got.Events[0].Ref() != want {
			t.Errorf("%s: %+v, %v", word, got.Events, err)
		}
	}
}
