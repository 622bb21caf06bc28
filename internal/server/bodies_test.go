package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store"
)

// posted is the answer of the API to a body, for somebody with these scopes.
func posted(t *testing.T, method, path, body string, scopes ...access.Scope) string {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{DSN: "sqlite:" + t.TempDir() + "/nudgewire.db"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	h := server.Admin(server.AdminOptions{Store: s, Daemon: still{}, Country: "GB", Now: time.Now, Log: zap.NewNop()})
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r = r.WithContext(access.WithWho(r.Context(), access.Who{Name: "ann", Scopes: scopes}))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Body.String()
}

func TestABodyThatIsWrongIsToldInPlainWords(t *testing.T) {
	for body, want := range map[string]string{
		`{"scope": 7}`:             `request body: field \"scope\" is a number, and has to be a text`,
		`{"scope": {"a": 1}}`:      `request body: field \"scope\" is an object, and has to be a text`,
		`{"reviewed": "yes"}`:      `request body: field \"reviewed\" is a text, and has to be true or false`,
		`{"lost_at": "yesterday"}`: `request body: a time in it is not written as`,
		`{"stage": "all"}`:         `request body: there is no field \"stage\" here`,
		`[]`:                       `request body: it is a list, and has to be an object`,
		`scope=all`:                `request body: it is no JSON at byte 1`,
		`{"scope": "a`:             `request body: it ends in the middle`,
		``:                         `request body: there is none`,
	} {
		if got := posted(t, http.MethodPost, "/api/v1/halt", body, access.Operate); !strings.Contains(got, want) || strings.Contains(got, "Go ") {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

// Who may see phones sees the one that he asked about in the error, too.
func TestAnErrorShowsAPhoneToWhoMaySeeIt(t *testing.T) {
	const path = "/api/v1/why?phone=%2B447700900123"
	for want, scopes := range map[string][]access.Scope{"about 447700900123": {access.Read, access.Phones}, "about 4477******23": {access.Read}} {
		if got := posted(t, http.MethodGet, path, "", scopes...); !strings.Contains(got, want) {
			t.Errorf("with %v: %s, want %q", scopes, got, want)
		}
	}
}
