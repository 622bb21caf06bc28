package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/server"
)

// asks asks for a page as a list does by itself, every few seconds.
func (b *browser) asks(path string, status int) (body string) {
	b.t.Helper()
	res := b.send(http.MethodGet, path, nil, map[string]string{"HX-Request": "true"})
	if res.StatusCode != status {
		b.t.Errorf("%s, which asks by itself, is answered %d, want %d", path, res.StatusCode, status)
	}
	return res.body
}

// An open list shows what came since, to each as they may see it, and nothing once they may not look any more.
func TestAnOpenListFollowsWhatComes(t *testing.T) {
	h := open(t, options{config: withPages(plainConfig)})
	ann, bob := h.user("ann", access.RoleViewer), h.user("bob", access.RoleOperator)
	for _, list := range []string{"/events", "/events/rejected", "/messages", "/jobs"} {
		if body := ann.asks(list, http.StatusOK); !strings.Contains(body, `hx-get="`+list+`"`) || !strings.Contains(body, `id="live-list"`) || !strings.Contains(body, "data-pause") {
			t.Errorf("%s does not follow: %s", list, body)
		}
		if body := ann.asks(list+"?before=1", http.StatusOK); strings.Contains(body, "hx-get") {
			t.Errorf("an older page of %s follows", list)
		}
	}
	whole := strings.TrimPrefix(phone(1), "+")
	if strings.Contains(bob.asks("/events", http.StatusOK), whole) {
		t.Fatal("it is there before it comes")
	}
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(1), "120.00")))
	h.mustTake(h.shopify("checkouts/update", "", cart("c2", phone(2), "3.00")))
	if body := bob.asks("/events", http.StatusOK); !strings.Contains(body, whole) || !strings.Contains(body, "planned") {
		t.Errorf("an operator does not see what came: %s", body)
	}
	if body := ann.asks("/events", http.StatusOK); strings.Contains(body, whole) || !strings.Contains(body, "******") {
		t.Errorf("a viewer sees: %s", body)
	}
	for query, want := range map[string][2]bool{ // whether the first cart and the second are shown
		"?outcome=planned": {true, false}, "?outcome=skipped": {false, true}, "?trigger=reminder": {true, true}, "?trigger=thanks": {}, "?trigger=reminder&outcome=skipped": {false, true},
	} {
		body := bob.asks("/events"+query, http.StatusOK)
		if got := [2]bool{strings.Contains(body, whole), strings.Contains(body, strings.TrimPrefix(phone(2), "+"))}; got != want {
			t.Errorf("%s shows %v, want %v: %s", query, got, want, body)
		}
	}
	if body := bob.asks("/events?outcome=skiped", http.StatusBadRequest); !strings.Contains(body, "Unknown outcome") || !strings.Contains(body, "skipped") {
		t.Errorf("an outcome that there is not: %s", body)
	}
	if _, err := server.DisableUser.Call(t.Context(), h.ask, "ann"); err != nil {
		t.Fatal(err)
	}
	ann.asks("/events", http.StatusUnauthorized)
}

// What a page asks by itself is no use of a session.
func TestAnOpenPageKeepsNoSessionAlive(t *testing.T) {
	clock := newHandClock()
	h := open(t, options{config: withPages(plainConfig), now: clock.now})
	b := h.browser()
	b.signIn(false)
	for range 11 {
		clock.on(time.Hour)
		if res := b.send(http.MethodGet, "/", nil, map[string]string{"HX-Request": "true"}); res.StatusCode != http.StatusOK {
			t.Fatalf("a page that is open is answered %d", res.StatusCode)
		}
	}
	clock.on(time.Hour + time.Minute)
	if res := b.send(http.MethodGet, "/", nil, map[string]string{"HX-Request": "true"}); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("after twelve hours without a person: %d", res.StatusCode)
	}
}
