package server_test

import (
	"database/sql"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/auth"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
)

const (
	consoleURL = "https://nudgewire.example.com"
	good       = "a horse of three hills"
	better     = "another horse, and no hill"
)

func (w *tower) door() *signin.Sessions {
	return &signin.Sessions{Store: auth.Records{Store: w.store}, Now: func() time.Time { return w.now }, Log: zap.NewNop()}
}

// as is a client of somebody who signed in with a role.
func (w *tower) as(name string, role access.Role) *server.Client {
	return server.Local(w.api, access.Who{Name: name, Scopes: role.Scopes(), From: access.FromSession})
}

// linkOf is what lets in of a link.
func linkOf(t *testing.T, address, path string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(address, consoleURL+path+"?link=") || len(u.Query().Get("link")) < 43 {
		t.Fatalf("the link is %q, %v", address, err)
	}
	return u.Query().Get("link")
}

// user adds one, who chooses the password good.
func (w *tower) user(name string, role access.Role) signin.SignedIn {
	w.t.Helper()
	v, err := server.AddUser.Call(w.t.Context(), w.ask, signin.UserRequest{Name: name, Role: role})
	if err != nil {
		w.t.Fatal(err)
	}
	in, err := w.door().SetUp(w.t.Context(), linkOf(w.t, v.SetupURL, "/set-up"), good)
	if err != nil {
		w.t.Fatal(err)
	}
	return in
}

// known is who has a session, nil for nobody.
func (w *tower) known(in signin.SignedIn) *signin.Session {
	w.t.Helper()
	s, known, err := w.door().Session(w.t.Context(), in.Cookie)
	if err != nil {
		w.t.Fatal(err)
	}
	if !known {
		return nil
	}
	return &s
}

func statusOf(err error) int {
	if e, is := errors.AsType[*refusal.Error](err); is {
		return e.Status
	}
	return 0
}

