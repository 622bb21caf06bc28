package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// What to do about a key that is refused depends on where it comes from: of a variable the process sees the old value for
// ever, of a file a reload reads what is there now.
func TestTheHintOfARefusedKeyNamesWhatReadsItAnew(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer the-new-key" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = fmt.Fprint(w, `{"success":true,"message_id":7,"status":"delivered","delivered":true}`)
	}))
	t.Cleanup(service.Close)
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("the-old-key"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ key, hint, again string }{
		"from the environment": {"${API_KEY}", "restart the daemon", "refused it: it comes from the environment of the process"},
		"from a file":          {"${file:" + file + "}", `"nudgewire reload"`, "api.key is as it was, and the service refused it"},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, options{config: plainConfig, api: fmt.Sprintf("{base_url: %s/api/v1, key: %q, rate: 100/s}", service.URL, tc.key)})
			h.mustTake(h.shopify("orders/create", "", order("c1", phone(1), "120.00")))
			refused := func() (one messaging.Trouble, found bool) {
				s, err := server.ShowStatus.Call(t.Context(), h.ask, server.None{})
				if err != nil {
					t.Fatal(err)
				}
				i := slices.IndexFunc(s.Troubles, func(one messaging.Trouble) bool { return one.Code == messaging.TroubleKey })
				if i < 0 {
					return one, false
				}
				return s.Troubles[i], true
			}
			var trouble messaging.Trouble
			h.eventually("the key is refused", func() (found bool) { trouble, found = refused(); return found })
			if !strings.Contains(trouble.Hint, tc.hint) {
				t.Errorf("the hint is %q", trouble.Hint)
			}
			d, err := server.Reload.Call(t.Context(), h.ask, server.ReloadRequest{})
			if err != nil || len(d.SameKeys) != 1 || !strings.Contains(d.SameKeys[0], tc.again) {
				t.Fatalf("the reload says %q (%v)", d.SameKeys, err)
			}
			if tc.key == "${API_KEY}" {
				return
			}
			if err := os.WriteFile(file, []byte("the-new-key"), 0o600); err != nil {
				t.Fatal(err)
			}
			h.eventually("the new key is refused no more", func() bool {
				if d, err = server.Reload.Call(t.Context(), h.ask, server.ReloadRequest{}); err != nil {
					t.Fatal(err)
				}
				return slices.ContainsFunc(h.messages(), func(m server.MessageView) bool { return m.State == messaging.StateAccepted })
			})
			if len(d.SameKeys) > 0 {
				t.Errorf("the reload with the new key says %q", d.SameKeys)
			}
		})
	}
}
