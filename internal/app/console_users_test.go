package app_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
)

const usersPassword = "a horse of three hills"

// user adds one by the socket, and gives a browser in which they chose their password.
func (h *house) user(name string, role access.Role) *browser {
	h.t.Helper()
	v, err := server.AddUser.Call(h.t.Context(), h.ask, signin.UserRequest{Name: name, Role: role})
	if err != nil {
		h.t.Fatal(err)
	}
	b := h.browser()
	b.choose(v.SetupURL)
	return b
}

// choose opens a setup link and chooses a password.
func (b *browser) choose(link string) {
	b.t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		b.t.Fatal(err)
	}
	b.page(u.RequestURI())
	if res := b.send(http.MethodPost, "/set-up", url.Values{"link": {u.Query().Get("link")}, "password": {usersPassword}}, nil); res.StatusCode != http.StatusOK || res.at != "/" {
		b.t.Fatalf("a password is chosen: %d at %s: %s", res.StatusCode, res.at, res.body)
	}
}

// An admin adds a user by the page, who signs in by the link on it; then what the admin takes away is gone at once.
func TestUsersAreRuledByAPage(t *testing.T) {
	h := open(t, options{config: withPages(plainConfig)})
	ann := h.user("ann", access.RoleAdmin)
	if page := ann.page("/system/users"); !strings.Contains(page, "by "+me()) || !strings.Contains(page, "you</span>") {
		t.Errorf("the page: %s", page)
	}
	res := ann.send(http.MethodPost, "/system/users", url.Values{"name": {"bob"}, "role": {"operator"}}, nil)
	ann.sound("/system/users", res)
	link := regexp.MustCompile(`http://[^<]+/set-up\?link=\w+`).FindString(res.body)
	if res.StatusCode != http.StatusOK || link == "" {
		t.Fatalf("added: %d %s", res.StatusCode, res.body)
	}
	if strings.Contains(ann.page("/system/users"), "/set-up?link=") {
		t.Error("the link is shown again")
	}
	bob := h.browser()
	bob.choose(link)
	bob.page("/account")
	who := func(b *browser) (int, string) { return b.open(server.Base + "/whoami") }
	if status, body := who(bob); status != http.StatusOK || !strings.Contains(body, `"name":"bob"`) || !strings.Contains(body, `"from":"session"`) || !strings.Contains(body, `"scopes":["read","phones","send","operate","contacts"]`) {
		t.Errorf("bob is %d %s", status, body)
	}
	act := func(path string, form url.Values, want string) {
		t.Helper()
		res := ann.send(http.MethodPost, "/system/users/"+path, form, nil)
		ann.sound(path, res)
		if res.StatusCode != http.StatusOK || !strings.Contains(res.body, want) {
			t.Errorf("%s answers %d %s", path, res.StatusCode, res.body)
		}
	}
	act("bob/role", url.Values{"role": {"viewer"}}, "The role is changed.")
	if _, body := who(bob); !strings.Contains(body, `"scopes":["read"]`) {
		t.Errorf("a viewer from now on: %s", body)
	}
	act("bob/disable", nil, "signed out everywhere")
	if status, _ := who(bob); status != http.StatusUnauthorized {
		t.Errorf("disabled: %d", status)
	}
	act("bob/enable", nil, "may sign in again")
	if res := bob.send(http.MethodPost, "/sign-in", url.Values{"name": {"bob"}, "password": {usersPassword}}, nil); res.StatusCode != http.StatusOK || res.at != "/" {
		t.Errorf("enabled again: %d", res.StatusCode)
	}
	act("bob/reset", nil, "/set-up?link=")
	if status, _ := who(bob); status != http.StatusUnauthorized {
		t.Errorf("reset: %d", status)
	}
	act("bob/remove", nil, "The user is removed")
	if res := ann.send(http.MethodPost, "/system/users/ann/disable", nil, nil); res.StatusCode != http.StatusConflict || !strings.Contains(res.body, "last admin") {
		t.Errorf("the last admin: %d %s", res.StatusCode, res.body)
	}
	all, err := server.ListAudit.Call(t.Context(), h.ask, server.AuditQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"POST /users", "POST /users/{user}/role", "POST /users/{user}/disable", "POST /users/{user}/reset", "DELETE /users/{user}"} {
		if !slices.ContainsFunc(all, func(e server.AuditView) bool { return e.Who == "ann" && e.Via == "session" && e.Action == want }) {
			t.Errorf("the audit does not say that ann did %s", want)
		}
	}
}

