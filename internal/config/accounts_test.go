package config

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// withAccounts is base with further accounts, and triggers that name some.
func withAccounts(t *testing.T, accounts string, changes ...string) (*Config, []string) {
	t.Helper()
	src := strings.Replace(base, "defaults:", accounts+"defaults:", 1)
	for i := 0; i+1 < len(changes); i += 2 {
		if !strings.Contains(src, changes[i]) {
			t.Fatalf("the config does not hold %q", changes[i])
		}
		src = strings.Replace(src, changes[i], changes[i+1], 1)
	}
	c, problems := Parse("config.yaml", []byte(src), func(name string) (string, bool) {
		if strings.HasPrefix(name, "KEY_") {
			return "key-of-" + name, true
		}
		return environ(name)
	})
	var out []string
	for _, p := range problems {
		_, words, _ := strings.Cut(p.Error(), "config.yaml:")
		out = append(out, words)
	}
	return c, out
}

const named = "on: shopify.cart.updated\n    account: brand-b"

func TestAnAccountTakesFromAPIWhatItDoesNotSay(t *testing.T) {
	c, problems := withAccounts(t, "accounts:\n  brand-b: {key: \"${KEY_B}\"}\n  brand-c:\n    key: ${KEY_C}\n    base_url: https://other.example/api/v1/\n    rate: 5/s\n    concurrency: 4\n    timeout: 3s\n    text_path: /text\n    price: {marketing: 2}\n",
		"on: shopify.cart.updated", named)
	if len(problems) > 0 && !strings.Contains(strings.Join(problems, ""), "brand-c: nothing is sent by it") {
		t.Errorf("problems: %q", problems)
	}
	b, _ := c.Account("brand-b")
	if b.BaseURL != c.API.BaseURL || b.Rate != c.API.Rate || b.Concurrency != c.API.Concurrency || b.Timeout != c.API.Timeout || b.Key.Reveal() != "key-of-KEY_B" {
		t.Errorf("brand-b: %+v", b)
	}
	other, _ := c.Account("brand-c")
	if other.BaseURL != "https://other.example/api/v1" || other.Rate.PerSecond() != 5 || other.Concurrency != 4 || other.TextPath != "/text" || other.Price == nil {
		t.Errorf("brand-c: %+v", other)
	}
	if _, ok := c.Account("brand-d"); ok {
		t.Error("brand-d is there")
	}
	if got := c.AccountNames(); !slices.Equal(got, []string{"brand-b", "brand-c"}) {
		t.Errorf("names %q", got)
	}
	if text := c.Redacted(); strings.Contains(text, "key-of-") || !strings.Contains(text, "brand-c:") {
		t.Errorf("redacted:\n%s", text)
	}
}

func TestEachFaultOfAnAccountHasItsWords(t *testing.T) {
	const one = "accounts:\n  brand-b: {key: \"${KEY_B}\"}\n"
	tests := map[string]struct {
		accounts string
		changes  []string
		want     []string
	}{
		"one that is named": {one, []string{"on: shopify.cart.updated", named}, nil},
		"without a key": {
			"accounts:\n  brand-b: {rate: 5/s}\n",
			[]string{"on: shopify.cart.updated", named},
			[]string{`5:3: accounts.brand-b.key: is missing; add key: ${BRAND_B_API_KEY}`},
		},
		"with an empty key": {
			"accounts:\n  brand-b: {key: \"${NO_KEY:-}\"}\n",
			[]string{"on: shopify.cart.updated", named},
			[]string{"5:18: accounts.brand-b.key: is empty; write ${NAME} and set the variable NAME for the daemon"},
		},
		"with an address of another version": {
			"accounts:\n  brand-b: {key: \"${KEY_B}\", base_url: https://api.example.com/api/v2}\n",
			[]string{"on: shopify.cart.updated", named},
			[]string{"5:40: warning: accounts.brand-b.base_url: does not end in /api/v1, the version this program speaks; copy the base address from the service's dashboard"},
		},
		"a name that is none": {
			"accounts:\n  Brand B: {key: \"${KEY_B}\"}\n", nil,
			[]string{`5:3: accounts["Brand B"]: "Brand B" is not a name for an account; write brand-b`},
		},
		"the name of the section api": {
			"accounts:\n  api: {key: \"${KEY_B}\"}\n", nil,
			[]string{`5:3: accounts.api: "api" is the name of the account of the section api; give this one another name, or write what it says in the section api`},
		},
		"a misspelt account": {
			one,
			[]string{"on: shopify.cart.updated", strings.Replace(named, "brand-b", "brandb", 1)},
			[]string{
				"5:3: warning: accounts.brand-b: nothing is sent by it: no connector, trigger or job names it; write account: brand-b where it is meant, or remove it",
				`12:14: triggers.remind.account: there is no account "brandb"; did you mean "brand-b"?`,
			},
		},
		"an account that nobody described": {
			"",
			[]string{"on: shopify.cart.updated", strings.Replace(named, "brand-b", "second", 1)},
			[]string{`10:14: triggers.remind.account: there is no account "second"; describe it under accounts, with its key`},
		},
		"a connector names one": {
			one,
			[]string{"shopify: {", "shopify: {account: brand-c, "},
			[]string{
				"5:3: warning: accounts.brand-b: nothing is sent by it: no connector, trigger or job names it; write account: brand-b where it is meant, or remove it",
				`8:22: connectors.shopify.account: there is no account "brand-c"; did you mean "brand-b"?`,
			},
		},
		"api is an account": {"", []string{"on: shopify.cart.updated", strings.Replace(named, "brand-b", "api", 1)}, nil},
		"the same key twice": {
			"accounts:\n  brand-b: {key: \"${API_KEY}\"}\n",
			[]string{"on: shopify.cart.updated", named},
			[]string{"5:18: warning: accounts.brand-b.key: is the key of api: both press on one account, each with a rate of its own; name one of them everywhere, and remove the other"},
		},
		"more at a time than there are slots": {
			"accounts:\n  brand-b: {key: \"${KEY_B}\", concurrency: 1000}\n  brand-c: {key: \"${KEY_C}\", concurrency: 1000}\n",
			[]string{"on: shopify.cart.updated", named, "shopify: {", "shopify: {account: brand-c, "},
			[]string{"6:43: accounts.brand-c.concurrency: all accounts together may have 2000 requests under way, and with this one they have more; give each of them fewer; 32 are enough for some hundred messages a second"},
		},
		"a text by an account that has no path for it": {
			"accounts:\n  brand-b: {key: \"${KEY_B}\"}\n",
			[]string{"on: shopify.cart.updated", named, "{template: cart_reminder}", "{text: hello}"},
			[]string{"15:18: triggers.remind.send.text: plain texts cannot be sent: their endpoint is not known; set accounts.brand-b.text_path to the path of the service's text endpoint"},
		},
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		tt := tests[name]
		t.Run(name, func(t *testing.T) {
			_, got := withAccounts(t, tt.accounts, tt.changes...)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