func TestAUserChoosesAPasswordByALinkOnce(t *testing.T) {
	w := newTower(t)
	d := w.door()
	v, err := server.AddUser.Call(t.Context(), w.ask, signin.UserRequest{Name: " Ann@Example.com ", Role: access.RoleOperator})
	if err != nil {
		t.Fatal(err)
	}
	link := linkOf(t, v.SetupURL, "/set-up")
	if v.Name != "ann@example.com" || v.State != "invited" || v.SignsIn != "password" || v.CreatedBy != "ann (1000)" || !v.SetupUntil.Equal(w.now.Add(24*time.Hour)) {
		t.Errorf("added: %+v", v)
	}
	if _, err := d.SignIn(t.Context(), v.Name, ""); !errors.Is(err, signin.ErrWrongSignIn) {
		t.Errorf("without a password: %v", err)
	}
	for what, bad := range map[string]string{"short": "123456789", "long": strings.Repeat("x", 513), "the name": "ANN@example.com"} {
		if _, err := d.SetUp(t.Context(), link, bad); statusOf(err) != http.StatusBadRequest {
			t.Errorf("a password that is %s: %v", what, err)
		}
	}
	if name, err := d.SetupOf(t.Context(), link); err != nil || name != v.Name {
		t.Errorf("the link is of %q, %v", name, err)
	}
	in, err := d.SetUp(t.Context(), link, good)
	if err != nil {
		t.Fatal(err)
	}
	if s := w.known(in); s == nil || s.Who.Name != v.Name || s.Who.From != access.FromSession || s.Role != access.RoleOperator || !slices.Equal(s.Who.Scopes, access.RoleOperator.Scopes()) ||
		len(s.Who.Makers) == 0 || s.Who.Makers[0] != v.CreatedBy || s.Who.LetInAt.IsZero() {
		t.Errorf("signed in: %+v", s)
	}
	if _, err := d.SetUp(t.Context(), link, better); !errors.Is(err, signin.ErrWrongSignIn) {
		t.Errorf("a link twice: %v", err)
	}
	if _, err := d.SignIn(t.Context(), "ANN@example.com", good); err != nil {
		t.Errorf("with the password: %v", err)
	}
	for name, password := range map[string]string{v.Name: better, "bob": good} {
		if _, err := d.SignIn(t.Context(), name, password); !errors.Is(err, signin.ErrWrongSignIn) {
			t.Errorf("%s with another's password: %v", name, err)
		}
	}
	// A link of a day ago, and one of before a new one.
	late, err := server.AddUser.Call(t.Context(), w.ask, signin.UserRequest{Name: "bob", Role: access.RoleViewer})
	if err != nil {
		t.Fatal(err)
	}
	again, err := server.ResetUser.Call(t.Context(), w.ask, "bob")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.SetUp(t.Context(), linkOf(t, late.SetupURL, "/set-up"), good); !errors.Is(err, signin.ErrWrongSignIn) {
		t.Errorf("a link in whose place there is another: %v", err)
	}
	w.now = w.now.Add(24 * time.Hour)
	if _, err := d.SetUp(t.Context(), linkOf(t, again.SetupURL, "/set-up"), good); !errors.Is(err, signin.ErrWrongSignIn) {
		t.Errorf("a link of a day ago: %v", err)
	}
	all, err := server.ListUsers.Call(t.Context(), w.ask, server.None{})
	if err != nil || len(all) != 2 || all[0].SetupURL != "" || all[0].SignedInAt.IsZero() || all[0].State != "good" {
		t.Errorf("listed: %+v, %v", all, err)
	}
	entries, err := server.ListAudit.Call(t.Context(), w.ask, server.AuditQuery{Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, e := range slices.Backward(entries) {
		actions = append(actions, e.Who+" "+e.Action)
		if strings.Contains(e.Detail+e.Subject, link) || strings.Contains(e.Detail+e.Subject, good) {
			t.Errorf("the audit has a secret: %+v", e)
		}
	}
	want := []string{"ann (1000) POST /users", "ann@example.com password", "ann@example.com sign-in", "ann (1000) POST /users", "ann (1000) POST /users/{user}/reset"}
	if !slices.Equal(actions, want) {
		t.Errorf("the audit:\n%s\nwant:\n%s", strings.Join(actions, "\n"), strings.Join(want, "\n"))
	}
}

func TestWhatIsTakenFromAUserIsTakenAtOnce(t *testing.T) {
	w := newTower(t)
	ann := w.user("ann", access.RoleAdmin)
	second, err := w.door().SignIn(t.Context(), "ann", good)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.SetRole.Call(t.Context(), w.ask, signin.RoleRequest{User: "ann", Role: access.RoleViewer}); err != nil {
		t.Fatal(err)
	}
	for _, in := range []signin.SignedIn{ann, second} {
		if s := w.known(in); s == nil || s.Role != access.RoleViewer || s.Who.May(access.Phones) || s.Who.May(access.Manage) {
			t.Errorf("a viewer from now on: %+v", s)
		}
	}
	// A password that was changed ends the others, and one that is wrong changes nothing.
	mine := *w.known(ann)
	if err := w.door().ChangePassword(t.Context(), mine, "no", better); !errors.Is(err, signin.ErrWrongSignIn) {
		t.Errorf("with a wrong one: %v", err)
	}
	if err := w.door().ChangePassword(t.Context(), mine, good, "short"); statusOf(err) != http.StatusBadRequest {
		t.Errorf("to a short one: %v", err)
	}
	if err := w.door().ChangePassword(t.Context(), mine, good, better); err != nil {
		t.Fatal(err)
	}
	if w.known(ann) == nil || w.known(second) != nil {
		t.Error("a changed password ends the wrong sessions")
	}
	if _, err := w.door().SignIn(t.Context(), "ann", good); !errors.Is(err, signin.ErrWrongSignIn) {
		t.Errorf("the old password: %v", err)
	}
	if second, err = w.door().SignIn(t.Context(), "ann", better); err != nil {
		t.Fatal(err)
	}
	if n, err := w.door().Count(t.Context(), "ann"); n != 2 || err != nil {
		t.Errorf("%d sessions, %v", n, err)
	}
	if err := w.door().SignOutElsewhere(t.Context(), *w.known(second)); err != nil {
		t.Fatal(err)
	}
	if w.known(ann) != nil || w.known(second) == nil {
		t.Error("signing out elsewhere ends the wrong sessions")
	}
	if _, err := server.DisableUser.Call(t.Context(), w.ask, "ann"); err != nil {
		t.Fatal(err)
	}
	if w.known(second) != nil {
		t.Error("disabled, the session goes on")
	}
	if _, err := w.door().SignIn(t.Context(), "ann", better); !errors.Is(err, signin.ErrWrongSignIn) {
		t.Errorf("disabled: %v", err)
	}
	if _, err := server.EnableUser.Call(t.Context(), w.ask, "ann"); err != nil {
		t.Fatal(err)
	}
	if w.known(second) != nil {
		t.Error("an old session comes back with its user")
	}
	if second, err = w.door().SignIn(t.Context(), "ann", better); err != nil {
		t.Fatal(err)
	}
	if _, err := server.ResetUser.Call(t.Context(), w.ask, "ann"); err != nil {
		t.Fatal(err)
	}
	if w.known(second) != nil {
		t.Error("reset, the session goes on")
	}
	if _, err := w.door().SignIn(t.Context(), "ann", better); !errors.Is(err, signin.ErrWrongSignIn) {
		t.Errorf("reset: %v", err)
	}
	if _, err := server.RemoveUser.Call(t.Context(), w.ask, "ann"); err != nil {
		t.Fatal(err)
	}
	if _, err := server.RemoveUser.Call(t.Context(), w.ask, "ann"); statusOf(err) != http.StatusNotFound {
		t.Errorf("removed twice: %v", err)
	}
}

// Nobody is locked out: the last admin who can sign in goes only by the socket, whose owner needs no user.
func TestTheLastAdminGoesByTheSocketAlone(t *testing.T) {
	w := newTower(t)
	w.user("ann", access.RoleAdmin)
	if _, err := server.AddUser.Call(t.Context(), w.ask, signin.UserRequest{Name: "bob", Role: access.RoleAdmin}); err != nil { // has no password yet
		t.Fatal(err)
	}
	ann := w.as("ann", access.RoleAdmin)
	for what, do := range map[string]func() error{
		"disable": func() error { _, err := server.DisableUser.Call(t.Context(), ann, "ann"); return err },
		"remove":  func() error { _, err := server.RemoveUser.Call(t.Context(), ann, "ann"); return err },
		"demote": func() error {
			_, err := server.SetRole.Call(t.Context(), ann, signin.RoleRequest{User: "ann", Role: access.RoleOperator})
			return err
		},
		"reset": func() error { _, err := server.ResetUser.Call(t.Context(), ann, "ann"); return err },
	} {
		err := do()
		if e, is := errors.AsType[*refusal.Error](err); !is || e.Status != http.StatusConflict || !strings.Contains(e.Words, "ann is the last admin") || e.Hint == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if v, err := server.DisableUser.Call(t.Context(), w.ask, "ann"); err != nil || v.State != "disabled" || v.DisabledAt.IsZero() {
		t.Errorf("by the socket: %+v, %v", v, err)
	}
}

func TestRequestsForUsersAreLookedAt(t *testing.T) {
	w := newTower(t)
	w.user("ann", access.RoleViewer)
	for name, c := range map[string]struct {
		in     signin.UserRequest
		status int
		field  string
	}{
		"a phone":         {signin.UserRequest{Name: "447700900123", Role: access.RoleViewer}, 400, "name"},
		"no name":         {signin.UserRequest{Name: "  ", Role: access.RoleViewer}, 400, "name"},
		"a long one":      {signin.UserRequest{Name: strings.Repeat("a", 65), Role: access.RoleViewer}, 400, "name"},
		"like the socket": {signin.UserRequest{Name: "root (0)", Role: access.RoleViewer}, 400, "name"},
		"a bent one":      {signin.UserRequest{Name: "an\u202en", Role: access.RoleViewer}, 400, "name"},
		"a path":          {signin.UserRequest{Name: "a/b", Role: access.RoleViewer}, 400, "name"},
		"a step up":       {signin.UserRequest{Name: "..", Role: access.RoleViewer}, 400, "name"},
		"a Cyrillic a":    {signin.UserRequest{Name: "\u0430nn", Role: access.RoleViewer}, 400, "name"},
		"a ligature":      {signin.UserRequest{Name: "\ufb01n", Role: access.RoleViewer}, 400, "name"},
		"no role":         {signin.UserRequest{Name: "bob"}, 400, "role"},
		"a wrong role":    {signin.UserRequest{Name: "bob", Role: "operater"}, 400, "role"},
		"a name twice":    {signin.UserRequest{Name: "ANN", Role: access.RoleViewer}, 409, "name"},
	} {
		_, err := server.AddUser.Call(t.Context(), w.ask, c.in)
		if e, is := errors.AsType[*refusal.Error](err); !is || e.Status != c.status || e.Field != c.field {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"\u0430\u043d\u043d\u0430", "zoë.müller@example.com", `corp\ann`, "李"} {
		if _, err := server.AddUser.Call(t.Context(), w.ask, signin.UserRequest{Name: name, Role: access.RoleViewer}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := server.SetRole.Call(t.Context(), w.ask, signin.RoleRequest{User: "nobody", Role: access.RoleViewer}); statusOf(err) != http.StatusNotFound {
		t.Errorf("the role of nobody: %v", err)
	}
	if _, err := server.SetRole.Call(t.Context(), w.ask, signin.RoleRequest{User: "ann", Role: "root"}); statusOf(err) != http.StatusBadRequest {
		t.Errorf("no role: %v", err)
	}
	for path, body := range map[string]string{"/users": `{"name":"eve","role":"viewer","created_by":"ann"}`, "/users/ann/role": `{"role":"viewer","who":"ann"}`} {
		who := access.Process("x")
		if res := call(w.api, &who, "POST", server.Base+path, body); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s takes who did it from the body: %d", path, res.StatusCode)
		}
	}
}

// The disk is full: whoever is signed in reads on, nobody signs in or out, and words say why.
func TestWithoutADiskNobodySignsInAndWordsSayWhy(t *testing.T) {
	w := newTower(t)
	w.user("ann", access.RoleViewer)
	again, err := server.ResetUser.Call(t.Context(), w.ask, "ann")
	if err != nil {
		t.Fatal(err)
	}
	in, err := w.door().SetUp(t.Context(), linkOf(t, again.SetupURL, "/set-up"), good)
	if err != nil {
		t.Fatal(err)
	}
	link, err := server.LinkToConsole.Call(t.Context(), w.ask, signin.LinkRequest{})
	if err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("sqlite3", w.file)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, change := range []string{"INSERT ON audit", "INSERT ON console_sessions", "UPDATE ON console_sessions", "DELETE ON console_sessions", "DELETE ON console_links"} {
		name := strings.NewReplacer(" ", "_").Replace(change)
		if _, err := other.ExecContext(t.Context(), `CREATE TRIGGER no_room_`+name+` BEFORE `+change+` BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`); err != nil {
			t.Fatal(err)
		}
	}
	w.now = w.now.Add(2 * time.Minute) // its use would be noted
	if s := w.known(in); s == nil || s.Who.Name != "ann" {
		t.Errorf("who is signed in is %+v", s)
	}
	for what, do := range map[string]func() error{
		"by a password": func() error { _, err := w.door().SignIn(t.Context(), "ann", good); return err },
		"by a link":     func() error { _, err := w.door().EnterByLink(t.Context(), linkOf(t, link.URL, "/sign-in")); return err },
		"out":           func() error { return w.door().SignOut(t.Context(), in.Cookie) },
		"by a provider": func() error {
			_, err := w.door().Meet(t.Context(), signin.Person{Name: "bob", Source: signin.SourceOIDC, Subject: "1", Role: access.RoleViewer})
			return err
		},
	} {
		err := do()
		if e, is := errors.AsType[*refusal.Error](err); !is || e.Status != http.StatusServiceUnavailable || !strings.Contains(e.Words, "nothing was done") {
			t.Errorf("signing %s: %v", what, err)
		}
	}
}

// Who is given a role less by the provider has it less at the next sign-in there, however soon that comes after another one.
func TestARoleOfAProviderIsTakenUpWithEachSignIn(t *testing.T) {
	w := newTower(t)
	door := w.door()
	door.Sources = func() []string { return []string{signin.SourceOIDC} }
	for i, role := range []access.Role{access.RoleViewer, access.RoleAdmin, access.RoleViewer, access.RoleAdmin, access.RoleViewer} {
		in, err := door.Meet(t.Context(), signin.Person{Name: "bob", Source: signin.SourceOIDC, Subject: "1", Role: role})
		if err != nil {
			t.Fatal(err)
		}
		s, known, err := door.Session(t.Context(), in.Cookie)
		if err != nil || !known || s.Role != role || s.Who.May(access.Manage) != (role == access.RoleAdmin) {
			t.Errorf("sign-in %d as %s may %v: %v", i, role, s.Who.Scopes, err)
		}
		w.now = w.now.Add(5 * time.Second)
	}
}
