package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
)

const password = "a horse of three hills"

// user adds one with a password, and gives the cookie of the session that begins with it.
func (r *room) user(t *testing.T, name string, role access.Role) *http.Cookie {
	t.Helper()
	v, err := server.AddUser.Call(t.Context(), server.Local(r.api, access.Process("root (0)")), signin.UserRequest{Name: name, Role: role})
	if err != nil {
		t.Fatal(err)
	}
	_, link, _ := strings.Cut(v.SetupURL, "link=")
	if res, body := r.do(t, http.MethodGet, "/set-up?link="+link, nil); res.StatusCode != http.StatusOK || !strings.Contains(body, `autocomplete="new-password"`) || !strings.Contains(body, `value="`+name+`"`) {
		t.Fatalf("the link shows %d %s", res.StatusCode, body)
	}
	if res, body := r.do(t, http.MethodPost, "/set-up", url.Values{"link": {link}, "name": {name}, "password": {"short"}}); res.StatusCode != http.StatusBadRequest || !strings.Contains(body, "at least 10 characters") {
		t.Errorf("a short password: %d %s", res.StatusCode, body)
	}
	res, body := r.do(t, http.MethodPost, "/set-up", url.Values{"link": {link}, "name": {name}, "password": {password}})
	if res.StatusCode != http.StatusSeeOther || len(res.Cookies()) != 1 {
		t.Fatalf("a password is chosen: %d %s", res.StatusCode, body)
	}
	if res, body := r.do(t, http.MethodGet, "/set-up?link="+link, nil); res.StatusCode != http.StatusForbidden || !strings.Contains(body, "does not work any more") {
		t.Errorf("the link a second time: %d %s", res.StatusCode, body)
	}
	return res.Cookies()[0]
}

func (r *room) guess(t *testing.T, name, word string, cookies ...*http.Cookie) (*http.Response, string) {
	t.Helper()
	return r.do(t, http.MethodPost, "/sign-in", url.Values{"name": {name}, "password": {word}}, cookies...)
}

func TestAUserSignsInByAPassword(t *testing.T) {
	r := newRoom(t, true, nil)
	r.user(t, "ann", access.RoleViewer)
	_, page := r.do(t, http.MethodGet, "/sign-in", nil)
	for _, part := range []string{`<form class="stack" method="post" action="/sign-in">`, `autocomplete="username"`, `autocomplete="current-password"`, `type="password"`} {
		if !strings.Contains(page, part) {
			t.Errorf("the page has no %s", part)
		}
	}
	// Nobody chooses the session of somebody: the cookie that came is not the one that goes, and works no more.
	chosen := &http.Cookie{Name: "__Host-nudgewire", Value: "chosen"}
	res, body := r.guess(t, "Ann", password, chosen)
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/" || len(res.Cookies()) != 1 {
		t.Fatalf("signed in: %d %s", res.StatusCode, body)
	}
	first := res.Cookies()[0]
	if first.Value == chosen.Value || !first.Secure || !first.HttpOnly || first.SameSite != http.SameSiteStrictMode || first.Path != "/" || first.Domain != "" {
		t.Errorf("the cookie is %s", first.Raw)
	}
	if res, _ := r.do(t, http.MethodGet, "/people", nil, chosen); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a chosen cookie is answered %d", res.StatusCode)
	}
	// Signing in once more ends the session that the browser had.
	res, _ = r.guess(t, "ann", password, first)
	if res, _ := r.do(t, http.MethodGet, "/people", nil, first); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("the session of before goes on: %d", res.StatusCode)
	}
	if res, _ := r.do(t, http.MethodGet, "/people", nil, res.Cookies()[0]); res.StatusCode != http.StatusOK {
		t.Errorf("the new one: %d", res.StatusCode)
	}
	if res, _ := r.do(t, http.MethodPost, "/sign-out", nil, res.Cookies()[0]); res.StatusCode != http.StatusSeeOther || res.Cookies()[0].MaxAge >= 0 {
		t.Errorf("signed out: %d", res.StatusCode)
	}
	if res, _ := r.do(t, http.MethodGet, "/people", nil, res.Cookies()[0]); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("after that: %d", res.StatusCode)
	}
}

// What is wrong is not said, and to a guesser each answer is the same: of a user, of nobody, of one who is disabled or has no password yet.
func TestAWrongSignInTellsNothing(t *testing.T) {
	r := newRoom(t, false, nil)
	ask := server.Local(r.api, access.Process("root (0)"))
	r.user(t, "ann", access.RoleViewer)
	r.user(t, "gone", access.RoleViewer)
	if _, err := server.DisableUser.Call(t.Context(), ask, "gone"); err != nil {
		t.Fatal(err)
	}
	if _, err := server.AddUser.Call(t.Context(), ask, signin.UserRequest{Name: "bob", Role: access.RoleViewer}); err != nil {
		t.Fatal(err)
	}
	var first string
	for _, c := range [][2]string{{"ann", "wrong"}, {"nobody", "wrong"}, {"gone", password}, {"bob", ""}, {"bob", "wrong"}, {"ann", strings.Repeat("x", 3000)}} {
		res, body := r.guess(t, c[0], c[1])
		body = strings.ReplaceAll(body, `value="`+c[0]+`"`, `value="NAME"`)
		if first == "" {
			first = body
		}
		if res.StatusCode != http.StatusForbidden || body != first || !strings.Contains(body, "The name or the password is wrong.") || len(res.Cookies()) > 0 {
			t.Errorf("%s: %d %s", c[0], res.StatusCode, body)
		}
	}
	if _, body := r.guess(t, `"><script>alert(1)</script>`, "x"); strings.Contains(body, "<script>") {
		t.Error("a name comes back as it was typed")
	}
}

