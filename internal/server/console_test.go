package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
)

// A desk is the console's listener with one token, and a clock that stands still.
type desk struct {
	h   http.Handler
	now time.Time
	err error // of looking a token up
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{now: time.Now()}
	d.h = server.Console(server.ConsoleOptions{
		API: lively(t), Log: zap.NewNop(), Now: func() time.Time { return d.now },
		Proxies: func() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")} },
		Token: func(_ context.Context, token string) (access.Who, error) {
			if d.err != nil {
				return access.Who{}, d.err
			}
			if token != "right" {
				return access.Who{}, signin.ErrUnknownToken
			}
			return access.Who{Name: "crm", Scopes: []access.Scope{access.Read}, From: access.FromToken}, nil
		},
	})
	return d
}

func (d *desk) ask(from, authorization, path string) (*http.Response, refusal.Error) {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if peer, forwarded, by := strings.Cut(from, " for "); by {
		r.Header.Set("X-Forwarded-For", forwarded)
		from = peer
	}
	r.RemoteAddr = from + ":1234"
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	d.h.ServeHTTP(w, r)
	res := w.Result()
	var p refusal.Error
	_ = json.NewDecoder(res.Body).Decode(&p) // what is no problem has none
	return res, p
}

func TestTheConsoleKnowsPeopleByTheirToken(t *testing.T) {
	d := newDesk(t)
	for _, tt := range []struct {
		authorization, path string
		status              int
	}{
		{"Bearer right", server.Base + "/status", 200},
		{"bearer right", server.Base + "/whoami", 200},
		{"Bearer right", server.Base + "/consents", 403},
		{"Bearer wrong", server.Base + "/status", 401},
		{"Bearer ", server.Base + "/status", 401},
		{"Basic right", server.Base + "/status", 401},
		{"", server.Base + "/status", 401},
		{"", server.Base + "/nothing", 401},
		{"", "/api/", 401},
		{"", "/", 404},
		{"Bearer right", "/hooks/shop", 404},
		{"Bearer right", "/metrics", 404},
	} {
		res, p := d.ask("192.0.2.1", tt.authorization, tt.path)
		if res.StatusCode != tt.status || res.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%q %s: %s %+v, want %d", tt.authorization, tt.path, res.Status, p, tt.status)
		}
		if strings.Contains(p.Words+p.Hint, "right") {
			t.Errorf("the answer repeats a token: %+v", p)
		}
	}
	if res, _ := d.ask("192.0.2.1", "Bearer right", server.Base+"/status"); res.Header.Get("Cache-Control") != "no-store" {
		t.Error("an answer may be kept by others")
	}
}

// Who guesses tokens is held up, and holds up nobody else: neither those of other addresses, nor good tokens of its own.
func TestGuessesOfTokensAreHeldUp(t *testing.T) {
	d := newDesk(t)
	guess := func(from string) int {
		res, _ := d.ask(from, "Bearer wrong", server.Base+"/status")
		return res.StatusCode
	}
	for range 20 {
		if got := guess("192.0.2.1"); got != 401 {
			t.Fatalf("a wrong token is answered %d", got)
		}
	}
	for range 100 { // the good token is used all along, and no guess gets more for that
		res, p := d.ask("192.0.2.1", "Bearer wrong", server.Base+"/status")
		if res.StatusCode != 429 || res.Header.Get("Retry-After") != "6" || res.Header.Get("Connection") != "close" || p.Hint == "" {
			t.Fatalf("after 20 guesses: %s, wait %q, %+v", res.Status, res.Header.Get("Retry-After"), p)
		}
		if res, p := d.ask("192.0.2.1", "Bearer right", server.Base+"/status"); res.StatusCode != 200 {
			t.Fatalf("a good token of the same address is answered %s %+v", res.Status, p)
		}
	}
	if got := guess("192.0.2.2"); got != 401 {
		t.Errorf("another address is answered %d", got)
	}
	for range 20 { // behind the proxy each has an address of their own, and makes none up
		guess("10.0.0.1 for 198.51.100.7, 203.0.113.9")
	}
	if got := guess("10.0.0.1 for 198.51.100.8, 203.0.113.9"); got != 429 {
		t.Errorf("who says that it came for others is answered %d", got)
	}
	if res, _ := d.ask("10.0.0.1 for 203.0.113.10", "Bearer right", server.Base+"/status"); res.StatusCode != 200 {
		t.Errorf("another one behind the proxy is answered %s", res.Status)
	}
	d.now = d.now.Add(6 * time.Second)
	if got := guess("192.0.2.1"); got != 401 {
		t.Errorf("after its wait a guess is answered %d", got)
	}
}

func TestAnEagerTokenIsHeldUp(t *testing.T) {
	d := newDesk(t)
	for i := range 200 {
		if res, p := d.ask("192.0.2.1", "Bearer right", server.Base+"/whoami"); res.StatusCode != 200 {
			t.Fatalf("request %d: %s %+v", i, res.Status, p)
		}
	}
	if res, _ := d.ask("192.0.2.99", "Bearer right", server.Base+"/whoami"); res.StatusCode != 429 || res.Header.Get("Retry-After") != "1" {
		t.Errorf("request 201 in a moment, from elsewhere: %s", res.Status)
	}
	for range 100 {
		d.ask("192.0.2.3", "", "/")
	}
	if res, _ := d.ask("192.0.2.3", "", "/"); res.StatusCode != 429 {
		t.Errorf("a stranger's request 101: %s", res.Status)
	}
	d.now = d.now.Add(time.Second)
	if res, _ := d.ask("192.0.2.1", "Bearer right", server.Base+"/whoami"); res.StatusCode != 200 {
		t.Errorf("a second later: %s", res.Status)
	}
}

// Where the data is away it cannot be said who asks: nobody is let in, and strangers are not told why.
func TestNobodyIsLetInWhileTokensCannotBeRead(t *testing.T) {
	d := newDesk(t)
	d.err = errors.New("dial tcp 10.1.2.3:5432: connection refused")
	res, p := d.ask("192.0.2.1", "Bearer right", server.Base+"/status")
	if res.StatusCode != http.StatusServiceUnavailable || strings.Contains(p.Words+p.Hint, "10.1.2.3") {
		t.Errorf("%s %+v", res.Status, p)
	}
}