// A viewer, with each page and each route: none acts, none has a whole phone, and none tells of other users.
func TestAViewerActsNowhereAndSeesNoWholePhone(t *testing.T) {
	h := lively(t, options{config: withPages(plainConfig + newsJob)})
	eve, other := h.user("eve", access.RoleViewer), h.user("secretive", access.RoleAdmin)
	hidden := func(path string, res got) {
		t.Helper()
		for n := 1; n <= 3; n++ {
			if digits := strings.TrimPrefix(phone(n), "+"); !strings.Contains(path, digits) && !strings.Contains(path, url.QueryEscape(digits)) && strings.Contains(res.body, digits[2:]) {
				t.Errorf("%s shows a viewer a whole phone: %s", path, res.body)
			}
		}
		if strings.Contains(res.body, "secretive") {
			t.Errorf("%s tells a viewer of another user: %s", path, res.body)
		}
	}
	for _, path := range h.pagesOf() {
		hidden(path, eve.send(http.MethodGet, path, nil, nil))
	}
	for _, path := range []string{"/system/users"} {
		if res := eve.send(http.MethodGet, path, nil, nil); res.StatusCode != http.StatusForbidden || strings.Contains(res.body, "secretive") {
			t.Errorf("%s answers a viewer %d %s", path, res.StatusCode, res.body)
		}
	}
	if page := eve.page("/system"); strings.Contains(page, `"/system/users"`) {
		t.Error("a viewer is shown the way to users")
	}
	for _, path := range []string{"", "/secretive/role", "/secretive/disable", "/secretive/enable", "/secretive/reset", "/secretive/remove", "/eve/role"} {
		if res := eve.send(http.MethodPost, "/system/users"+path, url.Values{"name": {"x"}, "role": {"admin"}}, nil); res.StatusCode != http.StatusForbidden {
			t.Errorf("/system/users%s answers a viewer %d %s", path, res.StatusCode, res.body)
		}
	}
	fill := strings.NewReplacer("{phone}", strings.TrimPrefix(phone(1), "+"), "{name}", "news", "{id}", "1", "{number}", "1", "{event}", "1", "{token}", "crm", "{user}", "secretive", "{connector}", "shopify")
	for _, rt := range server.Routes() {
		path := server.Base + fill.Replace(rt.Path)
		res := eve.send(rt.Method, path, nil, map[string]string{"Content-Type": "application/json"})
		hidden(rt.Path, res)
		if want := rt.Scope == "" || rt.Scope == access.Read; want == (res.StatusCode == http.StatusForbidden) {
			t.Errorf("%s %s answers a viewer %d", rt.Method, rt.Path, res.StatusCode)
		}
	}
	// Each has their own account, whatever a form says.
	if res := eve.send(http.MethodPost, "/account/password", url.Values{"name": {"secretive"}, "user": {"secretive"}, "old": {usersPassword}, "password": {"another horse, and no hill"}}, nil); res.StatusCode != http.StatusOK {
		t.Errorf("her own password: %d", res.StatusCode)
	}
	if page := other.page("/account"); !strings.Contains(page, "secretive") {
		t.Errorf("the other's session has ended: %s", page)
	}
	if status, _ := h.browser().open("/account"); status != http.StatusUnauthorized {
		t.Errorf("a stranger's account: %d", status)
	}
	// What another site has her browser do is done as nobody.
	for _, path := range []string{"/account/password", "/account/sign-out-elsewhere", "/set-up", "/sign-in", "/system/users", "/system/users/eve/remove"} {
		if res := other.send(http.MethodPost, path, url.Values{"name": {"eve"}, "role": {"admin"}}, map[string]string{"Sec-Fetch-Site": "cross-site"}); res.StatusCode != http.StatusForbidden {
			t.Errorf("%s from another site answers %d", path, res.StatusCode)
		}
	}
	if all, err := server.ListUsers.Call(t.Context(), h.ask, server.None{}); err != nil || len(all) != 2 || all[0].Role != access.RoleViewer || all[0].State != "good" {
		t.Errorf("users: %+v, %v", all, err)
	}
}

// Restored data knows users and their passwords, and revives no session and no link, which could have been ended since.
func TestRestoredDataRevivesNoSession(t *testing.T) {
	h := open(t, options{config: withPages(restoreConfig)})
	ann := h.user("ann", access.RoleAdmin)
	late, err := server.AddUser.Call(t.Context(), h.ask, signin.UserRequest{Name: "bob", Role: access.RoleViewer})
	if err != nil {
		t.Fatal(err)
	}
	link, err := server.LinkToConsole.Call(t.Context(), h.ask, signin.LinkRequest{})
	if err != nil {
		t.Fatal(err)
	}
	cookies := ann.cookies()
	copied := h.backUp()
	h.stop()
	again := restored(t, copied, options{config: withPages(restoreConfig)})
	b := again.browser()
	b.http.Jar.SetCookies(b.url(), cookies)
	if status, _ := b.open("/"); status != http.StatusUnauthorized {
		t.Errorf("a session of before the restoration is answered %d", status)
	}
	for path, address := range map[string]string{"/sign-in": link.URL, "/set-up": late.SetupURL} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if res := b.send(http.MethodPost, path, url.Values{"link": {u.Query().Get("link")}, "password": {usersPassword}}, nil); res.StatusCode != http.StatusForbidden {
			t.Errorf("a link of before the restoration answers %d at %s", res.StatusCode, path)
		}
	}
	if res := b.send(http.MethodPost, "/sign-in", url.Values{"name": {"ann"}, "password": {usersPassword}}, nil); res.StatusCode != http.StatusOK {
		t.Errorf("by her password: %d %s", res.StatusCode, res.body)
	}
}
