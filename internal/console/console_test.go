package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/auth"
	"github.com/nudgewire/nudgewire/internal/console"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answers are what a daemon says to whom it is asked by, by route: "POST /halt".
type answers map[string]func(*http.Request) (any, error)

// client asks them.
func (a answers) client(t *testing.T) *server.Client {
	t.Helper()
	mux := http.NewServeMux()
	for route, do := range a {
		method, path, _ := strings.Cut(route, " ")
		mux.HandleFunc(method+" "+server.Base+path, func(w http.ResponseWriter, r *http.Request) {
			v, err := do(r)
			if e, is := errors.AsType[*refusal.Error](err); is {
				w.WriteHeader(e.Status)
				v = e
			} else if err != nil { // it is no word of the API
				_, _ = io.WriteString(w, err.Error())
				return
			}
			_ = json.NewEncoder(w).Encode(v)
		})
	}
	at := httptest.NewServer(mux)
	t.Cleanup(at.Close)
	ask, err := server.Remote(at.URL, "of this test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ask.Close)
	return ask
}

// A room is a console as its listener has it.
type room struct {
	*console.Console
	h    http.Handler
	api  *server.API
	from string // where requests come from
	on   console.SignOn
	now  time.Time

	rules   []console.Rule // of the config
	stopped []messaging.Hold
}

// daemon is one of which nothing is asked.
type daemon struct{ server.Daemon }

// link makes one for who at the socket, with a role, and gives what lets in of it.
func (r *room) link(t *testing.T, who access.Who, in signin.LinkRequest) string {
	t.Helper()
	who.From = access.FromSocket
	v, err := server.LinkToConsole.Call(t.Context(), server.Local(r.api, who), in)
	if err != nil {
		t.Fatal(err)
	}
	_, link, _ := strings.Cut(v.URL, "link=")
	return link
}

func newRoom(t *testing.T, secure bool, ask answers) *room {
	t.Helper()
	r := &room{now: time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)}
	data, err := store.Open(t.Context(), store.Options{DSN: "sqlite:" + filepath.Join(t.TempDir(), "n.db"), Settle: triggers.Settle})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := data.Close(); err != nil {
			t.Error(err)
		}
	})
	now := func() time.Time { return r.now }
	r.on.Base = "http://n"
	door := &signin.Sessions{Store: auth.Records{Store: data}, Now: now, Log: zap.NewNop(), Sources: func() (out []string) {
		if r.on.OIDC != nil {
			out = append(out, signin.SourceOIDC)
		}
		if r.on.Header != nil {
			out = append(out, signin.SourceHeader)
		}
		return out
	}}
	r.api = server.Admin(server.AdminOptions{Store: data, Daemon: daemon{}, SignIns: door, ConsoleURL: func() string { return "http://n" }, Now: now, Log: zap.NewNop()})
	r.Console = console.New(console.Options{
		Ask: ask.client(t), Door: door, SignOn: func() console.SignOn { return r.on }, Rules: func() []console.Rule { return r.rules }, Stopped: func(context.Context) ([]messaging.Hold, error) { return r.stopped, nil }, Zone: func() *time.Location { return time.UTC }, Secure: secure,
		Address: func(*http.Request) string { return r.from }, Now: now, Log: zap.NewNop(),
	})
	pages := r.Console.Handler()
	r.h = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if who, ok, _ := r.Session(req); ok {
			req = req.WithContext(access.WithWho(req.Context(), who))
		}
		pages.ServeHTTP(w, req)
	})
	return r
}

func (r *room) do(t *testing.T, method, path string, form url.Values, cookies ...*http.Cookie) (*http.Response, string) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(form.Encode()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r.ask(t, req, cookies)
}

// doWith gets a page with headers.
func (r *room) doWith(t *testing.T, path string, with http.Header, cookies ...*http.Cookie) (*http.Response, string) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	req.Header = with
	return r.ask(t, req, cookies)
}

