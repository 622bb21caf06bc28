package app_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/server"
)

func TestTheConfigPageShowsWhatWasReadWithoutSecrets(t *testing.T) {
	config := withPages(strings.Replace(plainConfig, `"${SHOP_SECRET}"`, "literal-shop-secret-1234567890", 1)) + "# once: secret: literal-old-secret\nwebhooks_out: [{url: \"https://crm.example/x?token=literal-token-of-the-crm\", secret: whsec_bGl0ZXJhbC1saXRlcmFsLWxpdGVyYWwtbGl0ZXJhbC0=, on: [message.*]}]\ninclude: [more.yaml]\n"
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "more.yaml"), []byte("connectors:\n  second: {preset: shopify, secret: literal-second-secret-1234567890}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := open(t, options{config: config, folder: folder})
	b := h.browser()
	b.signIn(false)
	page := b.page("/config")
	b.says(page, "the same", "more.yaml", "cart.total &gt;= 50", "${API_KEY}", "secret: ***", "started", "in use", "there is nothing to reload")
	viewer := h.browser()
	viewer.signIn(true)
	seen := viewer.page("/config")
	viewer.says(seen, "cart.total &gt;= 50", "needs the scope <code>admin</code>")
	h.edit("literal-old-secret", "literal-new-secret")
	h.edit("cart.total >= 50", "cart.totl >= 50")
	broken := b.page("/config")
	h.edit("triggers:\n", "triggers:\n\t")
	unread := b.page("/config")
	b.says(broken, "cannot be used", "unknown name &#34;totl&#34;", `class="gone"`, `class="come"`)
	b.says(unread, "a tab cannot indent YAML")
	for _, text := range []string{page, seen, broken, unread} {
		for _, secret := range []string{"literal", "bGl0ZXJhb", apiKey, shopSecret} {
			if strings.Contains(text, secret) {
				t.Errorf("it shows %q:\n%s", secret, text)
			}
		}
	}
	if res := viewer.send(http.MethodPost, "/do/reload", url.Values{"sure": {"yes"}, "back": {"/config"}}, nil); res.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer reloads: %d", res.StatusCode)
	}
	if res := h.browser().send(http.MethodPost, "/do/reload", url.Values{"sure": {"yes"}, "back": {"/config"}}, nil); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("somebody reloads: %d", res.StatusCode)
	}
	if res := b.send(http.MethodPost, "/do/reload", url.Values{"sure": {"yes"}, "back": {"/config"}}, map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}); res.StatusCode != http.StatusForbidden {
		t.Errorf("another site reloads: %d", res.StatusCode)
	}
}

func TestTheConfigPageSaysWhatAReloadWouldDoAndReloads(t *testing.T) {
	h := open(t, options{config: withPages(plainConfig)})
	h.hasBegun()
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(1), "60.00")))
	before, err := server.ShowConfig.Call(t.Context(), h.ask, server.None{})
	if err != nil || before.Disk != nil || len(before.Files) != 1 || before.Version == "" {
		t.Fatalf("%v %+v", err, before)
	}
	h.edit("cart.total >= 50", "cart.total >= 55")
	b := h.browser()
	b.signIn(false)
	page := b.page("/config")
	b.says(page, "reminder: edited, 1 waits: pinned.", `<tr class="gone">`, "cart.total &gt;= 50", `<tr class="come">`, "cart.total &gt;= 55", "Reload…")
	if strings.Contains(page, `class="come"`) && strings.Count(page, `class="come"`) != 1 {
		t.Errorf("one line was changed: %s", page)
	}
	res := b.send(http.MethodPost, "/do/reload", url.Values{"sure": {"yes"}, "back": {"/config"}}, nil)
	b.says(res.body, "The config was read: version ", "the same", "taken up", "triggers.reminder.if: [cart.total &gt;= 55], was [cart.total &gt;= 50]", "Go back to it")
	after, err := server.ShowConfig.Call(t.Context(), h.ask, server.None{})
	if err != nil || after.Disk != nil || after.Version == before.Version {
		t.Errorf("%v %+v", err, after)
	}
	h.edit("cart.total >= 55", "cart.totl >= 55")
	if res := b.send(http.MethodPost, "/do/reload", url.Values{"sure": {"yes"}, "back": {"/config"}}, nil); !strings.Contains(res.body, "Not done") || !strings.Contains(res.body, "totl") {
		t.Errorf("a bad reload: %d %s", res.StatusCode, res.body)
	}
	b.says(b.page("/config"), "The last reload was rejected", "did you mean &#34;total&#34;?")
	if err := os.Remove(h.file()); err != nil {
		t.Fatal(err)
	}
	b.says(b.page("/config"), "cannot be read", "there is no such file", "cart.total &gt;= 55")
}