func TestGuessingIsHeldUp(t *testing.T) {
	r := newRoom(t, false, nil)
	r.user(t, "ann", access.RoleViewer)
	r.now = r.now.Add(time.Hour)
	// For a name, from wherever the guesses come: also one that nobody has.
	for _, name := range []string{"ann", "nobody"} {
		for i := range 11 {
			r.from = fmt.Sprint("10.0.0.", i)
			res, body := r.guess(t, name, "guess")
			if want := map[bool]int{true: http.StatusForbidden, false: http.StatusTooManyRequests}[i < 10]; res.StatusCode != want {
				t.Errorf("guess %d at %s answers %d %s", i+1, name, res.StatusCode, body)
			}
		}
	}
	r.from = "10.0.1.1"
	if res, _ := r.guess(t, " ANN", password); res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" {
		t.Errorf("the right password within the minute, in other letters: %d", res.StatusCode)
	}
	// From an address, whatever the name.
	r.from = "10.0.2.1"
	for i := range 10 {
		r.guess(t, fmt.Sprint("user", i), "guess")
	}
	if res, _ := r.guess(t, "user99", "guess"); res.StatusCode != http.StatusTooManyRequests {
		t.Errorf("the eleventh from an address: %d", res.StatusCode)
	}
	if res, _ := r.do(t, http.MethodGet, "/set-up?link=guess", nil); res.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a guess at setup links from there: %d", res.StatusCode)
	}
	r.now = r.now.Add(time.Minute)
	for range 15 { // who has the right one is held up by nothing
		if res, _ := r.guess(t, "ann", password); res.StatusCode != http.StatusSeeOther {
			t.Fatalf("a minute later: %d", res.StatusCode)
		}
	}
}

func TestSomebodyChangesTheirOwnPasswordAlone(t *testing.T) {
	r := newRoom(t, false, nil)
	ann, bob := r.user(t, "ann", access.RoleViewer), r.user(t, "bob", access.RoleAdmin)
	link := r.signIn(t)
	if _, body := r.do(t, http.MethodGet, "/account", nil, ann); !strings.Contains(body, "Present password") || !strings.Contains(body, "viewer") {
		t.Errorf("the account: %s", body)
	}
	if _, body := r.do(t, http.MethodGet, "/account", nil, link); strings.Contains(body, "Present password") || !strings.Contains(body, "You are no user") {
		t.Errorf("the account of who came by a link: %s", body)
	}
	change := func(c *http.Cookie, old, word string) int {
		t.Helper()
		// A name in the form is for password managers, and says nothing.
		res, _ := r.do(t, http.MethodPost, "/account/password", url.Values{"name": {"bob"}, "old": {old}, "password": {word}}, c)
		return res.StatusCode
	}
	if got := change(ann, "wrong", "another horse, and no hill"); got != http.StatusForbidden {
		t.Errorf("with a wrong one: %d", got)
	}
	if got := change(ann, password, "short"); got != http.StatusBadRequest {
		t.Errorf("a short one: %d", got)
	}
	if got := change(link, password, "another horse, and no hill"); got != http.StatusForbidden {
		t.Errorf("by a link: %d", got)
	}
	if got := change(&http.Cookie{Name: "nudgewire", Value: "nobody"}, password, "another horse, and no hill"); got != http.StatusForbidden {
		t.Errorf("by nobody: %d", got)
	}
	if got := change(ann, password, "another horse, and no hill"); got != http.StatusSeeOther {
		t.Errorf("changed: %d", got)
	}
	if res, _ := r.guess(t, "ann", "another horse, and no hill"); res.StatusCode != http.StatusSeeOther {
		t.Errorf("ann with the new one: %d", res.StatusCode)
	}
	if res, _ := r.guess(t, "bob", password); res.StatusCode != http.StatusSeeOther {
		t.Errorf("bob with the old one: %d", res.StatusCode)
	}
	if res, _ := r.do(t, http.MethodPost, "/account/sign-out-elsewhere", nil, bob); res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/account?done=elsewhere" {
		t.Errorf("signed out elsewhere: %d", res.StatusCode)
	}
	r.now = r.now.Add(time.Minute)
	for i := range 11 {
		if got := change(ann, "guess", "another horse, and no hill"); (got == http.StatusTooManyRequests) != (i == 10) {
			t.Errorf("guess %d at the present password: %d", i+1, got)
		}
	}
}

// A page of another site, which somebody looks at, could else keep the address of that person out.
func TestPicturesOfAnotherSiteAreNoGuesses(t *testing.T) {
	r := newRoom(t, false, nil)
	r.from = "10.0.3.1"
	for site, dest := range map[string]string{"cross-site": "image", "same-site": "empty"} {
		for range 11 {
			for _, path := range []string{"/set-up?link=guess", "/sign-in/oidc/callback?state=a&code=b", "/"} {
				if res, _ := r.doWith(t, path, http.Header{"Sec-Fetch-Site": {site}, "Sec-Fetch-Dest": {dest}}); res.StatusCode != http.StatusForbidden {
					t.Fatalf("%s as a part of a page of another site is answered %d", path, res.StatusCode)
				}
			}
		}
	}
	if res, _ := r.guess(t, "ann", "guess"); res.StatusCode != http.StatusForbidden {
		t.Errorf("the first guess from there is answered %d", res.StatusCode)
	}
	link := r.link(t, access.Process("ann"), signin.LinkRequest{}) // in a mail on the web
	if res, body := r.doWith(t, "/sign-in?link="+link, http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Dest": {"document"}}); res.StatusCode != http.StatusOK || !strings.Contains(body, link) {
		t.Errorf("a link of another site is answered %d", res.StatusCode)
	}
}