func (r *room) ask(t *testing.T, req *http.Request, cookies []*http.Cookie) (*http.Response, string) {
	t.Helper()
	for _, c := range cookies {
		req.AddCookie(c)
	}
	w := httptest.NewRecorder()
	r.h.ServeHTTP(w, req)
	res := w.Result()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

func (r *room) signIn(t *testing.T) *http.Cookie {
	t.Helper()
	link := r.link(t, access.Process("ann"), signin.LinkRequest{})
	res, body := r.do(t, http.MethodPost, "/sign-in", url.Values{"link": {link}})
	if res.StatusCode != http.StatusSeeOther || len(res.Cookies()) != 1 {
		t.Fatalf("signing in answers %d %s", res.StatusCode, body)
	}
	return res.Cookies()[0]
}

func TestByHTTPSTheCookieIsBoundToTheHost(t *testing.T) {
	r := newRoom(t, true, nil)
	c := r.signIn(t)
	if c.Name != "__Host-nudgewire" || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" {
		t.Errorf("the cookie is %s", c.Raw)
	}
	// The one of plain http, which anybody on the way could have set, counts for nothing.
	if res, _ := r.do(t, http.MethodGet, "/people", nil, &http.Cookie{Name: "nudgewire", Value: c.Value}); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a cookie of plain http is answered %d", res.StatusCode)
	}
	if res, _ := r.do(t, http.MethodGet, "/people", nil, c); res.StatusCode != http.StatusOK {
		t.Errorf("signed in: %d", res.StatusCode)
	}
}

func TestAPageSaysThatTheDataIsAway(t *testing.T) {
	for _, c := range []struct {
		err        error
		status     int
		said, kept string
	}{
		{&refusal.Error{Status: http.StatusServiceUnavailable, Words: "the data cannot be read at present", Hint: "try again in a moment"}, 503, "The data cannot be read at present.", "ZgotmplZ"},
		{errors.New("dial tcp 10.0.0.7:5432: password of ann"), 500, "The page could not be made.", "10.0.0.7"},
	} {
		r := newRoom(t, false, answers{"GET /status": func(*http.Request) (any, error) { return nil, c.err }})
		res, body := r.do(t, http.MethodGet, "/system", nil, r.signIn(t))
		if res.StatusCode != c.status || !strings.Contains(body, c.said) || !strings.Contains(body, "webhooks are answered so that senders come again") || strings.Contains(body, c.kept) {
			t.Errorf("%v answers %d %s", c.err, res.StatusCode, body)
		}
	}
}

func TestASessionMayNoMoreThanWhoMadeItsLink(t *testing.T) {
	r := newRoom(t, false, nil)
	for _, c := range []struct {
		scopes []access.Scope
		role   access.Role
		want   []access.Scope
	}{
		{access.Scopes, "", access.Scopes},
		{access.Scopes, access.RoleViewer, []access.Scope{access.Read}},
		{access.Scopes, access.RoleOperator, access.RoleOperator.Scopes()},
		{access.Scopes, access.RoleAdmin, access.Scopes},
		{[]access.Scope{access.Manage, access.Read}, "", []access.Scope{access.Read, access.Manage}},
		{[]access.Scope{access.Manage, access.Read}, access.RoleOperator, []access.Scope{access.Read}},
		{[]access.Scope{access.Manage, access.Phones}, access.RoleViewer, nil},
	} {
		link := r.link(t, access.Who{Name: "ann", Scopes: c.scopes}, signin.LinkRequest{Role: c.role})
		res, _ := r.do(t, http.MethodPost, "/sign-in", url.Values{"link": {link}})
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		req.AddCookie(res.Cookies()[0])
		who, ok, err := r.Session(req)
		if !ok || err != nil || who.From != access.FromSession || who.Name != "ann" {
			t.Fatalf("the session is %+v %v %v", who, ok, err)
		}
		for _, s := range access.Scopes {
			want := false
			for _, one := range c.want {
				want = want || one == s
			}
			if who.May(s) != want {
				t.Errorf("made with %v, role %q: may %s is %v", c.scopes, c.role, s, who.May(s))
			}
		}
	}
}

// What is kept has an end: the oldest makes room.
func TestLinksAndSessionsAreBounded(t *testing.T) {
	r := newRoom(t, false, nil)
	link := r.link(t, access.Process("ann"), signin.LinkRequest{})
	for range 32 {
		r.now = r.now.Add(time.Second)
		r.link(t, access.Process("ann"), signin.LinkRequest{})
	}
	if res, _ := r.do(t, http.MethodPost, "/sign-in", url.Values{"link": {link}}); res.StatusCode != http.StatusForbidden {
		t.Errorf("the first of 33 links answers %d", res.StatusCode)
	}
	oldest := r.signIn(t)
	var newest *http.Cookie
	for range 20 {
		r.now = r.now.Add(time.Second)
		newest = r.signIn(t)
	}
	if res, _ := r.do(t, http.MethodGet, "/people", nil, oldest); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("the first of 21 sessions of one person is answered %d", res.StatusCode)
	}
	if res, _ := r.do(t, http.MethodGet, "/people", nil, newest); res.StatusCode != http.StatusOK {
		t.Errorf("the last of them is answered %d", res.StatusCode)
	}
	r.now = r.now.Add(11 * time.Hour)
	for range 15 {
		if res, _ := r.do(t, http.MethodGet, "/people", nil, newest); res.StatusCode != http.StatusOK {
			t.Fatalf("looked at every 11 hours: %d", res.StatusCode)
		}
		r.now = r.now.Add(11 * time.Hour)
	}
	if res, _ := r.do(t, http.MethodGet, "/people", nil, newest); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("after a week: %d", res.StatusCode)
	}
}

func TestWhatStrangersPostIsBounded(t *testing.T) {
	r := newRoom(t, false, nil)
	if res, _ := r.do(t, http.MethodPost, "/sign-in", url.Values{"link": {strings.Repeat("x", 1<<20)}}); res.StatusCode != http.StatusForbidden {
		t.Errorf("a megabyte is answered %d", res.StatusCode)
	}
}

func TestStyleAndScriptsAreThere(t *testing.T) {
	r := newRoom(t, false, nil)
	_, page := r.do(t, http.MethodGet, "/sign-in", nil)
	get := func(before, kind string) (path, content string) {
		t.Helper()
		_, rest, ok := strings.Cut(page, before)
		if !ok {
			t.Fatalf("no %s in %s", before, page)
		}
		rest, _, _ = strings.Cut(rest, `"`)
		path = before[strings.LastIndex(before, `="`)+2:] + rest
		res, content := r.do(t, http.MethodGet, path, nil)
		if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != kind || !strings.Contains(res.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s answers %d %v", path, res.StatusCode, res.Header)
		}
		return path, content
	}
	_, css := get(`<link rel="stylesheet" href="`, "text/css; charset=utf-8")
	if !strings.Contains(css, "prefers-color-scheme: dark") || !strings.Contains(css, "prefers-reduced-motion") {
		t.Error("the style knows no dark, or no rest")
	}
	if path, js := get(`<script src="`, "text/javascript; charset=utf-8"); !strings.HasPrefix(path, "/static/htmx-2.0.11") || !strings.HasPrefix(js, "var htmx=") {
		t.Errorf("the first script is %s", path)
	}
	if _, js := get(`<script src="/static/console-`, "text/javascript; charset=utf-8"); js == "" {
		t.Error("our script is empty")
	}
	for _, path := range []string{"/static/../doc.go", "/static/console.css", "/static/console.js", "/static/vendor"} {
		if res, _ := r.do(t, http.MethodGet, path, nil); res.StatusCode == http.StatusOK {
			t.Errorf("%s is given out", path)
		}
	}
}

func TestAFormWithoutEndIsRefused(t *testing.T) {
	r := newRoom(t, false, nil)
	cookie := r.signIn(t)
	for path, n := range map[string]int{"/playground": 5 << 20} {
		if res, body := r.do(t, http.MethodPost, path, url.Values{"payload": {strings.Repeat("x", n)}}, cookie); res.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(body, "too long to try") {
			t.Errorf("%s answers %d", path, res.StatusCode)
		}
	}
}
